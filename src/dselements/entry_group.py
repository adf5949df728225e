"""The entry-point group through which installed packages offer elements; needs no GStreamer."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

__all__ = ["GROUP", "installed"]

GROUP = "dselements.elements"
"""Entry-point group: each value is an element class, or a module with a table ``ELEMENTS``."""


def installed() -> tuple[EntryPoint, ...]:
    """Entry points of all installed packages, not loaded."""
    return tuple(entry_points(group=GROUP))
