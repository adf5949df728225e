"""One output of dsdemux and the events that its pad has to get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ...element.streams import StreamInfo
from .logic import EOS, ERROR

__all__ = ["Head", "Output"]


@dataclass
class Head:
    """The events that began the batches' stream; None until they come."""

    start: Any = None
    caps: Any = None
    segment: Any = None
    tags: Any = None


@dataclass
class Output:
    """A source pad and what was sent to it."""

    number: int
    pad: Any
    ended: bool = False
    used: bool = False
    """True if it had a frame of the stream that it has now."""
    broken: bool = True
    """True if the next frame does not follow the one before: the first one, after a flush."""
    _resumed: bool = False
    _start: str | None = None
    _caps: Any = None
    _segment: Any = None

    def flushed(self) -> None:
        """After a flush the pad has forgotten segment and end."""
        self.ended = False
        self.broken = True
        self._segment = None

    def answered(self, flow: int) -> int:
        """What a flow result means.

        A sink that had its end takes no other stream: it refuses the new start, which GStreamer
        tells as an error of the first frame. That is the end for this pad, no error.
        """
        resumed, self._resumed = self._resumed, False
        self.used = True
        return EOS if resumed and flow == ERROR else flow

    def due(self, head: Head, info: StreamInfo | None) -> list[Any]:
        """Events that the pad lacks, in order; they count as sent.

        Caps and segment are the stream's own if a muxer told them.
        """
        events = []
        if self.ended and info is not None and not info.ended:
            self._start = self._segment = None  # it goes on: a new start takes the end back
            self.ended = self.used = False
            self.broken = True
            self._resumed = True
        if head.start is not None:
            # Streams that part must not share an id.
            name = f"{head.start.parse_stream_start()}/{self.number:04d}"
            if name != self._start:
                self._start = name
                events.append(self._stream_start(head.start, name))
        # Not before the stream's own rate is known, or that nobody tells it.
        if head.caps is not None and (info is not None or head.segment is not None):
            caps = self._own_caps(head.caps, info)
            if self._caps is None or not caps.is_equal(self._caps):
                self._caps = caps
                events.append(Gst.Event.new_caps(caps))
        if head.segment is not None:
            segment = head.segment.parse_segment()
            if info is not None and info.segment is not None:
                segment = info.segment
            if self._segment is None or not segment.is_equal(self._segment):
                self._segment = segment.copy()
                event = Gst.Event.new_segment(segment)
                event.set_seqnum(head.segment.get_seqnum())
                events.append(event)
            # A pad that came after a removed input did not see its stream, nor does it see its end.
            ends = info is not None and info.ended and (self.used or not info.removed)
            if ends and not self.ended:
                self.ended = True
                events.append(Gst.Event.new_eos())
        return events

    @staticmethod
    def _stream_start(start: Any, name: str) -> Any:
        event = Gst.Event.new_stream_start(name)
        event.set_seqnum(start.get_seqnum())
        known, group = start.parse_group_id()
        if known:
            event.set_group_id(group)
        return event

    @staticmethod
    def _own_caps(caps: Any, info: StreamInfo | None) -> Any:
        if info is None:
            return caps
        own = caps.copy()
        own.set_value("framerate", Gst.Fraction(*info.framerate))
        return own
