"""Caps of the base classes, and raw video caps as a VideoFormat."""

from __future__ import annotations

from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ..errors import SurfaceError
from ..surface.format import VideoFormat

__all__ = ["ANY_VIDEO", "in_nvmm", "structure_of", "templates", "video_format"]

ANY_VIDEO = (
    "video/x-raw; video/x-raw(memory:NVMM); video/x-raw(memory:CUDAMemory); video/x-raw(ANY)"
)
"""Raw video in any memory and any format."""

SYSTEM_MEMORY = "memory:SystemMemory"
NVMM = "memory:NVMM"


def templates(sink: str, src: str) -> tuple[Any, Any]:
    """Always-present pad templates. Raises ValueError for caps that cannot be parsed."""
    Gst.init(None)
    made = []
    for name, direction, text in (
        ("sink", Gst.PadDirection.SINK, sink),
        ("src", Gst.PadDirection.SRC, src),
    ):
        caps = Gst.Caps.from_string(text)
        if caps is None:
            raise ValueError(f"caps cannot be parsed: {text!r}")
        made.append(Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS, caps))
    return made[0], made[1]


def _memories(features: Any) -> set[str]:
    if features is None:
        return set()
    names = (features.get_nth(i) for i in range(features.get_size()))
    return {name for name in names if name.startswith("memory:")}


def in_nvmm(caps: Any) -> bool:
    """True for caps of NVIDIA's buffers, which hold an NvBufSurface."""
    return bool(caps is not None and caps.get_size()) and NVMM in _memories(caps.get_features(0))


def structure_of(owner: Any, *index: int) -> Any:
    """The structure of an event or query, or the one of caps at an index; None if there is none.

    GStreamer 1.26 gives it as a context manager. It is the owner's: good while that is there.
    """
    found = owner.get_structure(*index)
    enter = getattr(found, "__enter__", None)
    return found if enter is None else enter()


def video_format(caps: Any) -> VideoFormat | None:
    """The format of fixed raw video caps in system memory; None for other memory or formats."""
    if caps is None or not caps.get_size():
        return None
    structure = structure_of(caps, 0)
    features = caps.get_features(0)
    if structure.get_name() != "video/x-raw":
        return None
    if _memories(features) - {SYSTEM_MEMORY}:
        return None
    name = structure.get_string("format")
    has_width, width = structure.get_int("width")
    has_height, height = structure.get_int("height")
    if not (name and has_width and has_height):
        return None
    try:
        return VideoFormat.make(name, width, height, structure.get_string("colorimetry"))
    except SurfaceError:
        return None
