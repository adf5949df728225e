"""The few calls of the CUDA driver that surfaces need: wait, and copy to the host.

The driver (libcuda.so.1) is there wherever NVMM frames are; no CUDA toolkit is needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ..errors import SurfaceError

__all__ = ["copy_to_host", "synchronize"]

_MEM_HOST, _MEM_UNIFIED = 1, 4  # CUmemorytype


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D of cuda.h."""

    _fields_ = (
        ("src_x", ctypes.c_size_t),
        ("src_y", ctypes.c_size_t),
        ("src_type", ctypes.c_uint),
        ("src_host", ctypes.c_void_p),
        ("src_device", ctypes.c_uint64),
        ("src_array", ctypes.c_void_p),
        ("src_pitch", ctypes.c_size_t),
        ("dst_x", ctypes.c_size_t),
        ("dst_y", ctypes.c_size_t),
        ("dst_type", ctypes.c_uint),
        ("dst_host", ctypes.c_void_p),
        ("dst_device", ctypes.c_uint64),
        ("dst_array", ctypes.c_void_p),
        ("dst_pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


@lru_cache(maxsize=1)
def _driver() -> Any:
    try:
        # CDLL lets the GIL go while a call waits.
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise SurfaceError(
            f"CUDA's driver cannot be loaded: {error}",
            hint="NVMM frames need an NVIDIA driver; see dselements doctor",
        ) from error
    _check(driver, driver.cuInit(0), "cuInit")
    return driver


def _check(driver: Any, code: int, doing: str) -> None:
    if code == 0:
        return
    name = ctypes.c_char_p()
    driver.cuGetErrorName(code, ctypes.byref(name))
    text = name.value.decode() if name.value else str(code)
    raise SurfaceError(
        f"{doing} failed with {text}",
        hint="an earlier kernel may have failed: run with CUDA_LAUNCH_BLOCKING=1",
    )


@lru_cache(maxsize=16)
def _context(gpu: int) -> ctypes.c_void_p:
    """The device's primary context, kept for the process's life as CUDA's runtime does."""
    driver = _driver()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check(driver, driver.cuDeviceGet(ctypes.byref(device), gpu), f"finding GPU {gpu}")
    _check(
        driver,
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
        f"the context of GPU {gpu}",
    )
    return context


@contextmanager
def _current(gpu: int) -> Iterator[Any]:
    driver = _driver()
    _check(driver, driver.cuCtxPushCurrent_v2(_context(gpu)), "cuCtxPushCurrent")
    try:
        yield driver
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def synchronize(gpu: int, stream: int | None = None) -> None:
    """Wait for a stream (its handle), or for all work on the GPU.

    :raises SurfaceError: if work that was waited for has failed.
    """
    with _current(gpu) as driver:
        if stream is None:
            _check(driver, driver.cuCtxSynchronize(), "waiting for the GPU")
        else:
            _check(
                driver,
                driver.cuStreamSynchronize(ctypes.c_void_p(stream)),
                "waiting for a CUDA stream",
            )


def copy_to_host(gpu: int, source: int, pitch: int, target: int, width: int, height: int) -> None:
    """Copy rows from an address that CUDA knows to packed rows of host memory, and wait.

    :param pitch: bytes from one row of the source to the next.
    :param width: bytes a row.
    """
    copy = _Copy2D(
        src_type=_MEM_UNIFIED, src_device=source, src_pitch=pitch,
        dst_type=_MEM_HOST, dst_host=target, dst_pitch=width, width=width, height=height,
    )  # fmt: skip
    with _current(gpu) as driver:
        _check(driver, driver.cuMemcpy2D_v2(ctypes.byref(copy)), "copying a frame to the host")
