"""Pixels of frames in system memory, as numpy views without copies."""

from __future__ import annotations

import logging
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import SurfaceError
from .convert import to_rgb
from .format import VideoFormat

__all__ = ["Surface", "SystemSurfaces"]

log = logging.getLogger("dselements.surface")

Pixels = npt.NDArray[np.uint8]


class _Mapped:
    """Owns one memory map; numpy keeps it alive for as long as a view lives."""

    __slots__ = ("__array_interface__", "__weakref__", "map")

    def __init__(self, memory: _native.MemoryMap) -> None:
        self.map = memory
        self.__array_interface__ = {
            "shape": (memory.size,),
            "typestr": "|u1",
            "data": (memory.address, not memory.writable),
            "version": 3,
        }


class Surface:
    """Pixels of one frame.

    ::

        with frame.surface(write=True) as surface:
            surface.array[:10] = 255          # the frame's own memory

    Views must not be kept beyond ``with``: they would hold the frame's memory, and elements
    downstream could not write to it. One that is kept stays valid (it keeps the memory mapped)
    and is logged.
    """

    def __init__(self, memory: _native.MemoryMap, info: VideoFormat) -> None:
        if memory.size < info.size:
            raise SurfaceError(
                f"a frame of {info.format} {info.width}x{info.height} needs {info.size} bytes, "
                f"its memory has {memory.size}",
                hint="its rows may be padded in another way: insert videoconvert",
            )
        self.format = info.format
        self.width = info.width
        self.height = info.height
        self.info = info
        self.writable = memory.writable
        self._mapped: _Mapped | None = _Mapped(memory)
        self._bytes: Pixels | None = np.asarray(self._mapped)

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._mapped is None

    def _data(self) -> Pixels:
        if self._bytes is None:
            raise SurfaceError("this surface was closed", hint="use it inside its with block")
        return self._bytes

    @property
    def planes(self) -> list[Pixels]:
        """Views of the planes: uint8 (rows, samples) or (rows, samples, channels)."""
        data = self._data()
        views = []
        for plane in self.info.planes:
            shape: tuple[int, ...] = (plane.height, plane.width)
            strides: tuple[int, ...] = (plane.stride, plane.channels)
            if plane.channels > 1:
                shape, strides = (*shape, plane.channels), (*strides, 1)
            views.append(
                np.lib.stride_tricks.as_strided(
                    data[plane.offset :], shape, strides, writeable=self.writable
                )
            )
        return views

    @property
    def array(self) -> Pixels:
        """View of a packed format: uint8 (height, width, channels), or (height, width) for GRAY8.

        :raises SurfaceError: for planar formats; use :attr:`planes` or :meth:`rgb`.
        """
        if not self.info.packed:
            self._data()
            raise SurfaceError(
                f"{self.format} has {len(self.info.planes)} planes", hint="use planes or rgb()"
            )
        return self.planes[0]

    def rgb(self) -> Pixels:
        """A copy as uint8 (height, width, 3): red, green, blue."""
        return to_rgb(self.planes, self.info)

    def rgba(self) -> Pixels:
        """A copy as uint8 (height, width, 4); alpha is 255 where the format has none."""
        out = np.empty((self.height, self.width, 4), np.uint8)
        out[..., :3] = self.rgb()
        at = self.info.order.find("A")
        out[..., 3] = self.array[..., at] if at >= 0 else 255
        return out

    def crop(self, left: float, top: float, width: float, height: float) -> Pixels:
        """View of a box (pixels), cut at the frame's borders; packed formats only."""
        x0, y0 = max(int(left), 0), max(int(top), 0)
        x1 = min(int(np.ceil(left + width)), self.width)
        y1 = min(int(np.ceil(top + height)), self.height)
        return self.array[y0 : max(y1, y0), x0 : max(x1, x0)]

    def close(self) -> None:
        """Give the memory back. Safe to call again."""
        mapped, self._mapped, self._bytes = self._mapped, None, None
        if mapped is None:
            return
        memory = mapped.map
        alive = weakref.ref(mapped)
        del mapped
        if alive() is None:
            memory.close()
        else:
            log.warning(
                "a view of a frame was kept beyond its surface; its memory stays mapped until "
                "the view is gone: copy what you keep"
            )

    def __enter__(self) -> Surface:
        self._data()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else ("writable" if self.writable else "read-only")
        return f"<Surface {self.format} {self.width}x{self.height} {state}>"


class SystemSurfaces:
    """Finds the pixels of a buffer's frames.

    A buffer with several memories has one for each frame, ``batch_id`` is its index; a buffer
    of one frame may have any number of memories' worth of pixels in its first.
    """

    __slots__ = ("_buffer", "_info", "_open")

    def __init__(self, buffer: int, info: VideoFormat) -> None:
        self._buffer = buffer
        self._info = info
        self._open: list[weakref.ref[Surface]] = []

    def size(self, batch_id: int) -> tuple[int, int]:
        """Width and height of every frame, pixels."""
        return self._info.width, self._info.height

    def surface(self, frame_row: int, batch_id: int, write: bool) -> Surface:
        """Pixels of one frame. :raises SurfaceError: if they cannot be reached or written."""
        memory = _native.MemoryMap(self._buffer, batch_id, write)
        surface = Surface(memory, self._info)
        self._open.append(weakref.ref(surface))
        return surface

    def close(self) -> None:
        """Close surfaces that are still open."""
        for reference in self._open:
            surface = reference()
            if surface is not None:
                surface.close()
        self._open.clear()
