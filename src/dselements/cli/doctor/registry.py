"""Checks of GStreamer's registry cache and of what installed packages offer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ...entry_group import installed
from .context import LOADER_FILE, Context
from .finding import Finding, error, info, ok, warning

__all__ = ["blacklist", "cache", "elements", "stale"]

REFRESH = f'eval "$({sys.executable} -m dselements env --refresh)"'


def _age(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} seconds"


def _writable(path: Path) -> bool:
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.access(path, os.W_OK)


def cache(ctx: Context) -> Iterator[Finding]:
    """Path, age, and whether it can be written."""
    path = ctx.registry
    if not _writable(path if path.exists() else path.parent):
        text = f"the registry cache {path} cannot be written: each start scans all plugins again"
        mend = 'export GST_REGISTRY="$HOME/.gstreamer-registry.bin"'
        yield warning("registry-file", text, mend)
    elif not path.exists():
        text = f"no registry cache at {path} yet: the first start of GStreamer makes it"
        yield info("registry-file", text)
    else:
        age = _age(time.time() - path.stat().st_mtime)
        yield ok("registry-file", f"registry cache {path}, written {age} ago")


def blacklist(ctx: Context) -> Iterator[Finding]:
    """Blacklisted plugins."""
    if not ctx.has_inspect:
        return
    if not ctx.blacklist:
        yield ok("registry-blacklist", "no plugin is blacklisted")
        return
    text = (
        f"blacklisted, as they crashed or could not be loaded when scanned: "
        f"{', '.join(ctx.blacklist)}"
    )
    mend = f"rm -f {ctx.registry}\nGST_DEBUG=GST_PLUGIN_LOADING:4 gst-inspect-1.0 -b"
    level = error if LOADER_FILE in ctx.blacklist else warning
    yield level("registry-blacklist", text, mend)


def stale(ctx: Context) -> Iterator[Finding]:
    """Elements that are installed and load, but that GStreamer does not know."""
    if ctx.loader is None:
        return  # the finding loader-plugin says why
    offered = {name for found in ctx.elements.values() for name in found.get("names", ())}
    unknown = sorted(offered - ctx.features)
    if not unknown:
        yield ok("registry-stale", f"GStreamer knows all {len(offered)} installed elements")
        return
    yield error(
        "registry-stale",
        f"GStreamer's registry cache {ctx.registry} does not know {', '.join(unknown)}: it is "
        "older than the package that brings them, or the loader does not start (see loader-*)",
        REFRESH,
    )


def elements(ctx: Context) -> Iterator[Finding]:
    """Each entry point of the group."""
    owners = {
        f"{entry.name} = {entry.value}": (entry.dist.name, entry.dist.version)
        for entry in installed()
        if entry.dist is not None
    }
    if not ctx.elements:
        text = "no installed package offers elements, not even dselements itself"
        yield error("element", text, "pip install --force-reinstall --no-deps dselements")
    for key, found in ctx.elements.items():
        name, version = owners.get(key, ("unknown package", ""))
        if "error" in found:
            mend = f"pip install -U {name}\npip uninstall {name}"
            text = f"{key}, of {name} {version}, cannot be loaded: {found['error']}"
            if found.get("names"):
                text += f" (its {', '.join(found['names'])} can)"
            yield error("element", text, mend, key)
        else:
            yield ok("element", f"{name} {version}: {', '.join(found['names'])}", key)
