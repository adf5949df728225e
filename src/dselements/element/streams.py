"""What a muxer tells elements downstream about each stream of its batches.

A batch is one stream to GStreamer. What belongs to one of its streams (segment, frame rate, end)
travels beside it in sticky custom events, one kind for each stream, as nvstreammux has its
own events for it. dsdemux gives it back to the stream's pad; other elements let it pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from .caps import structure_of

__all__ = ["StreamInfo", "parse_stream_event", "stream_event"]

_PREFIX = "dselements-stream-"


class StreamInfo(NamedTuple):
    """One stream of a batch."""

    pad_index: int
    """``pad_index`` of its frames."""
    framerate: tuple[int, int]
    """Numerator and denominator; (0, 1) if it varies or is unknown."""
    segment: Any
    """GstSegment that ``buf_pts`` of its frames belongs to; None if unknown."""
    ended: bool
    """True if no further frame comes."""
    removed: bool = False
    """True if its input is gone: the number may come back as another stream."""


def stream_event(info: StreamInfo) -> Any:
    """The event; a later one of the same stream takes its place on a pad."""
    structure = Gst.Structure.new_empty(f"{_PREFIX}{info.pad_index}")
    structure.set_value("pad-index", info.pad_index)
    structure.set_value("framerate", Gst.Fraction(*info.framerate))
    if info.segment is not None:
        structure.set_value("segment", info.segment)
    structure.set_value("ended", info.ended)
    structure.set_value("removed", info.removed)
    return Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM_STICKY, structure)


def parse_stream_event(event: Any) -> StreamInfo | None:
    """What :func:`stream_event` put in; None for any other event."""
    if event.type != Gst.EventType.CUSTOM_DOWNSTREAM_STICKY:
        return None
    structure = structure_of(event)
    if structure is None or not structure.get_name().startswith(_PREFIX):
        return None
    rate = structure.get_value("framerate")
    return StreamInfo(
        structure.get_value("pad-index"),
        (rate.num, rate.denom),
        # PyGObject lends the event's own; the event may go before it.
        structure.get_value("segment").copy() if structure.has_field("segment") else None,
        structure.get_value("ended"),
        structure.get_value("removed"),
    )
