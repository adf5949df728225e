"""Runs one element without a pipeline: push buffers in, pull what comes out."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import gi
import numpy as np
import numpy.typing as npt

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

from .._core import _native, load
from ..element import MetaTransform, register
from ..element.caps import structure_of, video_format
from ..element.floating import take_over
from ..errors import HarnessError
from ..meta import Batch
from ..meta.fields import NO_TIME
from ..surface import SystemSurfaces
from .builders import FrameLike, make_buffer
from .records import BatchRecord, record_batch

__all__ = ["DEFAULT_CAPS", "ElementHarness"]

DEFAULT_CAPS = "video/x-raw,format=RGBA,width=64,height=48,framerate=30/1"
_SECOND = 1_000_000_000
_numbers = itertools.count()


class ElementHarness:
    """One element between a source and a sink that the test plays.

    ::

        with ElementHarness("speedgate", min_confidence=0.5) as h:
            h.push_frame(objects=[{"label": "car", "confidence": 0.3, "bbox": (1, 2, 30, 20)}])
            assert h.pull().objects == []

    A push runs the element in the calling thread, as a streaming thread would: when it returns,
    what the element made of the buffer is there. Elements with threads of their own (dsmux, queue)
    answer later: :meth:`pull` waits.

    :param element: a class (registered or not), a registered name, a Gst.Element, a function of a
        batch, or gst-launch text of several elements.
    :param caps: of the buffers that are pushed, as text.
    :param pads: names of request sink pads; by default the element's own ``sink``.
    :param clock: for live elements; none by default, as synchronous elements need none.
    :param properties: set before it starts; ``_`` stands for ``-``.
    :raises HarnessError: if there is no such element, or it does not start.
    """

    def __init__(
        self,
        element: Any,
        caps: str = DEFAULT_CAPS,
        *,
        pads: Sequence[str] = ("sink",),
        clock: Any = None,
        **properties: Any,
    ) -> None:
        Gst.init(None)
        load()
        self.caps = caps
        """Of the buffers that are pushed."""
        self.flow = Gst.FlowReturn.OK
        """What the last push returned."""
        self.events: list[Any] = []
        """Events that came out, in order: Gst.Event, sticky ones too."""
        self.upstream_events: list[Any] = []
        """Events that the element sent upstream."""
        self._clock = clock
        self._pads = tuple(pads)
        self._format = video_format(Gst.Caps.from_string(caps))
        self._out: deque[BatchRecord] = deque()
        self._pushed: dict[int, int] = {}
        self._pulled: set[int] = set()
        self._order: list[int] = []
        self._n_in = self._n_out = 0
        self._arrived = threading.Condition()
        self._sources: dict[str, Any] = {}
        self._sink: Any = None
        self._running = False
        self._element = _make(element)
        self.set(**properties)
        self.bus = Gst.Bus.new()
        """Messages of the element."""
        self.element.set_bus(self.bus)

    # -- life ------------------------------------------------------------------
    def start(self) -> ElementHarness:
        """Link the pads and play. ``with`` does it.

        :raises HarnessError: if the element refuses; the message has what it said.
        """
        if self._running:
            return self
        self._running = True
        inbox, outbox = _pads_of(self)
        for name in self._pads:
            self._link_source(name, inbox)
        self._link_sink(outbox)
        if self._clock is not None:
            self.element.set_clock(self._clock)
        self.element.set_base_time(0)
        if self.element.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
            problem = self._problem() or "it gave no reason"
            self.stop()
            raise HarnessError(f"{self._name} does not start: {problem}")
        for name, source in self._sources.items():
            source.set_active(True)
            source.push_event(Gst.Event.new_stream_start(f"harness-{name}-{next(_numbers)}"))
            self.set_caps(self.caps, pad=name)
            segment = Gst.Segment.new()
            segment.init(Gst.Format.TIME)
            source.push_event(Gst.Event.new_segment(segment))
        return self

    def stop(self) -> None:
        """Set the element to NULL and let go of its pads. ``with`` does it."""
        if not self._running:
            return
        self._running = False
        self.element.set_state(Gst.State.NULL)
        for name, source in self._sources.items():
            source.set_active(False)
            peer = source.get_peer()
            if peer is not None:
                source.unlink(peer)
                if name != "sink" and peer.get_pad_template().presence == Gst.PadPresence.REQUEST:
                    self.element.release_request_pad(peer)
        # The pads' functions refer to this harness: they must go.
        sink, self._sink = self._sink, None
        if sink is not None:
            peer = sink.get_peer()
            if peer is not None:
                peer.unlink(sink)
            sink.set_active(False)
        self._sources.clear()
        self.bus.set_flushing(True)

    def __enter__(self) -> ElementHarness:
        return self.start()

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and let go of the element. Records that were pulled stay good."""
        self.stop()
        self._element = None

    @property
    def element(self) -> Any:
        """The Gst.Element. :raises HarnessError: after the ``with`` block."""
        if self._element is None:
            raise HarnessError("the harness is closed", hint="look at it inside the with block")
        return self._element

    def restart(self) -> None:
        """To NULL and back to PLAYING, as an application that plays a second file."""
        self.stop()
        self.bus = Gst.Bus.new()
        self.element.set_bus(self.bus)
        self.start()

    def _link_source(self, name: str, inbox: _Inbox) -> None:
        pad = self.element.get_static_pad(name) or self.element.request_pad_simple(name)
        if pad is None:
            raise HarnessError(
                f"{self._name} has no sink pad {name!r}", hint="pads=… names those to use"
            )
        source = _pad(f"src_{name}", Gst.PadDirection.SRC)
        source.set_event_function_full(inbox.event)
        source.set_query_function_full(inbox.query)
        if source.link(pad) != Gst.PadLinkReturn.OK:
            raise HarnessError(f"{self._name}: its pad {name!r} cannot be linked")
        self._sources[name] = source

    def _link_sink(self, outbox: _Outbox) -> None:
        self._sink = _pad("sink", Gst.PadDirection.SINK)
        self._sink.set_chain_function_full(outbox.chain)
        self._sink.set_event_function_full(outbox.event)
        self._sink.set_active(True)
        pad = self.element.get_static_pad("src")
        if pad is not None and pad.link(self._sink) != Gst.PadLinkReturn.OK:
            raise HarnessError(f"{self._name}: its src pad cannot be linked")

    @property
    def _name(self) -> str:
        factory = self.element.get_factory()
        return factory.get_name() if factory is not None else type(self.element).__name__

    # -- in -------------------------------------------------------------------
    def push_frame(
        self,
        objects: Sequence[Mapping[str, Any]] = (),
        *,
        pixels: npt.ArrayLike | bytes | None = None,
        pts: int | None = None,
        pad: str | None = None,
        **frame: Any,
    ) -> Any:
        """Push a buffer of one frame with metadata.

        :param objects: mappings with ``bbox`` (left, top, width, height in pixels) and any of
            ``class_id``, ``label``, ``confidence``, ``object_id``, ``classifiers``, ``payloads``,
            ``parent`` … as :meth:`dselements.Batch.synthetic` takes them.
        :param pixels: bytes or uint8 array of the frame; black by default.
        :param pts: nanoseconds; a frame after the last one by default.
        :param frame: fields of the frame: ``source_id``, ``payloads`` …
        :returns: the Gst.FlowReturn.
        :raises HarnessError: if the element fails; the message has its traceback.
        """
        number = self._n_in
        one = {"frame_num": number, **frame, "objects": objects}
        return self.push([one], pixels=None if pixels is None else [pixels], pts=pts, pad=pad)

    def push(
        self,
        frames: Sequence[FrameLike] | None,
        *,
        pixels: Sequence[npt.ArrayLike | bytes] | None = None,
        pts: int | None = None,
        pad: str | None = None,
        payloads: Mapping[str, Any] | None = None,
    ) -> Any:
        """Push a buffer of several frames; without metadata if ``frames`` is None.

        :returns: the Gst.FlowReturn.
        :raises HarnessError: if the element fails.
        """
        source = self._source(pad)
        info = self._format
        if pixels is None:
            blank = np.zeros(info.size if info is not None else 1, np.uint8)
            pixels = [blank] * max(len(frames or ()), 1)
        duration = self._duration()
        if pts is None:
            pts = self._n_in * duration
        buffer = make_buffer(
            frames,
            pixels,
            pts=pts,
            duration=duration,
            size=(0, 0) if info is None else (info.width, info.height),
            payloads=payloads,
        )
        return self._push_address(buffer, pts, source)

    def push_buffer(self, buffer: Any, *, pad: str | None = None) -> Any:
        """Push a Gst.Buffer of your own; it is shared with you while you hold it.

        :returns: the Gst.FlowReturn.
        """
        source, address = self._source(pad), hash(buffer)
        _native.buffer_ref(address)
        return self._push_address(address, _native.buffer_info(address)[0], source)

    def _push_address(self, buffer: int, pts: int, source: Any) -> Any:
        self._n_in += 1
        self._pushed[pts] = self._pushed.get(pts, 0) + 1
        self.flow = Gst.FlowReturn(_native.pad_push(hash(source), buffer))
        if self.flow in (Gst.FlowReturn.ERROR, Gst.FlowReturn.NOT_NEGOTIATED):
            problem = self._problem()
            raise HarnessError(
                f"{self._name} answered a buffer with {self.flow.value_nick}: "
                f"{problem or 'it gave no reason'}"
            )
        return self.flow

    def _source(self, pad: str | None) -> Any:
        if not self._running:
            raise HarnessError("the harness is not started", hint="use it in a with block")
        name = self._pads[0] if pad is None else pad
        if name not in self._sources:
            raise HarnessError(f"no pad {name!r}", hint=f"pads: {', '.join(self._sources)}")
        return self._sources[name]

    def _duration(self) -> int:
        caps = Gst.Caps.from_string(self.caps)  # the structure is its
        structure = structure_of(caps, 0)
        known, num, denom = structure.get_fraction("framerate")
        return _SECOND * denom // num if known and num else _SECOND // 30

    def set_caps(self, caps: str, *, pad: str | None = None) -> None:
        """Change the format of what is pushed from now on."""
        parsed = Gst.Caps.from_string(caps)
        if parsed is None:
            raise HarnessError(f"caps cannot be parsed: {caps!r}")
        self.caps, self._format = caps, video_format(parsed)
        taken = self._source(pad).push_event(Gst.Event.new_caps(parsed))
        # GStreamer keeps a sticky event that was refused, and tells with the next buffer only.
        problem = self._problem()
        if not taken or problem:
            raise HarnessError(f"{self._name} refuses caps {caps}: {problem or 'no reason given'}")

    def push_event(self, event: Any, *, pad: str | None = None) -> bool:
        """Send an event downstream. True if the element took it."""
        return bool(self._source(pad).push_event(event))

    def send_upstream(self, event: Any) -> bool:
        """Send an event upstream from behind the element. True if it was taken."""
        return bool(self._sink.push_event(event))

    def query(self, query: Any) -> bool:
        """Ask the element from behind. True if the query was answered."""
        return bool(self._sink.peer_query(query))

    def eos(self, *, pad: str | None = None) -> None:
        """End the stream (all pads unless one is named)."""
        for name in self._sources if pad is None else (pad,):
            self._source(name).push_event(Gst.Event.new_eos())

    def flush(self, *, pad: str | None = None) -> None:
        """Flush as a seek does: FLUSH_START, FLUSH_STOP, and a new segment."""
        source = self._source(pad)
        source.push_event(Gst.Event.new_flush_start())
        source.push_event(Gst.Event.new_flush_stop(True))
        segment = Gst.Segment.new()
        segment.init(Gst.Format.TIME)
        source.push_event(Gst.Event.new_segment(segment))

    # -- out ------------------------------------------------------------------
    def pull(self, timeout_s: float = 5.0) -> BatchRecord:
        """The next buffer that came out, as a record.

        :raises HarnessError: if none came; the message names the buffers that are missing.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: bool(self._out), self._patience(timeout_s)):
                problem = self._problem()
                raise HarnessError(
                    f"no buffer came out of {self._name}; "
                    + (problem or f"pushed and not seen: {self._missing_text()}")
                )
            return self._out.popleft()

    def _patience(self, timeout_s: float) -> float:
        # What runs in the pushing thread has answered already.
        return timeout_s if self._threaded() else min(timeout_s, 0.0)

    def _threaded(self) -> bool:
        return isinstance(self.element, Gst.Bin) or not isinstance(self.element, MetaTransform)

    def try_pull(self) -> BatchRecord | None:
        """The next buffer if it is there, or None."""
        with self._arrived:
            return self._out.popleft() if self._out else None

    def pull_all(self) -> list[BatchRecord]:
        """All buffers that are there."""
        with self._arrived:
            found = list(self._out)
            self._out.clear()
            return found

    @property
    def dropped(self) -> list[int]:
        """Time stamps (ns) of pushed buffers that have not come out."""
        with self._arrived:
            return sorted(self._missing())

    def _missing(self) -> list[int]:
        return [pts for pts in self._pushed if pts not in self._pulled]

    def _missing_text(self) -> str:
        missing = sorted(self._missing())
        shown = ", ".join("no time" if pts == NO_TIME else f"{pts} ns" for pts in missing[:8])
        return (shown + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")) or "none"

    def assert_all_passed(self) -> None:
        """Fail unless every pushed buffer came out once, in the order of pushing.

        :raises HarnessError: naming the buffers that are missing, doubled or out of order.
        """
        with self._arrived:
            if self._missing():
                raise HarnessError(f"{self._name} dropped buffers: {self._missing_text()}")
            want = sum(self._pushed.values())
            if self._n_out != want:
                raise HarnessError(f"{self._name} made {self._n_out} buffers of {want}")
            order = [pts for pts in self._order if pts != NO_TIME]
        if order != [pts for pts in self._pushed for _ in range(self._pushed[pts])
                     if pts != NO_TIME]:  # fmt: skip
            raise HarnessError(f"{self._name} changed the order: out came {order[:12]}")

    # -- properties and messages ------------------------------------------------
    def set(self, **properties: Any) -> None:
        """Set properties, by name with ``_`` for ``-``. Text is taken as gst-launch takes it.

        :raises HarnessError: if there is none of that name.
        """
        for name, value in properties.items():
            wanted = name.rstrip("_").replace("_", "-")
            spec = self.element.find_property(wanted)
            if spec is None:
                known = sorted(p.name for p in self.element.list_properties())
                raise HarnessError(
                    f"{self._name} has no property {wanted!r}", hint=f"it has {', '.join(known)}"
                )
            if isinstance(value, str):
                Gst.util_set_object_arg(self.element, wanted, value)
            else:
                self.element.set_property(wanted, value)

    def get(self, name: str) -> Any:
        """Value of a property."""
        return self.element.get_property(name.replace("_", "-"))

    @property
    def stats(self) -> dict[str, Any]:
        """The element's ``stats`` property as a dict."""
        structure = self.element.get_property("stats")
        names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
        return {name: structure.get_value(name) for name in names}

    def messages(self, kind: Any = None) -> list[Any]:
        """Messages since the last call: all, or those of a Gst.MessageType; the rest stay."""
        found: list[Any] = []
        kept: list[Any] = []
        while (message := self.bus.pop()) is not None:
            (found if kind is None or message.type & kind else kept).append(message)
        for message in kept:
            self.bus.post(message)
        return found

    @property
    def warnings(self) -> list[str]:
        """Texts of the warnings since they were last asked for."""
        return [_text(message) for message in self.messages(Gst.MessageType.WARNING)]

    @property
    def errors(self) -> list[str]:
        """Texts of the errors since they were last asked for."""
        return [_text(message) for message in self.messages(Gst.MessageType.ERROR)]

    def _problem(self) -> str:
        return "\n".join(self.errors)

    # -- called by the pads -------------------------------------------------------
    def _came(self, record: BatchRecord, pts: int) -> None:
        with self._arrived:
            self._n_out += 1
            self._pulled.add(pts)
            self._order.append(pts)
            self._out.append(record)
            self._arrived.notify_all()

    def wait_for(self, test: Callable[[], object], timeout_s: float = 5.0) -> None:
        """Wait until a function is true. :raises HarnessError: if it does not become so."""
        end = time.monotonic() + timeout_s
        while not test():
            if time.monotonic() > end:
                raise HarnessError(f"not true within {timeout_s} s: {test!r}")
            time.sleep(0.005)


class _Inbox:
    """What the element sends upstream."""

    def __init__(self, harness: ElementHarness) -> None:
        self._events = harness.upstream_events
        self._live = harness._clock is not None

    def event(self, _pad: Any, _parent: Any, event: Any) -> bool:
        self._events.append(event)
        return True

    def query(self, pad: Any, parent: Any, query: Any) -> bool:
        if query.type == Gst.QueryType.LATENCY:
            query.set_latency(self._live, 0, NO_TIME)
            return True
        return bool(pad.query_default(parent, query))


class _Outbox:
    """What comes out of the element."""

    def __init__(self, harness: ElementHarness) -> None:
        self._harness = harness
        self._format = harness._format

    def chain(self, _pad: Any, _parent: Any, buffer: Any) -> Any:
        record, pts = _copy(buffer, self._format)
        del buffer
        self._harness._came(record, pts)
        return Gst.FlowReturn.OK

    def event(self, _pad: Any, _parent: Any, event: Any) -> bool:
        if event.type == Gst.EventType.CAPS:
            self._format = video_format(event.parse_caps())
        self._harness.events.append(event)
        return True


def _pad(name: str, direction: Any) -> Any:
    """A pad that takes any caps, whatever it has now."""
    template = Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS, Gst.Caps.new_any())
    return Gst.Pad.new_from_template(template, name)


def _pads_of(harness: ElementHarness) -> tuple[_Inbox, _Outbox]:
    return _Inbox(harness), _Outbox(harness)


def _copy(buffer: Any, info: Any) -> tuple[BatchRecord, int]:
    address = hash(buffer)
    pts, _, _, _, memories = _native.buffer_info(address)
    pixels = []
    for index in range(memories):
        memory = _native.MemoryMap(address, index, False)
        try:
            data = _native.read_memory(memory.address, memory.size) if memory.size else b""
            pixels.append(np.frombuffer(data, np.uint8))
        finally:
            memory.close()
    record = BatchRecord(None, None)
    batch_meta = _native.buffer_batch_meta(address)
    if batch_meta:
        surfaces = None if info is None else SystemSurfaces(address, info)
        batch = Batch(batch_meta, buffer=address, surfaces=surfaces)
        try:
            record = record_batch(batch)
        finally:
            batch.close()
    record.pts = None if pts == NO_TIME else pts
    record.pixels = pixels
    record.flags = int(buffer.get_flags())
    return record, pts


def _make(element: Any) -> Any:
    if isinstance(element, Gst.Element):
        return element
    if isinstance(element, type) and issubclass(element, Gst.Element):
        return element()
    if callable(element) and not isinstance(element, str):
        return _from_function(cast("Callable[[Batch], object]", element))
    if not isinstance(element, str):
        raise HarnessError(f"{element!r} is no element, class, function or text")
    register()
    if "!" in element or " " in element.strip() or "=" in element:
        try:
            return Gst.parse_bin_from_description(element, True)
        except GLib.Error as error:
            raise HarnessError(f"{element!r} cannot be built: {error.message}") from error
    made = Gst.ElementFactory.make(element, None)
    if made is None:
        raise HarnessError(
            f"no element named {element!r}",
            hint="import the module that has it, or name an installed one",
        )
    return take_over(made)


def _from_function(function: Callable[[Batch], object]) -> Any:
    def process(self: Any, batch: Batch) -> object:
        return function(batch)

    name = f"DsHarnessFunction{next(_numbers)}"
    return type(name, (MetaTransform,), {"process": process, "__gtype_name__": name})()


def _text(message: Any) -> str:
    error = message.type == Gst.MessageType.ERROR
    problem, details = message.parse_error() if error else message.parse_warning()
    return f"{problem.message}\n{details}" if details else str(problem.message)
