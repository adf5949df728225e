"""One object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError, StaleMetadataError
from .classifier import Classifiers
from .fields import OBJECT_COLUMNS, UNTRACKED
from .handles import Handle, scalar, vector
from .params import RectParams, TextParams
from .payloads import Payloads
from .tables import ObjectTable

if TYPE_CHECKING:
    from .frame import Frame

__all__ = ["Object"]

Color = tuple[float, float, float, float]
Box = tuple[float, float, float, float]


def _part(index: int, doc: str) -> property:
    def get(self: Object) -> float:
        return cast(float, self._table.column("rect").item(self._at() * 4 + index))

    def put(self: Object, value: float) -> None:
        rect = list(self.rect)
        rect[index] = value
        self.rect = cast(Box, tuple(rect))

    return property(get, put, doc=doc)


class Object(Handle):
    """An object of a frame: a handle on one row of the batch's columns.

    Fields are read and written as attributes; writes reach the metadata when ``process``
    returns. Boxes are in pixels of the batched frame, origin top left.

    :raises StaleMetadataError: on any use after it was removed or its batch was closed.
    """

    __slots__ = ()
    _table: ObjectTable

    class_id: int = scalar(OBJECT_COLUMNS["class_id"])  # type: ignore[assignment]
    object_id: int = scalar(OBJECT_COLUMNS["object_id"])  # type: ignore[assignment]
    confidence: float = scalar(OBJECT_COLUMNS["confidence"])  # type: ignore[assignment]
    tracker_confidence: float = scalar(OBJECT_COLUMNS["tracker_confidence"])  # type: ignore[assignment]
    unique_component_id: int = scalar(OBJECT_COLUMNS["unique_component_id"])  # type: ignore[assignment]
    border_width: int = scalar(OBJECT_COLUMNS["border_width"])  # type: ignore[assignment]
    border_color: Color = vector(OBJECT_COLUMNS["border_color"])  # type: ignore[assignment]
    has_bg_color: bool = scalar(OBJECT_COLUMNS["has_bg_color"], bool)  # type: ignore[assignment]
    bg_color: Color = vector(OBJECT_COLUMNS["bg_color"])  # type: ignore[assignment]
    has_color_info: int = scalar(OBJECT_COLUMNS["has_color_info"])  # type: ignore[assignment]
    color_id: int = scalar(OBJECT_COLUMNS["color_id"])  # type: ignore[assignment]
    rotation_angle: float = scalar(OBJECT_COLUMNS["rotation_angle"])  # type: ignore[assignment]
    text_x: int = scalar(OBJECT_COLUMNS["text_x"])  # type: ignore[assignment]
    text_y: int = scalar(OBJECT_COLUMNS["text_y"])  # type: ignore[assignment]
    font_size: int = scalar(OBJECT_COLUMNS["font_size"])  # type: ignore[assignment]
    font_color: Color = vector(OBJECT_COLUMNS["font_color"])  # type: ignore[assignment]
    text_has_bg: bool = scalar(OBJECT_COLUMNS["text_has_bg"], bool)  # type: ignore[assignment]
    text_bg_color: Color = vector(OBJECT_COLUMNS["text_bg_color"])  # type: ignore[assignment]
    detector_bbox: Box = vector(OBJECT_COLUMNS["detector_bbox"])  # type: ignore[assignment]
    tracker_bbox: Box = vector(OBJECT_COLUMNS["tracker_bbox"])  # type: ignore[assignment]
    misc_obj_info: tuple[int, int, int, int] = vector(OBJECT_COLUMNS["misc_obj_info"])  # type: ignore[assignment]

    left: float = _part(0, "left edge, pixels")  # type: ignore[assignment]
    top: float = _part(1, "top edge, pixels")  # type: ignore[assignment]
    width: float = _part(2, "width, pixels")  # type: ignore[assignment]
    height: float = _part(3, "height, pixels")  # type: ignore[assignment]

    @property
    def rect(self) -> Box:
        """Left, top, width, height in pixels."""
        return cast(Box, tuple(self._table.column("rect")[self._at()].tolist()))

    @rect.setter
    def rect(self, value: Box) -> None:
        row = self._at()
        if len(value) == 4 and (value[2] < 0 or value[3] < 0):
            raise MetadataValueError(
                f"rect of {self._table.describe(row)} has a negative size: {tuple(value)}"
            )
        self._table.set_value("rect", row, value)

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
    def tracked(self) -> bool:
        """True if a tracker has given it an id."""
        return self.object_id != UNTRACKED

    @property
    def label(self) -> str:
        """Class name. At most 127 bytes of UTF-8 are kept; a longer one is cut at commit."""
        return cast(str, self._table.column("label")[self._at()])

    @label.setter
    def label(self, value: str) -> None:
        row = self._at()
        self._table.column("label")[row] = _checked_text("label", value)

    @property
    def display_text(self) -> str | None:
        """Text that is drawn; None for none."""
        return cast("str | None", self._table.column("display_text")[self._at()])

    @display_text.setter
    def display_text(self, value: str | None) -> None:
        row = self._at()
        text = None if value is None else _checked_text("display_text", value)
        self._table.column("display_text")[row] = text

    @property
    def font_name(self) -> str | None:
        """Font family of the text; kept in memory for the life of the process."""
        return cast("str | None", self._table.column("font_name")[self._at()])

    @font_name.setter
    def font_name(self, value: str | None) -> None:
        row = self._at()
        text = None if value is None else _checked_text("font_name", value)
        self._table.column("font_name")[row] = text

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
        index = int(self._table.column("frame_index")[self._at()])
        return self._batch._frame(index)

    @property
    def source_id(self) -> int:
        """source_id of its frame."""
        return self.frame.source_id

    @property
    def parent(self) -> Object | None:
        """Object it was found in, of the same frame; None if none or if that was removed."""
        parent = int(self._table.column("parent")[self._at()])
        if parent < 0:
            return None
        return Object(self._batch, self._table, parent, self._generation)

    @parent.setter
    def parent(self, value: Object | None) -> None:
        row = self._at()
        parents = self._table.column("parent")
        if value is None:
            parents[row] = -1
            return
        if not isinstance(value, Object) or value._table is not self._table:
            raise MetadataValueError("a parent is an object of the same batch")
        other = value._at()
        frame = self._table.column("frame_index")
        if frame[other] != frame[row]:
            raise MetadataValueError("a parent is an object of the same frame")
        above = other
        while above >= 0:
            if above == row:
                raise MetadataValueError("an object cannot be its own parent or grandparent")
            above = int(parents[above])
        parents[row] = other

    @property
    def mask(self) -> npt.NDArray[np.float32] | None:
        """Copy of its mask: float32 (height, width), scores over the box; None if it has none.

        Set it to an array of two dimensions, or to None; see :attr:`mask_threshold`.
        """
        found = self._batch._mask(self._native_row())
        return None if found is None else found[0]

    @mask.setter
    def mask(self, value: npt.ArrayLike | None) -> None:
        row = self._native_row()
        old = self._batch._mask(row)
        threshold = 0.5 if old is None else old[1]
        self._batch._set_mask(row, value, threshold, self._table.describe(self._row))

    @property
    def mask_threshold(self) -> float:
        """Scores above it belong to the object; 0 if it has no mask."""
        found = self._batch._mask(self._native_row())
        return 0.0 if found is None else found[1]

    @mask_threshold.setter
    def mask_threshold(self, value: float) -> None:
        row = self._native_row()
        old = self._batch._mask(row)
        if old is None:
            raise MetadataValueError("an object without a mask has no threshold")
        self._batch._set_mask(row, old[0], value, self._table.describe(self._row))

    @property
    def classifiers(self) -> Classifiers:
        """Classifier results: iterate, ``add``, ``remove``, ``clear``."""
        return Classifiers(self._batch, self)

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
        """Remove it from its frame; legal inside loops over objects. Its children lose their parent.

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


def _checked_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise MetadataValueError(f"{name} is a str, not {type(value).__name__}")
    if "\0" in value:
        raise MetadataValueError(f"{name} {value!r} holds a NUL character")
    return value
