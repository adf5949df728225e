"""Pixels of frames: system memory as numpy, NVMM for CUDA libraries."""

from __future__ import annotations

from .device import DeviceArray, DeviceSurface
from .format import VideoFormat
from .nvmm import NvmmSurfaces
from .system import Surface, SystemSurfaces

__all__ = [
    "DeviceArray",
    "DeviceSurface",
    "NvmmSurfaces",
    "Surface",
    "SystemSurfaces",
    "VideoFormat",
]
