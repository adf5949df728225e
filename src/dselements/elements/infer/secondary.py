"""A classifier at work on the objects of a batch (nvinfer's process-mode 2), or on its frames."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack

import numpy as np
import numpy.typing as npt

from ...meta import UNTRACKED, Batch, Frame, Label, Object
from .attributes import Attribute
from .classify import Classifier
from .history import History, Known
from .network import Pixels

__all__ = ["FrameClassifier", "ObjectClassifier", "crop"]

log = logging.getLogger("dselements.infer")

OpenFrame = Callable[[Frame], AbstractContextManager[Pixels]]

MAX_WAITING = 4
"""Batches of objects that wait for the network in asynchronous mode; more are not looked at."""


def crop(pixels: Pixels, rect: tuple[float, float, float, float]) -> Pixels | None:
    """An object's part of a frame, as nvinfer takes it; None if nothing of it is left.

    Left and top are rounded up to even pixels, width and height down (nvinfer aligns so for
    4:2:0), after the box is cut at the frame's borders.
    """
    rows, columns = pixels.array.shape[:2]
    left, top, width, height = rect
    x0, y0 = max(int(left), 0), max(int(top), 0)
    x0, y0 = x0 + x0 % 2, y0 + y0 % 2
    wide = (min(int(left + width), columns) - x0) // 2 * 2
    high = (min(int(top + height), rows) - y0) // 2 * 2
    if wide <= 0 or high <= 0:
        return None
    return Pixels(pixels.array[y0 : y0 + high, x0 : x0 + wide], pixels.layout)


class ObjectClassifier:
    """Classifies objects that detectors upstream have found.

    A tracked object is looked at when it is new, when its box has grown by a fifth, and after
    ``secondary-reinfer-interval`` frames; between, it gets what is known of it. In asynchronous
    mode it gets only that, and a thread of its own runs the network.

    :param classifier: the model; it is not closed here.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        settings = self._settings = classifier.settings
        self._history = History(settings.secondary_reinfer_interval)
        self._pool: ThreadPoolExecutor | None = None
        if settings.classifier_async_mode:
            self._pool = ThreadPoolExecutor(1, "dsinfer-classifier")
        self._waiting: list[Future[None]] = []
        self.skipped = 0
        """Looks that were put off because the network was behind (asynchronous mode)."""

    def __call__(self, batch: Batch, opened: OpenFrame) -> None:
        """Look at the objects that are due, and attach what is known.

        :raises ParserError: the parser failed; in asynchronous mode, in an earlier call.
        :raises ModelError: likewise.
        """
        self._raise_what_failed()
        wanted = self._wanted(batch)
        if not wanted.any():
            return
        known: list[tuple[Object, Known]] = []
        due: list[tuple[Object, Known]] = []
        for obj in batch.objects[wanted]:
            entry = self._entry(obj)
            if entry is None:
                continue
            known.append((obj, entry))
            if self._history.due(entry, obj.frame.frame_num, obj.area):
                due.append((obj, entry))
        if self._pool is None:
            self._look(due, opened)
        for obj, entry in known:
            attach(obj, entry.attributes, self._settings.unique_id, self._settings.classifier_type)
        if self._pool is not None and due:
            self._look_later(self._pool, due, opened)

    def _wanted(self, batch: Batch) -> npt.NDArray[np.bool_]:
        objects, settings = batch.objects, self._settings
        wanted = np.ones(len(objects), bool)
        if not len(objects):
            return wanted
        if settings.operate_on_gie_id >= 0:
            wanted &= objects.unique_component_id == settings.operate_on_gie_id
        if settings.operate_on_class_ids:
            wanted &= np.isin(objects.class_id, list(settings.operate_on_class_ids))
        width, height = objects.rect[:, 2], objects.rect[:, 3]
        wanted &= width >= settings.input_object_min_width
        wanted &= height >= settings.input_object_min_height
        if settings.input_object_max_width:
            wanted &= width <= settings.input_object_max_width
        if settings.input_object_max_height:
            wanted &= height <= settings.input_object_max_height
        return wanted

    def _entry(self, obj: Object) -> Known | None:
        """What is known of an object; a fresh entry for an untracked one, None if it is no use."""
        if obj.object_id == UNTRACKED:
            # Nothing could be told of it in a later frame.
            return None if self._pool is not None else Known()
        frame = obj.frame
        return self._history.see(frame.source_id, obj.object_id, frame.frame_num)

    def _look(self, due: Sequence[tuple[Object, Known]], opened: OpenFrame) -> None:
        with ExitStack() as stack:
            images, entries = self._crops(due, opened, stack)
            self._tell(entries, self._classifier.classify(images))

    def _look_later(
        self, pool: ThreadPoolExecutor, due: Sequence[tuple[Object, Known]], opened: OpenFrame
    ) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self.skipped += len(due)
            return
        with ExitStack() as stack:
            images, entries = self._crops(due, opened, stack)
            # The frame goes on; the network gets copies.
            images = [Pixels(image.array.copy(), image.layout) for image in images]
        for entry in entries:
            entry.waiting = True

        def work() -> None:
            try:
                self._tell(entries, self._classifier.classify(images))
            finally:
                for entry in entries:
                    entry.waiting = False

        self._waiting.append(pool.submit(work))

    def _crops(
        self, due: Sequence[tuple[Object, Known]], opened: OpenFrame, stack: ExitStack
    ) -> tuple[list[Pixels], list[Known]]:
        frames: dict[int, Pixels] = {}
        images, entries = [], []
        for obj, entry in due:
            frame = obj.frame
            row = frame.batch_id
            if row not in frames:
                frames[row] = stack.enter_context(opened(frame))
            image = crop(frames[row], obj.rect)
            # One without pixels counts as looked at: it may grow.
            entry.looked_at, entry.area = frame.frame_num, obj.area
            if image is not None:
                images.append(image)
                entries.append(entry)
        return images, entries

    @staticmethod
    def _tell(entries: Sequence[Known], found: Sequence[tuple[Attribute, ...]]) -> None:
        for entry, attributes in zip(entries, found, strict=True):
            entry.attributes = attributes

    def _raise_what_failed(self) -> None:
        ended = [future for future in self._waiting if future.done()]
        self._waiting = [future for future in self._waiting if future not in ended]
        for future in ended:
            future.result()

    def close(self) -> None:
        """Wait for the network, drop what has not begun, and log what failed."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        for future in self._waiting:
            error = None if future.cancelled() else future.exception()
            if error is not None:
                log.error("the classifier failed on the last objects: %s", error)
        self._waiting.clear()
        self._history.clear()


class FrameClassifier:
    """Classifies whole frames: each gets one object of its size that carries the result.

    :param classifier: the model; it is not closed here.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier

    def __call__(self, batch: Batch, opened: OpenFrame) -> None:
        """Look at every frame. :raises ParserError: or ModelError, as the classifier does."""
        settings = self._classifier.settings
        frames = list(batch.frames)
        with ExitStack() as stack:
            images = [stack.enter_context(opened(frame)) for frame in frames]
            found = self._classifier.classify(images)
        for frame, attributes in zip(frames, found, strict=True):
            if any(one.result_label for one in attributes):
                # nvinfer's values for such an object.
                obj = frame.add_object(
                    (0, 0, frame.width, frame.height),
                    class_id=-1,
                    confidence=0.0,
                    unique_component_id=settings.unique_id,
                    border_width=6,
                    border_color=(1.0, 0.0, 0.0, 1.0),
                )
                attach(obj, attributes, settings.unique_id, settings.classifier_type)
            frame.bInferDone = True

    def close(self) -> None:
        """Nothing is held."""


def attach(
    obj: Object, attributes: Sequence[Attribute], unique_id: int, classifier_type: str
) -> None:
    """Add a classifier meta, and its labels to the text that is drawn; nothing without a label."""
    text = " ".join(one.result_label for one in attributes if one.result_label)
    if not text:
        return
    obj.classifiers.add(
        [
            Label(one.result_label or "", one.result_class_id, one.result_prob, one.label_id)
            for one in attributes
        ],
        unique_component_id=unique_id,
        classifier_type=classifier_type or None,
    )
    obj.display_text = f"{obj.display_text or ''} {text}".lstrip()
