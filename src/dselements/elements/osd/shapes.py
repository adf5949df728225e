"""What there is to draw on one frame, in whole pixels and checked values.

Coordinates are pixels of the frame, origin top left. Nothing here is NaN or so large that a
drawing library could overflow: values from metadata pass through :func:`clamp` and
:func:`color_of` first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "FAR",
    "Box",
    "Circle",
    "Color",
    "Label",
    "Lines",
    "Mask",
    "Plan",
    "arrow_segments",
    "box_of",
    "clamp",
    "color_of",
]

Color = tuple[float, float, float, float]
"""Red, green, blue, alpha, 0 to 1."""

FAR = 1 << 17
"""Pixels; coordinates are cut to this. Cairo's fixed point ends at 2**23."""
MAX_LINE = 1 << 10
"""Pixels; widest line or border."""
DEFAULT_FONT, DEFAULT_FONT_SIZE = "Serif", 11
"""What nvinfer sets; taken where a text has no font or size."""
ARROW_ANGLE = math.radians(15)
"""Between an arrow's line and each line of its head; nvdsosd's."""
ARROW_PART = 0.1
"""Length of an arrow's head, as a part of the arrow's; nvdsosd's."""
ARROW_WIDTHS = 3
"""A head is at least so many line widths long, so that short arrows show it."""


class Box(NamedTuple):
    """A rectangle: its interior, and a border centred on its edges."""

    left: int
    top: int
    right: int
    """First column beyond it."""
    bottom: int
    border: int
    """Width of the border; 0 for none. The odd pixel lies inside."""
    border_color: Color
    fill: Color | None
    angle: float = 0.0
    """Radians, clockwise on the screen, around the centre."""


class Label(NamedTuple):
    """A text whose box begins at x, y."""

    text: str
    x: int
    y: int
    font: str
    size: int
    """Points; 96 points make 128 pixels, as Pango has it."""
    color: Color
    background: Color | None


class Mask(NamedTuple):
    """Scores over a box."""

    left: int
    top: int
    right: int
    bottom: int
    scores: npt.NDArray[np.float32]
    """(height, width) of any size, stretched over the box."""
    threshold: float
    """Higher scores are drawn."""
    color: Color


class Lines(NamedTuple):
    """Lines of one colour; ends are cut off straight, pixel centres are the coordinates."""

    segments: tuple[tuple[float, float, float, float], ...]
    width: int
    color: Color


class Circle(NamedTuple):
    """A circle around a pixel's centre."""

    x: int
    y: int
    radius: int
    width: int
    color: Color
    fill: Color | None


class Plan:
    """Shapes of one frame, each list in drawing order; lists are drawn in this order."""

    __slots__ = ("boxes", "circles", "labels", "lines", "masks")

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.masks: list[Mask] = []
        self.labels: list[Label] = []
        self.lines: list[Lines] = []
        self.circles: list[Circle] = []

    def __bool__(self) -> bool:
        return bool(self.boxes or self.masks or self.labels or self.lines or self.circles)


def clamp(value: float) -> int:
    """A finite coordinate, rounded to whole pixels and cut to ±FAR."""
    return math.floor(min(max(value, -FAR), FAR) + 0.5)


def line_width(value: float) -> int:
    """A line's width, cut to what is sensible."""
    return int(min(max(value, 0), MAX_LINE))


def color_of(values: tuple[float, ...]) -> Color:
    """Parts between 0 and 1; NaN is 0."""
    red, green, blue, alpha = (min(max(v, 0.0), 1.0) if v == v else 0.0 for v in values)
    return red, green, blue, alpha


def box_of(
    rect: tuple[float, float, float, float],
    border: float,
    border_color: Color,
    fill: Color | None,
    degrees: float = 0.0,
) -> Box | None:
    """A box from metadata; None if it has no area, is not finite or would not be seen."""
    left, top, width, height = rect
    if not (math.isfinite(left + top + width + height) and width > 0 and height > 0):
        return None
    line = line_width(border) if border_color[3] > 0 else 0
    if fill is not None and fill[3] <= 0:
        fill = None
    if not line and fill is None:
        return None
    x0, y0 = clamp(left), clamp(top)
    x1, y1 = max(clamp(left + width), x0 + 1), max(clamp(top + height), y0 + 1)
    angle = math.radians(degrees % 360) if degrees and math.isfinite(degrees) else 0.0
    return Box(x0, y0, x1, y1, line, border_color, fill, angle)


def arrow_segments(
    x1: float, y1: float, x2: float, y2: float, width: float, head: int
) -> tuple[tuple[float, float, float, float], ...]:
    """The line of an arrow and those of its heads.

    :param head: 0 at the start, 1 at the end, 2 at both (NvOSD_Arrow_Head_Direction).
    """
    segments = [(x1, y1, x2, y2)]
    length = math.hypot(x2 - x1, y2 - y1)
    if length == 0:
        return tuple(segments)
    size = min(max(length * ARROW_PART, width * ARROW_WIDTHS), length)
    tips = {0: ((x1, y1, x2, y2),), 1: ((x2, y2, x1, y1),)}.get(
        head, ((x1, y1, x2, y2), (x2, y2, x1, y1))
    )
    for tip_x, tip_y, from_x, from_y in tips:
        back = math.atan2(from_y - tip_y, from_x - tip_x)
        segments.extend(
            (tip_x, tip_y, tip_x + size * math.cos(turn), tip_y + size * math.sin(turn))
            for turn in (back - ARROW_ANGLE, back + ARROW_ANGLE)
        )
    return tuple(segments)
