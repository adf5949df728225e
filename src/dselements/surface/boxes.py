"""Boxes as whole pixels."""

from __future__ import annotations

import math

from ..errors import NonFiniteValueError

__all__ = ["pixels_of"]


def pixels_of(
    rect: tuple[float, float, float, float], width: int, height: int
) -> tuple[slice, slice]:
    """Rows and columns that a box touches, cut at the frame's borders.

    :param rect: left, top, width, height in pixels.
    :param width: of the frame, pixels.
    :param height: of the frame, pixels.
    :raises NonFiniteValueError: for NaN.
    """
    left, top, wide, high = (float(v) for v in rect)
    if any(math.isnan(v) for v in (left, top, wide, high)):
        raise NonFiniteValueError(f"the box {tuple(rect)} holds NaN")
    return _span(top, top + high, height), _span(left, left + wide, width)


def _span(low: float, high: float, limit: int) -> slice:
    """Whole pixels from low to high within 0 to limit."""
    first = math.floor(min(max(low, 0), limit))
    last = math.ceil(min(max(high, 0), limit))
    return slice(first, max(last, first))
