"""Colour conversion of system memory frames.

OpenCV is used if it is installed, NumPy if not; results differ by at most 1.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .format import VideoFormat

__all__ = ["luma_weights", "opencv", "rgb_to_yuv_values", "to_rgb", "to_rgba"]

Pixels = npt.NDArray[np.uint8]

# Luma weights of red and blue: ITU-R BT.601-7 §2.5.1, BT.709-6 §3.2, BT.2020-2 table 4,
# SMPTE 240M and FCC 73.682(a)(20).
_WEIGHTS = {
    "bt601": (0.299, 0.114),
    "bt709": (0.2126, 0.0722),
    "bt2020": (0.2627, 0.0593),
    "smpte240m": (0.212, 0.087),
    "fcc": (0.30, 0.11),
}


@lru_cache(maxsize=1)
def opencv() -> Any:
    """The cv2 module; None if it is not installed."""
    try:
        return importlib.import_module("cv2")
    except ImportError:
        return None  # NumPy does it, more slowly


def luma_weights(matrix: str) -> tuple[float, float, float]:
    """Weights of red, green and blue in luma for a colour matrix."""
    red, blue = _WEIGHTS[matrix]
    return red, 1.0 - red - blue, blue


def _ranges(info: VideoFormat) -> tuple[float, float, float]:
    """Luma's black level, luma's span and chroma's span, in 8-bit steps."""
    return (0.0, 255.0, 255.0) if info.full_range else (16.0, 219.0, 224.0)


def rgb_to_yuv_values(
    red: float, green: float, blue: float, info: VideoFormat
) -> tuple[float, float, float]:
    """A colour (0 to 1) as Y, Cb, Cr in steps of 8 bits, not rounded."""
    wr, wg, wb = luma_weights(info.matrix)
    black, luma_span, chroma_span = _ranges(info)
    y = wr * red + wg * green + wb * blue
    cb = (blue - y) / (2 * (1 - wb))
    cr = (red - y) / (2 * (1 - wr))
    return black + luma_span * y, 128.0 + chroma_span * cb, 128.0 + chroma_span * cr


def to_rgb(planes: Sequence[Pixels], info: VideoFormat) -> Pixels:
    """A frame as a new uint8 array (height, width, 3): red, green, blue."""
    if info.packed:
        return _pick(planes[0], info.order, "RGB")
    return yuv_to_rgb(*_yuv(planes, info), info)


def to_rgba(planes: Sequence[Pixels], info: VideoFormat) -> Pixels:
    """A frame as a new uint8 array (height, width, 4); alpha is 255 where the format has none."""
    if info.packed and "A" in info.order:
        return _pick(planes[0], info.order, "RGBA")
    rgb = to_rgb(planes, info)
    out = np.empty((*rgb.shape[:2], 4), np.uint8)
    out[..., :3] = rgb
    out[..., 3] = 255
    return out


def _pick(packed: Pixels, order: str, wanted: str) -> Pixels:
    """Bytes of a packed format in another order."""
    out = np.empty((*packed.shape[:2], len(wanted)), np.uint8)
    if order == "Y":
        out[...] = packed[..., None]
        return out
    places = [order.index(c) for c in wanted]
    cv2 = opencv()
    if cv2 is not None:
        cv2.mixChannels([packed], [out], [n for at, i in enumerate(places) for n in (i, at)])
        return out
    for at, i in enumerate(places):
        out[..., at] = packed[..., i]
    return out


def _yuv(planes: Sequence[Pixels], info: VideoFormat) -> tuple[Pixels, Pixels, Pixels]:
    if info.format in ("NV12", "NV21"):
        first, second = planes[1][..., 0], planes[1][..., 1]
    else:
        first, second = planes[1], planes[2]
    if info.format in ("NV21", "YV12"):  # Cr before Cb
        first, second = second, first
    return planes[0], first, second


def yuv_to_rgb(luma: Pixels, u: Pixels, v: Pixels, info: VideoFormat) -> Pixels:
    """4:2:0 planes to RGB by the inverse of the matrix's luma equation; chroma is repeated."""
    wr, wg, wb = luma_weights(info.matrix)
    black, luma_span, chroma_span = _ranges(info)
    gain, chroma = 255.0 / luma_span, 255.0 / chroma_span
    matrix = np.array(
        [
            [gain, 0.0, 2 * (1 - wr) * chroma],
            [gain, -2 * wb * (1 - wb) / wg * chroma, -2 * wr * (1 - wr) / wg * chroma],
            [gain, 2 * (1 - wb) * chroma, 0.0],
        ]
    )
    offset = -matrix @ np.array([black, 128.0, 128.0])
    height, width = luma.shape
    cv2 = opencv()
    if cv2 is not None:
        size = (u.shape[1] * 2, u.shape[0] * 2)
        spread = [
            cv2.resize(np.ascontiguousarray(p), size, interpolation=cv2.INTER_NEAREST)[
                :height, :width
            ]
            for p in (u, v)
        ]
        yuv = cv2.merge([luma, *spread])
        out: Pixels = cv2.transform(yuv, np.column_stack([matrix, offset]))
        return out

    def repeated(plane: Pixels) -> npt.NDArray[np.float32]:
        wide = plane.astype(np.float32)
        return np.repeat(np.repeat(wide, 2, axis=0), 2, axis=1)[:height, :width]

    parts = (luma.astype(np.float32), repeated(u), repeated(v))
    out = np.empty((height, width, 3), np.uint8)
    for channel in range(3):
        total = np.full((height, width), offset[channel] + 0.5, np.float32)
        for weight, part in zip(matrix[channel], parts, strict=True):
            if weight:
                total += np.float32(weight) * part
        out[..., channel] = np.clip(total, 0, 255)
    return out
