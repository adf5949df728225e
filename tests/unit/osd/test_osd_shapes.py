"""Geometry: boxes, colours and arrows from metadata. Needs no drawing library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dselements.elements.osd.shapes import FAR, arrow_segments, box_of, clamp, color_of, line_width
from dselements.elements.osd.stamps import halve

RED = (1.0, 0.0, 0.0, 1.0)
NAN, INF = math.nan, math.inf


def test_edges_are_rounded_each_on_its_own() -> None:
    box = box_of((10.4, 20.5, 5.2, 6.0), 3, RED, None)
    assert box is not None
    # 10.4 → 10, 15.6 → 16, 20.5 → 21 (half up), 26.5 → 27
    assert (box.left, box.top, box.right, box.bottom) == (10, 21, 16, 27)


@pytest.mark.parametrize(
    "rect",
    [(0, 0, 0, 5), (0, 0, 5, 0), (0, 0, -5, 5), (NAN, 0, 5, 5), (0, 0, INF, 5), (0, -INF, 5, 5)],
)
def test_boxes_without_an_area_are_left_out(rect: tuple[float, float, float, float]) -> None:
    assert box_of(rect, 3, RED, RED) is None


def test_boxes_that_nobody_would_see_are_left_out() -> None:
    assert box_of((0, 0, 5, 5), 0, RED, None) is None
    assert box_of((0, 0, 5, 5), 3, (1, 0, 0, 0), (1, 1, 1, 0)) is None
    assert box_of((0, 0, 5, 5), 0, RED, (1, 1, 1, 0.1)) is not None


def test_a_box_has_at_least_one_pixel() -> None:
    box = box_of((7.1, 7.1, 0.1, 0.1), 1, RED, None)
    assert box is not None
    assert (box.right - box.left, box.bottom - box.top) == (1, 1)


def test_huge_values_are_cut() -> None:
    box = box_of((-1e30, -1e30, 2e30, 3e38), 2**32 - 1, RED, None)
    assert box is not None
    assert (box.left, box.top, box.right, box.bottom) == (-FAR, -FAR, FAR, FAR)
    assert box.border == line_width(10_000) == 1024
    assert clamp(2**32 - 1) == FAR


def test_angles() -> None:
    box = box_of((0, 0, 5, 5), 1, RED, None, 450.0)
    assert box is not None
    assert box.angle == pytest.approx(math.pi / 2)
    broken = box_of((0, 0, 5, 5), 1, RED, None, NAN)
    assert broken is not None
    assert broken.angle == 0.0


def test_colours_are_repaired() -> None:
    assert color_of((2.0, -1.0, NAN, 0.5)) == (1.0, 0.0, 0.0, 0.5)


def test_heads_of_an_arrow() -> None:
    # 100 long: a head of 10, at 15 degrees.
    dx, dy = 10 * math.cos(math.radians(15)), 10 * math.sin(math.radians(15))
    end = arrow_segments(0, 0, 100, 0, 1, 1)
    assert end[0] == (0, 0, 100, 0)
    tips = sorted((x2, y2) for x1, y1, x2, y2 in end[1:] if (x1, y1) == (100, 0))
    assert tips == [pytest.approx((100 - dx, -dy)), pytest.approx((100 - dx, dy))]
    start = arrow_segments(0, 0, 100, 0, 1, 0)
    tips = sorted((x2, y2) for x1, y1, x2, y2 in start[1:] if (x1, y1) == (0, 0))
    assert tips == [pytest.approx((dx, -dy)), pytest.approx((dx, dy))]
    assert len(arrow_segments(0, 0, 100, 0, 1, 2)) == 5


def test_short_and_thick_arrows() -> None:
    thick = arrow_segments(0, 0, 0, 40, 4, 1)
    assert math.dist(thick[1][:2], thick[1][2:]) == pytest.approx(12)  # three widths
    short = arrow_segments(0, 0, 0, 5, 4, 1)
    assert math.dist(short[1][:2], short[1][2:]) == pytest.approx(5)  # not beyond the start
    assert arrow_segments(3, 3, 3, 3, 4, 2) == ((3, 3, 3, 3),)


def test_coverage_is_halved_by_means() -> None:
    full = np.array([[255, 255, 0], [255, 255, 100]], np.uint8)
    assert halve(full, 0, 0).tolist() == [[255, 25]]  # (0 + 100 + 0 + 0) / 4
    # Begins at odd x and y: one column and row of nothing first.
    assert halve(full, 1, 1).tolist() == [[64, 64], [64, 89]]
