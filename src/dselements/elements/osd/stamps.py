"""Coverage images: texts and masks, painted in any colour at any place."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MissingExtraError
from .shapes import Mask

__all__ = ["Stamp", "TextStamps", "import_cairo", "mask_coverage"]

Coverage = npt.NDArray[np.uint8]

PIXELS_A_POINT = 96 / 72
MAX_POINTS = 400
MAX_CHARACTERS = 4000
"""Of one text; nobody reads more on a frame."""
CACHE_BYTES = 16 << 20


def import_cairo() -> Any:
    """The module. :raises MissingExtraError: if it is not installed."""
    try:
        import cairo
    except ImportError as error:
        raise MissingExtraError(
            f"dsosd draws with pycairo, which cannot be imported: {error}",
            hint="apt install python3-cairo, or pip install pycairo",
        ) from error
    return cairo


class Stamp:
    """Coverage of an image, 0 to 255, uint8 (height, width)."""

    __slots__ = ("_cairo", "_halves", "_rows", "height", "surface", "width")

    def __init__(self, cairo: Any, coverage: Coverage) -> None:
        self._cairo = cairo
        self.height, self.width = coverage.shape
        self.surface, self._rows = _surface(cairo, coverage)
        self._halves: dict[tuple[int, int], Any] = {}

    @property
    def nbytes(self) -> int:
        """Memory that it may take."""
        return 2 * self._rows.nbytes

    def half(self, odd_x: int, odd_y: int) -> Any:
        """Cairo surface at half the resolution, of a stamp that begins at odd or even pixels.

        Each value is the mean of four.
        """
        key = (odd_x, odd_y)
        surface = self._halves.get(key)
        if surface is None:
            coverage = self._rows[:, : self.width]
            surface, _ = _surface(self._cairo, halve(coverage, odd_x, odd_y))
            self._halves[key] = surface
        return surface


def halve(coverage: Coverage, odd_x: int, odd_y: int) -> Coverage:
    """Mean of 2 x 2, with a row or column of nothing before it where it begins at an odd one."""
    height, width = coverage.shape
    rows, columns = (height + odd_y + 1) // 2, (width + odd_x + 1) // 2
    wide = np.zeros((rows * 2, columns * 2), np.uint16)
    wide[odd_y : odd_y + height, odd_x : odd_x + width] = coverage
    total = wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]
    return ((total + 2) >> 2).astype(np.uint8)


def _surface(cairo: Any, coverage: Coverage) -> tuple[Any, Coverage]:
    height, width = coverage.shape
    rows = np.zeros((height, (width + 3) // 4 * 4), np.uint8)
    rows[:, :width] = coverage
    surface = cairo.ImageSurface.create_for_data(
        rows, cairo.FORMAT_A8, width, height, rows.shape[1]
    )
    return surface, rows


class TextStamps:
    """Set texts, kept while there is room for them."""

    def __init__(self, cairo: Any) -> None:
        self._cairo = cairo
        self._stamps: OrderedDict[tuple[str, str, int, int, int], Stamp | None] = OrderedDict()
        self._fonts: dict[tuple[str, int], Any] = {}
        self._bytes = 0

    def get(self, text: str, font: str, points: int, width: int, height: int) -> Stamp | None:
        """A text, broken between words at ``width`` pixels and cut at ``height``.

        :returns: None if there is nothing to see.
        """
        key = (text, font, points, width, height)
        if key in self._stamps:
            self._stamps.move_to_end(key)
            return self._stamps[key]
        stamp = self._set(*key)
        self._stamps[key] = stamp
        self._bytes += _cost(stamp)
        while self._bytes > CACHE_BYTES and len(self._stamps) > 1:
            _, old = self._stamps.popitem(last=False)
            self._bytes -= _cost(old)
        return stamp

    def font(self, name: str, points: int) -> Any:
        """A scaled font; a family that is not installed is replaced by Fontconfig's choice."""
        key = (name, points)
        font = self._fonts.get(key)
        if font is None:
            cairo = self._cairo
            words = _clean(name).split()
            slant, weight = cairo.FONT_SLANT_NORMAL, cairo.FONT_WEIGHT_NORMAL
            while len(words) > 1 and words[-1].lower() in _STYLES:
                style = _STYLES[words.pop().lower()]
                if style == "bold":
                    weight = cairo.FONT_WEIGHT_BOLD
                elif style == "italic":
                    slant = cairo.FONT_SLANT_ITALIC
            pixels = min(max(points, 1), MAX_POINTS) * PIXELS_A_POINT
            options = cairo.FontOptions()
            options.set_antialias(cairo.ANTIALIAS_GRAY)
            font = cairo.ScaledFont(
                cairo.ToyFontFace(" ".join(words) or "Serif", slant, weight),
                cairo.Matrix(pixels, 0, 0, pixels, 0, 0),
                cairo.Matrix(),
                options,
            )
            if len(self._fonts) > 256:
                self._fonts.clear()
            self._fonts[key] = font
        return font

    def _set(self, text: str, name: str, points: int, width: int, height: int) -> Stamp | None:
        font = self.font(name, points)
        ascent, descent, line_height, _, _ = font.extents()
        base = _ceil(ascent)
        step = max(_ceil(line_height), base + _ceil(descent), 1)
        lines = self._lines(text, font, width)[: height // step + 1]
        wide = min(max((_ceil(advance) for _, advance in lines), default=0), width)
        high = min(step * len(lines), max(height, 1))
        if wide < 1:
            return None
        cairo = self._cairo
        surface = cairo.ImageSurface(cairo.FORMAT_A8, wide, high)
        context = cairo.Context(surface)
        context.set_scaled_font(font)
        for number, (line, _) in enumerate(lines):
            context.move_to(0, number * step + base)
            context.show_text(line)
        surface.flush()
        rows = np.frombuffer(surface.get_data(), np.uint8).reshape(high, surface.get_stride())
        return Stamp(cairo, rows[:, :wide])

    @staticmethod
    def _lines(text: str, font: Any, width: int) -> list[tuple[str, float]]:
        """Lines and their advances in pixels."""
        lines = []
        for paragraph in text[:MAX_CHARACTERS].split("\n"):
            line = _clean(paragraph)
            advance = font.text_extents(line).x_advance
            if advance > width:
                lines += _wrap(line, font, width)
            else:
                lines.append((line, advance))
        return lines


_STYLES = {"bold": "bold", "italic": "italic", "oblique": "italic", "regular": "", "normal": ""}


def _wrap(line: str, font: Any, width: int) -> list[tuple[str, float]]:
    """Break between words; a word wider than the frame stays whole and is cut by its border."""
    lines: list[tuple[str, float]] = []
    words = line.split(" ")
    current = words[0]
    advance = font.text_extents(current).x_advance
    for word in words[1:]:
        longer = f"{current} {word}"
        new_advance = font.text_extents(longer).x_advance
        if new_advance > width:
            lines.append((current, advance))
            current, advance = word, font.text_extents(word).x_advance
        else:
            current, advance = longer, new_advance
    lines.append((current, advance))
    return lines


def _clean(text: str) -> str:
    """What cairo takes: valid UTF-8, no control characters."""
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() or c == " " else " " for c in valid)


def _ceil(value: float) -> int:
    """Rounded up; cairo's whole numbers are off by an ulp."""
    return math.ceil(value - 1e-6)


def _cost(stamp: Stamp | None) -> int:
    return 256 if stamp is None else 256 + stamp.nbytes


def mask_coverage(mask: Mask, width: int, height: int) -> tuple[int, int, Coverage] | None:
    """Where a mask's scores, stretched bilinearly over its box, are above the threshold.

    :param width: of the frame, pixels.
    :param height: of the frame, pixels.
    :returns: left and top of the part within the frame, and 0 or 255 there; None if there is
        nothing. A NaN score is below every threshold.
    """
    x0, x1 = max(mask.left, 0), min(mask.right, width)
    y0, y1 = max(mask.top, 0), min(mask.bottom, height)
    if x0 >= x1 or y0 >= y1:
        return None
    rows, columns = mask.scores.shape
    # A pixel's centre in the grid of the scores' centres.
    x = (np.arange(x0, x1) - mask.left + 0.5) * (columns / (mask.right - mask.left)) - 0.5
    y = (np.arange(y0, y1) - mask.top + 0.5) * (rows / (mask.bottom - mask.top)) - 0.5
    across = _between(mask.scores, x, axis=1)
    with np.errstate(invalid="ignore"):
        inside = _between(across, y, axis=0) > mask.threshold
    if not inside.any():
        return None
    return x0, y0, inside.astype(np.uint8) * np.uint8(255)


def _between(values: npt.NDArray[Any], at: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
    """Linear interpolation along an axis; beyond the ends the last value."""
    last = values.shape[axis] - 1
    place = np.clip(at, 0, last)
    low = np.minimum(place.astype(np.intp), max(last - 1, 0))
    part = (place - low).astype(np.float32)
    shape = (-1, 1) if axis == 0 else (1, -1)
    part = part.reshape(shape)
    first = np.take(values, low, axis=axis)
    second = np.take(values, np.minimum(low + 1, last), axis=axis)
    with np.errstate(invalid="ignore", over="ignore"):
        mixed: npt.NDArray[Any] = first * (1 - part) + second * part
    return mixed
