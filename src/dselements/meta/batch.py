"""The metadata of one buffer: read as columns, edited safely, committed at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from .._core import _native, load
from ..errors import MetadataValueError, NoBatchMetaError, StaleMetadataError
from .extras import Extras
from .fields import UNTRACKED
from .frame import Frame, Frames
from .object import Object
from .objects import Objects
from .objecttable import ObjectTable
from .payloads import Payloads
from .tables import BatchTable, FrameTable

if TYPE_CHECKING:
    from ..surface.device import DeviceArray, DeviceSurface
    from ..surface.system import Surface
    from .synthetic import FrameSpec

__all__ = ["Batch", "SurfaceProvider"]


Pixels = npt.NDArray[np.uint8]


class SurfaceProvider(Protocol):
    """Where a batch's frames find their pixels. Its ``close()``, if any, runs with the batch's."""

    def surface(self, frame_row: int, batch_id: int, write: bool) -> Surface | DeviceSurface:
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

    __slots__ = (
        "_batch_table", "_extra", "_frames", "_holds_buffer", "_objects", "_owned", "_snapshot",
        "_views", "address", "buffer", "closed", "stats", "surfaces",
    )  # fmt: skip

    def __init__(
        self, batch_meta: int, *, buffer: int = 0, surfaces: SurfaceProvider | None = None
    ) -> None:
        self.address = batch_meta
        """Of the NvDsBatchMeta."""
        self.buffer = buffer
        """Address of the GstBuffer that carries it; 0 if none does."""
        self.surfaces = surfaces
        """Where frames find their pixels; None if they have none here."""
        self.closed = False
        """True after :meth:`close`."""
        self.stats: dict[str, int] = {}
        """Objects ``in``, ``out``, ``removed``, ``added`` of the last commit; empty if unread."""
        self._owned = False
        self._holds_buffer = False
        self._snapshot: _native.Snapshot | None = None
        self._objects: ObjectTable | None = None
        self._frames: FrameTable | None = None
        self._batch_table: BatchTable | None = None
        self._extra: Extras | None = None
        self._views: dict[int, Surface | DeviceSurface] = {}

    # -- making ------------------------------------------------------------
    @classmethod
    def from_buffer(cls, buffer: Any, *, surfaces: SurfaceProvider | None = None) -> Batch:
        """The batch of a Gst.Buffer (or of a buffer's address), as in pad probes and appsinks.

        Call :meth:`commit` yourself, and :meth:`close` when done; ``with`` does both. Until then
        the batch holds a reference to the buffer, so that others have to copy it before they write:
        close it before the probe returns. Whoever shares the buffer (the other branch of a tee)
        sees the edits, unlike in an element.

        :raises NoBatchMetaError: if the buffer carries none.
        :raises MetadataValueError: for anything that is no Gst.Buffer.
        """
        load()
        address = _buffer_address(buffer)
        batch_meta = _native.buffer_batch_meta(address)
        if not batch_meta:
            raise NoBatchMetaError("the buffer carries no NvDsBatchMeta")
        batch = cls(batch_meta, buffer=address, surfaces=surfaces)
        # Whoever made it may be gone before close(): a sample that was pulled, a probe's info.
        _native.buffer_ref(address)
        batch._holds_buffer = True
        return batch

    @classmethod
    def create(cls, max_frames: int, *, buffer: int = 0) -> Batch:
        """A new, empty batch: attached to a buffer, or owned by the result (close() frees it).

        :raises MetadataValueError: if the buffer has one already, or for a strange max_frames.
        """
        load()
        batch = cls(_native.create_batch(max_frames, buffer), buffer=buffer)
        batch._owned = not buffer
        return batch

    @classmethod
    def synthetic(cls, frames: Sequence[Mapping[str, Any] | FrameSpec]) -> Batch:
        """A batch that owns its metadata, built from plain values; for tests and experiments.

        Each frame is a :class:`FrameSpec` or a mapping of frame fields, ``payloads`` and
        ``objects``: a sequence of :class:`ObjectSpec` or mappings with ``rect`` and any of the
        values of :meth:`add_objects`, ``parent`` (index within the frame), ``payloads``,
        ``mask``, and ``classifiers`` (a sequence of label sequences, or of mappings with
        ``labels``, ``unique_component_id``, ``classifier_type``)::

            with Batch.synthetic([{"source_id": 0, "objects": [
                {"rect": (10, 10, 50, 80), "label": "person", "confidence": 0.9}]}]) as batch:
                ...

        Objects come in the order given.
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
            raise StaleMetadataError("batch metadata used after its batch was closed")

    def _snap(self) -> _native.Snapshot:
        if self._snapshot is None:
            self._check()
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

    def _own_table(self) -> BatchTable:
        if self._batch_table is None:
            self._batch_table = BatchTable(self._snap(), 1)
        return self._batch_table

    def _extras(self) -> Extras:
        if self._extra is None:
            self._extra = Extras(self._snap())
        return self._extra

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

    @property
    def generation(self) -> int:
        """Grows whenever objects were added, or were removed and ``objects`` fetched again."""
        return self._object_table().generation

    @property
    def max_frames(self) -> int:
        """Frames the batch has room for."""
        return int(self._own_table().column("max_frames_in_batch")[0])

    @property
    def misc_batch_info(self) -> tuple[int, int, int, int]:
        """Four int64, free for the application."""
        a, b, c, d = self._own_table().column("misc_batch_info")[0].tolist()
        return a, b, c, d

    @misc_batch_info.setter
    def misc_batch_info(self, value: Sequence[int]) -> None:
        self._own_table().set_value("misc_batch_info", 0, value)

    # -- editing -----------------------------------------------------------
    def remove(self, which: npt.NDArray[Any] | Object | Iterable[Object | bool | int]) -> int:
        """Remove objects; their children lose their parent. Those removed already are passed over.

        :param which: bool mask (n,) over ``batch.objects``, array of row indices, an Object, or
            an iterable of Objects (``batch.objects`` itself removes all).
        :returns: how many were removed by this call.
        :raises MetadataValueError: if a mask has another length or an index is out of range.
        :raises StaleMetadataError: for an Object that was removed before.
        """
        if isinstance(which, Object):
            which.remove()
            return 1
        table = self._object_table()
        table.settle()
        if not isinstance(which, np.ndarray):
            try:
                items = list(which)
            except TypeError:
                raise MetadataValueError(
                    f"remove() takes a bool mask, row indices or Objects, not {which!r}"
                ) from None
            if not items:
                return 0
            if isinstance(items[0], Object):
                which = np.array([self._row_of(item) for item in items], np.intp)
            else:
                try:
                    which = np.asarray(items)
                except ValueError as error:
                    raise MetadataValueError(f"remove(): {error}") from None
        if not which.size:
            return 0
        if which.dtype == bool:
            if which.shape != (table.n,):
                raise MetadataValueError(
                    f"a mask of shape {which.shape} for {table.n} objects",
                    hint="make the mask from batch.objects fetched after the last change",
                )
        elif which.dtype.kind in "iu":
            if int(np.min(which)) < 0 or int(np.max(which)) >= table.n:
                raise MetadataValueError(f"row indices outside 0 to {table.n - 1}")
        else:
            raise MetadataValueError(
                f"remove() takes a bool mask, row indices or Objects, not {which.dtype}"
            )
        return table.kill(which)

    def _row_of(self, item: Any) -> int:
        if not isinstance(item, Object) or item._table is not self._objects:
            raise MetadataValueError(f"{item!r} is no object of this batch")
        return item._at()

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
        """Add n objects at once. In their frame's list they come before the older ones.

        :param frame_rows: row of the frame of each, int (n,).
        :param rect: left, top, width, height in pixels, float (n, 4); also ``detector_bbox``.
        :param display: also set what nvinfer sets for drawing: a red border of 3, the label as
            text in white Serif 11 on black, ten pixels above the box.
        :param columns: any other column of ``meta.fields.OBJECT_COLUMNS``, ``display_text``,
            ``font_name``, ``parent`` (row in ``batch.objects``), one value or one for each.
        :returns: their rows, int (n,), good until objects are removed.
        :raises MetadataValueError: for shapes or values that do not fit.
        :raises NonFiniteValueError: for NaN and infinity.
        """
        from .adding import add_objects

        values = {
            "rect": rect, "class_id": class_id, "confidence": confidence, "label": label,
            "object_id": object_id, "unique_component_id": unique_component_id, **columns,
        }  # fmt: skip
        return add_objects(self, frame_rows, values, display)

    def add_frame(self, **fields: Any) -> Frame:
        """Add an empty frame with these frame fields; ``batch_id`` defaults to its place.

        :raises MetadataValueError: for an unknown field or a value that does not fit.
        """
        from .adding import frame_values

        table = self._frame_table()
        table.settle()
        row = table.append(1, frame_values(table.n, fields))
        return Frame(self, table, row, table.generation - 1)

    def _remove_frame(self, frame: Frame) -> None:
        row = frame._at()
        objects = self._object_table()
        objects.kill(objects.rows_of_frame(row))
        self._frame_table().kill(np.array([row]))

    # -- ending ------------------------------------------------------------
    def commit(self) -> None:
        """Apply all edits in one locked step, or none of them.

        Handles and columns fetched before are stale afterwards if anything was applied; the
        batch itself can be read and edited further.

        :raises NonFiniteValueError: for NaN or infinity in a changed row; names column and row.
        :raises MetadataValueError: for a value that does not fit.
        :raises ConcurrentEditError: if somebody else changed the batch meanwhile.
        :raises StaleMetadataError: if a column was written after rows came or went.
        """
        if self._snapshot is None:
            self._check()
            self.stats = {}
            return
        from .committing import transaction_of

        transaction, stats = transaction_of(self, self._snapshot)
        if transaction is not None:
            transaction.commit()
            self._drop("commit()")
        self.stats = stats

    def rollback(self) -> None:
        """Forget all edits; the metadata is as it was. Handles and columns are stale then."""
        self._check()
        self._drop("rollback()")

    def _drop(self, why: str) -> None:
        for table in (self._objects, self._frames, self._batch_table):
            if table is not None:
                table.close(why)
        self._snapshot = self._objects = self._frames = self._batch_table = self._extra = None

    def close(self) -> None:
        """Make all handles and columns stale; free the metadata if this batch owns it.

        Edits that were not committed are forgotten. Safe to call again.
        """
        if self.closed:
            return
        self._drop("its batch was closed")
        self.closed = True
        self._views.clear()
        try:
            if self.surfaces is not None:
                release: Callable[[], None] | None = getattr(self.surfaces, "close", None)
                if release is not None:
                    release()
        finally:
            if self._holds_buffer:
                self._holds_buffer = False
                _native.buffer_unref(self.buffer)
            if self._owned:
                _native.destroy_batch(self.address)

    def _crop(self, frame: Frame, rect: tuple[float, float, float, float]) -> Pixels | DeviceArray:
        """View of a box of a frame; one read-only surface a frame serves all of them."""
        place = frame.batch_id
        view = self._views.get(place)
        if view is None or view.closed:
            view = self._views[place] = frame.surface()
        return view.crop(rect)

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and not self.closed:
                self.commit()
        finally:
            self.close()

    def __del__(self) -> None:
        # A safety net: metadata that nobody else owns must not leak.
        if getattr(self, "_owned", False) or getattr(self, "_holds_buffer", False):
            self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Batch, closed>"
        return f"<Batch at {self.address:#x}>"

    # -- converting ----------------------------------------------------------
    def to_supervision(self, frame: Frame | None = None) -> Any:
        """Objects as ``supervision.Detections``, for its trackers, zones and annotators.

        ``xyxy`` float32 (n, 4) in pixels, ``confidence``, ``class_id``, ``tracker_id`` int64 (-1
        untracked; None if no object is tracked), and in ``data`` the labels as ``class_name``
        and the objects' rows. Masks are not converted.

        :param frame: only its objects; all objects of the batch if None.
        :raises MissingExtraError: if supervision is not installed.
        """
        from .convert import to_supervision

        return to_supervision(self, frame)

    def from_supervision(self, frame: Frame, detections: Any, **columns: Any) -> None:
        """Make a frame's objects those of ``supervision.Detections``.

        Detections that came from :meth:`to_supervision` in this ``process`` call update their
        objects: box, confidence, class, label and tracker id; all else on them stays. Objects of
        the frame without a detection are removed, detections without an object added.

        :param frame: whose objects.
        :param detections: such as a tracker or a filter returned.
        :param columns: further columns of added objects, as for :meth:`add_objects`.
        :raises MetadataValueError: if a detection names an object that the frame does not hold,
            or a value does not fit.
        :raises NonFiniteValueError: for NaN and infinity.
        """
        from .convert import from_supervision

        from_supervision(self, frame, detections, **columns)

    def to_arrow(self) -> Any:
        """Objects as a ``pyarrow.Table``: one row for each, with every column of ``objects``.

        ``rect`` becomes the columns left, top, width and height; other columns of several values
        are fixed-size lists; labels are dictionary-encoded; frame_index and some fields of the
        frame come with each object. Fields that the SDK does not have are left out.

        :raises MissingExtraError: if pyarrow is not installed.
        """
        from .convert import to_arrow

        return to_arrow(self)


def _buffer_address(buffer: Any) -> int:
    """Address of a Gst.Buffer, or of a buffer given by its address."""
    if isinstance(buffer, int) and buffer > 0xFFFF:
        return buffer
    kind = getattr(getattr(type(buffer), "__gtype__", None), "name", "")
    if kind != "GstBuffer":
        raise MetadataValueError(
            f"from_buffer() takes a Gst.Buffer, not {type(buffer).__name__}",
            hint="info.get_buffer() in a pad probe, sample.get_buffer() of a sample",
        )
    return hash(buffer)  # PyGObject gives a boxed value's address as its hash
