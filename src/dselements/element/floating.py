"""References where C code and PyGObject disagree about who holds one."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from .gobject import libgobject

__all__ = ["float_for_c", "lend_pad", "take_over"]

_TRANSFER_EVERYTHING = 2
"""GITransfer."""


def float_for_c(element: Any) -> None:
    """Called in ``__init__``: give an element that C code makes a floating reference.

    C takes every new element as floating, and complains (``The created element should be
    floating``) because PyGObject has taken that reference for its wrapper. A second one, which
    whoever gets the element takes over, is what C expects. Where Python makes the element this
    is left alone: Python code never takes a floating reference over, so it would leak.
    """
    if _made_by_python(element):
        return
    address = hash(element)
    library = libgobject()
    if not library.g_object_is_floating(address):
        library.g_object_ref(address)
        library.g_object_force_floating(address)


def take_over(element: Any) -> Any:
    """What ``Gst.ElementFactory.make`` gave, without the floating reference that would leak.

    PyGObject 3.50 leaves an element of a Python class floating, beside its wrapper's reference,
    for a bin to take over; one that is never put in a bin would not be freed.
    """
    address, library = hash(element), libgobject()
    if library.g_object_is_floating(address):
        library.g_object_ref_sink(address)
        library.g_object_unref(address)
    return element


def _made_by_python(element: Any) -> bool:
    """True if there is any caller but the element's own ``__init__`` methods."""
    frame = sys._getframe(2)
    while frame is not None:
        first = frame.f_code.co_varnames[:1]
        if frame.f_code.co_name != "__init__" or frame.f_locals.get("".join(first)) is not element:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def lend_pad(pad: Any) -> Any:
    """The result of ``do_request_new_pad``: the pad, without the reference that would leak.

    GStreamer takes a reference of its own, while PyGObject goes by the introspection data, which
    says that the method gives one away.
    """
    if _gives_away():
        libgobject().g_object_unref(hash(pad))
    return pad


@lru_cache(maxsize=1)
def _gives_away() -> bool:
    return int(Gst.Element.do_request_new_pad.get_caller_owns()) == _TRANSFER_EVERYTHING
