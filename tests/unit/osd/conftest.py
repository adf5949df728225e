"""Frames in plain memory, in every format, to draw on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dselements.elements.osd.painter import Painter
from dselements.surface import Surface, VideoFormat
from dselements.surface.convert import rgb_to_yuv_values


class PlainMemory:
    """What Surface needs of a mapped GstMemory, over a numpy array."""

    closed = False

    def __init__(self, data: np.ndarray, writable: bool = True) -> None:
        self.data = data
        self.address = data.ctypes.data
        self.size = data.nbytes
        self.writable = writable

    def close(self) -> None:
        self.closed = True


class Canvas:
    """A frame filled with one colour, and the painter to draw on it."""

    def __init__(self, name: str, width: int, height: int, background: Any = (40, 80, 120)) -> None:
        self.info = VideoFormat.make(name, width, height)
        self.data = np.zeros(self.info.size, np.uint8)
        self.painter = Painter()
        self.background = background
        with self.surface() as surface:
            self._clear(surface)

    def surface(self, writable: bool = True) -> Surface:
        return Surface(PlainMemory(self.data, writable), self.info)  # type: ignore[arg-type]

    def _clear(self, surface: Surface) -> None:
        red, green, blue = self.background
        if self.info.packed:
            parts = {"R": red, "G": green, "B": blue, "A": 255, "x": 17, "Y": 0}
            if self.info.format == "GRAY8":
                surface.array[...] = round(0.299 * red + 0.587 * green + 0.114 * blue)
            else:
                surface.array[...] = [parts[c] for c in self.info.order]
            return
        y, u, v = (
            round(x) for x in rgb_to_yuv_values(red / 255, green / 255, blue / 255, self.info)
        )
        planes = surface.planes
        planes[0][...] = y
        if self.info.format in ("NV12", "NV21"):
            planes[1][...] = (u, v) if self.info.format == "NV12" else (v, u)
        else:
            planes[1][...], planes[2][...] = (u, v) if self.info.format == "I420" else (v, u)

    def draw(self, plan: Any) -> np.ndarray:
        """Draw and return RGB (height, width, 3)."""
        with self.surface() as surface:
            self.painter.draw(surface, plan)
            return surface.rgb()

    def rgba(self) -> np.ndarray:
        with self.surface() as surface:
            return surface.rgba()


@pytest.fixture
def canvas() -> Any:
    return Canvas
