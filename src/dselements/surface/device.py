"""Pixels of frames in GPU memory, shared with PyTorch, CuPy and others without copies."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import SurfaceError
from . import cuda
from .boxes import pixels_of
from .convert import to_rgb, to_rgba
from .format import VideoFormat, planes_of
from .nvbuf import MemType, NvFrame
from .optional import library

__all__ = ["DeviceArray", "DeviceSurface"]

Pixels = npt.NDArray[np.uint8]

# DLDeviceType of DLPack: CPU, CUDA, CUDA host, CUDA managed.
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_MANAGED = 1, 2, 3, 13
_DL_TYPES = {
    MemType.CUDA_PINNED: _DL_CUDA_HOST,
    MemType.CUDA_UNIFIED: _DL_MANAGED,
    MemType.SYSTEM: _DL_CPU,
}


class _Held:
    """The mapped GstMemory; whoever holds this keeps the frame's memory from being used again."""

    __slots__ = ("__weakref__", "map")

    def __init__(self, memory: _native.MemoryMap) -> None:
        self.map = memory


class DeviceArray:
    """A uint8 view of a frame's pixels where they lie, mostly GPU memory.

    Takes part in ``__cuda_array_interface__`` (version 3) and DLPack (1.0 and before), so that
    ``torch.from_dlpack``, ``cupy.from_dlpack``, ``numba.cuda.as_cuda_array`` and CV-CUDA take it
    without a copy. What was made of it stays valid memory for as long as it lives, but belongs
    to the frame: after ``process`` its pixels may be anything. The view itself raises
    SurfaceError once its surface is closed.
    """

    __slots__ = ("_address", "_surface", "shape", "strides")

    def __init__(
        self,
        surface: DeviceSurface,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> None:
        self._surface = surface
        self._address = address
        self.shape = shape
        """Rows, columns and, for interleaved samples, channels."""
        self.strides = strides
        """Bytes; rows are padded to the surface's pitch."""

    dtype = np.dtype(np.uint8)
    """Always uint8."""

    @property
    def ndim(self) -> int:
        """Dimensions."""
        return len(self.shape)

    @property
    def device(self) -> tuple[int, int]:
        """DLPack's device type and number: (2, gpu) for CUDA memory, (1, 0) for the host's."""
        kind = self._surface.device_type
        return kind, 0 if kind == _DL_CPU else self._surface.gpu_id

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        held = self._surface.exported()
        if self._surface.device_type == _DL_CPU:
            raise AttributeError("the frame lies in the host's memory: use numpy()")
        del held
        return {
            "shape": self.shape,
            "strides": self.strides,
            "typestr": "|u1",
            "data": (self._address, not self._surface.writable),
            "version": 3,
            # NVIDIA's elements hand a buffer on when its pixels are there: nothing to wait for.
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule of the same memory.

        :param stream: the consumer's; the pixels are there already, so that it need not wait.
        :raises BufferError: if another device or a copy is asked for.
        """
        if copy or (dl_device is not None and tuple(map(int, dl_device)) != self.device):
            raise BufferError("a frame is shared in place; copy it with torch or cupy")
        held = self._surface.exported()
        modern = max_version is not None and max_version[0] >= 1
        kind, number = self.device
        return _native.dlpack_capsule(
            self._address, self.shape, self.strides, kind, number, held,
            not self._surface.writable, modern,
        )  # fmt: skip

    def torch(self) -> Any:
        """A torch.uint8 tensor of the same memory; do not write it if the surface is read-only.

        :raises SurfaceError: without PyTorch, or after the surface was closed.
        """
        return library("torch").from_dlpack(_Unversioned(self))

    def cupy(self) -> Any:
        """A cupy.ndarray of the same memory; do not write it if the surface is read-only.

        :raises SurfaceError: without CuPy, or after the surface was closed.
        """
        return library("cupy").from_dlpack(_Unversioned(self))

    def numpy(self) -> Pixels:
        """A copy in host memory.

        :raises SurfaceError: after the surface was closed, or if CUDA fails.
        """
        surface = self._surface
        surface.check_open()
        rows, row = self.shape[0], self.shape[1:]
        packed = math.prod(row)
        out: Pixels = np.empty(self.shape, np.uint8)
        if not out.size:
            return out
        if surface.device_type == _DL_CPU:
            for y in range(rows):
                line = _native.read_memory(self._address + y * self.strides[0], packed)
                out[y] = np.frombuffer(line, np.uint8).reshape(row)
        else:
            cuda.copy_to_host(
                surface.gpu_id, self._address, self.strides[0], out.ctypes.data, packed, rows
            )
        return out

    def __repr__(self) -> str:
        return f"<DeviceArray {'x'.join(map(str, self.shape))} uint8 on {self.device}>"


class _Unversioned:
    """Shows the older capsule, which cannot say read-only: PyTorch and CuPy refuse such."""

    def __init__(self, array: DeviceArray) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.device

    def __dlpack__(self, **options: Any) -> object:
        return self._array.__dlpack__(stream=options.get("stream"))


class DeviceSurface:
    """Pixels of one frame in NVMM; the same interface as :class:`~dselements.surface.Surface`.

    ::

        with frame.surface(write=True) as surface:
            surface.torch()[:10] = 255          # the frame's own memory

    Closing waits for the GPU if pixels were handed out, as the next element may read the frame on
    another stream. :meth:`used_on` makes it wait for the streams that you used alone.

    :param memory: the mapped NvBufSurface; the surface closes it.
    :param frame: where the frame lies in it.
    :param mem_type: NvBufSurfaceMemType.
    """

    def __init__(
        self,
        memory: _native.MemoryMap,
        frame: NvFrame,
        mem_type: int,
        gpu_id: int,
        writable: bool,
    ) -> None:
        self.format: VideoFormat = frame.format
        """Format, size, pitches and colorimetry."""
        self.width = frame.format.width
        """Pixels."""
        self.height = frame.format.height
        """Pixels."""
        self.writable = writable
        """True if the pixels may be written."""
        self.gpu_id = gpu_id
        """CUDA device number."""
        self.mem_type = mem_type
        """NvBufSurfaceMemType."""
        self.device_type = _DL_TYPES.get(mem_type, _DL_CUDA)
        """DLDeviceType."""
        self._address = frame.address
        self._held: _Held | None = _Held(memory)
        self._used = False
        self._streams: set[int] | None = None

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._held is None

    def check_open(self) -> _Held:
        """:raises SurfaceError: after close()."""
        if self._held is None:
            raise SurfaceError("this surface was closed", hint="use it inside its with block")
        return self._held

    def check_writable(self) -> None:
        """:raises SurfaceError: if the pixels must not be written."""
        self.check_open()
        if not self.writable:
            raise SurfaceError("this surface is read-only", hint="use frame.surface(write=True)")

    def exported(self) -> _Held:
        """Note that pixels were handed out; what keeps them alive."""
        held = self.check_open()
        self._used = True
        return held

    def used_on(self, stream: Any) -> None:
        """Wait for this CUDA stream at close(), and not for all of the GPU.

        :param stream: a handle (int), a torch.cuda.Stream or a cupy.cuda.Stream.
        """
        for attribute in ("cuda_stream", "ptr"):
            stream = getattr(stream, attribute, stream)
        if not isinstance(stream, int):
            raise TypeError(f"a CUDA stream is a handle or has one, not {stream!r}")
        self._streams = (self._streams or set()) | {stream}

    @property
    def planes(self) -> list[DeviceArray]:
        """Views of the planes, shaped as :attr:`~dselements.surface.Surface.planes`.

        :raises SurfaceError: after close().
        """
        self.check_open()
        return [
            DeviceArray(self, self._address + plane.offset, shape, strides)
            for plane, shape, strides in planes_of(self.format)
        ]

    @property
    def array(self) -> DeviceArray:
        """View of a packed format: (height, width, channels), or (height, width) for GRAY8.

        :raises SurfaceError: after close(), and for planar formats; use :attr:`planes`.
        """
        self.check_open()
        if not self.format.packed:
            raise SurfaceError(
                f"{self.format.format} has {len(self.format.planes)} planes",
                hint="use planes, rgb(), or nvvideoconvert ! "
                "video/x-raw(memory:NVMM),format=RGBA before this element",
            )
        return self.planes[0]

    def torch(self) -> Any:
        """:attr:`array` as a torch.uint8 tensor, without a copy."""
        return self.array.torch()

    def cupy(self) -> Any:
        """:attr:`array` as a cupy.ndarray, without a copy."""
        return self.array.cupy()

    def numpy(self) -> Pixels:
        """A copy of :attr:`array` in host memory."""
        return self.array.numpy()

    def rgb(self) -> Pixels:
        """A copy in host memory as uint8 (height, width, 3): red, green, blue."""
        return to_rgb([plane.numpy() for plane in self.planes], self.format)

    def rgba(self) -> Pixels:
        """A copy in host memory as uint8 (height, width, 4); alpha is 255 where there is none."""
        return to_rgba([plane.numpy() for plane in self.planes], self.format)

    def crop(self, rect: tuple[float, float, float, float]) -> DeviceArray:
        """View of a box, cut at the frame's borders; packed formats only.

        :param rect: left, top, width, height in pixels; pixels that it touches are in.
        :returns: (rows, columns, channels); (0, columns) or (rows, 0) if it is outside.
        :raises NonFiniteValueError: for NaN.
        :raises SurfaceError: after close(), and for planar formats.
        """
        whole = self.array
        rows, columns = pixels_of(rect, self.width, self.height)
        at = self._address + rows.start * whole.strides[0] + columns.start * whole.strides[1]
        shape = (rows.stop - rows.start, columns.stop - columns.start, *whole.shape[2:])
        return DeviceArray(self, at, shape, whole.strides)

    def close(self) -> None:
        """Wait for work on the pixels, and give the memory back. Safe to call again.

        :raises SurfaceError: if that work has failed on the GPU.
        """
        held, self._held = self._held, None
        if held is None:
            return
        try:
            if self._used and self.device_type != _DL_CPU:
                if self._streams is None:
                    cuda.synchronize(self.gpu_id)
                else:
                    for stream in self._streams:
                        cuda.synchronize(self.gpu_id, stream)
        finally:
            alive = weakref.ref(held)
            memory = held.map
            del held
            if alive() is None:
                memory.close()

    def __enter__(self) -> DeviceSurface:
        self.check_open()
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else ("writable" if self.writable else "read-only")
        return (
            f"<DeviceSurface {self.format.format} {self.width}x{self.height} {state}, "
            f"GPU {self.gpu_id}>"
        )
