"""The GStreamer element ``dsdemux``."""

from __future__ import annotations

import threading
import time
from typing import Any, ClassVar

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ..._core import _native, load
from ...element import element
from ...element.declared import DeclaredProperties
from ...element.policy import post_error
from ...element.stats import Stats
from ...errors import NoBatchMetaError, PipelineError
from ...meta import Batch
from .logic import combined, routes
from .settings import CAPS

_NO_TIME = 0xFFFFFFFFFFFFFFFF
_STICKY = (
    Gst.EventType.STREAM_START,
    Gst.EventType.CAPS,
    Gst.EventType.SEGMENT,
    Gst.EventType.TAG,
)
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
    __gproperties__: ClassVar[dict[str, Any]] = {
        "stats": (
            Gst.Structure, "stats", "Counters of batches, dropped frames, errors and time",
            GObject.ParamFlags.READABLE,
        ),
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._outputs: dict[int, Any] = {}
        self._flows: dict[int, int] = {}
        self._stats = Stats()
        self.sinkpad = Gst.Pad.new_from_template(_SINK, "sink")
        self.sinkpad.set_chain_function_full(self._chain)
        self.sinkpad.set_event_function_full(self._event)
        self.add_pad(self.sinkpad)

    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name == "stats":
            return self._stats.structure("dsdemux")
        return super().do_get_property(pspec)

    def do_change_state(self, transition: Any) -> Any:
        if transition == Gst.StateChange.READY_TO_PAUSED:
            try:
                load()
            except Exception as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
                post_error(self, error, "starting")
                return Gst.StateChangeReturn.FAILURE
            self._stats = Stats()
            self._flows = {}
        return Gst.Element.do_change_state(self, transition)

    # -- pads -----------------------------------------------------------------
    def do_request_new_pad(self, template: Any, name: str | None, caps: Any) -> Any:
        try:
            with self._lock:
                number = self._number(name)
                pad = Gst.Pad.new_from_template(template, f"src_{number}")
                self._outputs[number] = pad
            pad.set_active(True)
            self._copy_sticky(pad, number)
            self.add_pad(pad)
        except Exception as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "adding an output")
            return None
        return pad

    def _number(self, name: str | None) -> int:
        if name and name.startswith("src_") and name[4:].isdigit():
            number = int(name[4:])
            if number in self._outputs:
                raise PipelineError(f"dsdemux has a pad {name} already", hint="one pad a stream")
            return number
        return next(n for n in range(len(self._outputs) + 1) if n not in self._outputs)

    def _copy_sticky(self, pad: Any, number: int) -> None:
        """Give a new output the events that began the stream."""
        for kind in _STICKY:
            event = self.sinkpad.get_sticky_event(kind, 0)
            if event is not None:
                pad.store_sticky_event(self._for_output(event, pad, number))

    def _for_output(self, event: Any, pad: Any, number: int) -> Any:
        if event.type != Gst.EventType.STREAM_START:
            return event
        # Streams that part must not share an id.
        return Gst.Event.new_stream_start(pad.create_stream_id(self, str(number)))

    def do_release_pad(self, pad: Any) -> None:
        with self._lock:
            for number, mine in list(self._outputs.items()):
                if mine == pad:
                    del self._outputs[number]
                    self._flows.pop(number, None)
        pad.set_active(False)
        self.remove_pad(pad)

    # -- data -------------------------------------------------------------------
    def _event(self, pad: Any, parent: Any, event: Any) -> bool:
        try:
            if event.type == Gst.EventType.FLUSH_STOP:
                self._flows = {}
            with self._lock:
                outputs = sorted(self._outputs.items())
            if not outputs:
                return True
            done = [out.push_event(self._for_output(event, out, n)) for n, out in outputs]
            return any(done)
        except Exception as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            post_error(self, error, "passing an event on")
            return False

    def _chain(self, pad: Any, parent: Any, buffer: Any) -> Any:
        try:
            return Gst.FlowReturn(self._split(hash(buffer)))
        except Exception as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
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
        _, _, duration, _, memories = _native.buffer_info(address)
        with self._lock:
            outputs = dict(self._outputs)
        made: list[tuple[int, int]] = []
        batch = Batch(batch_meta, buffer=address)
        try:
            frames = batch.frames
            going, dropped = routes(
                frames.pad_index.tolist(), frames.batch_id.tolist(), memories, outputs
            )
            times = frames.buf_pts.tolist()
            stats.dropped += dropped
            for row, memory, number in going:
                out = _native.copy_frame_to_new_buffer(address, batch_meta, row, memory)
                made.append((number, out))
                _native.buffer_set_times(out, times[row], _NO_TIME, duration)
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
            self._flows[number] = _native.pad_push(hash(outputs[number]), out)
        return combined({n: f for n, f in self._flows.items() if n in outputs})
