"""Raw video formats in system memory: where each plane and row lies.

Strides and offsets are GStreamer's defaults (GstVideoInfo): rows are padded to 4 bytes, planar
formats have an even number of luma rows.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import SurfaceError

__all__ = ["FORMATS", "PACKED", "Plane", "VideoFormat"]

PACKED: dict[str, str] = {
    "RGBA": "RGBA", "BGRA": "BGRA", "ARGB": "ARGB", "ABGR": "ABGR", "RGBx": "RGBx",
    "BGRx": "BGRx", "xRGB": "xRGB", "xBGR": "xBGR", "RGB": "RGB", "BGR": "BGR", "GRAY8": "Y",
}  # fmt: skip
"""Packed formats and the order of their bytes in memory."""

FORMATS = (*PACKED, "NV12", "NV21", "I420", "YV12")


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
    height: int
    planes: tuple[Plane, ...]
    size: int
    """Bytes a frame."""
    matrix: str = "bt601"
    """Colour matrix of YUV formats: ``bt601`` or ``bt709``."""
    full_range: bool = False
    """True if luma uses 0 to 255 instead of 16 to 235."""

    @classmethod
    def make(
        cls, format: str, width: int, height: int, colorimetry: str | None = None
    ) -> VideoFormat:
        """Describe frames of a format and size, with GStreamer's default strides.

        :param colorimetry: GStreamer's text, such as ``bt709`` or ``2:4:5:1``; when None, HD
            (720 rows and more) is BT.709 and less is BT.601, as GStreamer assumes.
        :raises SurfaceError: for other formats, and sizes below 1.
        """
        if format not in FORMATS:
            raise SurfaceError(
                f"frames in {format} cannot be reached",
                hint=f"insert videoconvert ! video/x-raw,format=RGBA (known: {', '.join(FORMATS)})",
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
            chroma = (Plane(start, stride, half_w, half_h, 2),)
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


def _colorimetry(text: str | None, height: int) -> tuple[str, bool]:
    if text:
        if text.startswith("bt709"):
            return "bt709", False
        if text.startswith("bt601"):
            return "bt601", False
        parts = text.split(":")
        if len(parts) == 4 and all(p.isdigit() for p in parts):
            # GstVideoColorRange 1 is 0-255; GstVideoColorMatrix 3 is BT.709, 4 is BT.601.
            return ("bt709" if parts[1] == "3" else "bt601"), parts[0] == "1"
    return ("bt709" if height >= 720 else "bt601"), False
