"""Colour conversion of system memory frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .format import VideoFormat

__all__ = ["to_rgb"]

Pixels = npt.NDArray[np.uint8]

# Luma weights of red and blue: ITU-R BT.601-7 §2.5.1 and BT.709-6 §3.2.
_WEIGHTS = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}


def to_rgb(planes: Sequence[Pixels], info: VideoFormat) -> Pixels:
    """A frame as a new uint8 array (height, width, 3): red, green, blue."""
    if info.packed:
        if info.format == "GRAY8":
            return np.repeat(planes[0][..., None], 3, axis=2)
        order = info.order
        return np.ascontiguousarray(planes[0][..., [order.index(c) for c in "RGB"]])
    luma = planes[0]
    if info.format in ("NV12", "NV21"):
        u, v = planes[1][..., 0], planes[1][..., 1]
        if info.format == "NV21":
            u, v = v, u
    else:
        u, v = planes[1], planes[2]
        if info.format == "YV12":
            u, v = v, u
    return yuv_to_rgb(luma, u, v, info)


def yuv_to_rgb(luma: Pixels, u: Pixels, v: Pixels, info: VideoFormat) -> Pixels:
    """4:2:0 planes to RGB by the inverse of the matrix's luma equation; chroma is repeated."""
    red_w, blue_w = _WEIGHTS[info.matrix]
    green_w = 1.0 - red_w - blue_w
    if info.full_range:
        y = luma.astype(np.float32)
        scale = np.float32(1.0)
    else:
        y = (luma.astype(np.float32) - 16.0) * np.float32(255.0 / 219.0)
        scale = np.float32(255.0 / 224.0)
    height, width = luma.shape

    def spread(plane: Pixels) -> npt.NDArray[Any]:
        centred = (plane.astype(np.float32) - 128.0) * scale
        return np.repeat(np.repeat(centred, 2, axis=0), 2, axis=1)[:height, :width]

    cb, cr = spread(u), spread(v)
    out = np.empty((height, width, 3), np.uint8)
    red = y + 2 * (1 - red_w) * cr
    blue = y + 2 * (1 - blue_w) * cb
    green = (
        y
        - (2 * red_w * (1 - red_w) / green_w) * cr
        - (2 * blue_w * (1 - blue_w) / green_w) * cb
    )
    for index, plane in enumerate((red, green, blue)):
        out[..., index] = np.clip(plane + 0.5, 0, 255)
    return out
