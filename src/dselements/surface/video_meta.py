"""Strides and offsets that a buffer's own GstVideoMeta gives, by its address.

Decoders and capture elements pad rows; they say so in GstVideoMeta (gst/video/gstvideometa.h).
Its public fields have the same places in every GStreamer 1.x.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

__all__ = ["strides_of"]

_MAX_PLANES = 4


class _VideoMeta(ctypes.Structure):
    _fields_ = (
        ("meta_flags", ctypes.c_uint),
        ("meta_info", ctypes.c_void_p),
        ("buffer", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("format", ctypes.c_int),
        ("id", ctypes.c_int),
        ("width", ctypes.c_uint),
        ("height", ctypes.c_uint),
        ("n_planes", ctypes.c_uint),
        ("offset", ctypes.c_size_t * _MAX_PLANES),
        ("stride", ctypes.c_int * _MAX_PLANES),
    )


@lru_cache(maxsize=1)
def _finder() -> Any:
    try:
        library = ctypes.CDLL("libgstvideo-1.0.so.0")
    except OSError:
        return None  # no video library in this process: nobody can have added such a meta
    find = library.gst_buffer_get_video_meta
    find.restype = ctypes.POINTER(_VideoMeta)
    find.argtypes = (ctypes.c_void_p,)
    return find


def strides_of(buffer: int) -> tuple[int, int, tuple[int, ...], tuple[int, ...]] | None:
    """Width, height, plane offsets and strides (bytes) of a GstBuffer; None without such a meta."""
    find = _finder()
    if find is None or not buffer:
        return None
    found = find(buffer)
    if not found:
        return None
    meta = found.contents
    n = min(meta.n_planes, _MAX_PLANES)
    return meta.width, meta.height, tuple(meta.offset[:n]), tuple(meta.stride[:n])
