"""Parameters of the on-screen display (nvll_osd_struct.h)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core import _native
from ...errors import MetadataValueError
from .base import Field, Struct

__all__ = [
    "NvBbox_Coords",
    "NvOSD_ArrowParams",
    "NvOSD_CircleParams",
    "NvOSD_ColorParams",
    "NvOSD_Color_info",
    "NvOSD_FontParams",
    "NvOSD_LineParams",
    "NvOSD_MaskParams",
    "NvOSD_RectParams",
    "NvOSD_TextParams",
]


class NvBbox_Coords(Struct):
    """A box in pixels: left, top, width, height."""

    __slots__ = ()
    SIZES = 16
    left = Field("f32", 0)
    top = Field("f32", 4)
    width = Field("f32", 8)
    height = Field("f32", 12)


class NvOSD_ColorParams(Struct):
    """A colour: red, green, blue, alpha, each 0.0 to 1.0."""

    __slots__ = ()
    SIZES = 32
    red = Field("f64", 0)
    green = Field("f64", 8)
    blue = Field("f64", 16)
    alpha = Field("f64", 24)

    def set(self, red: float, green: float, blue: float, alpha: float) -> None:
        """Set all four at once."""
        self.red, self.green, self.blue, self.alpha = red, green, blue, alpha


class NvOSD_FontParams(Struct):
    """Font of a text. ``font_name`` is kept for the process's life, each name once."""

    __slots__ = ()
    SIZES = 48
    font_name = Field("font", 0)
    font_size = Field("u32", 8)
    font_color = Field("struct", 16, cls=NvOSD_ColorParams)


class NvOSD_TextParams(Struct):
    """A text. ``display_text`` reads as an address that prints as its text."""

    __slots__ = ()
    SIZES = 104
    OWNED = (0,)
    display_text = Field("text", 0)
    x_offset = Field("u32", 8)
    y_offset = Field("u32", 12)
    font_params = Field("struct", 16, cls=NvOSD_FontParams)
    set_bg_clr = Field("i32", 64)
    text_bg_clr = Field("struct", 72, cls=NvOSD_ColorParams)


class NvOSD_Color_info(Struct):
    """A colour by number."""

    __slots__ = ()
    SIZES = 40
    id = Field("i32", 0)
    color = Field("struct", 8, cls=NvOSD_ColorParams)


class NvOSD_RectParams(Struct):
    """A rectangle in pixels. ``rotation_angle`` (degrees) exists from DeepStream 9 on."""

    __slots__ = ()
    SIZES = {"ds6": 104, "ds8": 104, "ds9": 112}  # noqa: RUF012
    left = Field("f32", 0)
    top = Field("f32", 4)
    width = Field("f32", 8)
    height = Field("f32", 12)
    border_width = Field("u32", 16)
    border_color = Field("struct", 24, cls=NvOSD_ColorParams)
    has_bg_color = Field("u32", 56)
    reserved = Field("u32", 60)
    bg_color = Field("struct", 64, cls=NvOSD_ColorParams)
    has_color_info = Field("i32", 96)
    color_id = Field("i32", 100)
    rotation_angle = Field("f32", {"ds9": 104})

    @classmethod
    def copy_fields(cls, target: Any, source: Any) -> None:
        """All fields that both families have."""
        for name in cls.fields():
            if name != "rotation_angle" or _native.struct_family(target) == "ds9":
                setattr(target, name, getattr(source, name))


class NvOSD_LineParams(Struct):
    """A line in pixels."""

    __slots__ = ()
    SIZES = 56
    x1 = Field("u32", 0)
    y1 = Field("u32", 4)
    x2 = Field("u32", 8)
    y2 = Field("u32", 12)
    line_width = Field("u32", 16)
    line_color = Field("struct", 24, cls=NvOSD_ColorParams)


class NvOSD_ArrowParams(Struct):
    """An arrow in pixels."""

    __slots__ = ()
    SIZES = 64
    x1 = Field("u32", 0)
    y1 = Field("u32", 4)
    x2 = Field("u32", 8)
    y2 = Field("u32", 12)
    arrow_width = Field("u32", 16)
    arrow_head = Field("u32", 20)
    arrow_color = Field("struct", 24, cls=NvOSD_ColorParams)
    reserved = Field("u32", 56)


class NvOSD_CircleParams(Struct):
    """A circle in pixels."""

    __slots__ = ()
    SIZES = 96
    xc = Field("u32", 0)
    yc = Field("u32", 4)
    radius = Field("u32", 8)
    circle_color = Field("struct", 16, cls=NvOSD_ColorParams)
    has_bg_color = Field("u32", 48)
    bg_color = Field("struct", 56, cls=NvOSD_ColorParams)
    reserved = Field("u32", 92)


class MaskArray(np.ndarray):
    """float32 values of a mask; what is written to it is written to the mask too."""

    _mask: NvOSD_MaskParams | None = None

    def _store(self) -> None:
        if self._mask is not None:
            self._mask.store(np.asarray(self, np.float32).tobytes())

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        self._store()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, MaskArray) else x for x in inputs]
        out = named.get("out", ())
        if out:
            named["out"] = tuple(np.asarray(x) if isinstance(x, MaskArray) else x for x in out)
        result = getattr(ufunc, method)(*plain, **named)
        for target in out:
            if isinstance(target, MaskArray):
                target._store()
        return out[0] if len(out) == 1 else result


class NvOSD_MaskParams(Struct):
    """An instance mask: float32 values, height rows of width."""

    __slots__ = ()
    SIZES = 24
    OWNED = (0,)
    data = Field("pointer", 0, frozen="use alloc_mask_array()")
    size = Field("u32", 8, frozen="it is set by alloc_mask_array()")
    threshold = Field("f32", 12)
    width = Field("u32", 16)
    height = Field("u32", 20)

    def get_mask_array(self) -> npt.NDArray[np.float32]:
        """Copy of the values, float32 [size / 4]; empty if there is no mask."""
        raw = _native.struct_follow(self, 0, self.size // 4 * 4)
        values: npt.NDArray[np.float32] = np.frombuffer(raw or b"", np.float32).copy()
        return values

    def alloc_mask_array(self) -> npt.NDArray[np.float32]:
        """Zeroed memory for width x height values; writing to the array writes to the mask.

        :raises MetadataValueError: if width or height is 0 or the mask too large.
        """
        count = self.width * self.height
        if not 0 < count < 1 << 28:
            raise MetadataValueError(
                f"a mask of {self.width}x{self.height} cannot be made", hint="set width and height"
            )
        _native.struct_replace_mask(self, 4 * count)
        _native.struct_write(self, 8, (4 * count).to_bytes(4, "little"))
        array: Any = np.zeros(count, np.float32).view(MaskArray)
        array._mask = self
        return array  # type: ignore[no-any-return]

    def store(self, values: bytes) -> None:
        """Write all values. :raises MetadataValueError: if their number is not that of the mask."""
        if len(values) != self.size:
            raise MetadataValueError(f"the mask has {self.size} bytes, not {len(values)}")
        _native.struct_fill(self, 0, values)

    @classmethod
    def copy_fields(cls, target: Any, source: Any) -> None:
        """A mask is copied with its values."""
        for name in ("threshold", "width", "height"):
            setattr(target, name, getattr(source, name))
        values = source.get_mask_array()
        if len(values):
            target.alloc_mask_array()[:] = values
