"""Which objects stay, and what they are called. Works on columns alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .settings import ClassSet, FilterSettings

__all__ = ["ClassCounts", "keep_mask", "rename"]

Mask = npt.NDArray[np.bool_]


def in_classes(columns: Any, classes: ClassSet) -> Mask:
    """True for objects of these classes, bool (n,)."""
    found = np.zeros(len(columns), bool)
    if classes.ids:
        found |= np.isin(columns.class_id, list(classes.ids))
    if classes.labels:
        for label in classes.labels:
            found |= columns.label == label
    return found


def inside(points: npt.NDArray[np.float64], x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Mask:
    """Points in a polygon by the even-odd rule; its left and top edges belong to it.

    :param points: corners, float64 (n, 2).
    """
    result = np.zeros(len(x), bool)
    x1, y1 = points[-1]
    for x2, y2 in points:
        crosses = (y1 <= y) != (y2 <= y)
        if y1 != y2:
            result ^= crosses & (x >= x1 + (y - y1) * (x2 - x1) / (y2 - y1))
        x1, y1 = x2, y2
    return result


def keep_mask(columns: Any, settings: FilterSettings, sizes: Any) -> Mask:
    """True for the objects that pass all filters, bool (n,).

    :param columns: ``batch.objects``.
    :param sizes: function that gives width and height of each object's frame, float (n, 2);
        called only for a region in fractions.
    """
    with np.errstate(all="ignore"):  # absurd boxes of C elements compare as they may
        return _keep_mask(columns, settings, sizes)


def _keep_mask(columns: Any, settings: FilterSettings, sizes: Any) -> Mask:
    keep: Mask = columns.confidence >= _thresholds(columns, settings)
    if settings.keep:
        keep &= in_classes(columns, settings.keep)
    if settings.drop:
        keep &= ~in_classes(columns, settings.drop)
    if settings.min_width:
        keep &= columns.width >= settings.min_width
    if settings.min_height:
        keep &= columns.height >= settings.min_height
    if settings.max_width:
        keep &= columns.width <= settings.max_width
    if settings.max_height:
        keep &= columns.height <= settings.max_height
    if settings.min_area:
        keep &= columns.area >= settings.min_area
    if settings.region is not None:
        fx, fy = settings.anchor
        x = columns.left.astype(np.float64) + columns.width * fx
        y = columns.top.astype(np.float64) + columns.height * fy
        if settings.region.fractions:
            frame = sizes()
            x, y = x / np.maximum(frame[:, 0], 1), y / np.maximum(frame[:, 1], 1)
        within = inside(settings.region.points, x, y)
        keep &= ~within if settings.region_drop else within
    if settings.rule is not None:
        keep &= settings.rule(columns)
    return keep


def _thresholds(columns: Any, settings: FilterSettings) -> Any:
    # 0 is no threshold: C elements without a confidence of their own write -0.1.
    general = settings.min_confidence or -np.inf
    # In the column's own precision: 0.6 as float32 is not 0.6 as float64.
    if not settings.id_thresholds and not settings.label_thresholds:
        return np.float32(general)
    least = np.full(len(columns), general, np.float32)
    for class_id, value in settings.id_thresholds.items():
        least[columns.class_id == class_id] = value
    for label, value in settings.label_thresholds.items():
        least[columns.label == label] = value
    return least


def rename(columns: Any, settings: FilterSettings) -> None:
    """Give objects their new labels and class ids; each object is renamed at most once."""
    if not settings.relabel:
        return
    class_id, label = columns.class_id.copy(), columns.label.copy()
    for one in settings.relabel:
        hit = class_id == one.class_id if one.class_id is not None else label == one.label
        if not hit.any():
            continue
        if one.new_label is not None:
            columns.label[hit] = one.new_label
        if one.new_class_id is not None:
            columns.class_id[hit] = one.new_class_id


class ClassCounts:
    """Objects found, kept and removed for each label, since the element started."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def add(self, labels: npt.NDArray[Any], class_ids: npt.NDArray[Any], keep: Mask) -> None:
        """Count one batch; an object without a label is counted under its class id."""
        for label, class_id, kept in zip(
            labels.tolist(), class_ids.tolist(), keep.tolist(), strict=True
        ):
            row = self._counts.setdefault(label or str(class_id), [0, 0])
            row[0] += 1
            row[1] += kept

    def table(self) -> dict[str, dict[str, int]]:
        """For each label: found, kept, removed."""
        return {
            label: {"found": found, "kept": kept, "removed": found - kept}
            for label, (found, kept) in list(self._counts.items())
        }
