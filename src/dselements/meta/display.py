"""Shapes that dsosd and nvdsosd draw on a frame (NvDsDisplayMeta).

Fields have the names of NVIDIA's NvOSD structures. Coordinates are pixels of the batched frame,
origin top left. Except for rectangles they are unsigned whole numbers in the metadata: fractions
are rounded, negative ones refused. Colours are (red, green, blue, alpha), each from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MetadataValueError, NonFiniteValueError
from .checks import checked_text

if TYPE_CHECKING:
    from .batch import Batch
    from .extras import DisplayState
    from .frame import Frame

__all__ = ["Arrow", "Circle", "Display", "Line", "Rect", "Text"]

Color = tuple[float, float, float, float]
BLACK: Color = (0.0, 0.0, 0.0, 1.0)
WHITE: Color = (1.0, 1.0, 1.0, 1.0)
RED: Color = (1.0, 0.0, 0.0, 1.0)
CLEAR: Color = (0.0, 0.0, 0.0, 0.0)
SHAPES_A_META = 16
"""MAX_ELEMENTS_IN_DISPLAY_META of nvdsmeta.h."""


class Rect(NamedTuple):
    """A rectangle (NvOSD_RectParams)."""

    left: float
    """Left edge, pixels; fractions and negative values are kept."""
    top: float
    """Top edge, pixels; fractions and negative values are kept."""
    width: float
    """Pixels, 0 or more."""
    height: float
    """Pixels, 0 or more."""
    border_width: int = 3
    """Pixels; the border is centred on the edge. 0 draws none."""
    border_color: Color = RED
    """Red, green, blue, alpha from 0 to 1."""
    has_bg_color: bool = False
    """True: what is inside the border is filled with ``bg_color``."""
    bg_color: Color = CLEAR
    """Colour of the filling; its alpha says how much of the picture it hides."""


class Text(NamedTuple):
    """A text (NvOSD_TextParams with NvOSD_FontParams); newlines begin a new line."""

    display_text: str | None
    """What is drawn; None or an empty text draws nothing."""
    x_offset: int
    """Left edge of the text, pixels."""
    y_offset: int
    """Top edge of the text, pixels."""
    font_name: str | None = "Serif"
    """Font family, with ``Bold`` or ``Italic`` at its end if wanted. The name is kept for the
    life of the process: use a few names, do not compute them."""
    font_size: int = 11
    """Points."""
    font_color: Color = WHITE
    """Red, green, blue, alpha from 0 to 1."""
    set_bg_clr: bool = True
    """True: the text stands on a box of ``text_bg_clr``."""
    text_bg_clr: Color = BLACK
    """Colour of that box."""


class Line(NamedTuple):
    """A line (NvOSD_LineParams)."""

    x1: int
    """Start, pixels from the left."""
    y1: int
    """Start, pixels from the top."""
    x2: int
    """End, pixels from the left."""
    y2: int
    """End, pixels from the top."""
    line_width: int = 3
    """Pixels."""
    line_color: Color = RED
    """Red, green, blue, alpha from 0 to 1."""


class Arrow(NamedTuple):
    """An arrow (NvOSD_ArrowParams)."""

    x1: int
    """Start, pixels from the left."""
    y1: int
    """Start, pixels from the top."""
    x2: int
    """End, pixels from the left."""
    y2: int
    """End, pixels from the top."""
    arrow_width: int = 3
    """Width of its line, pixels."""
    arrow_head: int = 1
    """Where its head is: 0 at the start, 1 at the end, 2 at both (NvOSD_Arrow_Head_Direction)."""
    arrow_color: Color = RED
    """Red, green, blue, alpha from 0 to 1."""


class Circle(NamedTuple):
    """A circle (NvOSD_CircleParams)."""

    xc: int
    """Middle, pixels from the left."""
    yc: int
    """Middle, pixels from the top."""
    radius: int
    """Pixels."""
    circle_color: Color = RED
    """Of its border: red, green, blue, alpha from 0 to 1."""
    has_bg_color: bool = False
    """True: it is filled with ``bg_color``."""
    bg_color: Color = CLEAR
    """Colour of the filling."""
    circle_width: int = 3
    """Width of the border, pixels; for 0 dsosd draws 2."""


Shape = Rect | Text | Line | Arrow | Circle
KINDS: dict[str, Any] = {
    "rects": Rect, "texts": Text, "lines": Line, "arrows": Arrow, "circles": Circle
}  # fmt: skip


_TEXTS = frozenset({"display_text", "font_name"})
_FLAGS = frozenset({"has_bg_color", "set_bg_clr"})
_COLORS = frozenset(
    {"border_color", "bg_color", "font_color", "text_bg_clr", "line_color", "arrow_color",
     "circle_color"}
)  # fmt: skip
_FLOATS = frozenset({"left", "top", "width", "height"})


def _checked(shape: Shape) -> Shape:
    """The shape in the metadata's own types; pixels of integer fields are rounded."""
    kind = type(shape).__name__
    fixed: dict[str, Any] = {}
    for name, value in shape._asdict().items():
        where = f"{kind}.{name}"
        if name in _TEXTS:
            fixed[name] = checked_text(where, value)
            continue
        try:
            if name in _COLORS:
                fixed[name] = tuple(float(x) for x in value)
                numbers = fixed[name]
            else:
                fixed[name] = float(value)
                numbers = (fixed[name],)
        except (TypeError, ValueError):
            raise MetadataValueError(f"{where} cannot be {value!r}") from None
        if not all(math.isfinite(x) for x in numbers):
            raise NonFiniteValueError(f"{where} is {value}")
        if name in _COLORS:
            if len(numbers) != 4:
                raise MetadataValueError(f"{where} needs red, green, blue, alpha: {value}")
        elif name in _FLAGS:
            fixed[name] = bool(value)
        elif name in _FLOATS:
            if abs(fixed[name]) > _FLOAT32_MAX:
                raise NonFiniteValueError(f"{where} is {value}: it overflows to infinity")
            if fixed[name] < 0 and name in ("width", "height"):
                raise MetadataValueError(f"{where} is negative: {value}")
        else:
            fixed[name] = round(fixed[name])
            if not 0 <= fixed[name] <= 0xFFFFFFFF:
                raise MetadataValueError(f"{where} is {value}; it holds integers from 0")
    if fixed.get("arrow_head", 0) not in (0, 1, 2):
        raise MetadataValueError(f"Arrow.arrow_head is {fixed['arrow_head']}", hint="0, 1 or 2")
    return type(shape)(**fixed)


_FLOAT32_MAX = 3.4028234663852886e38


def from_native(kind: str, values: tuple[Any, ...]) -> Shape:
    """A shape from what the native core read."""
    form = KINDS[kind]
    decoded = {
        name: value.decode("utf-8", "replace")
        if isinstance(value, bytes)
        else bool(value)
        if name in _FLAGS
        else value
        for name, value in zip(form._fields, values, strict=True)
    }
    shape: Shape = form(**decoded)
    return shape


class Display:
    """Shapes of one frame: iterate over what is there, add, clear. ``frame.display`` is one.

    They travel with the buffer as NvDsDisplayMeta and are drawn by dsosd or nvdsosd downstream::

        frame.display.add_text("gate open", 10, 10, font_size=16)
        frame.display.add_line(0, 240, 640, 240, line_color=(0, 1, 0, 1))

    A display meta holds 16 shapes of a kind; more go into further metas by themselves. Shapes
    read back kind by kind and meta by meta (newest meta first), not in the order of adding.
    Edits reach the metadata at commit. A shape that is there cannot be changed: clear, and add
    what shall be there.

    Every ``add_…`` raises MetadataValueError for a value that does not fit its field, such as a
    negative whole pixel or a colour that is not four numbers, and NonFiniteValueError for NaN
    and infinity. Further fields of the shape are given by keyword.
    """

    __slots__ = ("_batch", "_frame")

    def __init__(self, batch: Batch, frame: Frame) -> None:
        self._batch = batch
        self._frame = frame

    def _state(self) -> DisplayState:
        return self._batch._extras().display(self._frame._native_row())

    def __iter__(self) -> Iterator[Shape]:
        present, added = self._state()
        return iter([*(shape for _, shapes in present for shape in shapes), *added])

    def __len__(self) -> int:
        present, added = self._state()
        return sum(len(shapes) for _, shapes in present) + len(added)

    def __repr__(self) -> str:
        return f"<Display of {len(self)} shapes>"

    def add(self, shape: Shape) -> None:
        """Add a shape of any kind.

        :param shape: a :class:`Rect`, :class:`Text`, :class:`Line`, :class:`Arrow` or
            :class:`Circle`.
        :raises MetadataValueError: if a value does not fit its field.
        :raises NonFiniteValueError: for NaN and infinity.
        """
        self._state()[1].append(_checked(shape))

    def add_rect(self, left: float, top: float, width: float, height: float, **more: Any) -> None:
        """Add a :class:`Rect`: its left top corner and its size, pixels.

        :param more: ``border_width``, ``border_color``, ``has_bg_color``, ``bg_color``.
        """
        self.add(Rect(left, top, width, height, **more))

    def add_text(self, text: str, x: int, y: int, **more: Any) -> None:
        """Add a :class:`Text`.

        :param text: what is drawn; newlines begin a new line.
        :param x: left edge, pixels.
        :param y: top edge, pixels.
        :param more: ``font_name``, ``font_size``, ``font_color``, ``set_bg_clr``,
            ``text_bg_clr``.
        """
        self.add(Text(text, x, y, **more))

    def add_line(self, x1: int, y1: int, x2: int, y2: int, **more: Any) -> None:
        """Add a :class:`Line` between two points, pixels.

        :param more: ``line_width``, ``line_color``.
        """
        self.add(Line(x1, y1, x2, y2, **more))

    def add_arrow(self, x1: int, y1: int, x2: int, y2: int, **more: Any) -> None:
        """Add an :class:`Arrow` from the first point to the second, pixels.

        :param more: ``arrow_width``, ``arrow_head``, ``arrow_color``.
        """
        self.add(Arrow(x1, y1, x2, y2, **more))

    def add_circle(self, xc: int, yc: int, radius: int, **more: Any) -> None:
        """Add a :class:`Circle` around a point, pixels.

        :param more: ``circle_width``, ``circle_color``, ``has_bg_color``, ``bg_color``.
        """
        self.add(Circle(xc, yc, radius, **more))

    def clear(self) -> None:
        """Remove all shapes of the frame, also those that other elements put there."""
        self._batch._extras().clear_display(self._frame._native_row())


def metas_of(shapes: list[Shape]) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """Shapes grouped by kind into as few display metas as hold them, in the form the core takes."""
    groups: dict[str, list[tuple[Any, ...]]] = {
        name: [tuple(s) for s in shapes if isinstance(s, kind)] for name, kind in KINDS.items()
    }
    while any(groups.values()):
        yield {name: group[:SHAPES_A_META] for name, group in groups.items() if group}
        groups = {name: group[SHAPES_A_META:] for name, group in groups.items()}
