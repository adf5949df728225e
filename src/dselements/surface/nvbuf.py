"""NvBufSurface: where NVIDIA's elements keep the pixels of ``memory:NVMM`` buffers.

Mapping such a buffer gives the struct itself, not pixels. Places are facts of nvbufsurface.h as
DeepStream 6.x, 8.0 and 9.1 ship it; which family it is shows in the struct's size.
"""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from typing import NamedTuple

from ..errors import SurfaceError, UnsupportedLayoutError
from .format import VideoFormat

__all__ = ["FAMILIES", "Family", "MemType", "NvFrame", "NvSurface"]


class Family(NamedTuple):
    """Sizes of one SDK family's structs; the fields that are read have the same places in all."""

    name: str
    struct_size: int
    """Bytes of NvBufSurface."""
    params_size: int
    """Bytes of NvBufSurfaceParams, one for each frame."""


FAMILIES = (Family("6.x", 64, 384), Family("7.x to 9.x", 72, 416))

_HEAD = struct.Struct("<IIIBxxxIxxxxQ")
"""gpuId, batchSize, numFilled, isContiguous, memType, surfaceList."""
_PARAMS = struct.Struct("<IIIIIxxxxQIxxxxQ")
"""width, height, pitch, colorFormat, layout, bufferDesc, dataSize, dataPtr."""
_PLANES = struct.Struct("<I4I4I4I4I4I4I")
"""num_planes, then width, height, pitch, offset, psize and bytesPerPix of up to 4 planes."""
_PLANES_AT = 48
_MAX_BATCH = 4096


class MemType:
    """NvBufSurfaceMemType."""

    DEFAULT = 0
    CUDA_PINNED = 1
    CUDA_DEVICE = 2
    CUDA_UNIFIED = 3
    SURFACE_ARRAY = 4
    HANDLE = 5
    SYSTEM = 6


_MEM_NAMES = {
    MemType.SURFACE_ARRAY: "a Jetson surface array",
    MemType.HANDLE: "a Jetson handle",
    7: "a Jetson CUDA array",
}

TO_DEVICE = "insert nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA before this element"
"""How to mend the format of an NVMM frame."""
TO_SYSTEM = (
    "insert nvvideoconvert nvbuf-memory-type=nvbuf-mem-cuda-unified ! "
    "video/x-raw(memory:NVMM),format=RGBA before this element; on Jetson nvvidconv ! video/x-raw"
)

# NvBufSurfaceColorFormat (the same numbers in 6.x to 9.1) that have 8 bits a sample:
# GStreamer's name, colour matrix (empty where the name does not say) and full range.
_COLORS: dict[int, tuple[str, str, bool]] = {
    1: ("GRAY8", "", False), 88: ("GRAY8", "", True),
    2: ("I420", "bt601", False), 3: ("YV12", "bt601", False),
    4: ("I420", "bt601", True), 5: ("YV12", "bt601", True),
    6: ("NV12", "bt601", False), 7: ("NV12", "bt601", True),
    8: ("NV21", "bt601", False), 9: ("NV21", "bt601", True),
    31: ("I420", "bt709", False), 32: ("I420", "bt709", True),
    33: ("NV12", "bt709", False), 34: ("NV12", "bt709", True),
    35: ("I420", "bt2020", False), 36: ("NV12", "bt2020", False),
    19: ("RGBA", "", False), 20: ("BGRA", "", False), 21: ("ARGB", "", False),
    22: ("ABGR", "", False), 23: ("RGBx", "", False), 24: ("BGRx", "", False),
    25: ("xRGB", "", False), 26: ("xBGR", "", False),
    27: ("RGB", "", False), 28: ("BGR", "", False),
}  # fmt: skip


class NvFrame(NamedTuple):
    """One frame of an NvBufSurface."""

    address: int
    """Of its pixels."""
    format: VideoFormat


class NvSurface:
    """Reads an NvBufSurface.

    :param address: of the struct; the caller keeps it mapped.
    :param size: bytes that are mapped there.
    :raises UnsupportedLayoutError: for a size that no known SDK has.
    :raises SurfaceError: if it describes nothing that could be a batch.
    """

    def __init__(self, address: int, size: int) -> None:
        family = next((f for f in FAMILIES if f.struct_size == size), None)
        if family is None:
            raise UnsupportedLayoutError(
                f"an NvBufSurface of {size} bytes is of no known SDK",
                hint="known: " + ", ".join(f"{f.struct_size} bytes ({f.name})" for f in FAMILIES),
            )
        self.family = family
        head = _HEAD.unpack(ctypes.string_at(address, _HEAD.size))
        self.gpu_id, self.batch_size, self.num_filled, _, self.mem_type, self._list = head
        if not self._list or not 0 < self.batch_size <= _MAX_BATCH:
            raise SurfaceError(
                f"the buffer's NvBufSurface has {self.batch_size} frames at {self._list:#x}",
                hint="is it made by one of NVIDIA's elements?",
            )

    def frame(self, index: int) -> NvFrame:
        """Place and format of one frame.

        :raises SurfaceError: if there is no such frame, or its memory or format is one that
            CUDA's address space does not show as rows of bytes.
        """
        if not 0 <= index < self.batch_size:
            raise SurfaceError(
                f"batch_id {index} is beyond the buffer's {self.batch_size} NVMM frames"
            )
        if self.mem_type in _MEM_NAMES:
            raise SurfaceError(
                f"the frame lies in {_MEM_NAMES[self.mem_type]}, which has no CUDA address",
                hint=TO_SYSTEM,
            )
        at = self._list + index * self.family.params_size
        raw = ctypes.string_at(at, _PLANES_AT + _PLANES.size)
        width, height, pitch, color, layout, _, size, data = _PARAMS.unpack_from(raw)
        if layout != 0:
            raise SurfaceError("the frame's rows are block-linear, not pitched", hint=TO_DEVICE)
        if not data:
            raise SurfaceError("the NVMM frame has no memory")
        return NvFrame(data, _describe(width, height, pitch, color, size, raw[_PLANES_AT:]))


@lru_cache(maxsize=64)
def _describe(
    width: int, height: int, pitch: int, color: int, size: int, plane_params: bytes
) -> VideoFormat:
    """Format of a frame; the same for all frames of a stream, and so kept."""
    known = _COLORS.get(color)
    if known is None:
        raise SurfaceError(
            f"NVMM frames of colour format {color} (NvBufSurfaceColorFormat) cannot be reached",
            hint=TO_DEVICE,
        )
    name, matrix, full = known
    info = VideoFormat.make(name, width, height)
    n, *planes = _PLANES.unpack(plane_params)
    pitches, offsets = planes[8:12], planes[12:16]
    if n == len(info.planes):
        info = info.with_strides(offsets[:n], pitches[:n])
    elif info.packed:
        info = info.with_strides((0,), (pitch,))
    else:
        raise SurfaceError(f"an NVMM frame of {name} has {n} planes", hint=TO_DEVICE)
    if info.size > size:
        raise SurfaceError(
            f"an NVMM frame of {name} {width}x{height} needs {info.size} bytes, its memory "
            f"has {size}"
        )
    return info._replace(matrix=matrix or info.matrix, full_range=full)
