"""Raw video formats in system memory: where each plane and row lies.

Strides and offsets are GStreamer's defaults (GstVideoInfo): rows are padded to 4 bytes, planar
formats have an even number of luma rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import SurfaceError

__all__ = ["CONVERT", "FORMATS", "PACKED", "Plane", "VideoFormat", "planes_of"]

PACKED: dict[str, str] = {
    "RGBA": "RGBA", "BGRA": "BGRA", "ARGB": "ARGB", "ABGR": "ABGR", "RGBx": "RGBx",
    "BGRx": "BGRx", "xRGB": "xRGB", "xBGR": "xBGR", "RGB": "RGB", "BGR": "BGR", "GRAY8": "Y",
}  # fmt: skip
"""Packed formats and the order of their bytes in memory."""

FORMATS = (*PACKED, "NV12", "NV21", "I420", "YV12")


CONVERT = (
    "insert videoconvert ! video/x-raw,format=RGBA before the element that makes the metadata; "
    "after it, videoconvert would lose it"
)
"""How to mend a frame's format."""


class Plane(NamedTuple):
    """One plane of a frame."""

    offset: int
    """Bytes from the frame's start."""
    stride: int
    """Bytes a row."""
    width: int
    """Samples a row."""
    height: int
    """Rows."""
    channels: int
    """Bytes a sample."""


def _up(value: int, to: int) -> int:
    return (value + to - 1) // to * to


class VideoFormat(NamedTuple):
    """Format, size and planes of every frame of a stream."""

    format: str
    """GStreamer's name, such as ``RGBA`` or ``NV12``."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    planes: tuple[Plane, ...]
    """Where each plane lies in a frame's memory, in memory order."""
    size: int
    """Bytes a frame."""
    matrix: str = "bt601"
    """Colour matrix of YUV formats: ``bt601``, ``bt709``, ``bt2020``, ``smpte240m`` or ``fcc``."""
    full_range: bool = False
    """True if luma uses 0 to 255 instead of 16 to 235."""

    @classmethod
    def make(
        cls, format: str, width: int, height: int, colorimetry: str | None = None
    ) -> VideoFormat:
        """Describe frames of a format and size, with GStreamer's default strides.

        :param colorimetry: GStreamer's text, such as ``bt709`` or ``2:4:5:1``; when None, what
            GStreamer assumes: BT.601 up to 576 rows, BT.709 above.
        :raises SurfaceError: for other formats, and sizes below 1.
        """
        if format not in FORMATS:
            raise SurfaceError(
                f"frames in {format} cannot be reached",
                hint=f"{CONVERT} (known: {', '.join(FORMATS)})",
            )
        if width < 1 or height < 1:
            raise SurfaceError(f"a frame of {width}x{height} has no pixels")
        matrix, full = _colorimetry(colorimetry, height)
        if format in PACKED:
            channels = len(PACKED[format])
            stride = _up(width * channels, 4)
            plane = Plane(0, stride, width, height, channels)
            return cls(format, width, height, (plane,), stride * height, matrix, full)
        rows = _up(height, 2)
        stride = _up(width, 4)
        luma = Plane(0, stride, width, height, 1)
        half_w, half_h = (width + 1) // 2, (height + 1) // 2
        start = stride * rows
        if format in ("NV12", "NV21"):
            chroma: tuple[Plane, ...] = (Plane(start, stride, half_w, half_h, 2),)
            size = start + stride * rows // 2
        else:
            half = _up(_up(width, 2) // 2, 4)
            second = start + half * (rows // 2)
            chroma = (Plane(start, half, half_w, half_h, 1), Plane(second, half, half_w, half_h, 1))
            size = second + half * (rows // 2)
        return cls(format, width, height, (luma, *chroma), size, matrix, full)

    @property
    def packed(self) -> bool:
        """True for one plane of interleaved samples."""
        return self.format in PACKED

    @property
    def order(self) -> str:
        """Order of a packed format's bytes, such as ``BGRx``; empty for planar ones."""
        return PACKED.get(self.format, "")

    def with_strides(self, offsets: Sequence[int], strides: Sequence[int]) -> VideoFormat:
        """The same frame with its planes elsewhere, as a buffer's GstVideoMeta says.

        :raises SurfaceError: if they do not fit this format.
        """
        if len(offsets) != len(self.planes) or len(strides) != len(self.planes):
            raise SurfaceError(
                f"{self.format} has {len(self.planes)} planes, the buffer describes {len(strides)}",
                hint=CONVERT,
            )
        planes = []
        for plane, offset, stride in zip(self.planes, offsets, strides, strict=True):
            if offset < 0 or stride < plane.width * plane.channels:
                raise SurfaceError(
                    f"a row of {self.format} {self.width}x{self.height} does not fit the buffer's "
                    f"stride of {stride} bytes",
                    hint=CONVERT,
                )
            planes.append(plane._replace(offset=offset, stride=stride))
        ends = [p.offset + p.stride * (p.height - 1) + p.width * p.channels for p in planes]
        return self._replace(planes=tuple(planes), size=max(ends))


# GstVideoColorMatrix of gst/video/video-color.h; others are rare and taken by size.
_MATRICES = {"2": "fcc", "3": "bt709", "4": "bt601", "5": "smpte240m", "6": "bt2020"}
# The matrix of each named colorimetry there is for YUV.
_NAMED = {
    "bt601": "bt601", "bt709": "bt709", "smpte240m": "smpte240m", "bt2020": "bt2020",
    "bt2020-10": "bt2020", "bt2100-pq": "bt2020", "bt2100-hlg": "bt2020",
}  # fmt: skip


def _colorimetry(text: str | None, height: int) -> tuple[str, bool]:
    assumed = "bt601" if height <= 576 else "bt709"
    if not text:
        return assumed, False
    parts = text.split(":")
    if len(parts) == 4:
        # GstVideoColorRange 1 is 0 to 255, 2 is 16 to 235.
        return _MATRICES.get(parts[1], assumed), parts[0] == "1"
    return _NAMED.get(text, assumed), False


def planes_of(info: VideoFormat) -> list[tuple[Plane, tuple[int, ...], tuple[int, ...]]]:
    """Each plane with the shape and the strides (bytes) of its array."""
    found = []
    for plane in info.planes:
        shape: tuple[int, ...] = (plane.height, plane.width)
        strides: tuple[int, ...] = (plane.stride, plane.channels)
        if plane.channels > 1:
            shape, strides = (*shape, plane.channels), (*strides, 1)
        found.append((plane, shape, strides))
    return found
