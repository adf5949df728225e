"""Calls that must not hold the GIL."""

from __future__ import annotations

import ctypes
from typing import Any

from .gobject import libgobject

__all__ = ["set_uint64"]


def set_uint64(target: Any, name: str, value: int) -> None:
    """Set a guint64 property of a GObject without the GIL.

    PyGObject's ``set_property`` keeps the GIL. Where the C code behind a property waits for a
    lock under which it also calls Python (GstAggregator's ``latency`` and ``get_next_time``),
    both threads would wait for ever.
    """
    libgobject().g_object_set(
        ctypes.c_void_p(hash(target)), name.encode(), ctypes.c_uint64(value), ctypes.c_void_p()
    )
