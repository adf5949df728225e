"""Which streams an element sees, and the hooks that are told of streams, events and queries.

Streams are known from three sides: the events of dsmux, those of nvstreammux (gst-nvevent.h: event
types 400 and up, whose structure has a ``source-id``), and the frames themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from .caps import structure_of
from .streams import StreamInfo, parse_stream_event

__all__ = ["HOOKS", "Change", "Sources", "add_hook_probes", "overridden"]

HOOKS = ("on_source_added", "on_source_eos", "on_source_removed", "on_event", "on_query")
_SOURCE_HOOKS = frozenset(HOOKS[:3])

# Event types of nvstreammux, without their flags.
_NV_ADDED, _NV_DELETED, _NV_EOS = 400, 401, 402


def overridden(cls: type[Any], base: type[Any]) -> frozenset[str]:
    """Hooks that a class has of its own."""
    return frozenset(name for name in HOOKS if getattr(cls, name) is not getattr(base, name))


class Change(NamedTuple):
    """What became of a stream."""

    hook: str
    """Name of the hook that is to be called."""
    source_id: int
    info: StreamInfo | None = None
    """Of one that was added, if known."""


class Sources:
    """Streams that an element knows of; each method returns what has changed, in order."""

    def __init__(self) -> None:
        self._live: dict[int, bool] = {}
        """By source_id: True until it ends."""
        self._by_pad: dict[int, int] = {}
        """pad_index to source_id, as frames have told."""

    def __len__(self) -> int:
        return len(self._live)

    def frames(self, pad_index: Iterable[int], source_id: Iterable[int]) -> list[Change]:
        """Frames of a batch."""
        changes: list[Change] = []
        for pad, source in zip(pad_index, source_id, strict=True):
            self._by_pad[pad] = source
            changes += self._begin(source, None)
        return changes

    def event(self, event: Any) -> list[Change]:
        """An event that comes in order with the frames."""
        kind = event.type
        if kind == Gst.EventType.EOS:
            return [c for s, live in list(self._live.items()) if live for c in self._end(s)]
        info = parse_stream_event(event)
        if info is not None:
            return self._told(info)
        number = int(kind) >> 8
        if not _NV_ADDED <= number <= _NV_EOS:
            return []
        structure = structure_of(event)
        known, source = structure.get_uint("source-id") if structure else (False, 0)
        if not known or not structure.get_name().startswith("nv-"):
            return []
        source = self._by_pad.get(source, source)
        if number == _NV_ADDED:
            return self._begin(source, None)
        return self._end(source) + (self._remove(source) if number == _NV_DELETED else [])

    def _told(self, info: StreamInfo) -> list[Change]:
        source = self._by_pad.get(info.pad_index, info.pad_index)
        if not info.ended and not info.removed:
            return self._begin(source, info)
        return self._end(source) + (self._remove(source) if info.removed else [])

    def _begin(self, source: int, info: StreamInfo | None) -> list[Change]:
        if self._live.get(source):
            return []
        self._live[source] = True
        return [Change("on_source_added", source, info)]

    def _end(self, source: int) -> list[Change]:
        if not self._live.get(source):
            return []
        self._live[source] = False
        return [Change("on_source_eos", source)]

    def _remove(self, source: int) -> list[Change]:
        if self._live.pop(source, None) is None:
            return []
        self._by_pad = {p: s for p, s in self._by_pad.items() if s != source}
        return [Change("on_source_removed", source)]

    def clear(self) -> None:
        """Forget all."""
        self._live.clear()
        self._by_pad.clear()


def add_hook_probes(element: Any, hooks: frozenset[str]) -> None:
    """Watch the pads for the hooks that a class has.

    The probes are functions that find the element through the pad: one that held the element
    would keep it for ever.
    """
    down, flush = Gst.PadProbeType.EVENT_DOWNSTREAM, Gst.PadProbeType.EVENT_FLUSH
    if hooks & _SOURCE_HOOKS or "on_event" in hooks:
        element.sinkpad.add_probe(down | flush, _on_event)
    if "on_event" in hooks:
        element.srcpad.add_probe(Gst.PadProbeType.EVENT_UPSTREAM, _on_event)
    if "on_query" in hooks:
        push = Gst.PadProbeType.PUSH
        element.sinkpad.add_probe(Gst.PadProbeType.QUERY_DOWNSTREAM | push, _on_query)
        element.srcpad.add_probe(Gst.PadProbeType.QUERY_UPSTREAM | push, _on_query)


def event_name(event: Any) -> str:
    """Of an event's type; PyGObject crashes on the nick of a type that GStreamer does not know."""
    kind = event.type
    if int(kind) >> 8 < _NV_ADDED:
        return str(kind.value_nick)
    structure = structure_of(event)
    return str(structure.get_name()) if structure else f"type {int(kind) >> 8}"


def _on_event(pad: Any, info: Any) -> Any:
    element = pad.get_parent()
    if element is None:
        return Gst.PadProbeReturn.OK
    upstream = pad.direction == Gst.PadDirection.SRC
    passes = element._event_came(info.get_event(), upstream)
    return Gst.PadProbeReturn.OK if passes else Gst.PadProbeReturn.DROP


def _on_query(pad: Any, info: Any) -> Any:
    element = pad.get_parent()
    if element is not None and element._query_came(info.get_query()):
        return Gst.PadProbeReturn.HANDLED
    return Gst.PadProbeReturn.OK
