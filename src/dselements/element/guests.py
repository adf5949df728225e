"""A MetaTransform that works for something else than its own pads: a probe, or another element."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ..errors import PipelineError, PropertyValueError
from .transform import MetaTransform

__all__ = ["check_caps", "make_guest", "set_properties", "start"]


def make_guest(
    cls: type[MetaTransform], owner: Callable[[], Any], properties: Mapping[str, Any]
) -> MetaTransform:
    """An instance whose messages are the owner's.

    :param owner: the Gst.Element that speaks for it, or None; must not hold it strongly.
    :raises PropertyValueError: for a property that there is not, or a value it refuses.
    """
    guest = cls()
    reference = weakref.ref(guest)

    def post_message(message: Any) -> bool:
        element, me = owner(), reference()
        if element is None or me is None:
            return False
        if message.type in (Gst.MessageType.ERROR, Gst.MessageType.WARNING):
            error = message.type == Gst.MessageType.ERROR
            problem, details = message.parse_error() if error else message.parse_warning()
            make = Gst.Message.new_error if error else Gst.Message.new_warning
            message = make(element, problem, details)
        return bool(element.post_message(message))

    guest.__dict__["post_message"] = post_message
    set_properties(guest, properties)
    return guest


def set_properties(element: Any, properties: Mapping[str, Any]) -> None:
    """Set properties by name with ``_`` for ``-``; text is taken as gst-launch takes it.

    :raises PropertyValueError: for one that there is not, or a value it refuses.
    """
    for name, value in properties.items():
        wanted = name.rstrip("_").replace("_", "-")
        spec = element.find_property(wanted)
        if spec is None:
            known = ", ".join(sorted(p.name for p in type(element)._ds_properties.values()))
            raise PropertyValueError(
                f"{type(element).__name__} has no property {wanted!r}", hint=f"it has {known}"
            )
        declared = element._ds_properties.get(wanted)
        if declared is not None:
            setattr(element, declared.attribute, value)
        else:
            element.set_property(wanted, value)


def check_caps(guest: MetaTransform, caps: Any) -> None:
    """An element's pads would refuse other caps; a guest has none that could.

    :raises PipelineError: if the class does not take these caps.
    """
    wanted = type(guest).caps
    if not caps.is_subset(Gst.Caps.from_string(wanted)):
        raise PipelineError(
            f"{type(guest).__name__} takes {wanted}, not {caps.to_string()}",
            hint="convert before the metadata is made",
        )


def start(guest: MetaTransform) -> None:
    """Start it. :raises PipelineError: with what it said."""
    told: list[str] = []
    post = guest.__dict__["post_message"]

    def note(message: Any) -> bool:
        if message.type == Gst.MessageType.ERROR:
            told.append(message.parse_error()[0].message)
        return True

    guest.__dict__["post_message"] = note
    try:
        started = guest.do_start()
    finally:
        guest.__dict__["post_message"] = post
    if not started:
        raise PipelineError(told[0] if told else f"{type(guest).__name__} does not start")
