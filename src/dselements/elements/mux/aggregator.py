"""The inner aggregator: waits for frames and makes the batch."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
from gi.repository import Gst, GstBase

from ..._core import _native, load
from ...element.caps import video_format
from ...element.policy import post_error
from ...element.stats import Stats
from ...element.streams import StreamInfo, stream_event
from ...errors import PipelineError, SurfaceError
from ...meta.fields import NO_TIME
from ...meta.flags import batch_flags
from ...surface.format import VideoFormat
from ...surface.video_meta import strides_of
from .inputs import Input, parse_marker
from .logic import FrameInfo, columns, together, turns
from .settings import FORMATS, MAX_BATCH

__all__ = ["MuxAggregator"]

Gst.init(None)

_CAPS = Gst.Caps.from_string(f"video/x-raw,format={{{','.join(FORMATS)}}}")
_NEED_DATA = Gst.FlowReturn.CUSTOM_ERROR  # GST_AGGREGATOR_FLOW_NEED_DATA, which gi lacks


class MuxAggregator(GstBase.Aggregator):  # type: ignore[misc]
    """Takes one frame of each input at a time; inputs are in the output's format already.

    PyGObject reads ``AggregatorPad.segment`` from a wrong place, and frees flush events once too
    often when ``sink_event`` is overridden. So neither is used here: see ``inputs``.
    """

    __gtype_name__ = "DsMuxAggregator"
    __gstmetadata__ = ("dsmux inner", "Muxer/Video", "Makes batches for dsmux", "dselements")
    __gsttemplates__ = (
        Gst.PadTemplate.new_with_gtype(
            "src", Gst.PadDirection.SRC, Gst.PadPresence.ALWAYS, _CAPS, GstBase.AggregatorPad
        ),
        Gst.PadTemplate.new_with_gtype(
            "sink_%u", Gst.PadDirection.SINK, Gst.PadPresence.REQUEST, _CAPS, GstBase.AggregatorPad
        ),
    )

    def __init__(self) -> None:
        super().__init__()
        self.batch_size = 0
        self.sync_inputs = False
        self.timeout_ns = -1
        self.stats = Stats()
        self.inputs: tuple[Input, ...] = ()
        """By ascending number; dsmux replaces the tuple as a whole."""
        self.gone: deque[StreamInfo] = deque()
        """Streams whose input was removed, for downstream to know."""
        self.sought = 0
        """Seqnum of the last seek from downstream."""
        self._opened = 0
        self._format: VideoFormat | None = None
        self._begin()
        self.srcpad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, _on_marker)

    def _begin(self) -> None:
        """At the start, and after a flush."""
        self._segment: Any = None
        self._pts = NO_TIME
        self._last = -1
        for state in self.inputs:
            state.told = False

    # -- GstAggregator ---------------------------------------------------------
    def do_start(self) -> bool:
        try:
            load()
            self._owner().check_refused()
        except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self._owner(), error, "starting")
            return False
        self.stats = Stats()
        self.gone.clear()
        for state in self.inputs:
            state.reset()
        self._begin()
        return True

    def do_flush(self) -> Any:
        self._begin()
        return Gst.FlowReturn.OK

    def do_update_src_caps(self, downstream: Any) -> Any:
        wanted = next((c for s in self.inputs if (c := s.pad.get_current_caps())), None)
        if wanted is None:
            return _NEED_DATA, None
        if not wanted.can_intersect(downstream):
            error = PipelineError(
                f"downstream does not take {wanted.to_string()}, but {downstream.to_string()}",
                hint="set width, height and format of dsmux to what downstream takes",
            )
            post_error(self._owner(), error, "negotiating")
            return Gst.FlowReturn.NOT_NEGOTIATED, None
        return Gst.FlowReturn.OK, wanted

    def do_negotiated_src_caps(self, caps: Any) -> bool:
        self._format = video_format(caps)
        return self._format is not None

    def do_get_next_time(self) -> int:
        """Running time of the frame that has waited longest; the time-out counts from there."""
        if self.timeout_ns < 0:
            return NO_TIME
        heads = (self._head(state) for state in self.inputs if not state.waits())
        return min((head[0] for head in heads if head is not None), default=NO_TIME)

    def do_aggregate(self, timeout: bool) -> Any:
        try:
            return Gst.FlowReturn(self._aggregate(timeout))
        except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            self.stats.errors += 1
            post_error(self._owner(), error, "making a batch")
            return Gst.FlowReturn.ERROR

    # -- batches ---------------------------------------------------------------
    def _aggregate(self, timeout: bool) -> int:
        _native.pin_thread()
        inputs = self.inputs
        ready: list[Input] = []
        done: list[Input] = []
        ended = 0
        for state in inputs:
            if state.pad.has_buffer():
                (done if state.waits() else ready).append(state)
            elif state.pad.is_eos():
                ended += 1
                if not state.ended:
                    state.ended, state.told = True, False
        if not ready and done:
            if len(done) + ended == len(inputs):
                self._segment_done(done)
            return int(_NEED_DATA)
        if not ready:
            return int(Gst.FlowReturn.EOS if 0 < ended == len(inputs) else _NEED_DATA)
        if timeout and len(ready) + len(done) + ended < len(inputs):
            self.stats.late += 1
        if self.sync_inputs:
            heads = {s.number: head for s in ready if (head := self._head(s)) is not None}
            wanted = together(
                {n: None if time == NO_TIME else time for n, (time, _) in heads.items()},
                {n: length for n, (_, length) in heads.items()},
            )
            ready = [state for state in ready if state.number in wanted]
        limit = min(self.batch_size or len(inputs), MAX_BATCH)
        batches, self._last = turns([s.number for s in ready], limit, self._last, timeout)
        states = {state.number: state for state in ready}
        for numbers in batches:
            flow = self._push([states[number] for number in numbers], limit)
            if flow != 0:
                return flow
        return 0

    def _push(self, states: list[Input], limit: int) -> int:
        """Make one batch and push it; nothing if all frames turn out to be gaps."""
        began = time.perf_counter_ns()
        frames: list[FrameInfo] = []
        buffers: list[Any] = []
        latest, shortest = NO_TIME, NO_TIME
        for state in states:
            buffer = state.pad.pop_buffer()
            if buffer is None:
                continue  # flushed since
            address = hash(buffer)
            pts, _, duration, size, _ = _native.buffer_info(address)
            if not size:
                continue  # a gap: nothing to show
            self._check(state, address, size)
            stream = state.stream
            frames.append(FrameInfo(state.number, state.frames, pts, stream.width, stream.height))
            state.frames += 1
            buffers.append(buffer)
            shortest = min(shortest, duration)
            running = state.running(pts)
            if running != NO_TIME:
                latest = running if latest == NO_TIME else max(latest, running)
            if self._segment is None or stream.seqnum == self.sought != self._opened:
                self._open(state)
        buffer = None
        if not frames:
            return 0
        self._tell()
        out = self._batch(frames, buffers, self._time(latest), shortest, limit)
        # The inputs' wrappers go first: the batch is then the only owner of its memories.
        buffers.clear()
        self.stats.buffers += 1
        self.stats.took(time.perf_counter_ns() - began)
        return _native.aggregator_finish(hash(self), out)

    def _batch(
        self, frames: list[FrameInfo], buffers: list[Any], pts: int, duration: int, limit: int
    ) -> int:
        assert self._format is not None  # caps are set before the first frame
        width, height = self._format.width, self._format.height
        out = _native.make_batched_buffer([hash(buffer) for buffer in buffers])
        try:
            batch = _native.create_batch(max(limit, len(frames)), out)
            transaction = _native.Transaction(_native.Snapshot(batch))
            transaction.add_frames(len(frames))
            for name, values in columns(frames, width, height, time.time_ns()).items():
                transaction.scatter(_native.FRAME, name, values.tobytes())
            transaction.commit()
            _native.buffer_set_times(out, pts, NO_TIME, duration)
            flags = batch_flags(_native.buffer_flags(hash(buffer)) for buffer in buffers)
            _native.buffer_add_flags(out, flags)
        except BaseException:
            _native.buffer_unref(out)
            raise
        return out

    def _check(self, state: Input, address: int, size: int) -> None:
        """:raises SurfaceError: if a frame's planes are not where the batch's caps say."""
        info = self._format
        if info is None or (state.checked and size == info.size):
            return
        state.checked = True
        found = strides_of(address)
        want = tuple(p.offset for p in info.planes), tuple(p.stride for p in info.planes)
        if size < info.size or (found is not None and found[2:] != want):
            raise SurfaceError(
                f"input {state.number} has frames of {size} bytes"
                + (f", offsets {found[2]}, strides {found[3]}" if found else "")
                + f"; {info.format} {info.width}x{info.height} needs {info.size} bytes, "
                f"offsets {want[0]}, strides {want[1]}",
                hint="put a videoconvert or videoscale that has to copy before dsmux",
            )

    # -- time ------------------------------------------------------------------
    @staticmethod
    def _head(state: Input) -> tuple[int, int] | None:
        """Running time (NO_TIME if none) and duration of the frame that waits; None without."""
        buffer = state.pad.peek_buffer()
        if buffer is None:
            return None
        pts, _, duration, _, _ = _native.buffer_info(hash(buffer))
        return state.running(pts), state.frame_ns(duration)

    def _open(self, state: Input) -> None:
        """The output's segment is that of the first input that has a frame.

        Stream time and position then mean downstream what they mean there. It has no end, as
        other inputs may be longer.
        """
        segment = state.stream.segment
        if segment is None or segment.format != Gst.Format.TIME:
            segment = Gst.Segment.new()
            segment.init(Gst.Format.TIME)
        else:
            segment = segment.copy()
        if segment.rate > 0:
            segment.stop = NO_TIME
        self._segment, self._pts = segment, NO_TIME
        self._opened = state.stream.seqnum
        self.update_segment(segment)

    def _segment_done(self, states: list[Input]) -> None:
        """All inputs have played the segment of a seek: downstream is told once."""
        told = [state.stream.done for state in states if state.stream.done is not None]
        for state in states:
            state.stream = state.stream._replace(done=None)
            state.pad.drop_buffer()
        form, position, seqnum = max(told, key=lambda one: one[1])
        event = Gst.Event.new_segment_done(form, position)
        event.set_seqnum(seqnum)
        self.srcpad.push_event(event)

    def _time(self, running: int) -> int:
        """Time stamp of a batch at a running time; never before that of the batch before."""
        segment, last = self._segment, self._pts
        if running == NO_TIME:
            return last
        pts = int(segment.position_from_running_time(Gst.Format.TIME, running))
        if pts == NO_TIME:
            pts = segment.start
        if segment.rate > 0 and last != NO_TIME:
            pts = max(pts, last)
        self._pts = pts
        return pts

    # -- streams ---------------------------------------------------------------
    def _tell(self) -> None:
        """Tell downstream what is new of the streams, before the batch that it is true for."""
        while self.gone:
            self.srcpad.push_event(stream_event(self.gone.popleft()))
        for state in self.inputs:
            if not state.told and state.stream.segment is not None:
                state.told = True
                self.srcpad.push_event(stream_event(state.info()))

    def marker_came(self, number: int, serial: int) -> None:
        """News of an input count from the next frame on."""
        for place, state in enumerate(self.inputs):
            if state.number == number:
                before = state.stream.framerate
                if state.reached(serial) and place == 0 and state.stream.framerate != before:
                    self.srcpad.mark_reconfigure()  # the output has the first input's rate
                return

    def _owner(self) -> Any:
        """Element that errors are posted for."""
        return self.get_parent() or self


def _on_marker(pad: Any, info: Any) -> Any:
    event = info.get_event()
    if event.type != Gst.EventType.CUSTOM_DOWNSTREAM:
        return Gst.PadProbeReturn.OK
    marker = parse_marker(event)
    if marker is None:
        return Gst.PadProbeReturn.OK
    aggregator = pad.get_parent()
    if aggregator is not None:
        aggregator.marker_came(*marker)
    return Gst.PadProbeReturn.DROP
