"""From the network's pixels to the frame's, and the filters there."""

from __future__ import annotations

import numpy as np
import pytest

from dselements.elements.infer.detections import Detections
from dselements.elements.infer.postprocess import FrameMapper
from dselements.elements.infer.preprocess import Placement, place
from dselements.elements.infer.settings import ClassAttrs

IDENTITY = Placement((0, 0, 100, 100), (100, 100), (0, 0), (1.0, 1.0))


def dets(*rows: tuple[float, float, float, float], ids: list[int] | None = None) -> Detections:
    boxes = np.array(rows, np.float32)
    return Detections(
        boxes, np.full(len(rows), 0.9, np.float32), np.array(ids or [0] * len(rows), np.int64)
    )


def mapped(
    found: Detections,
    attrs: list[ClassAttrs] | None = None,
    placement: Placement = IDENTITY,
    frame: tuple[int, int] = (100, 100),
    filter_out: frozenset[int] = frozenset(),
    crop: bool = False,
) -> list[list[float]]:
    mapper = FrameMapper(attrs or [ClassAttrs()], filter_out, crop)
    return [list(map(float, box)) for box in mapper(found, placement, frame).boxes]


def test_stretched() -> None:
    placement = place((768, 576), (300, 300), keep_aspect=False, symmetric=False)
    # 75/300 of 768 and 150/300 of 576
    assert mapped(dets((75, 150, 30, 60)), placement=placement, frame=(768, 576)) == [
        pytest.approx([192, 288, 76.8, 115.2])
    ]


def test_letterboxed() -> None:
    placement = place((1920, 1080), (640, 640), keep_aspect=True, symmetric=True)
    # scale 1/3, 140 rows above
    assert mapped(dets((10, 150, 20, 30)), placement=placement, frame=(1920, 1080)) == [
        pytest.approx([30, 30, 60, 90])
    ]
    # what lies in the padding is moved to the frame's edge, and keeps its size
    assert mapped(dets((10, 130, 20, 30)), placement=placement, frame=(1920, 1080)) == [
        pytest.approx([30, 0, 60, 90])
    ]


def test_a_box_down_to_the_frame_s_edge_survives_rounding() -> None:
    placement = place((768, 577), (300, 300), keep_aspect=False, symmetric=False)
    for top in np.linspace(0.1, 299.9, 500, dtype=np.float32):
        box = (0.0, float(top), 10.0, float(np.float32(300) - top))
        assert len(mapped(dets(box), placement=placement, frame=(768, 576))) == 1


def test_a_box_beyond_the_bottom_is_dropped_as_in_nvinfer() -> None:
    assert mapped(dets((0, 90, 5, 11))) == []
    assert mapped(dets((0, 90, 5, 10))) == [[0, 90, 5, 10]]


def test_classes_and_sizes() -> None:
    small = ClassAttrs(detected_min_w=10, detected_min_h=5)
    big = ClassAttrs(detected_max_w=10, detected_max_h=5)
    for attrs, kept in ((small, [(10, 5), (11, 6)]), (big, [(10, 5), (9, 4)])):
        rows = [(0.0, 0.0, w, h) for w, h in [(10, 5), (11, 6), (9, 4), (11, 4), (9, 6)]]
        got = mapped(dets(*rows), [attrs])
        assert [(w, h) for _, _, w, h in got] == kept
    two = dets((0, 0, 1, 1), (0, 0, 2, 2), ids=[0, 1])
    assert mapped(two, [ClassAttrs(), ClassAttrs()], filter_out=frozenset({0})) == [[0, 0, 2, 2]]
    assert mapped(two, [ClassAttrs(detected_min_w=5), ClassAttrs()]) == [[0, 0, 2, 2]]


def test_offsets_drop_or_crop() -> None:
    attrs = [ClassAttrs(roi_top_offset=10, roi_bottom_offset=20)]
    found = dets((0, 5, 10, 30), (0, 10, 10, 70), (0, 50, 10, 31), (95, 20, 10, 10))
    assert mapped(found, attrs) == [[0, 10, 10, 70], [95, 20, 10, 10]]
    # cropping moves the top down (the height stays, as in nvinfer) and cuts bottom and right
    assert mapped(found, attrs, crop=True) == [
        [0, 10, 10, 30],
        [0, 10, 10, 70],
        [0, 50, 10, 30],
        [95, 20, 5, 10],
    ]
    # nothing is left of a box that lies wholly below
    assert mapped(dets((0, 85, 10, 10)), attrs, crop=True) == []


def test_nothing() -> None:
    assert mapped(Detections.empty()) == []
