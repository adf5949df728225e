"""Pixels of frames in system memory, as numpy views without copies."""

from __future__ import annotations

import logging
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import SurfaceError
from .boxes import pixels_of
from .convert import to_rgb, to_rgba
from .format import CONVERT, VideoFormat, planes_of
from .optional import library
from .video_meta import strides_of

__all__ = ["Surface", "SystemSurfaces", "place_of"]

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


def _tell_kept(views: int) -> None:
    log.warning(
        "views of %d frames were kept beyond process(); their memory stays mapped until the "
        "views are gone, and elements downstream must copy it to write: keep array.copy()",
        views,
    )


class Surface:
    """Pixels of one frame.

    ::

        with frame.surface(write=True) as surface:
            surface.array[:10] = 255          # the frame's own memory

    Views are good while the surface is open. After close() the surface itself raises
    SurfaceError. A view that is kept stays valid (it keeps the memory mapped, so that nothing
    reads freed memory), but the frame is then shared: one that is still alive when ``process``
    has returned is logged.

    :param memory: the mapped memory; the surface closes it.
    :param info: format, size and strides of the frame in it.
    :raises SurfaceError: if the memory is smaller than the frame.
    """

    def __init__(
        self,
        memory: _native.MemoryMap,
        info: VideoFormat,
        kept: list[weakref.ref[_Mapped]] | None = None,
        offset: int = 0,
    ) -> None:
        if memory.size < offset + info.size:
            raise SurfaceError(
                f"a frame of {info.format} {info.width}x{info.height} needs {info.size} bytes, "
                f"its memory has {memory.size - offset}",
                hint=f"its planes may be laid out in another way: {CONVERT}",
            )
        self.format = info
        """Format, size, strides and colorimetry."""
        self.width = info.width
        """Pixels."""
        self.height = info.height
        """Pixels."""
        self.writable = memory.writable
        """True if the views can be written."""
        self._kept = kept
        self._mapped: _Mapped | None = _Mapped(memory)
        self._bytes: Pixels | None = np.asarray(self._mapped)[offset:]

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
        """Views of the planes: uint8 (rows, samples) or (rows, samples, channels).

        NV12 and NV21: luma (height, width), chroma (height / 2, width / 2, 2), rounded up; I420
        and YV12: luma and two chroma planes (height / 2, width / 2), in memory order.

        :raises SurfaceError: after close().
        """
        data = self._data()
        return [
            np.ndarray(shape, np.uint8, data, plane.offset, strides)
            for plane, shape, strides in planes_of(self.format)
        ]

    def rows(self, plane: int) -> Pixels | None:
        """View of a plane's whole rows, padding included: uint8 (rows, stride), contiguous.

        None if the memory ends within the last row's padding.
        """
        data = self._data()
        place = self.format.planes[plane]
        end = place.offset + place.stride * place.height
        if end > len(data):
            return None
        return data[place.offset : end].reshape(place.height, place.stride)

    def check_writable(self) -> None:
        """:raises SurfaceError: if the views cannot be written."""
        self._data()
        if not self.writable:
            raise SurfaceError("this surface is read-only", hint="use frame.surface(write=True)")

    @property
    def array(self) -> Pixels:
        """View of a packed format: uint8 (height, width, channels), or (height, width) for GRAY8.

        :raises SurfaceError: after close(), and for planar formats; use :attr:`planes` or
            :meth:`rgb`.
        """
        if not self.format.packed:
            self._data()
            raise SurfaceError(
                f"{self.format.format} has {len(self.format.planes)} planes",
                hint="use planes or rgb()",
            )
        return self.planes[0]

    def rgb(self) -> Pixels:
        """A copy as uint8 (height, width, 3): red, green, blue."""
        return to_rgb(self.planes, self.format)

    def rgba(self) -> Pixels:
        """A copy as uint8 (height, width, 4); alpha is 255 where the format has none."""
        return to_rgba(self.planes, self.format)

    def crop(self, rect: tuple[float, float, float, float]) -> Pixels:
        """View of a box, cut at the frame's borders; packed formats only.

        :param rect: left, top, width, height in pixels; pixels that it touches are in.
        :returns: uint8 (rows, columns, channels); (0, columns) or (rows, 0) if it is outside.
        :raises NonFiniteValueError: for NaN.
        :raises SurfaceError: after close(), and for planar formats.
        """
        rows, columns = pixels_of(rect, self.width, self.height)
        return self.array[rows, columns]

    def torch(self) -> Any:
        """:attr:`array` as a torch.uint8 tensor of the same memory; the surface must be writable.

        :raises SurfaceError: without PyTorch, after close(), and for a read-only surface, as
            PyTorch has no read-only tensors.
        """
        self.check_writable()
        return library("torch").from_numpy(self.array)

    def cupy(self) -> Any:
        """A copy of :attr:`array` in GPU memory as a cupy.ndarray.

        :raises SurfaceError: without CuPy, or after close().
        """
        return library("cupy").asarray(self.array)

    def numpy(self) -> Pixels:
        """A copy of :attr:`array`; it may be kept.

        :raises SurfaceError: after close(), and for planar formats.
        """
        copy: Pixels = self.array.copy()
        return copy

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
        elif self._kept is not None:
            self._kept.append(alive)  # a local of process() dies with it; look again after that
        else:
            _tell_kept(1)

    def __enter__(self) -> Surface:
        self._data()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else ("writable" if self.writable else "read-only")
        return f"<Surface {self.format.format} {self.width}x{self.height} {state}>"


def place_of(batch_id: int, memories: int, size: int) -> tuple[int, int]:
    """Memory of a frame, and where it begins there.

    :param memories: of the buffer.
    :param size: bytes a frame.
    """
    return (0, batch_id * size) if memories == 1 else (batch_id, 0)


class SystemSurfaces:
    """Finds the pixels of a buffer's frames.

    A buffer of several frames has one memory for each, ``batch_id`` is its index; more than 16
    frames, which is what a GstBuffer has room for, lie one after the other in one memory. Strides
    and offsets are GStreamer's defaults unless the buffer's GstVideoMeta gives others.

    :param buffer: address of the GstBuffer; it must outlive this.
    :param info: format and size of every frame, from the caps.
    """

    __slots__ = ("_asked", "_buffer", "_info", "_kept", "_open")

    def __init__(self, buffer: int, info: VideoFormat) -> None:
        self._buffer = buffer
        self._info = info
        self._asked = False
        self._open: list[weakref.ref[Surface]] = []
        self._kept: list[weakref.ref[_Mapped]] = []

    def size(self, batch_id: int) -> tuple[int, int]:
        """Width and height of every frame, pixels."""
        return self._info.width, self._info.height

    def surface(self, frame_row: int, batch_id: int, write: bool) -> Surface:
        """Pixels of one frame.

        :raises SurfaceError: if they cannot be reached, or the frame is shared and cannot be
            written.
        """
        if not self._asked:
            self._read_strides()
        index, offset = place_of(batch_id, _native.buffer_info(self._buffer)[4], self._info.size)
        memory = _native.MemoryMap(self._buffer, index, write)
        surface = Surface(memory, self._info, self._kept, offset)
        self._open.append(weakref.ref(surface))
        return surface

    def _read_strides(self) -> None:
        found = strides_of(self._buffer)
        if found is not None:
            width, height, offsets, strides = found
            if (width, height) != (self._info.width, self._info.height):
                raise SurfaceError(
                    f"the buffer holds {width}x{height} pixels, its caps say "
                    f"{self._info.width}x{self._info.height}",
                    hint=CONVERT,
                )
            self._info = self._info.with_strides(offsets, strides)
        self._asked = True

    def close(self) -> None:
        """Close surfaces that are still open, and log views that were kept."""
        for reference in self._open:
            surface = reference()
            if surface is not None:
                surface.close()
        self._open.clear()
        views = sum(reference() is not None for reference in self._kept)
        self._kept.clear()
        if views:
            _tell_kept(views)
