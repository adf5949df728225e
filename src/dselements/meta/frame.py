"""One frame, and the frames of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import DselementsError, SurfaceError
from .display import Display
from .fields import FRAME_COLUMNS
from .handles import Handle, scalar, vector
from .object import Object
from .payloads import Payloads
from .tables import FrameTable
from .tensors import Segmentation, TensorOutput, segmentations, tensor_outputs

if TYPE_CHECKING:
    from ..surface.device import DeviceSurface
    from ..surface.system import Surface
    from .batch import Batch

__all__ = ["Frame", "FrameObjects", "Frames"]


class FrameObjects:
    """Objects of one frame. Iteration runs over those present when it began: removing is legal."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def _rows(self) -> npt.NDArray[np.intp]:
        frame = self._frame
        return frame._batch._object_table().rows_of_frame(frame._at())

    def __len__(self) -> int:
        return len(self._rows())

    def __iter__(self) -> Iterator[Object]:
        batch = self._frame._batch
        rows = self._rows().tolist()
        table = batch._object_table()
        generation = table.generation
        return iter([Object(batch, table, row, generation) for row in rows])

    @overload
    def __getitem__(self, key: int) -> Object: ...
    @overload
    def __getitem__(self, key: slice) -> list[Object]: ...
    def __getitem__(self, key: int | slice) -> Object | list[Object]:
        return list(self)[key]

    def __repr__(self) -> str:
        return f"<FrameObjects of {len(self)}>"


class Frame(Handle):
    """A frame of a batch: a handle on one row of the frame columns.

    :raises StaleMetadataError: on any use after it was removed or its batch was closed.
    """

    if not TYPE_CHECKING:  # type checkers would take the properties below for no slots
        __slots__ = ()
    _table: FrameTable

    pad_index: int = scalar(FRAME_COLUMNS["pad_index"])
    batch_id: int = scalar(FRAME_COLUMNS["batch_id"])
    frame_num: int = scalar(FRAME_COLUMNS["frame_num"])
    buf_pts: int = scalar(FRAME_COLUMNS["buf_pts"])
    ntp_timestamp: int = scalar(FRAME_COLUMNS["ntp_timestamp"])
    source_id: int = scalar(FRAME_COLUMNS["source_id"])
    num_surfaces_per_frame: int = scalar(FRAME_COLUMNS["num_surfaces_per_frame"])
    source_frame_width: int = scalar(FRAME_COLUMNS["source_frame_width"])
    source_frame_height: int = scalar(FRAME_COLUMNS["source_frame_height"])
    surface_type: int = scalar(FRAME_COLUMNS["surface_type"])
    surface_index: int = scalar(FRAME_COLUMNS["surface_index"])
    num_obj_meta: int = scalar(FRAME_COLUMNS["num_obj_meta"])
    bInferDone: bool = scalar(FRAME_COLUMNS["bInferDone"], bool)
    misc_frame_info: tuple[int, int, int, int] = vector(FRAME_COLUMNS["misc_frame_info"])
    pipeline_width: int = scalar(FRAME_COLUMNS["pipeline_width"])
    pipeline_height: int = scalar(FRAME_COLUMNS["pipeline_height"])

    @property
    def objects(self) -> FrameObjects:
        """Its objects, in the list's own order."""
        self._at()
        return FrameObjects(self)

    @property
    def width(self) -> int:
        """Width of the frame's pixels; of the metadata's pipeline size where there are none."""
        return self._size()[0]

    @property
    def height(self) -> int:
        """Height of the frame's pixels; of the metadata's pipeline size where there are none."""
        return self._size()[1]

    def _size(self) -> tuple[int, int]:
        provider = self._batch.surfaces
        if provider is not None:
            return provider.size(self.batch_id)
        return self.pipeline_width, self.pipeline_height

    def add_object(
        self,
        rect: tuple[float, float, float, float],
        *,
        class_id: int = 0,
        confidence: float = 1.0,
        label: str = "",
        **more: Any,
    ) -> Object:
        """Add one object; see :meth:`Batch.add_objects` for the values.

        :returns: its handle.
        """
        rows = self.add_objects(
            np.asarray([rect], np.float64),
            class_id=class_id,
            confidence=confidence,
            label=label,
            **more,
        )
        table = self._batch._object_table()
        return Object(self._batch, table, int(rows[0]), table.generation - 1)

    def add_objects(self, rect: npt.ArrayLike, **columns: Any) -> npt.NDArray[np.intp]:
        """Add objects to this frame; see :meth:`Batch.add_objects`."""
        boxes = np.asarray(rect)
        count = len(boxes) if boxes.ndim else 0
        return self._batch.add_objects(np.full(count, self._at()), boxes, **columns)

    @property
    def display(self) -> Display:
        """Shapes that dsosd and nvdsosd draw."""
        self._at()
        return Display(self._batch, self)

    @property
    def payloads(self) -> Payloads:
        """Named user payloads of this frame: a mapping of name to JSON-like value."""
        return Payloads(self._batch, _native.FRAME, self)

    @property
    def tensors(self) -> list[TensorOutput]:
        """Raw model outputs that nvinfer attached (``output-tensor-meta=1``), as numpy copies."""
        return tensor_outputs(self.payloads.others)

    @property
    def segmentations(self) -> list[Segmentation]:
        """Segmentation maps that nvinfer attached, as numpy copies."""
        return segmentations(self.payloads.others)

    def surface(self, write: bool = False) -> Surface | DeviceSurface:
        """The frame's pixels, as a context manager.

        System memory gives a :class:`~dselements.surface.Surface` (numpy), NVMM a
        :class:`~dselements.surface.DeviceSurface` (PyTorch, CuPy, DLPack); both have ``array``,
        ``planes``, ``crop()``, ``rgb()``, ``torch()``, ``cupy()`` and ``numpy()``.

        :raises SurfaceError: if there are no pixels here, or they cannot be written.
        """
        self._at()
        provider = self._batch.surfaces
        if provider is None:
            raise SurfaceError(
                "this batch's pixels cannot be reached: there are none, or their format or "
                "memory is not supported",
                hint="insert videoconvert ! video/x-raw,format=RGBA before the metadata is made, "
                "and use surface() inside process()",
            )
        return provider.surface(self._at(), self.batch_id, write)

    def remove(self) -> None:
        """Remove the frame and all that hangs on it."""
        self._batch._remove_frame(self)

    def __repr__(self) -> str:
        try:
            row = self._at()
        except DselementsError:
            return "<Frame, stale>"
        return f"<Frame {row} source {self.source_id} number {self.frame_num}>"


class Frames:
    """Frames of a batch: iterate, index, or take a field of all frames as a column.

    ``batch.frames.source_id`` is a read-only array with one value for each frame. Columns are
    the fields of :class:`Frame`: pad_index, batch_id, frame_num, buf_pts, ntp_timestamp,
    source_id, source_frame_width, source_frame_height, num_obj_meta, bInferDone,
    misc_frame_info (n, 4), pipeline_width, pipeline_height and the others. To edit, set the
    field of a frame.
    """

    __slots__ = ("_batch",)

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def _table(self) -> FrameTable:
        table = self._batch._frame_table()
        table.settle()
        return table

    def _alive(self) -> list[int]:
        table = self._table()
        if not table.n_dead or table.dead is None:
            return list(range(table.n))
        alive: list[int] = np.flatnonzero(~table.dead).tolist()
        return alive

    def __len__(self) -> int:
        return len(self._alive())

    def __iter__(self) -> Iterator[Frame]:
        return iter([self._batch._frame(row) for row in self._alive()])

    @overload
    def __getitem__(self, key: int) -> Frame: ...
    @overload
    def __getitem__(self, key: slice) -> list[Frame]: ...
    def __getitem__(self, key: int | slice) -> Frame | list[Frame]:
        rows = self._alive()[key]
        if isinstance(rows, list):
            return [self._batch._frame(row) for row in rows]
        return self._batch._frame(rows)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in FRAME_COLUMNS:
            raise AttributeError(f"frames have no column {name!r}")
        values = self._table().column(name)[self._alive()]
        values.flags.writeable = False
        return values

    def __dir__(self) -> list[str]:
        return sorted({*FRAME_COLUMNS, *super().__dir__()})

    def __repr__(self) -> str:
        return f"<Frames of {len(self)}>"
