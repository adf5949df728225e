"""Finds the pixels of a buffer's frames in ``memory:NVMM``."""

from __future__ import annotations

import contextlib
import weakref

from .._core import _native
from ..errors import SurfaceError
from .device import DeviceSurface
from .nvbuf import NvSurface

__all__ = ["NvmmSurfaces"]


class NvmmSurfaces:
    """Surfaces of a buffer's frames: ``batch_id`` is the place in the NvBufSurface.

    :param buffer: address of the GstBuffer; it must outlive this.
    """

    __slots__ = ("_buffer", "_open", "_sizes")

    def __init__(self, buffer: int) -> None:
        self._buffer = buffer
        self._open: list[weakref.ref[DeviceSurface]] = []
        self._sizes: dict[int, tuple[int, int]] = {}

    def size(self, batch_id: int) -> tuple[int, int]:
        """Width and height of a frame, pixels; 0, 0 if it cannot be told."""
        if batch_id not in self._sizes:
            memory = _native.MemoryMap(self._buffer, 0, False)
            try:
                info = NvSurface(memory.address, memory.size).frame(batch_id).format
                self._sizes[batch_id] = info.width, info.height
            except SurfaceError:
                self._sizes[batch_id] = 0, 0  # surface() tells why
            finally:
                memory.close()
        return self._sizes[batch_id]

    def surface(self, frame_row: int, batch_id: int, write: bool) -> DeviceSurface:
        """Pixels of one frame.

        :raises SurfaceError: if they cannot be reached, or the frame is shared and cannot be
            written.
        :raises UnsupportedLayoutError: if the SDK is not known.
        """
        if write and not _native.buffer_is_writable(self._buffer):
            raise SurfaceError(
                "the frame is shared and cannot be written",
                hint="use surface(write=True) inside process(), where the element owns the buffer",
            )
        # Only the struct is read: GStreamer must not copy it, which mapping for writing may do.
        memory = _native.MemoryMap(self._buffer, 0, False)
        try:
            whole = NvSurface(memory.address, memory.size)
            frame = whole.frame(batch_id)
        except BaseException:
            memory.close()
            raise
        if write and self._shares(frame.address, batch_id):
            memory.close()
            raise SurfaceError(
                "the frame's pixels belong to another branch as well and cannot be written",
                hint="behind a tee, insert nvvideoconvert disable-passthrough=true ! "
                "video/x-raw(memory:NVMM),format=RGBA before this element: it gives the branch "
                "pixels of its own",
            )
        surface = DeviceSurface(memory, frame, whole.mem_type, whole.gpu_id, write)
        self._open.append(weakref.ref(surface))
        return surface

    def _shares(self, pixels: int, batch_id: int) -> bool:
        """True if the buffer is a copy that names its original's pixels."""
        for parent in _native.buffer_parents(self._buffer):
            memory = _native.MemoryMap(parent, 0, False)
            try:
                if NvSurface(memory.address, memory.size).frame(batch_id).address == pixels:
                    return True
            except SurfaceError:
                continue  # no NVMM: pixels of its own
            finally:
                memory.close()
        return False

    def close(self) -> None:
        """Close surfaces that are still open."""
        with contextlib.ExitStack() as stack:
            for reference in self._open:
                surface = reference()
                if surface is not None:
                    stack.callback(surface.close)
        self._open.clear()
