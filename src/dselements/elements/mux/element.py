"""The GStreamer element ``dsmux``."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ...element import Property, element
from ...element.caps import templates
from ...element.declared import DeclaredProperties
from ...element.floating import lend_pad
from ...element.gil import set_uint64
from ...element.policy import post_error
from ...element.stats import stats_property
from ...errors import PipelineError
from ...meta.fields import NO_TIME
from .aggregator import MuxAggregator
from .inputs import Input
from .settings import (
    DEFAULT_TIMEOUT_US,
    FORMATS,
    MAX_BATCH,
    MAX_EDGE,
    SD_HEIGHT,
)

_SINK = Gst.PadTemplate.new(
    "sink_%u", Gst.PadDirection.SINK, Gst.PadPresence.REQUEST, Gst.Caps.from_string("video/x-raw")
)
_SRC = templates("video/x-raw", f"video/x-raw,format={{{','.join(FORMATS)}}}")[1]
_STREAM_EVENTS = (Gst.EventType.CAPS, Gst.EventType.SEGMENT, Gst.EventType.SEGMENT_DONE)


@element(
    "dsmux",
    description="Makes one batch with NvDsBatchMeta of several streams, in system memory",
    klass="Muxer/Video",
    author="dselements",
)
class Mux(DeclaredProperties, Gst.Bin):  # type: ignore[misc]
    """See :mod:`dselements.elements.mux`."""

    __gtype_name__ = "DsMux"
    __gsttemplates__ = (_SINK, _SRC)
    __gproperties__: ClassVar[dict[str, Any]] = stats_property(
        "Counters of batches, errors and time"
    )

    batch_size = Property(
        0, min=0, max=MAX_BATCH, help="Most frames of a batch; 0 is the number of inputs"
    )
    width = Property(
        0, min=0, max=MAX_EDGE, mutable=False, help="Of every frame; 0 as the first input"
    )
    height = Property(
        0, min=0, max=MAX_EDGE, mutable=False, help="Of every frame; 0 as the first input"
    )
    format = Property("RGBA", choices=FORMATS, mutable=False, help="Format of every frame")
    batched_push_timeout = Property(
        DEFAULT_TIMEOUT_US,
        min=-1,
        help="Live: microseconds after the first frame is due that an incomplete batch is pushed; "
        "-1 waits for every input",
    )
    live_source = Property(
        False,
        mutable=False,
        help="Keep time as if inputs were live; live inputs are found out by themselves",
    )
    sync_inputs = Property(
        False, help="Batch frames of the same running time; for inputs of different frame rates"
    )
    enable_padding = Property(
        False, mutable=False, help="Keep the aspect ratio by black borders instead of stretching"
    )

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._inputs: dict[str, Input] = {}
        """By name of the sink pad."""
        self._leaving: set[int] = set()
        """Numbers of inputs that are being removed."""
        self._serial = -1
        self._size = (0, 0)
        self._aggregator = MuxAggregator()
        self.add(self._aggregator)
        src = Gst.GhostPad.new_from_template(
            "src", self._aggregator.get_static_pad("src"), self.get_pad_template("src")
        )
        src.add_probe(Gst.PadProbeType.EVENT_UPSTREAM, _on_upstream_event)
        self.add_pad(src)

    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name == "stats":
            return self._aggregator.stats.structure("dsmux")
        return super().do_get_property(pspec)

    def _property_changed(self, declared: Property[Any]) -> None:
        aggregator = self._aggregator
        if declared.attribute == "batch_size":
            aggregator.batch_size = self.batch_size
        elif declared.attribute == "sync_inputs":
            aggregator.sync_inputs = self.sync_inputs
        elif declared.attribute == "batched_push_timeout":
            aggregator.timeout_ns = self.batched_push_timeout * 1000
            set_uint64(aggregator, "latency", max(aggregator.timeout_ns, 0))

    # -- pads -----------------------------------------------------------------
    def do_request_new_pad(self, template: Any, name: str | None, caps: Any) -> Any:
        try:
            return lend_pad(self._add_input(template, name))
        except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "adding an input")
            return None

    def _add_input(self, template: Any, name: str | None) -> Any:
        with self._lock:
            number = self._number(name)
            state = Input(number)
            # Not named by the number: that may be taken again while its old input is removed.
            self._serial += 1
            convert = _make("videoconvert", f"convert_{self._serial}")
            scale = _make("videoscale", f"scale_{self._serial}")
            scale.set_property("add-borders", self.enable_padding)
            fit = _make("capsfilter", f"fit_{self._serial}")
            state.elements = [convert, scale, fit]
            fit.set_property("caps", self._target_caps())
            for part in state.elements:
                self.add(part)
            convert.get_static_pad("sink").add_probe(
                Gst.PadProbeType.QUERY_UPSTREAM | Gst.PadProbeType.PUSH, _on_query
            )
            convert.link(scale)
            scale.link(fit)
            state.pad = self._aggregator.request_pad_simple(f"sink_{self._serial}")
            fit.get_static_pad("src").link(state.pad)
            state.ghost = Gst.GhostPad.new_from_template(
                f"sink_{number}", convert.get_static_pad("sink"), template
            )
            # No reference to this element in it: pad, probe and element would keep one another.
            state.ghost.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, _on_event)
            state.ghost.set_active(True)
            self._inputs[state.ghost.get_name()] = state
            self._tell_aggregator()
        for part in reversed(state.elements):
            part.sync_state_with_parent()
        self.add_pad(state.ghost)
        return state.ghost

    def _tell_aggregator(self) -> None:
        self._aggregator.inputs = tuple(sorted(self._inputs.values(), key=lambda s: s.number))

    def _number(self, name: str | None) -> int:
        taken = {state.number for state in self._inputs.values()} | self._leaving
        if name and name.startswith("sink_") and name[5:].isdigit():
            number = int(name[5:])
            if number >= 2**31:
                raise PipelineError(f"no pad can be {name}", hint="sink_0 to sink_2147483647")
            if number in self._leaving:
                raise PipelineError(f"dsmux is still removing {name}", hint="try again")
            if number in taken:
                raise PipelineError(f"dsmux has a pad {name} already", hint="take another number")
            return number
        return next(n for n in range(len(taken) + 1) if n not in taken)

    def do_release_pad(self, pad: Any) -> None:
        try:
            self._remove_input(pad)
        except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "removing an input")

    def _remove_input(self, ghost: Any) -> None:
        if "_lock" not in self.__dict__:
            # Being disposed of: the Python side is gone, and the bin drops its elements itself.
            ghost.set_active(False)
            self.remove_pad(ghost)
            return
        with self._lock:
            state = self._inputs.pop(ghost.get_name(), None)
            if state is None:
                return
            self._leaving.add(state.number)
            self._tell_aggregator()
            if state.told:
                self._aggregator.gone.append(state.info()._replace(ended=True, removed=True))
        # A streaming thread that is on its way through is told to stop (flushing), not that
        # something is not linked, which would be an error of its source.
        for part in state.elements:
            part.get_static_pad("src").set_active(False)
        # First the aggregator's pad: its flushing frees a streaming thread that waits there.
        self._aggregator.release_request_pad(state.pad)
        for part in state.elements:
            part.set_locked_state(True)
            part.set_state(Gst.State.NULL)
        ghost.set_active(False)
        ghost.set_target(None)
        for part in state.elements:
            self.remove(part)
        self.remove_pad(ghost)
        with self._lock:
            self._leaving.discard(state.number)

    # -- negotiation ------------------------------------------------------------
    def _target_caps(self) -> Any:
        width, height = self.width or self._size[0], self.height or self._size[1]
        text = f"video/x-raw,format={self.format},pixel-aspect-ratio=1/1"
        if width:
            text += f",width={width}"
        if height:
            text += f",height={height}"
            if self.format == "NV12":
                # One batch has one colour matrix, whatever each input came with.
                text += f",colorimetry={'bt709' if height > SD_HEIGHT else 'bt601'}"
        return Gst.Caps.from_string(text)

    def event_arrived(self, name: str, event: Any) -> None:
        """Note an input's stream; the first one decides the size of all, unless it was given."""
        state = self._inputs.get(name)
        if state is None:
            return
        before = state.arriving
        stream = before.after(event)
        marker = state.mark(stream)
        if event.type == Gst.EventType.CAPS:
            with self._lock:
                if self._size == (0, 0) and stream.width and stream.height:
                    self._size = (stream.width, stream.height)
                target = self._target_caps()
                filters = [s.elements[2] for s in self._inputs.values()]
            for fit in filters:
                if not fit.get_property("caps").is_equal(target):
                    fit.set_property("caps", target)
            if stream.framerate != before.framerate:
                # What was known of the latency may be wrong now. The aggregator learns it from
                # the query, and the application asks the rest of the pipeline.
                self._aggregator.srcpad.query(Gst.Query.new_latency())
                self.post_message(Gst.Message.new_latency(self))
        sink = state.elements[0].get_static_pad("sink")
        sink.send_event(marker)
        if event.type == Gst.EventType.SEGMENT_DONE and stream.segment is not None:
            # Holds this input's place until the others are done as well; the marker's news and
            # the aggregator make one event of it.
            sink.send_event(Gst.Event.new_gap(stream.segment.start, 0))

    def sought(self, seqnum: int) -> None:
        """A seek came from downstream: its segments give the output a new one."""
        self._aggregator.sought = seqnum

    def latency_asked(self, part: Any, query: Any) -> bool:
        """Answer for an input that does not know its latency yet, if another one is live.

        GstAggregator asks all inputs and takes one that fails (a source that has not started, or
        not negotiated) as none being live; it would then wait for it, time-out or not.
        """
        peers = {}
        for state in tuple(self._inputs.values()):
            peer = state.ghost.get_peer()
            if peer is not None:
                peers[state.elements[0]] = peer
        own = peers.pop(part, None)
        if own is None or own.query(Gst.Query.new_latency()):
            return False
        for peer in peers.values():
            answer = Gst.Query.new_latency()
            if peer.query(answer) and answer.parse_latency()[0]:
                query.set_latency(False, 0, NO_TIME)
                return True
        return False

    def do_change_state(self, transition: Any) -> Any:
        if transition == Gst.StateChange.READY_TO_PAUSED:
            with self._lock:
                self._size = (0, 0)
                target = self._target_caps()
                for state in self._inputs.values():
                    state.elements[2].set_property("caps", target)
                    state.elements[1].set_property("add-borders", self.enable_padding)
            if hasattr(self._aggregator, "set_force_live"):  # GStreamer 1.22
                self._aggregator.set_force_live(self.live_source)
        return Gst.Bin.do_change_state(self, transition)


def _on_event(pad: Any, info: Any) -> Any:
    event = info.get_event()
    if event.type in _STREAM_EVENTS:
        mux = pad.get_parent()
        try:
            if mux is not None:
                mux.event_arrived(pad.get_name(), event)
        except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            post_error(mux, error, f"taking the {event.type.value_nick} of {pad.get_name()}")
        if event.type == Gst.EventType.SEGMENT_DONE:
            return Gst.PadProbeReturn.DROP
    return Gst.PadProbeReturn.OK


def _on_query(pad: Any, info: Any) -> Any:
    query = info.get_query()
    if query.type != Gst.QueryType.LATENCY:
        return Gst.PadProbeReturn.OK
    part = pad.get_parent()
    mux = part and part.get_parent()
    try:
        if mux is not None and mux.latency_asked(part, query):
            return Gst.PadProbeReturn.HANDLED
    except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
        post_error(mux, error, "asking an input for its latency")
    return Gst.PadProbeReturn.OK


def _on_upstream_event(pad: Any, info: Any) -> Any:
    event = info.get_event()
    if event.type == Gst.EventType.SEEK:
        mux = pad.get_parent()
        if mux is not None:
            mux.sought(event.get_seqnum())
    # A batch that is late says nothing about any one input.
    late = event.type == Gst.EventType.QOS
    return Gst.PadProbeReturn.DROP if late else Gst.PadProbeReturn.OK


def _make(factory: str, name: str) -> Any:
    made = Gst.ElementFactory.make(factory, name)
    if made is None:
        raise PipelineError(
            f"no GStreamer element named {factory}",
            hint="apt-get install gstreamer1.0-plugins-base",
        )
    return made
