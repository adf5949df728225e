"""The metadata of one buffer: read as columns, edited safely, committed at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from .._core import _native, load
from ..errors import MetadataValueError, NoBatchMetaError, StaleMetadataError
from .classifier import Classifier, Label
from .display import Shape, from_native, metas_of
from .fields import UNTRACKED
from .frame import Frame, Frames
from .object import Object
from .objects import Objects
from .payloads import Payloads, UserMeta, name_of
from .tables import FrameTable, ObjectTable

if TYPE_CHECKING:
    from ..surface.system import Surface

__all__ = ["Batch", "SurfaceProvider"]

log = logging.getLogger("dselements.meta")

MAX_LABEL_BYTES = 127
_told_labels: set[str] = set()


class SurfaceProvider(Protocol):
    """Where a batch's frames find their pixels."""

    def surface(self, frame_row: int, batch_id: int, write: bool) -> Surface:
        """Pixels of one frame."""
        ...

    def size(self, batch_id: int) -> tuple[int, int]:
        """Width and height in pixels."""
        ...


class Batch:
    """NvDsBatchMeta of one buffer, for the length of one ``process`` call.

    Reading takes one snapshot of what is asked for; edits collect and are applied together by
    :meth:`commit`, which the element calls when ``process`` returns. Until then, and if anything
    raises, the metadata is as it was.

    :param batch_meta: address of the NvDsBatchMeta.
    :param buffer: address of the GstBuffer that carries it; 0 if none does.
    :param surfaces: where frames find their pixels.
    """

    def __init__(
        self, batch_meta: int, *, buffer: int = 0, surfaces: SurfaceProvider | None = None
    ) -> None:
        self.address = batch_meta
        self.buffer = buffer
        self.surfaces = surfaces
        self.closed = False
        self.stats: dict[str, int] = {}
        """Objects ``in``, ``out``, ``removed``, ``added`` of the last commit; empty if unread."""
        self._owned = False
        self._snapshot: _native.Snapshot | None = None
        self._objects: ObjectTable | None = None
        self._frames: FrameTable | None = None
        self._forget()

    def _forget(self) -> None:
        self._extras: dict[str, Any] | None = None

    # -- making ------------------------------------------------------------
    @classmethod
    def from_buffer(cls, buffer: Any, *, surfaces: SurfaceProvider | None = None) -> Batch:
        """The batch of a Gst.Buffer (or of a buffer's address), as in pad probes and appsinks.

        Call :meth:`commit` yourself, and :meth:`close` when done; ``with`` does both.

        :raises NoBatchMetaError: if the buffer carries none.
        """
        load()
        address = buffer if isinstance(buffer, int) else hash(buffer)
        batch_meta = _native.buffer_batch_meta(address)
        if not batch_meta:
            raise NoBatchMetaError("the buffer carries no NvDsBatchMeta")
        return cls(batch_meta, buffer=address, surfaces=surfaces)

    @classmethod
    def create(cls, max_frames: int, *, buffer: int = 0) -> Batch:
        """A new, empty batch: attached to a buffer, or owned by the result (close() frees it)."""
        load()
        batch = cls(_native.create_batch(max_frames, buffer), buffer=buffer)
        batch._owned = not buffer
        return batch

    @classmethod
    def synthetic(cls, frames: Sequence[Mapping[str, Any]]) -> Batch:
        """A batch that owns its metadata, built from plain values; for tests and experiments.

        Each frame is a mapping of frame fields and ``objects``: a sequence of mappings with
        ``rect`` and any of the values of :meth:`add_objects`, ``parent`` (index within the
        frame), ``payloads`` and ``classifiers`` (sequence of label sequences)::

            with Batch.synthetic([{"source_id": 0, "objects": [
                {"rect": (10, 10, 50, 80), "label": "person", "confidence": 0.9}]}]) as batch:
                ...
        """
        from .synthetic import fill

        batch = cls.create(max(len(frames), 1))
        try:
            fill(batch, frames)
            batch.commit()
        except BaseException:
            batch.close()
            raise
        return batch

    def copy(self) -> Batch:
        """A deep copy that owns its metadata. Edits not committed yet are not in it."""
        self._check()
        copied = Batch(_native.copy_batch(self.address))
        copied._owned = True
        return copied

    # -- tables ------------------------------------------------------------
    def _check(self) -> None:
        if self.closed:
            raise StaleMetadataError("batch metadata used after process() returned")

    def _snap(self) -> _native.Snapshot:
        self._check()
        if self._snapshot is None:
            self._snapshot = _native.Snapshot(self.address)
        return self._snapshot

    def _object_table(self) -> ObjectTable:
        if self._objects is None:
            snapshot = self._snap()
            self._objects = ObjectTable(snapshot, snapshot.n_objects)
        return self._objects

    def _frame_table(self) -> FrameTable:
        if self._frames is None:
            snapshot = self._snap()
            self._frames = FrameTable(snapshot, snapshot.n_frames)
        return self._frames

    def _frame(self, row: int) -> Frame:
        table = self._frame_table()
        return Frame(self, table, row, table.generation)

    # -- reading -----------------------------------------------------------
    @property
    def frames(self) -> Frames:
        """The frames, in the batch's order."""
        self._check()
        return Frames(self)

    @property
    def objects(self) -> Objects:
        """Columns of all objects of all frames; fetch it again after adding or removing."""
        self._check()
        return Objects(self)

    @property
    def payloads(self) -> Payloads:
        """Named user payloads of the whole batch."""
        self._check()
        return Payloads(self, _native.BATCH, None)

    @property
    def family(self) -> str:
        """SDK family of the metadata: ``ds6``, ``ds8`` or ``ds9``."""
        return self._snap().family

    # -- editing -----------------------------------------------------------
    def remove(self, which: Any) -> int:
        """Remove objects; their children lose their parent.

        :param which: bool mask (n,) over ``batch.objects``, array of row indices, an Object, or
            an iterable of Objects.
        :returns: how many were removed by this call.
        :raises MetadataValueError: if a mask has another length or an index is out of range.
        """
        if isinstance(which, Object):
            which.remove()
            return 1
        table = self._object_table()
        table.settle()
        if not isinstance(which, np.ndarray):
            items = list(which)
            if items and all(isinstance(item, Object) for item in items):
                return table.kill(np.array([item._at() for item in items], np.intp))
            which = np.asarray(items)
            if not items:
                return 0
        table.compact()
        if which.dtype == bool:
            if which.shape != (table.n,):
                raise MetadataValueError(
                    f"a mask of shape {which.shape} for {table.n} objects",
                    hint="make the mask from batch.objects fetched after the last removal",
                )
        elif which.dtype.kind in "iu":
            if which.size and (int(which.min()) < 0 or int(which.max()) >= table.n):
                raise MetadataValueError(f"row indices outside 0 to {table.n - 1}")
        else:
            raise MetadataValueError(f"remove() takes a mask, indices or Objects, not {which.dtype}")
        return table.kill(which)

    def add_objects(
        self,
        frame_rows: npt.ArrayLike,
        rect: npt.ArrayLike,
        *,
        class_id: npt.ArrayLike = 0,
        confidence: npt.ArrayLike = 1.0,
        label: str | Sequence[str] | npt.NDArray[Any] = "",
        object_id: npt.ArrayLike = UNTRACKED,
        unique_component_id: npt.ArrayLike = 0,
        display: bool = True,
        **columns: Any,
    ) -> npt.NDArray[np.intp]:
        """Add n objects at once.

        :param frame_rows: row of the frame of each, int (n,).
        :param rect: left, top, width, height in pixels, float (n, 4).
        :param display: also set what nvinfer sets for drawing: a red border of 3, the label as
            text in white Serif 11 on black, ten pixels above the box.
        :param columns: any other column of ``meta.fields.OBJECT_COLUMNS``, ``display_text``,
            ``font_name``, ``parent`` (row), one value or one for each.
        :returns: their rows, int (n,).
        :raises MetadataValueError: for shapes or values that do not fit.
        :raises NonFiniteValueError: for NaN and infinity.
        """
        table, frames = self._object_table(), self._frame_table()
        frames.settle()
        boxes = np.asarray(rect, np.float64)
        rows = np.asarray(frame_rows, np.intp)
        n = len(rows)
        if boxes.shape != (n, 4):
            raise MetadataValueError(f"rect has shape {boxes.shape}, needed ({n}, 4)")
        if n and (int(rows.min()) < 0 or int(rows.max()) >= frames.n):
            raise MetadataValueError(f"frame rows outside 0 to {frames.n - 1}")
        if not n:
            return np.empty(0, np.intp)
        values: dict[str, Any] = {
            "frame_index": rows, "rect": boxes, "class_id": class_id, "confidence": confidence,
            "object_id": object_id, "unique_component_id": unique_component_id, "label": label,
            "detector_bbox": boxes,
        }  # fmt: skip
        if display:
            values |= _display_values(boxes, label)
        values |= columns
        from .adding import checked

        first = table.append(n, {k: checked(k, v, n) for k, v in values.items()})
        return np.arange(first, first + n)

    def add_frame(self, **fields: Any) -> Frame:
        """Add an empty frame with these frame fields; ``batch_id`` defaults to its place.

        :raises MetadataValueError: for an unknown field or a value that does not fit.
        """
        from .adding import checked_frame

        table = self._frame_table()
        table.settle()
        values = {"batch_id": table.n, "num_surfaces_per_frame": 1, **fields}
        row = table.append(1, {k: checked_frame(k, v) for k, v in values.items()})
        return Frame(self, table, row, table.generation - 1)

    def _remove_frame(self, frame: Frame) -> None:
        row = frame._at()
        objects = self._object_table()
        objects.kill(objects.rows_of_frame(row))
        self._frame_table().kill(np.array([row]))

    # -- what hangs on rows --------------------------------------------------
    def _extra(self) -> dict[str, Any]:
        self._check()
        if self._extras is None:
            self._extras = {}
        return self._extras

    def _classifiers_of(self, native_row: int) -> list[Classifier]:
        extras = self._extra()
        if "classifiers" not in extras:
            table: dict[int, list[Classifier]] = {}
            for row, address, component, kind, labels in self._snap().gather_classifiers():
                table.setdefault(row, []).append(
                    Classifier(
                        [
                            Label(text.decode("utf-8", "replace"), cls, prob, label_id, classes)
                            for _, label_id, cls, classes, prob, text in labels
                        ],
                        component,
                        None if kind is None else kind.decode("utf-8", "replace"),
                        address,
                    )
                )
            extras["classifiers"] = table
            extras["classifier_edits"] = []
        found: list[Classifier] = extras["classifiers"].setdefault(native_row, [])
        return found

    def _note_classifier(self, what: str, native_row: int, classifier: Classifier) -> None:
        edits: list[tuple[str, int, Classifier]] = self._extra()["classifier_edits"]
        if what == "remove" and not classifier.address:
            edits[:] = [edit for edit in edits if edit[2] is not classifier]
        else:
            edits.append((what, native_row, classifier))

    def _user_metas(self, level: int, native_row: int) -> list[UserMeta]:
        extras = self._extra()
        key = f"users{level}"
        if key not in extras:
            table: dict[int, list[UserMeta]] = {}
            for row, address, meta_type, data in self._snap().gather_user(level):
                table.setdefault(row, []).append(UserMeta(meta_type, address, data))
            extras[key] = table
        found: list[UserMeta] = extras[key].get(native_row, [])
        return found

    def _payload_blocks(self, level: int, native_row: int) -> dict[str, bytes]:
        extras = self._extra()
        tables = extras.setdefault("payloads", {})
        key = (level, native_row)
        if key not in tables:
            blocks: dict[str, bytes] = {}
            ours = _native.payload_meta_type()
            for meta in self._user_metas(level, native_row):
                block = _native.read_payload(meta.address) if meta.meta_type == ours else None
                if block is not None:
                    blocks[name_of(block)] = block
            tables[key] = (blocks, dict(blocks))
        found: dict[str, bytes] = tables[key][0]
        return found

    def _display_of(self, native_row: int) -> tuple[list[tuple[int, list[Shape]]], list[Shape]]:
        extras = self._extra()
        if "display" not in extras:
            table: dict[int, tuple[list[tuple[int, list[Shape]]], list[Shape]]] = {}
            for row, address, kinds in self._snap().gather_display():
                shapes = [from_native(kind, s) for kind, group in kinds.items() for s in group]
                table.setdefault(row, ([], []))[0].append((address, shapes))
            extras["display"] = table
            extras["display_removed"] = []
        found: tuple[list[tuple[int, list[Shape]]], list[Shape]] = extras["display"].setdefault(
            native_row, ([], [])
        )
        return found

    def _clear_display(self, native_row: int) -> None:
        present, added = self._display_of(native_row)
        self._extra()["display_removed"] += [(native_row, address) for address, _ in present]
        present.clear()
        added.clear()

    def _mask(self, native_row: int) -> tuple[npt.NDArray[np.float32], float] | None:
        edited = self._extra().get("masks", {})
        if native_row in edited:
            value = edited[native_row]
            return None if value is None else (value[0].copy(), value[1])
        if native_row >= self._snap().n_objects:
            return None
        found = self._snap().gather_mask(native_row)
        if found is None:
            return None
        data, width, height, threshold = found
        return np.frombuffer(data, np.float32).reshape(height, width).copy(), threshold

    def _set_mask(self, native_row: int, value: Any, threshold: float, where: str) -> None:
        masks = self._extra().setdefault("masks", {})
        if value is None:
            masks[native_row] = None
            return
        array = np.ascontiguousarray(value, np.float32)
        if array.ndim != 2 or not array.size:
            raise MetadataValueError(f"mask of {where} has shape {array.shape}, needed two")
        if not np.isfinite(array).all() or not np.isfinite(threshold):
            from ..errors import NonFiniteValueError

            raise NonFiniteValueError(f"mask of {where} holds NaN or infinity")
        masks[native_row] = (array.copy(), float(threshold))

    def _frame_size(self, frame: Frame) -> tuple[int, int]:
        if self.surfaces is not None:
            return self.surfaces.size(frame.batch_id)
        return frame.pipeline_width, frame.pipeline_height

    # -- ending ------------------------------------------------------------
    def commit(self) -> None:
        """Apply all edits in one locked step, or none of them.

        Handles and columns fetched before are stale afterwards.

        :raises NonFiniteValueError: for NaN or infinity in a changed row; names column and row.
        :raises MetadataValueError: for a value that does not fit.
        :raises ConcurrentEditError: if somebody else changed the batch meanwhile.
        :raises StaleMetadataError: if a column was written after rows came or went.
        """
        self._check()
        if self._snapshot is None:
            self.stats = {}
            return
        from .committing import transaction_of

        transaction, stats = transaction_of(self)
        if transaction is not None:
            transaction.commit()
            self._drop("commit()")
        self.stats = stats

    def rollback(self) -> None:
        """Forget all edits; the metadata is as it was."""
        self._check()
        self._drop("rollback()")

    def _drop(self, why: str) -> None:
        for table in (self._objects, self._frames):
            if table is not None:
                table.close(why)
        self._snapshot = self._objects = self._frames = None
        self._forget()

    def close(self) -> None:
        """Make all handles and columns stale; free the metadata if this batch owns it.

        Edits that were not committed are forgotten. Safe to call again.
        """
        if self.closed:
            return
        self._drop("its batch was closed")
        self.closed = True
        if self.surfaces is not None:
            release = getattr(self.surfaces, "close", None)
            if release is not None:
                release()
        if self._owned:
            _native.destroy_batch(self.address)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None and not self.closed:
                self.commit()
        finally:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and not self.closed:
            self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Batch, closed>"
        return f"<Batch of {len(self.frames)} frames, {len(self.objects)} objects>"

    # -- other formats -------------------------------------------------------
    def to_supervision(self, frame: Frame | None = None) -> Any:
        """``supervision.Detections`` of one frame or of all objects; see :mod:`.convert`."""
        from .convert import to_supervision

        return to_supervision(self, frame)

    def from_supervision(self, frame: Frame, detections: Any, **columns: Any) -> None:
        """Replace the objects of a frame by ``supervision.Detections``; see :mod:`.convert`."""
        from .convert import from_supervision

        from_supervision(self, frame, detections, **columns)

    def to_arrow(self) -> Any:
        """``pyarrow.Table`` with one row for each object; see :mod:`.convert`."""
        from .convert import to_arrow

        return to_arrow(self)


def tell_cut(label: str) -> None:
    """Log once that a label is too long for the metadata."""
    if label not in _told_labels and len(_told_labels) < 1000:
        _told_labels.add(label)
        log.warning("label %r is cut to %d bytes of UTF-8", label, MAX_LABEL_BYTES)


def _display_values(boxes: npt.NDArray[np.float64], label: Any) -> dict[str, Any]:
    """What nvinfer sets so that nvdsosd draws an object."""
    with np.errstate(invalid="ignore"):
        x = np.clip(np.nan_to_num(boxes[:, 0]), 0, 2**31)
        y = np.clip(np.nan_to_num(boxes[:, 1]) - 10, 0, 2**31)
    return {
        "border_width": 3, "border_color": (1.0, 0.0, 0.0, 1.0), "display_text": label,
        "text_x": x.astype(np.uint32), "text_y": y.astype(np.uint32), "font_name": "Serif",
        "font_size": 11, "font_color": (1.0, 1.0, 1.0, 1.0), "text_has_bg": 1,
        "text_bg_color": (0.0, 0.0, 0.0, 1.0),
    }  # fmt: skip


