"""NMS and thresholds against a plain reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dselements.elements.infer.cluster import NMS, NONE, cluster, iou_with, nms
from dselements.elements.infer.detections import Detections
from dselements.elements.infer.settings import ClassAttrs

F = np.float32


def naive_iou(a: np.ndarray, b: np.ndarray) -> np.float32:
    """Two boxes, one number at a time, in float32."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    overlap = max(width, F(0)) * max(height, F(0))
    union = a[2] * a[3] + b[2] * b[3] - overlap
    return F(0) if union == 0 else overlap / union


def naive_nms(boxes: np.ndarray, scores: np.ndarray, threshold: float) -> list[int]:
    kept: list[int] = []
    for row in sorted(range(len(scores)), key=lambda i: -scores[i]):  # sorted is stable
        if all(naive_iou(boxes[row], boxes[other]) <= F(threshold) for other in kept):
            kept.append(row)
    return kept


def dets(rows: list[tuple[float, float, float, float, float, int]]) -> Detections:
    table = np.array([row[:5] for row in rows], F).reshape(-1, 5)
    return Detections(table[:, :4], table[:, 4], np.array([row[5] for row in rows], np.int64))


# Whole numbers make equal scores and exact ties of the IoU likely.
SIDES = st.integers(0, 12).map(float)
TABLES = st.integers(0, 25).flatmap(
    lambda n: st.tuples(
        npst.arrays(F, (n, 4), elements=SIDES),
        npst.arrays(F, n, elements=st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])),
        npst.arrays(np.int64, n, elements=st.integers(0, 4)),
    )
)


@given(TABLES, st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_nms_is_the_naive_one(
    table: tuple[np.ndarray, np.ndarray, np.ndarray], threshold: float
) -> None:
    boxes, scores, _ = table
    assert nms(boxes, scores, threshold).tolist() == naive_nms(boxes, scores, threshold)


@given(TABLES, st.sampled_from([-1, 0, 1, 3]), st.sampled_from([0.0, 0.25, 0.5]))
@settings(max_examples=150, deadline=None)
def test_clustering_is_the_naive_one(
    table: tuple[np.ndarray, np.ndarray, np.ndarray], topk: int, post: float
) -> None:
    found = Detections(*table)
    attrs = [
        ClassAttrs(pre_cluster_threshold=0.25, post_cluster_threshold=post, topk=topk),
        ClassAttrs(pre_cluster_threshold=0.5, nms_iou_threshold=0.0),
        ClassAttrs(pre_cluster_threshold=0.0, nms_iou_threshold=1.0, topk=2),
    ]
    for mode in (NMS, NONE):
        wanted: list[int] = []
        for class_id, item in enumerate(attrs):
            rows = [
                i
                for i in range(len(found))
                if found.class_ids[i] == class_id and found.scores[i] >= item.pre_cluster_threshold
            ]
            if mode == NMS:
                kept = naive_nms(found.boxes[rows], found.scores[rows], item.nms_iou_threshold)
                rows = [rows[i] for i in kept]
                rows = [i for i in rows if found.scores[i] > item.post_cluster_threshold]
            if item.topk >= 0:
                rows = sorted(rows, key=lambda i: -found.scores[i])[: item.topk]
            wanted += rows
        got = cluster(found, attrs, mode)
        np.testing.assert_array_equal(got.boxes, found.boxes[wanted])
        np.testing.assert_array_equal(got.scores, found.scores[wanted])
        np.testing.assert_array_equal(got.class_ids, found.class_ids[wanted])


def test_iou_by_hand() -> None:
    # two squares of 2x2 that share one unit: 1 / (4 + 4 - 1)
    a = np.array([0, 0, 2, 2], F)
    others = np.array([[1, 1, 2, 2], [0, 0, 2, 2], [2, 0, 2, 2], [9, 9, 0, 0], [0, 0, 0, 0]], F)
    assert iou_with(a, others) == pytest.approx([1 / 7, 1, 0, 0, 0])
    empty = np.zeros(4, F)
    assert iou_with(empty, empty[None])[0] == 0


def test_a_box_at_the_threshold_stays() -> None:
    # IoU of 4x1 and 2x1 inside it is exactly 0.5
    found = dets([(0, 0, 4, 1, 0.9, 0), (0, 0, 2, 1, 0.8, 0)])
    assert len(cluster(found, [ClassAttrs(nms_iou_threshold=0.5)], NMS)) == 2
    assert len(cluster(found, [ClassAttrs(nms_iou_threshold=0.49)], NMS)) == 1


def test_thresholds_at_their_value() -> None:
    found = dets([(0, 0, 1, 1, 0.3, 0), (5, 5, 1, 1, 0.5, 0)])
    # before clustering: at least; 0.3 as float32 is compared with 0.3 as float32
    assert len(cluster(found, [ClassAttrs(pre_cluster_threshold=0.3)], NMS)) == 2
    # after clustering: greater, and only with NMS
    attrs = [ClassAttrs(pre_cluster_threshold=0.3, post_cluster_threshold=0.5)]
    assert len(cluster(found, attrs, NMS)) == 0
    assert len(cluster(found, attrs, NONE)) == 2


def test_classes_do_not_suppress_each_other_and_unknown_ones_go() -> None:
    found = dets([(0, 0, 4, 4, 0.9, 1), (0, 0, 4, 4, 0.8, 0), (0, 0, 4, 4, 0.7, 2)])
    got = cluster(found, [ClassAttrs(), ClassAttrs()], NMS)
    assert got.class_ids.tolist() == [0, 1]


def test_nothing_found() -> None:
    assert len(cluster(Detections.empty(), [ClassAttrs()], NMS)) == 0
    assert len(cluster(dets([(0, 0, 1, 1, 0.1, 0)]), [ClassAttrs()], NMS)) == 0
