"""The GStreamer element ``dsdemux``."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import Any, ClassVar

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ..._core import _native, load
from ...element import element
from ...element.caps import video_format
from ...element.declared import DeclaredProperties
from ...element.floating import lend_pad
from ...element.policy import post_error
from ...element.stats import Stats, stats_property
from ...element.streams import StreamInfo, parse_stream_event
from ...errors import NoBatchMetaError, PipelineError
from ...meta import Batch
from ...meta.fields import NO_TIME
from ...meta.flags import DISCONT, frame_flags
from ...surface.system import place_of
from .logic import EOS, combined, routes
from .outputs import Head, Output
from .settings import CAPS

_SINK = Gst.PadTemplate.new(
    "sink", Gst.PadDirection.SINK, Gst.PadPresence.ALWAYS, Gst.Caps.from_string(CAPS)
)
_SRC = Gst.PadTemplate.new(
    "src_%u", Gst.PadDirection.SRC, Gst.PadPresence.REQUEST, Gst.Caps.from_string(CAPS)
)


@element(
    "dsdemux",
    description="Gives each stream of a batch its own pad, with its pixels and metadata",
    klass="Demuxer/Video",
    author="dselements",
)
class Demux(DeclaredProperties, Gst.Element):  # type: ignore[misc]
    """See :mod:`dselements.elements.demux`."""

    __gtype_name__ = "DsDemux"
    __gsttemplates__ = (_SINK, _SRC)
    __gproperties__: ClassVar[dict[str, Any]] = stats_property(
        "Counters of batches, dropped frames, errors and time"
    )

    def __init__(self) -> None:
        super().__init__()
        # Guards what an application's thread changes by requesting pads: outputs and what they
        # must be told. Never held while something is pushed.
        self._lock = threading.Lock()
        self._outputs: dict[int, Output] = {}
        self._flows: dict[int, int] = {}
        self._seek = 0
        self._stats = Stats()
        self._begin()
        self.sinkpad = Gst.Pad.new_from_template(_SINK, "sink")
        # Functions, not methods: a method would hold the element, and its pad the method.
        self.sinkpad.set_chain_function_full(_chain)
        self.sinkpad.set_event_function_full(_sink_event)
        self.add_pad(self.sinkpad)

    def _begin(self) -> None:
        self._head = Head()
        self._streams: dict[int, StreamInfo] = {}
        self._flows = {}
        for number, output in self._outputs.items():
            self._outputs[number] = Output(number, output.pad)

    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name == "stats":
            return self._stats.structure("dsdemux")
        return super().do_get_property(pspec)

    def do_change_state(self, transition: Any) -> Any:
        if transition == Gst.StateChange.READY_TO_PAUSED:
            try:
                load()
            except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
                post_error(self, error, "starting")
                return Gst.StateChangeReturn.FAILURE
            self._stats = Stats()
            with self._lock:
                self._begin()
        return Gst.Element.do_change_state(self, transition)

    # -- pads -----------------------------------------------------------------
    def do_request_new_pad(self, template: Any, name: str | None, caps: Any) -> Any:
        try:
            with self._lock:
                number = self._number(name)
                pad = Gst.Pad.new_from_template(template, f"src_{number}")
                pad.set_event_function_full(_src_event)
                pad.set_active(True)
                output = Output(number, pad)
                # Stored, not pushed: the pad sends them when it is linked and has data.
                for event in output.due(self._head, self._streams.get(number)):
                    pad.store_sticky_event(event)
                if self._head.tags is not None:
                    pad.store_sticky_event(self._head.tags)
                self._outputs[number] = output
            self.add_pad(pad)
        except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "adding an output")
            return None
        return lend_pad(pad)

    def _number(self, name: str | None) -> int:
        if name and name.startswith("src_") and name[4:].isdigit():
            number = int(name[4:])
            if number in self._outputs:
                raise PipelineError(f"dsdemux has a pad {name} already", hint="one pad a stream")
            return number
        return next(n for n in range(len(self._outputs) + 1) if n not in self._outputs)

    def do_release_pad(self, pad: Any) -> None:
        # An element that is disposed of releases its pads when its Python side is gone.
        with self.__dict__.get("_lock") or nullcontext():
            for number, output in list(self.__dict__.get("_outputs", {}).items()):
                if output.pad == pad:
                    del self._outputs[number]
                    self._flows.pop(number, None)
        pad.set_active(False)
        self.remove_pad(pad)

    # -- events -----------------------------------------------------------------
    def handle_event(self, event: Any) -> bool:
        """One event from upstream.

        A sticky event is taken whatever the pads say: what one of them refuses comes back as its
        flow result. Refused here, GStreamer would send it again with the next batch and stop the
        whole stream with an error, only because one pad is being released.
        """
        info = parse_stream_event(event)
        if info is not None:
            with self._lock:
                self._streams[info.pad_index] = info
                output = self._outputs.get(info.pad_index)
            if output is not None:
                self._bring_up_to_date([output])
            if info.removed:
                with self._lock:  # a pad requested from now on waits for the next stream
                    self._streams.pop(info.pad_index, None)
            return True
        kind = event.type
        with self._lock:
            outputs = [self._outputs[n] for n in sorted(self._outputs)]
            if kind == Gst.EventType.STREAM_START:
                self._head.start = event
            elif kind == Gst.EventType.CAPS:
                self._head.caps = event.parse_caps()
            elif kind == Gst.EventType.SEGMENT:
                self._head.segment = event
            elif kind == Gst.EventType.TAG:
                self._head.tags = event
            elif kind == Gst.EventType.FLUSH_STOP:
                self._head.segment = None
                self._flows.clear()
                for output in outputs:
                    output.flushed()
        if kind in (Gst.EventType.STREAM_START, Gst.EventType.CAPS, Gst.EventType.SEGMENT):
            self._bring_up_to_date(outputs)
            return True
        if kind == Gst.EventType.EOS:
            outputs = [output for output in outputs if not output.ended]
        taken = [output.pad.push_event(event) for output in outputs]  # each, whatever others say
        sticky = Gst.EventType.get_flags(kind) & Gst.EventTypeFlags.STICKY
        return bool(sticky) or not taken or any(taken)

    def _bring_up_to_date(self, outputs: list[Output]) -> None:
        """Push the events that outputs lack."""
        for output in outputs:
            number = output.number
            with self._lock:
                was = output.ended
                events = output.due(self._head, self._streams.get(number))
                if output.ended:
                    self._flows[number] = EOS
                elif was:
                    self._flows.pop(number, None)
            for event in events:
                output.pad.push_event(event)

    def is_new_seek(self, event: Any) -> bool:
        """False for the copies of one seek that come from the other branches' sinks."""
        seqnum = event.get_seqnum()
        with self._lock:
            new, self._seek = seqnum != self._seek, seqnum
        return bool(new)

    def _frame_size(self) -> int:
        """Bytes a frame by the caps; 0 for a format whose layout is not known."""
        info = video_format(self.sinkpad.get_current_caps())
        return 0 if info is None else info.size

    # -- data -------------------------------------------------------------------
    def handle_buffer(self, buffer: Any) -> Any:
        """One batch from upstream."""
        try:
            return Gst.FlowReturn(self._split(hash(buffer)))
        except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            self._stats.errors += 1
            post_error(self, error, "taking a batch apart")
            return Gst.FlowReturn.ERROR

    def _split(self, address: int) -> int:
        _native.pin_thread()
        began = time.perf_counter_ns()
        stats = self._stats
        stats.buffers += 1
        batch_meta = _native.buffer_batch_meta(address)
        if not batch_meta:
            stats.no_meta += 1
            raise NoBatchMetaError("dsdemux got a buffer without NvDsBatchMeta")
        _, _, duration, size, memories = _native.buffer_info(address)
        # Several memories are a frame each; a single one holds all frames, one after the other.
        one = self._frame_size() if memories == 1 else 0
        places = size // one if one else memories
        with self._lock:
            # A pad that has said EOS wants no more, until a flush or a new stream.
            outputs = {
                n: o for n, o in self._outputs.items() if not o.ended and self._flows.get(n) != EOS
            }
        flags = frame_flags(_native.buffer_flags(address))
        made: list[tuple[int, int]] = []
        batch = Batch(batch_meta, buffer=address)
        try:
            frames = batch.frames
            going, dropped = routes(
                frames.pad_index.tolist(), frames.batch_id.tolist(), places, outputs
            )
            times = frames.buf_pts.tolist()
            stats.dropped += dropped
            for row, place, number in going:
                index, offset = place_of(place, memories, one)
                part = one if one and places > 1 else -1
                out = _native.copy_frame_to_new_buffer(
                    address, batch_meta, row, index, offset, part
                )
                made.append((number, out))
                _native.buffer_set_times(out, times[row], NO_TIME, self._frame_ns(number, duration))
                broken = DISCONT if outputs[number].broken else 0
                _native.buffer_add_flags(out, flags | broken)
        except BaseException:
            for _, out in made:
                _native.buffer_unref(out)
            raise
        finally:
            batch.close()
        # Each frame then owns its memory alone, and may be drawn on without a copy.
        _native.buffer_drop_memory(address)
        stats.took(time.perf_counter_ns() - began)
        for number, out in made:
            output = outputs[number]
            flow = _native.pad_push(hash(output.pad), out)
            if flow != 0:
                stats.dropped += 1
            output.broken = flow != 0  # what comes after a frame that was lost
            flow = output.answered(flow)
            with self._lock:
                if self._outputs.get(number) is output:  # not released meanwhile
                    self._flows[number] = flow
        with self._lock:
            return combined(self._flows)

    def _frame_ns(self, number: int, batch_ns: int) -> int:
        info = self._streams.get(number)
        if info is None or not info.framerate[0]:
            return batch_ns
        num, denom = info.framerate
        return int(Gst.SECOND) * denom // num


def _chain(_pad: Any, parent: Any, buffer: Any) -> Any:
    return parent.handle_buffer(buffer)


def _sink_event(_pad: Any, parent: Any, event: Any) -> bool:
    try:
        return bool(parent.handle_event(event))
    except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
        post_error(parent, error, "passing an event on")
        return False


def _src_event(pad: Any, parent: Any, event: Any) -> bool:
    # That one branch is late says nothing about the batch; one seek goes upstream once.
    if event.type == Gst.EventType.QOS:
        return True
    if event.type == Gst.EventType.SEEK and not parent.is_new_seek(event):
        return True
    return bool(pad.event_default(parent, event))
