"""Counters of one element, cheap enough for every buffer."""

from __future__ import annotations

from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

__all__ = ["Stats", "stats_property"]


def stats_property(help: str) -> dict[str, Any]:
    """The entry of ``__gproperties__`` for the read-only property ``stats``."""
    return {"stats": (Gst.Structure, "stats", help, GObject.ParamFlags.READABLE)}


class Stats:
    """Counters since the element started. Times are nanoseconds in ``process`` and commit."""

    __slots__ = (
        "buffers", "dropped", "errors", "late", "no_meta", "objects_added", "objects_in",
        "objects_out", "objects_removed", "process_ns", "process_ns_max",
    )  # fmt: skip

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, 0)

    buffers: int
    dropped: int
    errors: int
    late: int
    no_meta: int
    objects_added: int
    objects_in: int
    objects_out: int
    objects_removed: int
    process_ns: int
    process_ns_max: int

    def took(self, ns: int) -> None:
        """Count the time of one call."""
        self.process_ns += ns
        if ns > self.process_ns_max:
            self.process_ns_max = ns

    def count(self, objects: dict[str, int]) -> None:
        """Count what a commit did to the objects."""
        if objects:
            self.objects_in += objects["in"]
            self.objects_out += objects["out"]
            self.objects_removed += objects["removed"]
            self.objects_added += objects["added"]

    def structure(self, name: str) -> Any:
        """The counters as a GstStructure of uint64 fields."""
        result = Gst.Structure.new_empty(f"{name}-stats")
        counts = {field: getattr(self, field) for field in self.__slots__}
        counts["batches"] = self.buffers - self.no_meta
        for field in sorted(counts):
            value = GObject.Value(GObject.TYPE_UINT64, counts[field])
            result.set_value(field.replace("_", "-"), value)
        return result
