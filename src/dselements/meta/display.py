"""Shapes that dsosd and nvdsosd draw on a frame (NvDsDisplayMeta)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from ..errors import MetadataValueError, NonFiniteValueError

if TYPE_CHECKING:
    from .batch import Batch
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
    """Rectangle; floats in pixels."""

    left: float
    top: float
    width: float
    height: float
    border_width: int = 3
    border_color: Color = RED
    has_bg_color: bool = False
    bg_color: Color = CLEAR


class Text(NamedTuple):
    """Text with its top left corner at x_offset, y_offset (pixels)."""

    display_text: str | None
    x_offset: int
    y_offset: int
    font_name: str | None = "Serif"
    font_size: int = 11
    font_color: Color = WHITE
    set_bg_clr: bool = True
    text_bg_clr: Color = BLACK


class Line(NamedTuple):
    """Line; pixels."""

    x1: int
    y1: int
    x2: int
    y2: int
    line_width: int = 3
    line_color: Color = RED


class Arrow(NamedTuple):
    """Arrow; ``arrow_head`` 0 at the start, 1 at the end, 2 at both."""

    x1: int
    y1: int
    x2: int
    y2: int
    arrow_width: int = 3
    arrow_head: int = 1
    arrow_color: Color = RED


class Circle(NamedTuple):
    """Circle; pixels."""

    xc: int
    yc: int
    radius: int
    circle_color: Color = RED
    has_bg_color: bool = False
    bg_color: Color = CLEAR
    circle_width: int = 3


Shape = Union[Rect, Text, Line, Arrow, Circle]
KINDS: dict[str, Any] = {
    "rects": Rect, "texts": Text, "lines": Line, "arrows": Arrow, "circles": Circle
}  # fmt: skip


def _checked(shape: Shape) -> Shape:
    kind = type(shape).__name__
    for name, value in shape._asdict().items():
        if value is None or isinstance(value, str):
            if isinstance(value, str) and "\0" in value:
                raise MetadataValueError(f"{kind}.{name} holds a NUL character")
            continue
        numbers = value if isinstance(value, tuple) else (value,)
        if "color" in name or "clr" in name:
            if isinstance(value, tuple) and len(value) != 4:
                raise MetadataValueError(f"{kind}.{name} needs red, green, blue, alpha: {value}")
        for number in numbers:
            if not math.isfinite(number):
                raise NonFiniteValueError(f"{kind}.{name} is {value}")
        whole = not isinstance(value, tuple) and not (kind == "Rect" and name in _FLOATS)
        if whole and not 0 <= value <= 0xFFFFFFFF:
            raise MetadataValueError(f"{kind}.{name} is {value}; it holds integers from 0")
    if isinstance(shape, Rect) and (shape.width < 0 or shape.height < 0):
        raise MetadataValueError(f"Rect has a negative size: {shape.width} x {shape.height}")
    if isinstance(shape, Arrow) and shape.arrow_head not in (0, 1, 2):
        raise MetadataValueError(f"Arrow.arrow_head is {shape.arrow_head}", hint="0, 1 or 2")
    return shape


_FLOATS = frozenset({"left", "top", "width", "height"})


def from_native(kind: str, values: tuple[Any, ...]) -> Shape:
    """A shape from what the native core read."""
    texts = {0, 3} if kind == "texts" else set()
    decoded = [
        value.decode("utf-8", "replace") if i in texts and value is not None else value
        for i, value in enumerate(values)
    ]
    shape: Shape = KINDS[kind](*decoded)
    flags = {n: bool(getattr(shape, n)) for n in ("has_bg_color", "set_bg_clr") if hasattr(shape, n)}
    return shape._replace(**flags)


class Display:
    """Shapes of one frame: iterate over what is there, add, clear.

    A display meta holds 16 shapes of a kind; more go into further metas by themselves.
    """

    __slots__ = ("_batch", "_frame")

    def __init__(self, batch: Batch, frame: Frame) -> None:
        self._batch = batch
        self._frame = frame

    def _state(self) -> tuple[list[tuple[int, list[Shape]]], list[Shape]]:
        return self._batch._display_of(self._frame._native_row())

    def __iter__(self) -> Iterator[Shape]:
        present, added = self._state()
        return iter([*(shape for _, shapes in present for shape in shapes), *added])

    def __len__(self) -> int:
        present, added = self._state()
        return sum(len(shapes) for _, shapes in present) + len(added)

    def __repr__(self) -> str:
        return f"<Display of {len(self)} shapes>"

    def add(self, shape: Shape) -> None:
        """Add a shape. :raises MetadataValueError: if a value does not fit; NonFiniteValueError."""
        self._state()[1].append(_checked(shape))

    def add_rect(self, left: float, top: float, width: float, height: float, **more: Any) -> None:
        """Add a :class:`Rect`."""
        self.add(Rect(left, top, width, height, **more))

    def add_text(self, text: str, x: int, y: int, **more: Any) -> None:
        """Add a :class:`Text`."""
        self.add(Text(text, x, y, **more))

    def add_line(self, x1: int, y1: int, x2: int, y2: int, **more: Any) -> None:
        """Add a :class:`Line`."""
        self.add(Line(x1, y1, x2, y2, **more))

    def add_arrow(self, x1: int, y1: int, x2: int, y2: int, **more: Any) -> None:
        """Add an :class:`Arrow`."""
        self.add(Arrow(x1, y1, x2, y2, **more))

    def add_circle(self, xc: int, yc: int, radius: int, **more: Any) -> None:
        """Add a :class:`Circle`."""
        self.add(Circle(xc, yc, radius, **more))

    def clear(self) -> None:
        """Remove all shapes of the frame."""
        self._batch._clear_display(self._frame._native_row())


def metas_of(shapes: list[Shape]) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """Shapes grouped by kind into as few display metas as hold them, in the form the core takes."""
    groups: dict[str, list[tuple[Any, ...]]] = {
        name: [tuple(s) for s in shapes if isinstance(s, kind)] for name, kind in KINDS.items()
    }
    while any(groups.values()):
        yield {name: group[:SHAPES_A_META] for name, group in groups.items() if group}
        groups = {name: group[SHAPES_A_META:] for name, group in groups.items()}
