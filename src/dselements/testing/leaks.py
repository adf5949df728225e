"""Finds what is left over after a test: metadata, GStreamer objects, memory."""

from __future__ import annotations

import ctypes
import gc
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from .._core import _native, load
from ..errors import HarnessError

__all__ = ["LeakCheck", "assert_flat_memory", "assert_no_leaks"]

SETTLE_S = 3.0
"""How long streaming threads may take to let go of the last buffer."""
_SHOWN = 20
_PAGE_KB = resource.getpagesize() // 1024


def metadata_counters() -> dict[str, int]:
    """What NVIDIA's metadata library holds for this process."""
    load()
    return {
        "NvDsBatchMeta alive": _native.live_batches(),
        "payloads alive": _native.live_payloads(),
        "batches whose pools were not full at their end": _native.unbalanced_batches(),
    }


def _objects() -> dict[int, str]:
    """Elements, pads and other GstObjects that Python holds; all of them under the leaks tracer."""
    Gst.init(None)
    found = {}
    for tracer in Gst.tracing_get_active_tracers():
        if tracer.__gtype__.name == "GstLeaksTracer":
            structure = tracer.emit("get-live-objects")
            live = structure.get_value("live-objects-list") if structure is not None else None
            for entry in live or ():
                thing = entry.get_value("object")
                if isinstance(thing, Gst.Object) and not isinstance(thing, Gst.Tracer):
                    found[hash(thing)] = _describe(thing)
    for thing in gc.get_objects():
        if isinstance(thing, Gst.Object) and not isinstance(thing, _KEPT):
            found[hash(thing)] = _describe(thing)
    return found


# Made once and kept for the process's life.
_KEPT = (Gst.PluginFeature, Gst.Plugin, Gst.Registry, Gst.PadTemplate, Gst.Clock, Gst.Tracer,
         Gst.Bus, Gst.Task, Gst.TaskPool, Gst.Allocator)  # fmt: skip


def _describe(thing: Any) -> str:
    parent = thing.get_parent()
    where = f" of {parent.get_name()}" if parent is not None else ""
    return f"{type(thing).__name__} {thing.get_name()}{where}"


class LeakCheck:
    """Remembers what there was, for :meth:`done` to compare; see :func:`assert_no_leaks`."""

    def __init__(self, *, objects: bool = True) -> None:
        gc.collect()
        self._counters = metadata_counters()
        self._objects = _objects() if objects else None

    def done(self, settle_s: float = SETTLE_S) -> None:
        """Look until all is gone. :raises HarnessError: naming what is left."""
        end = time.monotonic() + settle_s
        while left := self._left():
            if time.monotonic() > end:
                raise HarnessError(
                    "left behind: " + ", ".join(sorted(left)[:_SHOWN]),
                    hint="set pipelines to NULL, close batches, and keep no buffer, batch or pad",
                )
            time.sleep(0.02)

    def _left(self) -> list[str]:
        gc.collect()
        before, after = self._counters, metadata_counters()
        left = [f"{n}: {after[n] - before[n]:+d}" for n in after if after[n] != before[n]]
        if self._objects is not None:
            left += [text for one, text in _objects().items() if one not in self._objects]
        return left


@contextmanager
def assert_no_leaks(*, objects: bool = True, settle_s: float = SETTLE_S) -> Iterator[None]:
    """Fail if the block leaves metadata or GStreamer objects behind.

    Metadata: every NvDsBatchMeta and payload made in the block is gone, and every pool was full
    when its batch ended. Objects: elements, pads and pipelines that Python still refers to; with
    ``GST_TRACERS=leaks`` in the environment those that only C refers to as well. A buffer that is
    kept shows by its metadata.

    :param objects: also look at GStreamer objects.
    :param settle_s: how long to wait for streaming threads to let go.
    :raises HarnessError: naming what is left.
    """
    check = LeakCheck(objects=objects)
    yield
    check.done(settle_s)


def assert_flat_memory(
    call: Callable[[], object], *, repeat: int = 300, limit_kb: int = 1024, rounds: int = 4
) -> int:
    """Fail if the process's memory grows from call to call.

    The call is repeated in rounds; the first one is for caches and pools to fill. Memory leaks if
    it grew in every round after that, by more than the limit in all.

    :param call: what to repeat.
    :param repeat: calls of one round.
    :param limit_kb: growth that is allowed, kB.
    :param rounds: at least 3.
    :returns: the growth in kB.
    :raises HarnessError: with the growth of each round.
    """
    sizes = []
    for _ in range(max(rounds, 3)):
        for _ in range(repeat):
            call()
        gc.collect()
        sizes.append(_resident_kb())
    steps = [b - a for a, b in zip(sizes, sizes[1:])]  # noqa: B905, RUF007 -- shifted by one
    total = sizes[-1] - sizes[0]
    if total > limit_kb and all(step > 0 for step in steps):
        raise HarnessError(
            f"memory grew by {total} kB in {repeat * len(steps)} calls "
            f"(rounds: {', '.join(f'{step:+d}' for step in steps)} kB)",
            hint="something is kept for each buffer: a list, a cache, a view of pixels",
        )
    return total


def _resident_kb() -> int:
    # What was freed goes back first: growth into it would not show.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(ctypes.c_size_t(0))
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * _PAGE_KB
