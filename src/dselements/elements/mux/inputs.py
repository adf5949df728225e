"""One input of dsmux, and how what is known of its stream keeps step with its frames.

The sink pad sees an event before the frames ahead of it have left the aggregator. So the pad
sends a marker along with the stream, and only when the marker comes out of the aggregator, in
order with the frames, does the news count.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ...element.caps import structure_of
from ...element.streams import StreamInfo
from ...meta.fields import NO_TIME

__all__ = ["Input", "Stream", "parse_marker"]

_MARKER = "dsmux-input"
_serials = itertools.count()


class Stream(NamedTuple):
    """What the events of a stream say."""

    width: int = 0
    height: int = 0
    framerate: tuple[int, int] = (0, 1)
    segment: Any = None
    seqnum: int = 0
    """Of the segment's event; a seek and its segments have the same."""
    done: tuple[Any, int, int] | None = None
    """Format, position and seqnum, if the segment of a segment seek was played to its end."""

    def after(self, event: Any) -> Stream:
        """This, with what an event adds; the same object if it adds nothing."""
        if event.type == Gst.EventType.SEGMENT:
            segment = event.parse_segment().copy()
            return self._replace(segment=segment, seqnum=event.get_seqnum(), done=None)
        if event.type == Gst.EventType.SEGMENT_DONE:
            return self._replace(done=(*event.parse_segment_done(), event.get_seqnum()))
        if event.type == Gst.EventType.CAPS:
            structure = structure_of(event.parse_caps(), 0)
            known, num, denom = structure.get_fraction("framerate")
            return self._replace(
                width=structure.get_int("width")[1],
                height=structure.get_int("height")[1],
                framerate=(num, denom) if known else (0, 1),
            )
        return self


@dataclass
class Input:
    """One input: its chain of elements and what is known of its stream."""

    number: int
    ghost: Any = None
    pad: Any = None
    """Sink pad of the inner aggregator."""
    elements: list[Any] = field(default_factory=list)
    """videoconvert, videoscale, capsfilter."""
    frames: int = 0
    """Frames of this stream so far."""
    stream: Stream = field(default_factory=Stream)
    """Of the frame that comes out next."""
    arriving: Stream = field(default_factory=Stream)
    """Of the frame that comes in next."""
    ended: bool = False
    told: bool = False
    """True if downstream knows ``stream`` and ``ended``."""
    checked: bool = False
    """True if the layout of a frame was checked since the last news."""
    _coming: dict[int, Stream] = field(default_factory=dict)

    def reset(self) -> None:
        """Before the first frame of a new run."""
        self.frames = 0
        self.stream = self.arriving = Stream()
        self.ended = self.told = self.checked = False
        self._coming.clear()

    def mark(self, stream: Stream) -> Any:
        """Note news that come in; returns the marker to send along."""
        self.arriving = stream
        serial = next(_serials)
        self._coming[serial] = stream
        structure = Gst.Structure.new_empty(_MARKER)
        structure.set_value("number", self.number)
        structure.set_value("serial", str(serial))
        return Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM, structure)

    def reached(self, serial: int) -> bool:
        """The marker came out: its news count from now on. False if it is not known."""
        stream = self._coming.get(serial)
        if stream is None:
            return False
        for old in [s for s in list(self._coming) if s <= serial]:
            self._coming.pop(old, None)  # flushed ones too
        self.stream = stream
        self.ended = self.told = self.checked = False
        return True

    def waits(self) -> bool:
        """True if its segment is done, and what waits in the aggregator is the gap that says so.

        The gap stays until all inputs are done: the aggregator would wait for this one otherwise.
        """
        return self.stream.done is not None and self.arriving.done is not None

    def running(self, pts: int) -> int:
        """Running time of a time stamp; NO_TIME if it has none or lies outside the segment."""
        segment = self.stream.segment
        if pts == NO_TIME or segment is None or segment.format != Gst.Format.TIME:
            return pts
        return int(segment.to_running_time(Gst.Format.TIME, pts))

    def frame_ns(self, duration: int) -> int:
        """How long a frame is shown; 0 if unknown."""
        if duration != NO_TIME:
            return duration
        num, denom = self.stream.framerate
        return Gst.SECOND * denom // num if num else 0

    def info(self) -> StreamInfo:
        """For elements downstream."""
        stream = self.stream
        return StreamInfo(self.number, stream.framerate, stream.segment, self.ended)


def parse_marker(event: Any) -> tuple[int, int] | None:
    """Number and serial of a marker; None for any other event."""
    if event.type != Gst.EventType.CUSTOM_DOWNSTREAM:
        return None
    structure = structure_of(event)
    if structure is None or structure.get_name() != _MARKER:
        return None
    return structure.get_value("number"), int(structure.get_value("serial"))
