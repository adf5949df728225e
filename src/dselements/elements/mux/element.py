"""The GStreamer element ``dsmux``."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ...element import Property, element
from ...element.caps import templates
from ...element.declared import DeclaredProperties
from ...element.policy import post_error
from ...errors import PipelineError
from .aggregator import MuxAggregator
from .settings import DEFAULT_TIMEOUT_US, FORMATS, MAX_BATCH, MAX_EDGE

_SINK = Gst.PadTemplate.new(
    "sink_%u", Gst.PadDirection.SINK, Gst.PadPresence.REQUEST, Gst.Caps.from_string("video/x-raw")
)
_SRC = templates("video/x-raw", f"video/x-raw,format={{{','.join(FORMATS)}}}")[1]


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
    width: int = 0
    height: int = 0


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
    __gproperties__: ClassVar[dict[str, Any]] = {
        "stats": (
            Gst.Structure, "stats", "Counters of batches, errors and time",
            GObject.ParamFlags.READABLE,
        ),
    }  # fmt: skip

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
        help="Live: microseconds after which an incomplete batch is pushed; -1 is at once as due",
    )
    live_source = Property(
        False, mutable=False, help="The inputs are live; found out by itself too"
    )
    sync_inputs = Property(
        False,
        help="A batch holds frames of one moment; a slower stream is not in every batch",
    )
    enable_padding = Property(
        False, mutable=False, help="Keep the aspect ratio by black borders instead of stretching"
    )

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._inputs: dict[str, Input] = {}
        self._size = (0, 0)
        self._aggregator = MuxAggregator()
        self._aggregator.owner = self
        self.add(self._aggregator)
        self.add_pad(
            Gst.GhostPad.new_from_template(
                "src", self._aggregator.get_static_pad("src"), self.get_pad_template("src")
            )
        )

    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name == "stats":
            return self._aggregator.stats.structure("dsmux")
        return super().do_get_property(pspec)

    def _property_changed(self, declared: Property[Any]) -> None:
        if declared.attribute == "batch_size":
            self._aggregator.batch_size = self.batch_size
        elif declared.attribute == "sync_inputs":
            self._aggregator.sync_inputs = self.sync_inputs
        elif declared.attribute == "batched_push_timeout":
            self._aggregator.set_property("latency", max(self.batched_push_timeout, 0) * 1000)

    # -- pads -----------------------------------------------------------------
    def do_request_new_pad(self, template: Any, name: str | None, caps: Any) -> Any:
        try:
            return self._add_input(template, name)
        except Exception as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "adding an input")
            return None

    def _add_input(self, template: Any, name: str | None) -> Any:
        with self._lock:
            number = self._number(name)
            state = Input(number)
            convert = _make("videoconvert", f"convert_{number}")
            scale = _make("videoscale", f"scale_{number}")
            scale.set_property("add-borders", self.enable_padding)
            fit = _make("capsfilter", f"fit_{number}")
            state.elements = [convert, scale, fit]
            fit.set_property("caps", self._target_caps())
            for part in state.elements:
                self.add(part)
            convert.link(scale)
            scale.link(fit)
            state.pad = self._aggregator.request_pad_simple(f"sink_{number}")
            self._aggregator.inputs[state.pad.name] = state
            fit.get_static_pad("src").link(state.pad)
            state.ghost = Gst.GhostPad.new_from_template(
                f"sink_{number}", convert.get_static_pad("sink"), template
            )
            state.ghost.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, _on_event, (self, number))
            state.ghost.set_active(True)
            self._inputs[state.ghost.name] = state
        for part in reversed(state.elements):
            part.sync_state_with_parent()
        self.add_pad(state.ghost)
        return state.ghost

    def _number(self, name: str | None) -> int:
        taken = {state.number for state in self._inputs.values()}
        if name and name.startswith("sink_") and name[5:].isdigit():
            number = int(name[5:])
            if number in taken:
                raise PipelineError(f"dsmux has a pad {name} already", hint="take another number")
            return number
        return next(n for n in range(len(taken) + 1) if n not in taken)

    def do_release_pad(self, pad: Any) -> None:
        try:
            self._remove_input(pad)
        except Exception as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "removing an input")

    def _remove_input(self, ghost: Any) -> None:
        with self._lock:
            state = self._inputs.pop(ghost.name, None)
        if state is None:
            return
        # First the aggregator's pad: its flushing frees a streaming thread that waits there.
        name = state.pad.name
        self._aggregator.release_request_pad(state.pad)
        for part in state.elements:
            part.set_state(Gst.State.NULL)
        ghost.set_active(False)
        ghost.set_target(None)
        for part in state.elements:
            self.remove(part)
        self._aggregator.inputs.pop(name, None)
        self.remove_pad(ghost)

    # -- negotiation ------------------------------------------------------------
    def _target_caps(self) -> Any:
        width, height = self.width or self._size[0], self.height or self._size[1]
        text = f"video/x-raw,format={self.format},pixel-aspect-ratio=1/1"
        if width:
            text += f",width={width}"
        if height:
            text += f",height={height}"
        return Gst.Caps.from_string(text)

    def caps_arrived(self, number: int, caps: Any) -> None:
        """Note an input's size; the first one decides the size of all, unless it was given."""
        structure = caps.get_structure(0)
        width, height = structure.get_int("width")[1], structure.get_int("height")[1]
        with self._lock:
            state = next((s for s in self._inputs.values() if s.number == number), None)
            if state is None:
                return
            state.width, state.height = width, height
            if self._size == (0, 0) and width and height:
                self._size = (width, height)
            target = self._target_caps()
            filters = [s.elements[2] for s in self._inputs.values()]
        for fit in filters:
            if not fit.get_property("caps").is_equal(target):
                fit.set_property("caps", target)

    def do_change_state(self, transition: Any) -> Any:
        if transition == Gst.StateChange.READY_TO_PAUSED:
            with self._lock:
                self._size = (0, 0)
                target = self._target_caps()
                for state in self._inputs.values():
                    state.elements[2].set_property("caps", target)
                    state.elements[1].set_property("add-borders", self.enable_padding)
        return Gst.Bin.do_change_state(self, transition)


def _on_event(pad: Any, info: Any, data: tuple[Mux, int]) -> Any:
    event = info.get_event()
    if event.type == Gst.EventType.CAPS:
        mux, number = data
        try:
            mux.caps_arrived(number, event.parse_caps())
        except Exception as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            post_error(mux, error, "taking an input's caps")
    return Gst.PadProbeReturn.OK


def _make(factory: str, name: str) -> Any:
    made = Gst.ElementFactory.make(factory, name)
    if made is None:
        raise PipelineError(
            f"no GStreamer element named {factory}",
            hint="apt-get install gstreamer1.0-plugins-base",
        )
    return made
