"""nvinfer's clustering: NMS per class (mode 2) and none (mode 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .detections import Detections, Floats
from .settings import ClassAttrs

NMS, NONE = 2, 4


def iou_with(box: Floats, boxes: Floats) -> Floats:
    """Intersection over union of one box [4] with boxes [n, 4], all left, top, width, height.

    float32 throughout, as nvinfer computes it; 0 where both boxes are empty.
    """
    right, bottom = box[0] + box[2], box[1] + box[3]
    rights, bottoms = boxes[:, 0] + boxes[:, 2], boxes[:, 1] + boxes[:, 3]
    width = np.minimum(right, rights) - np.maximum(box[0], boxes[:, 0])
    height = np.minimum(bottom, bottoms) - np.maximum(box[1], boxes[:, 1])
    overlap = np.maximum(width, np.float32(0)) * np.maximum(height, np.float32(0))
    union = box[2] * box[3] + boxes[:, 2] * boxes[:, 3] - overlap
    out: Floats = np.zeros_like(overlap)
    np.divide(overlap, union, out=out, where=union != 0)
    return out


def nms(boxes: Floats, scores: Floats, iou_threshold: float) -> npt.NDArray[np.intp]:
    """Rows that greedy non-maximum suppression keeps, best first.

    :param boxes: [n, 4] left, top, width, height.
    :param scores: [n]; equal scores keep their order.
    :param iou_threshold: a box stays if its IoU with every better kept one is at most this.
    """
    order = np.argsort(-scores, kind="stable")
    threshold = np.float32(iou_threshold)
    kept: list[Any] = []
    while len(order):
        best = order[0]
        kept.append(best)
        order = order[1:]
        if len(order):
            order = order[iou_with(boxes[best], boxes[order]) <= threshold]
    return np.array(kept, dtype=np.intp)


def cluster(found: Detections, attrs: Sequence[ClassAttrs], mode: int) -> Detections:
    """Threshold, suppress and cut detections, class after class in order of class ids.

    Classes from ``len(attrs)`` on are dropped. Kept before clustering: confidence at least
    ``pre_cluster_threshold``. Mode NMS then keeps confidence greater than
    ``post_cluster_threshold``; mode NONE leaves that threshold out, as nvinfer does. ``topk`` keeps
    the best, stably.
    """
    if not len(found):
        return found
    thresholds = np.array([item.pre_cluster_threshold for item in attrs], np.float32)
    found = found.take(np.flatnonzero(found.class_ids < len(attrs)))
    found = found.take(np.flatnonzero(found.scores >= thresholds[found.class_ids]))
    parts: list[npt.NDArray[np.intp]] = []
    for class_id in np.unique(found.class_ids):
        item = attrs[class_id]
        rows = np.flatnonzero(found.class_ids == class_id)
        if mode == NMS:
            rows = rows[nms(found.boxes[rows], found.scores[rows], item.nms_iou_threshold)]
            rows = rows[found.scores[rows] > np.float32(item.post_cluster_threshold)]
        if item.topk >= 0:
            rows = rows[np.argsort(-found.scores[rows], kind="stable")[: item.topk]]
        parts.append(rows)
    return found.take(np.concatenate(parts)) if parts else Detections.empty()
