"""All checks, in the order in which their findings are shown."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from . import gpu, gstreamer, loader, machine, nvds, python, registry
from .context import Context
from .finding import Finding, error

__all__ = ["CHECKS", "examine"]

Check = Callable[[Context], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    "python": python.interpreter,
    "numpy": python.packages,
    "msgspec": python.packages,
    "native-module": python.native,
    "extra": python.extras,
    "pyds": python.pyds,
    "gstreamer-tools": gstreamer.tools,
    "gstreamer-version": gstreamer.version,
    "gi": gstreamer.pygobject,
    "gst-overrides": gstreamer.overrides,
    "gst-plugins": gstreamer.plugins,
    "osd": gstreamer.drawing,
    "loader-plugin": loader.plugin,
    "loader-libpython": loader.embeds,
    "loader-starts": loader.starts,
    "loader-python": loader.python,
    "plugin-path": loader.path,
    "registry-file": registry.cache,
    "registry-blacklist": registry.blacklist,
    "registry-stale": registry.stale,
    "element": registry.elements,
    "nvds-library": nvds.library,
    "nvds-layout": nvds.layout,
    "nvds-copies": nvds.copies,
    "nvds-process": nvds.process,
    "gpu": gpu.driver,
    "cuda": gpu.cuda,
    "deepstream": gpu.deepstream,
    "nvmm-elements": gpu.nvmm,
    "cache-space": machine.cache_space,
    "shared-memory": machine.shared_memory,
}
"""Finding id and the check that makes findings of it."""


def examine(wanted: Collection[str]) -> Iterator[Finding]:
    """Findings of the checks with these ids, as they come.

    A check that fails itself is the finding ``check``; the others still come.
    """
    with tempfile.TemporaryDirectory(prefix="dselements-doctor-") as folder:
        ctx = Context(Path(folder))
        done: set[Check] = set()
        for id, check in CHECKS.items():
            if id not in wanted or check in done:
                continue
            done.add(check)
            try:
                for finding in check(ctx):
                    if finding.id in wanted:
                        yield finding
            except Exception as fault:  # noqa: BLE001 -- told as a finding
                text = f"the check {id} failed: {type(fault).__name__}: {fault}"
                yield error("check", text, "", id)
