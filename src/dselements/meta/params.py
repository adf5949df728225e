"""Object fields under the names of DeepStream's NvOSD structures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import StaleMetadataError, UnsupportedFieldError

if TYPE_CHECKING:
    from .object import Object

__all__ = ["FontParams", "RectParams", "TextParams"]


class _View:
    __slots__ = ("_object",)
    _names: ClassVar[dict[str, str]] = {}

    def __init__(self, obj: Object) -> None:
        object.__setattr__(self, "_object", obj)

    def __getattr__(self, name: str) -> Any:
        field = self._names.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return getattr(self._object, field)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        setattr(self._object, self._names[name], value)

    def __dir__(self) -> list[str]:
        return sorted(self._names)

    def __repr__(self) -> str:
        shown = []
        for name in self._names:
            try:
                shown.append(f"{name}={getattr(self, name)!r}")
            except UnsupportedFieldError:
                continue  # not in this SDK
            except StaleMetadataError:
                return f"<{type(self).__name__}, stale>"
        return f"{type(self).__name__}({', '.join(shown)})"


class RectParams(_View):
    """NvOSD_RectParams of an object: the object's fields under NVIDIA's names.

    Read and write left, top, width, height, border_width (pixels), border_color, has_bg_color,
    bg_color, has_color_info, color_id, rotation_angle (degrees; SDK 9). Colours are (red, green,
    blue, alpha) from 0 to 1.
    """

    __slots__ = ()
    _names: ClassVar[dict[str, str]] = {
        name: name
        for name in (
            "left", "top", "width", "height", "border_width", "border_color", "has_bg_color",
            "bg_color", "has_color_info", "color_id", "rotation_angle",
        )
    }  # fmt: skip


class FontParams(_View):
    """NvOSD_FontParams of an object's text: font_name, font_size (points), font_color."""

    __slots__ = ()
    _names: ClassVar[dict[str, str]] = {
        name: name for name in ("font_name", "font_size", "font_color")
    }


class TextParams(_View):
    """NvOSD_TextParams of an object: the object's fields under NVIDIA's names.

    Read and write display_text, x_offset, y_offset (pixels), set_bg_clr, text_bg_clr, and what
    ``font_params`` holds.
    """

    __slots__ = ()
    _names: ClassVar[dict[str, str]] = {
        "display_text": "display_text",
        "x_offset": "text_x",
        "y_offset": "text_y",
        "set_bg_clr": "text_has_bg",
        "text_bg_clr": "text_bg_color",
    }

    @property
    def font_params(self) -> FontParams:
        """Font of the text."""
        return FontParams(self._object)
