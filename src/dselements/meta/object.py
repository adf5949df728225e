"""One object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError, StaleMetadataError
from .checks import checked_text
from .classifier import Classifiers
from .fields import OBJECT_COLUMNS, UNTRACKED
from .handles import Handle, scalar, vector
from .objecttable import ObjectTable
from .params import RectParams, TextParams
from .payloads import Payloads
from .tensors import Segmentation, TensorOutput, segmentations, tensor_outputs

if TYPE_CHECKING:
    from ..surface.device import DeviceArray
    from .frame import Frame

__all__ = ["Object"]

Color = tuple[float, float, float, float]
"""Red, green, blue, alpha from 0 to 1."""
Box = tuple[float, float, float, float]
"""Left, top, width, height in pixels."""


def _part(index: int, doc: str) -> Any:
    def get(self: Object) -> float:
        row = self._at()
        return cast(float, self._table.column("rect").item(row * 4 + index))

    def put(self: Object, value: float) -> None:
        rect = list(self.rect)
        rect[index] = value
        self.rect = cast(Box, tuple(rect))

    return property(get, put, doc=doc)


def _text(name: str, doc: str) -> Any:
    def get(self: Object) -> str | None:
        row = self._at()
        return cast("str | None", self._table.column(name)[row])

    def put(self: Object, value: str | None) -> None:
        row = self._at()
        self._table.column(name)[row] = checked_text(name, value, self._table.describe(row))

    return property(get, put, doc=doc)


class Object(Handle):
    """An object of a frame: a handle on one row of the batch's columns.

    Fields are read and written as attributes; writes reach the metadata when ``process``
    returns. Boxes are in pixels of the batched frame, origin top left.

    :raises StaleMetadataError: on any use after it was removed or its batch was closed.
    """

    if not TYPE_CHECKING:  # type checkers would take the properties below for no slots
        __slots__ = ()
    _table: ObjectTable

    class_id: int = scalar(OBJECT_COLUMNS["class_id"])
    object_id: int = scalar(OBJECT_COLUMNS["object_id"])
    confidence: float = scalar(OBJECT_COLUMNS["confidence"])
    tracker_confidence: float = scalar(OBJECT_COLUMNS["tracker_confidence"])
    unique_component_id: int = scalar(OBJECT_COLUMNS["unique_component_id"])
    border_width: int = scalar(OBJECT_COLUMNS["border_width"])
    border_color: Color = vector(OBJECT_COLUMNS["border_color"])
    has_bg_color: bool = scalar(OBJECT_COLUMNS["has_bg_color"], bool)
    bg_color: Color = vector(OBJECT_COLUMNS["bg_color"])
    has_color_info: int = scalar(OBJECT_COLUMNS["has_color_info"])
    color_id: int = scalar(OBJECT_COLUMNS["color_id"])
    rotation_angle: float = scalar(OBJECT_COLUMNS["rotation_angle"])
    text_x: int = scalar(OBJECT_COLUMNS["text_x"])
    text_y: int = scalar(OBJECT_COLUMNS["text_y"])
    font_size: int = scalar(OBJECT_COLUMNS["font_size"])
    font_color: Color = vector(OBJECT_COLUMNS["font_color"])
    text_has_bg: bool = scalar(OBJECT_COLUMNS["text_has_bg"], bool)
    text_bg_color: Color = vector(OBJECT_COLUMNS["text_bg_color"])
    detector_bbox: Box = vector(OBJECT_COLUMNS["detector_bbox"])
    tracker_bbox: Box = vector(OBJECT_COLUMNS["tracker_bbox"])
    misc_obj_info: tuple[int, int, int, int] = vector(OBJECT_COLUMNS["misc_obj_info"])

    left: float = _part(0, "left edge, pixels")
    top: float = _part(1, "top edge, pixels")
    width: float = _part(2, "width, pixels")
    height: float = _part(3, "height, pixels")

    @property
    def rect(self) -> Box:
        """Left, top, width, height in pixels."""
        row = self._at()  # first: it may bring the columns up to date
        return cast(Box, tuple(self._table.column("rect")[row].tolist()))

    @rect.setter
    def rect(self, value: Box) -> None:
        self._set("rect", value)

    @property
    def right(self) -> float:
        """Right edge, pixels."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Bottom edge, pixels."""
        return self.top + self.height

    @property
    def area(self) -> float:
        """Area in square pixels."""
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        """Middle of the box: x, y in pixels."""
        left, top, width, height = self.rect
        return left + width / 2, top + height / 2

    @property
    def tracked(self) -> bool:
        """True if a tracker has given it an id."""
        return self.object_id != UNTRACKED

    label: str = _text("label", "class name; a longer one than 127 bytes of UTF-8 is cut")
    display_text: str | None = _text("display_text", "text that is drawn; None for none")
    font_name: str | None = _text("font_name", "font family; kept for the life of the process")

    def crop(self) -> npt.NDArray[np.uint8] | DeviceArray:
        """View of the object's pixels, read-only and without a copy; good during ``process``.

        :returns: uint8 (rows, columns, channels), cut at the frame's borders: numpy in system
            memory, a :class:`~dselements.surface.DeviceArray` in NVMM. Empty if the box lies
            outside the frame.
        :raises SurfaceError: if there are no pixels here, or their format is planar.
        """
        frame = self.frame
        return frame._batch._crop(frame, self.rect)

    @property
    def rect_params(self) -> RectParams:
        """The same fields under NvOSD_RectParams's names."""
        self._at()
        return RectParams(self)

    @property
    def text_params(self) -> TextParams:
        """The same fields under NvOSD_TextParams's names."""
        self._at()
        return TextParams(self)

    @property
    def frame(self) -> Frame:
        """The frame it belongs to."""
        row = self._at()
        return self._batch._frame(int(self._table.column("frame_index")[row]))

    @property
    def source_id(self) -> int:
        """source_id of its frame."""
        return self.frame.source_id

    @property
    def parent(self) -> Object | None:
        """Object it was found in, of the same frame; None if none or if that was removed."""
        row = self._at()
        parent = int(self._table.column("parent")[row])
        if parent < 0:
            return None
        return Object(self._batch, self._table, parent, self._generation)

    @parent.setter
    def parent(self, value: Object | None) -> None:
        row = self._at()
        if value is None:
            self._table.column("parent")[row] = -1
            return
        if not isinstance(value, Object) or value._table is not self._table:
            raise MetadataValueError("a parent is an object of the same batch")
        other = value._at()
        parents = self._table.column("parent")
        frame = self._table.column("frame_index")
        if frame[other] != frame[row]:
            raise MetadataValueError(
                f"parent of {self._table.describe(row)} cannot be {self._table.describe(other)}: "
                "it is of another frame"
            )
        above = other
        for _ in range(self._table.n):
            if above == row:
                raise MetadataValueError(
                    f"{self._table.describe(row)} cannot be its own parent or grandparent"
                )
            above = int(parents[above])
            if above < 0:
                break
        parents[row] = other

    @property
    def mask(self) -> npt.NDArray[np.float32] | None:
        """Copy of its mask: float32 (height, width), scores over the box; None if it has none.

        Set it to an array of two dimensions, or to None; see :attr:`mask_threshold`.
        """
        found = self._batch._extras().mask(self._native_row())
        return None if found is None else found[0]

    @mask.setter
    def mask(self, value: npt.ArrayLike | None) -> None:
        row = self._native_row()
        old = self._batch._extras().mask(row)
        threshold = 0.5 if old is None else old[1]
        self._batch._extras().set_mask(row, value, threshold, self._table.describe(self._row))

    @property
    def mask_threshold(self) -> float:
        """Scores above it belong to the object; 0 if it has no mask."""
        found = self._batch._extras().mask(self._native_row())
        return 0.0 if found is None else found[1]

    @mask_threshold.setter
    def mask_threshold(self, value: float) -> None:
        row = self._native_row()
        old = self._batch._extras().mask(row)
        if old is None:
            raise MetadataValueError("an object without a mask has no threshold")
        self._batch._extras().set_mask(row, old[0], value, self._table.describe(self._row))

    @property
    def classifiers(self) -> Classifiers:
        """Classifier results: iterate, ``add``, ``remove``, ``clear``."""
        return Classifiers(self._batch, self)

    @property
    def tensors(self) -> list[TensorOutput]:
        """Raw model outputs that nvinfer attached (``output-tensor-meta=1``), as numpy copies."""
        return tensor_outputs(self.payloads.others)

    @property
    def segmentations(self) -> list[Segmentation]:
        """Segmentation maps that nvinfer attached, as numpy copies."""
        return segmentations(self.payloads.others)

    @property
    def payloads(self) -> Payloads:
        """Named user payloads of this object: a mapping of name to JSON-like value."""
        return Payloads(self._batch, _native.OBJECT, self)

    @property
    def removed(self) -> bool:
        """True once it was removed (or its batch is closed)."""
        try:
            self._at()
        except StaleMetadataError:
            return True
        return False

    def remove(self) -> None:
        """Remove it from its frame; legal inside loops. Its children lose their parent.

        :raises StaleMetadataError: if it was removed already.
        """
        self._table.kill(np.array([self._at()]))

    def __repr__(self) -> str:
        if self.removed:
            return "<Object, removed>"
        left, top, width, height = self.rect
        return (
            f"<Object {self.row} {self.label!r} class {self.class_id} "
            f"{self.confidence:.2f} at {left:.0f},{top:.0f} {width:.0f}x{height:.0f}>"
        )
