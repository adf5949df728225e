"""A frame's memory as cairo contexts, for every format.

Packed formats of four bytes are cairo's own (ARGB32, which is BGRA in memory): for RGBA the
colours are swapped, for ARGB and ABGR the bytes are reversed before and after. Formats of three
bytes go through a copy. A plane of 8-bit samples is an A8 surface; a sample is set to ``v`` where
coverage is ``c`` by cairo's SOURCE operator with alpha ``v``, and for a colour of opacity ``a`` by
two: DEST_OUT with ``a`` and ADD with ``a * v``. NV12's chroma is split into two planes and joined
again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import SurfaceError
from ...surface import Surface, VideoFormat
from ...surface.convert import opencv, rgb_to_yuv_values
from ...surface.format import CONVERT
from .shapes import Color

__all__ = ["Layer", "Layers"]

Pixels = npt.NDArray[np.uint8]
Pass = tuple[Any, float, float, float, float]
"""Cairo operator and source colour."""


class Layer:
    """One cairo surface that shapes are painted on."""

    __slots__ = ("_make", "half", "paths", "stamps", "surface")

    def __init__(
        self, cairo: Any, surface: Any, half: bool, make: Callable[[Color], tuple[Pass, ...]]
    ) -> None:
        self.surface = surface
        self.half = half
        """True if one sample stands for 2 x 2 pixels."""
        self.stamps = cairo.Context(surface)
        """In samples."""
        self.paths = self.stamps
        """In pixels of the frame."""
        if half:
            self.paths = cairo.Context(surface)
            self.paths.scale(0.5, 0.5)
        self._make = make

    def passes(self, color: Color) -> tuple[Pass, ...]:
        """Operators and sources that paint a colour."""
        return self._make(color)

    def finish(self) -> None:
        """Let go of the memory."""
        self.surface.flush()
        self.surface.finish()


class Layers:
    """All layers of one frame: a context manager that writes copies back at its end.

    :raises SurfaceError: for a format that cannot be drawn on.
    """

    def __init__(self, cairo: Any, surface: Surface, scratch: dict[Any, Pixels]) -> None:
        self._cairo = cairo
        self._scratch = scratch
        self._after: list[Callable[[], None]] = []
        self.layers: list[Layer] = []
        self.width, self.height = surface.width, surface.height
        info = surface.format
        if info.format == "GRAY8":
            self._sample(surface, 0, _value(cairo, info._replace(full_range=True), 0), half=False)
        elif info.packed:
            self._packed(surface, info.order)
        else:
            self._yuv(surface, info)

    def __enter__(self) -> Layers:
        return self

    def __exit__(self, *error: Any) -> None:
        layers, self.layers = self.layers, []
        for layer in layers:
            layer.finish()
        for write in self._after:
            write()
        self._after.clear()

    # -- packed ------------------------------------------------------------
    def _packed(self, surface: Surface, order: str) -> None:
        cairo = self._cairo
        over = cairo.OPERATOR_OVER

        def as_bgra(color: Color) -> tuple[Pass, ...]:
            return ((over, *color),)

        def as_rgba(color: Color) -> tuple[Pass, ...]:
            red, green, blue, alpha = color
            return ((over, blue, green, red, alpha),)

        array = surface.array
        if len(order) == 3:
            make = as_bgra if order == "BGR" else as_rgba
            rows = self._widen(array)
        else:
            reverse = order[0] in "Ax"
            last = order[::-1] if reverse else order
            make = as_bgra if last.startswith("BGR") else as_rgba
            rows = self._bind(array, surface.rows(0), (self.height, self.width, 4))
            if reverse:
                words = rows.reshape(-1).view(np.uint32)
                words.byteswap(inplace=True)
                # Before a copy is written back.
                self._after.insert(0, lambda: words.byteswap(inplace=True))
        self._layer(rows, cairo.FORMAT_ARGB32, self.width, self.height, make, half=False)

    def _widen(self, array: Pixels) -> Pixels:
        """Three bytes a pixel as four."""
        wide = self._room("wide", (self.height, self.width * 4))
        pixels = wide.reshape(self.height, self.width, 4)
        cv2 = opencv()
        if cv2 is not None:
            pixels[...] = cv2.cvtColor(array, cv2.COLOR_BGR2BGRA)
        else:
            pixels[..., :3] = array
            pixels[..., 3] = 255

        def back() -> None:
            if cv2 is not None:
                array[...] = cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR)
            else:
                array[...] = pixels[..., :3]

        self._after.append(back)
        return wide

    # -- planar --------------------------------------------------------------
    def _yuv(self, surface: Surface, info: VideoFormat) -> None:
        cairo = self._cairo
        values = [_value(cairo, info, part) for part in range(3)]
        self._sample(surface, 0, values[0], half=False)
        if info.format in ("NV12", "NV21"):
            order = (1, 2) if info.format == "NV12" else (2, 1)
            self._pairs(surface.planes[1], values[order[0]], values[order[1]])
        elif info.format in ("I420", "YV12"):
            order = (1, 2) if info.format == "I420" else (2, 1)
            self._sample(surface, 1, values[order[0]], half=True)
            self._sample(surface, 2, values[order[1]], half=True)
        else:
            raise SurfaceError(f"dsosd cannot draw on {info.format}", hint=CONVERT)

    def _sample(self, surface: Surface, index: int, make: Any, *, half: bool) -> None:
        plane = surface.planes[index]
        height, width = plane.shape
        rows = self._bind(plane, surface.rows(index), (height, width, 1), index)
        self._layer(rows, self._cairo.FORMAT_A8, width, height, make, half=half)

    def _pairs(self, chroma: Pixels, first: Any, second: Any) -> None:
        height, width, _ = chroma.shape
        stride = (width + 3) // 4 * 4
        low, high = (self._room(name, (height, stride)) for name in ("first", "second"))
        # As 16-bit words: four times as fast as copying every second byte.
        words = chroma.view("<u2")[..., 0]
        low[:, :width] = words & np.uint16(255)
        high[:, :width] = words >> np.uint16(8)
        for part, make in ((low, first), (high, second)):
            self._layer(part, self._cairo.FORMAT_A8, width, height, make, half=True)

        def back() -> None:
            joined = high[:, :width].astype("<u2")
            joined <<= np.uint16(8)
            np.bitwise_or(joined, low[:, :width], out=words)

        self._after.append(back)

    # -- memory ----------------------------------------------------------------
    def _room(self, name: Any, shape: tuple[int, int]) -> Pixels:
        key = (name, shape)
        room = self._scratch.get(key)
        if room is None:
            if len(self._scratch) > 16:
                self._scratch.clear()
            room = self._scratch[key] = np.zeros(shape, np.uint8)
        return room

    def _bind(
        self, view: Pixels, rows: Pixels | None, shape: tuple[int, int, int], name: int = 0
    ) -> Pixels:
        """The plane itself if cairo can take its rows, otherwise a copy that is written back."""
        height, width, channels = shape
        if (
            rows is not None
            and rows.shape[1] % 4 == 0
            and rows.__array_interface__["data"][0] % 4 == 0
        ):
            return rows
        copy = self._room(f"copy{name}", (height, (width * channels + 3) // 4 * 4))
        inner = np.ndarray(view.shape, np.uint8, copy, 0, (copy.shape[1], *_inner(view)))
        inner[...] = view

        def back() -> None:
            view[...] = inner

        self._after.append(back)
        return copy

    def _layer(
        self, rows: Pixels, kind: Any, width: int, height: int, make: Any, *, half: bool
    ) -> None:
        image = self._cairo.ImageSurface.create_for_data(rows, kind, width, height, rows.shape[1])
        self.layers.append(Layer(self._cairo, image, half, make))


def _inner(view: Pixels) -> tuple[int, ...]:
    return (1,) if view.ndim == 2 else (view.shape[2], 1)


def _value(cairo: Any, info: VideoFormat, part: int) -> Callable[[Color], tuple[Pass, ...]]:
    """Passes that set one component of YUV: 0 luma, 1 Cb, 2 Cr."""
    known: dict[Color, tuple[Pass, ...]] = {}
    source, out, add = cairo.OPERATOR_SOURCE, cairo.OPERATOR_DEST_OUT, cairo.OPERATOR_ADD

    def make(color: Color) -> tuple[Pass, ...]:
        found = known.get(color)
        if found is not None:
            return found
        red, green, blue, alpha = color
        value = round(rgb_to_yuv_values(red, green, blue, info)[part]) / 255
        if alpha >= 1:
            found = ((source, 0.0, 0.0, 0.0, value),)
        else:
            found = ((out, 0.0, 0.0, 0.0, alpha), (add, 0.0, 0.0, 0.0, alpha * value))
        known[color] = found
        return found

    return make
