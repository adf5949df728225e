"""Checks of disk and shared memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from .context import Context
from .finding import Finding, ok, warning

__all__ = ["cache_space", "shared_memory"]

CACHE_BYTES = 500 * 2**20
"""What the demo's packages take while they are unpacked."""
SHARED_BYTES = 256 * 2**20
SHM = Path("/dev/shm")


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB" if size < 10 * 2**30 else f"{size / 2**30:.0f} GiB"


def cache_folder(environ: dict[str, str]) -> Path:
    """Where the demo's files are kept; as assets.store does."""
    chosen = environ.get("DSELEMENTS_CACHE")
    base = environ.get("XDG_CACHE_HOME")
    return (
        Path(chosen) if chosen else (Path(base) if base else Path.home() / ".cache") / "dselements"
    )


def cache_space(ctx: Context) -> Iterator[Finding]:
    """Free bytes in the cache folder, and whether it can be written."""
    folder = cache_folder(ctx.environ)
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    free = shutil.disk_usage(there).free
    text = f"{folder}: {_mib(free)} free"
    if not os.access(there, os.W_OK):
        mend = "export DSELEMENTS_CACHE=/a/folder/you/can/write"
        yield warning("cache-space", f"{folder} cannot be written", mend)
    elif free < CACHE_BYTES:
        mend = "export DSELEMENTS_CACHE=/a/folder/with/room"
        yield warning("cache-space", f"{text}, {_mib(CACHE_BYTES)} are needed", mend)
    else:
        yield ok("cache-space", text)


def shared_memory(_: Context) -> Iterator[Finding]:
    """Size of /dev/shm; containers have 64 MiB unless told otherwise."""
    mend = "docker run --shm-size=1g"
    if not SHM.is_dir():
        yield warning("shared-memory", f"{SHM} is missing", mend)
        return
    total, _used, free = shutil.disk_usage(SHM)
    text = f"{SHM}: {_mib(total)}, {_mib(free)} free"
    if free < SHARED_BYTES:
        yield warning("shared-memory", f"{text}; frames for worker processes need more", mend)
    else:
        yield ok("shared-memory", text)
