"""Pixels of frames: system memory as numpy."""

from __future__ import annotations

from .format import VideoFormat
from .system import Surface, SystemSurfaces

__all__ = ["Surface", "SystemSurfaces", "VideoFormat"]
