"""A MetaTransform as a pad probe."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from .._core import _native
from ..errors import PipelineError
from .guests import check_caps, make_guest, start
from .policy import post_error
from .transform import MetaTransform

__all__ = ["MetaProbe"]

_TYPES = (
    Gst.PadProbeType.BUFFER
    | Gst.PadProbeType.BUFFER_LIST
    | Gst.PadProbeType.EVENT_DOWNSTREAM
    | Gst.PadProbeType.EVENT_FLUSH
)
_DROPPED = Gst.FlowReturn.CUSTOM_SUCCESS


class MetaProbe:
    """What :meth:`MetaTransform.as_probe` returns: the probe, until :meth:`remove`.

    The pad holds it, so that it need not be kept.
    """

    def __init__(self, cls: type[MetaTransform], pad: Any, properties: Mapping[str, Any]) -> None:
        if not isinstance(pad, Gst.Pad):
            raise PipelineError(f"a probe needs a Gst.Pad, not {pad!r}")
        self._pad = weakref.ref(pad)
        self.element = make_guest(cls, self._owner, properties)
        """The instance whose ``process`` runs: its properties may be set."""
        self._lists = False
        start(self.element)
        caps = pad.get_current_caps()
        if caps is not None:
            check_caps(self.element, caps)
            if not self.element.do_set_caps(caps, caps):
                raise PipelineError(f"{cls.__name__} refuses {caps.to_string()}")
        self._id = pad.add_probe(_TYPES, _on_probe, self)

    def _owner(self) -> Any:
        pad = self._pad()
        return None if pad is None else pad.get_parent_element()

    @property
    def stats(self) -> dict[str, int]:
        """Counters, as in the ``stats`` property of the element."""
        structure = self.element.get_property("stats")
        names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
        return {name: structure.get_value(name) for name in names}

    def remove(self) -> None:
        """End it. Safe to call again."""
        number, self._id = self._id, 0
        if not number:
            return
        pad = self._pad()
        if pad is not None:
            pad.remove_probe(number)
        self.element.do_stop()

    # -- in the streaming thread ---------------------------------------------------
    def came(self, info: Any) -> Any:
        """What passes the pad."""
        kind = info.type
        if kind & Gst.PadProbeType.BUFFER:
            return self._buffer(hash(info))
        if kind & Gst.PadProbeType.BUFFER_LIST:
            if not self._lists:
                self._lists = True
                self.element.post_warning("buffer lists pass unchanged; told once")
            return Gst.PadProbeReturn.OK
        event = info.get_event()
        if event.type == Gst.EventType.CAPS:
            caps = event.parse_caps()
            check_caps(self.element, caps)
            if not self.element.do_set_caps(caps, caps):
                return Gst.PadProbeReturn.DROP
        passes = self.element._event_came(event, False)
        return Gst.PadProbeReturn.OK if passes else Gst.PadProbeReturn.DROP

    def _buffer(self, info: int) -> Any:
        flow = self.element._run(_native.probe_buffer(info))
        if flow == Gst.FlowReturn.OK:
            return Gst.PadProbeReturn.OK
        if flow == _DROPPED:
            return Gst.PadProbeReturn.DROP
        _native.probe_refuse(info, int(flow))
        return Gst.PadProbeReturn.HANDLED


def _on_probe(pad: Any, info: Any, probe: MetaProbe) -> Any:
    try:
        return probe.came(info)
    except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
        owner = pad.get_parent_element()
        if owner is not None:
            post_error(owner, error, f"{type(probe.element).__name__} on {pad.get_name()}")
        return Gst.PadProbeReturn.DROP
