"""The GStreamer element ``dsinfer``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...element import MetaTransform, Property, element
from ...meta import Batch, Frame
from ...surface.format import FORMATS
from .classify import Classifier
from .detections import Detections
from .logic import Detector
from .network import Pixels, pixels_of
from .secondary import FrameClassifier, ObjectClassifier
from .settings import InferSettings, load_settings


@element(
    "dsinfer",
    description="Detects and classifies with ONNX models; reads nvinfer's configuration files",
    klass="Filter/Analyzer/Video",
    author="dselements",
)
class Infer(MetaTransform):
    """See :mod:`dselements.elements.infer`."""

    __gtype_name__ = "DsInfer"
    create_meta = True
    caps = f"video/x-raw,format={{{','.join(FORMATS)}}}"

    config_file_path = Property("", help="nvinfer configuration, INI or YAML", mutable=False)
    onnx_file = Property("", help="Model; overrides the file's onnx-file", mutable=False)
    labelfile_path = Property("", help="Labels; overrides labelfile-path", mutable=False)
    parser = Property(
        "",
        help="detectnet, ssd, yolov5, yolov8, module:function or path/file.py:function; "
        "overrides the file's parser",
        mutable=False,
    )
    batch_size = Property(
        0, min=0, max=1024, help="Frames inferred at once; 0 as in the file", mutable=False
    )
    interval = Property(
        -1,
        min=-1,
        max=2**31 - 1,
        help="Batches left out between two inferred ones; -1 as in the file",
        mutable=False,
    )
    unique_id = Property(
        0,
        min=0,
        max=2**31 - 1,
        help="unique_component_id of the objects; 0 as in the file, or 15",
        mutable=False,
    )
    process_mode = Property(
        0, min=0, max=2, help="1 full frames, 2 objects; 0 as in the file, or 1", mutable=False
    )
    infer_on_gie_id = Property(
        -1,
        min=-1,
        max=2**31 - 1,
        help="Objects of this detector only; overrides operate-on-gie-id",
        mutable=False,
    )
    infer_on_class_ids = Property(
        "",
        help="Objects of these classes only, such as 0:2; overrides operate-on-class-ids",
        mutable=False,
    )
    filter_out_class_ids = Property(
        "", help="Class ids to leave out, such as 0;2; overrides the file", mutable=False
    )
    intra_op_threads = Property(
        -1,
        min=-1,
        max=1024,
        help="Threads of one inference; 0 all cores, -1 as in the file",
        mutable=False,
    )

    _engine: _Engine | None = None

    def _overrides(self) -> dict[str, Any]:
        """Properties that were set, under the configuration's names."""
        given: dict[str, Any] = {}
        for name, unset in (
            ("onnx_file", ""),
            ("labelfile_path", ""),
            ("parser", ""),
            ("batch_size", 0),
            ("interval", -1),
            ("unique_id", 0),
            ("filter_out_class_ids", ""),
            ("intra_op_threads", -1),
            ("process_mode", 0),
        ):
            value = getattr(self, name)
            if value != unset:
                given[name.replace("_", "-")] = value
        if self.infer_on_gie_id >= 0:
            given["operate-on-gie-id"] = self.infer_on_gie_id
        if self.infer_on_class_ids:
            # nvinfer's property has colons where its file has semicolons.
            given["operate-on-class-ids"] = self.infer_on_class_ids.replace(":", ";")
        return given

    def start(self) -> None:
        path = Path(self.config_file_path) if self.config_file_path else None
        settings = load_settings(path, self._overrides())
        self._engine = (_Classification if settings.network_type == 1 else _Detection)(settings)
        for text in self._engine.warnings:
            self.log.warning(text)

    def stop(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def process(self, batch: Batch) -> None:
        engine = self._engine
        assert engine is not None  # start() ran
        engine(batch)


class _Engine(Protocol):
    """What dsinfer does with a batch."""

    warnings: list[str]

    def __call__(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


@contextmanager
def _open(frame: Frame, *, gray: bool) -> Iterator[Pixels]:
    with frame.surface() as surface:
        yield pixels_of(surface, gray=gray)


class _Classification:
    """A classifier, on objects or on frames."""

    def __init__(self, settings: InferSettings) -> None:
        self._classifier = Classifier(settings)
        self.warnings = self._classifier.warnings
        on_objects = settings.process_mode == 2
        if settings.classifier_async_mode and not on_objects:
            self.warnings.append("classifier-async-mode has no effect on full frames")
        self._work = (ObjectClassifier if on_objects else FrameClassifier)(self._classifier)
        self._interval = 0 if on_objects else settings.interval
        self._batches = 0
        self._opened = partial(_open, gray=self._classifier.model.gray)

    def __call__(self, batch: Batch) -> None:
        self._batches += 1
        if (self._batches - 1) % (self._interval + 1) == 0:
            self._work(batch, self._opened)

    def close(self) -> None:
        self._work.close()
        self._classifier.close()


class _Detection:
    """A detector on full frames."""

    def __init__(self, settings: InferSettings) -> None:
        detector = self._detector = Detector(settings)
        self.warnings = detector.warnings
        self._labels = np.array([detector.label(i) for i in range(detector.num_classes)], object)

    def __call__(self, batch: Batch) -> None:
        detector = self._detector
        if not detector.due():
            return
        frames = list(batch.frames)
        gray = detector.model.gray
        found = detector.detect([partial(_open, frame, gray=gray) for frame in frames])
        for frame, detections in zip(frames, found, strict=True):
            self._attach(frame, detections)
            frame.bInferDone = True

    def close(self) -> None:
        self._detector.close()

    def _attach(self, frame: Frame, found: Detections) -> None:
        """Add objects with nvinfer's values."""
        detector = self._detector
        if not len(found):
            return
        attrs = [detector.attrs[class_id] for class_id in found.class_ids.tolist()]
        fills = [one.bg_color for one in attrs]
        frame.add_objects(
            found.boxes,
            class_id=found.class_ids,
            confidence=found.scores,
            label=self._labels[found.class_ids],
            unique_component_id=detector.settings.unique_id,
            border_color=[one.border_color for one in attrs],
            has_bg_color=[fill is not None for fill in fills],
            bg_color=[fill or (0.0, 0.0, 0.0, 0.0) for fill in fills],
        )
