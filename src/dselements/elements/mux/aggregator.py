"""The inner aggregator: waits for frames and makes the batch."""

from __future__ import annotations

import time
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
from gi.repository import Gst, GstBase

from ..._core import _native, load
from ...element.policy import post_error
from ...element.stats import Stats
from .logic import NO_TIME, FrameInfo, columns, select, together
from .settings import FORMATS

__all__ = ["MuxAggregator"]

Gst.init(None)

# GST_AGGREGATOR_FLOW_NEED_DATA is a macro, which gi does not carry.
_NEED_DATA = Gst.FlowReturn.CUSTOM_ERROR
_DEFAULT_INTERVAL_NS = 33_333_333

_CAPS = Gst.Caps.from_string(f"video/x-raw,format={{{','.join(FORMATS)}}}")


class MuxAggregator(GstBase.Aggregator):  # type: ignore[misc]
    """Takes one frame of each input at a time; inputs are in the output's format already."""

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
        self.owner: Any = None
        """Element that errors are posted for."""
        self.batch_size = 0
        self.sync_inputs = False
        self.stats = Stats()
        self.inputs: dict[str, Any] = {}
        """State of each sink pad by its name; kept by dsmux."""
        self._last = -1
        self._next = 0

    def do_start(self) -> bool:
        load()
        self.stats = Stats()
        self._last = -1
        self._next = 0
        for state in self.inputs.values():
            state.frames = 0
        return True

    def do_update_src_caps(self, caps: Any) -> Any:
        wanted = self._caps()
        if wanted is None:
            return _NEED_DATA, None
        return Gst.FlowReturn.OK, wanted

    def _caps(self) -> Any:
        """Caps of the first input that has them."""
        for pad in self.sinkpads:
            caps = pad.get_current_caps()
            if caps is not None:
                return caps
        return None

    def do_get_next_time(self) -> int:
        """Running time at which a live batch is due: one frame after the one before.

        The library's own way needs the position written into the pad's segment, of which gi
        gives a copy only.
        """
        return self._next

    def do_aggregate(self, timeout: bool) -> Any:
        try:
            return self._aggregate()
        except Exception as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            self.stats.errors += 1
            post_error(self.owner or self, error, "making a batch")
            return Gst.FlowReturn.ERROR

    def _aggregate(self) -> Any:
        _native.pin_thread()
        began = time.perf_counter_ns()
        ready, ended = {}, 0
        pads = self.sinkpads
        for pad in pads:
            if pad.has_buffer():
                ready[self.inputs[pad.name].number] = pad
            elif pad.is_eos():
                ended += 1
        if not ready:
            if ended == len(pads):
                return Gst.FlowReturn.EOS
            # Due, and nothing there: the next time is one frame on, not at once.
            self._next += self._interval()
            return _NEED_DATA
        limit = self.batch_size or len(pads)
        if self.sync_inputs and len(ready) > 1:
            ready = self._together(ready)
        chosen = select(sorted(ready), limit, self._last)
        self._last = chosen[-1] if len(chosen) < len(ready) else -1
        frames, buffers, first = [], [], NO_TIME
        for number in sorted(chosen):
            pad = ready[number]
            buffer = pad.pop_buffer()
            if buffer is None:
                continue  # flushed since
            pts, _, _, size, memories = _native.buffer_info(hash(buffer))
            if not memories or not size:
                continue  # a gap: nothing to show
            state = self.inputs[pad.name]
            frames.append(FrameInfo(number, state.frames, pts, state.width, state.height))
            state.frames += 1
            buffers.append(buffer)
            if pts != NO_TIME:
                first = min(first, self._running(pad, pts))
        pad = None
        if not frames:
            return _NEED_DATA
        out = self._batch(frames, buffers, first, limit)
        # The inputs' wrappers go first: the batch is then the only owner of its memories.
        buffers.clear()
        del buffer
        self.stats.buffers += 1
        self.stats.took(time.perf_counter_ns() - began)
        return Gst.FlowReturn(_native.aggregator_finish(hash(self), out))

    def _together(self, ready: dict[int, Any]) -> dict[int, Any]:
        """Inputs whose frame belongs to the same moment as the earliest one."""
        times, lengths = {}, {}
        for number, pad in ready.items():
            buffer = pad.peek_buffer()
            if buffer is None:
                continue
            pts, _, duration, *_ = _native.buffer_info(hash(buffer))
            times[number] = None if pts == NO_TIME else self._running(pad, pts)
            lengths[number] = duration if duration != NO_TIME else self._interval()
        return {number: ready[number] for number in together(times, lengths)}

    @staticmethod
    def _running(pad: Any, pts: int) -> int:
        event = pad.get_sticky_event(Gst.EventType.SEGMENT, 0)
        segment = None if event is None else event.parse_segment()
        if segment is None or segment.format != Gst.Format.TIME:
            return pts
        return int(segment.to_running_time(Gst.Format.TIME, pts))

    def _batch(self, frames: list[FrameInfo], buffers: list[Any], pts: int, limit: int) -> int:
        caps = self.srcpad.get_current_caps()
        structure = caps.get_structure(0)
        width, height = structure.get_int("width")[1], structure.get_int("height")[1]
        out = _native.make_batched_buffer([hash(buffer) for buffer in buffers])
        try:
            batch = _native.create_batch(max(limit, len(frames)), out)
            transaction = _native.Transaction(_native.Snapshot(batch))
            transaction.add_frames(len(frames))
            for name, values in columns(frames, width, height, time.time_ns()).items():
                transaction.scatter(_native.FRAME, name, values.tobytes())
            transaction.commit()
            durations = [_native.buffer_info(hash(buffer))[2] for buffer in buffers]
            _native.buffer_set_times(out, pts, NO_TIME, min(durations))
        except BaseException:
            _native.buffer_unref(out)
            raise
        if pts != NO_TIME:
            self._next = pts + self._interval()
        return out

    def _interval(self) -> int:
        """Duration of a frame by the output's caps, nanoseconds."""
        caps = self.srcpad.get_current_caps()
        if caps is not None:
            known, numerator, denominator = caps.get_structure(0).get_fraction("framerate")
            if known and numerator > 0:
                return int(Gst.SECOND * denominator // numerator)
        return _DEFAULT_INTERVAL_NS
