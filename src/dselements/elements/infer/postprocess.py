"""Boxes of the network's input to boxes of the frame, and nvinfer's filters on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .detections import Detections
from .preprocess import Placement
from .settings import ClassAttrs

# A box that a parser clipped to the network's border may end this much outside the frame after
# scaling in float32. nvinfer drops such a box for rounding alone; we do not.
ROUNDING = 0.01


class FrameMapper:
    """Maps and filters one frame's detections.

    :param attrs: attributes of each class id.
    :param filter_out: class ids that are left out.
    :param crop_to_roi: cut boxes at the offsets instead of dropping them.
    """

    def __init__(
        self, attrs: Sequence[ClassAttrs], filter_out: frozenset[int], crop_to_roi: bool
    ) -> None:
        def column(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            return np.array([getattr(item, name) for item in attrs], np.float64)

        self._min_w, self._min_h = column("detected_min_w"), column("detected_min_h")
        self._max_w = np.where((w := column("detected_max_w")) > 0, w, np.inf)
        self._max_h = np.where((h := column("detected_max_h")) > 0, h, np.inf)
        self._top, self._bottom = column("roi_top_offset"), column("roi_bottom_offset")
        self._keep = np.array([i not in filter_out for i in range(len(attrs))], np.bool_)
        self._crop = crop_to_roi

    def __call__(
        self, found: Detections, placement: Placement, frame: tuple[int, int]
    ) -> Detections:
        """Detections in pixels of the frame.

        Left and top are ``(network - offset) / ratio + crop`` and at least 0 (width and height are
        not changed by that, as in nvinfer). Then filter-out-class-ids, smallest and largest size,
        and the offsets at the frame's top and bottom.

        :param frame: width and height in pixels.
        """
        if not len(found):
            return found
        ids = found.class_ids
        boxes = found.boxes.astype(np.float64)
        boxes[:, 0] = (boxes[:, 0] - placement.offset[0]) / placement.ratio[0] + placement.crop[0]
        boxes[:, 1] = (boxes[:, 1] - placement.offset[1]) / placement.ratio[1] + placement.crop[1]
        boxes[:, 2] /= placement.ratio[0]
        boxes[:, 3] /= placement.ratio[1]
        np.maximum(boxes[:, :2], 0.0, out=boxes[:, :2])
        width, height = boxes[:, 2], boxes[:, 3]
        good = (
            self._keep[ids]
            & (width >= self._min_w[ids])
            & (height >= self._min_h[ids])
            & (width <= self._max_w[ids])
            & (height <= self._max_h[ids])
        )
        limit = frame[1] - self._bottom[ids]
        if self._crop:
            # As in nvinfer: the top moves down first and the height stays; then far sides are cut.
            np.maximum(boxes[:, 1], self._top[ids], out=boxes[:, 1])
            np.minimum(width, frame[0] - boxes[:, 0], out=width)
            np.minimum(height, limit - boxes[:, 1], out=height)
            good &= (width >= 0) & (height >= 0)
        else:
            good &= (boxes[:, 1] >= self._top[ids]) & (boxes[:, 1] + height <= limit + ROUNDING)
        mapped = Detections(boxes.astype(np.float32), found.scores, ids)
        return mapped.take(np.flatnonzero(good))
