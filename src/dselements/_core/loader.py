"""Finds NVIDIA's metadata libraries and opens them once in a process."""

from __future__ import annotations

import importlib.util
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import LibraryNotFoundError
from . import _native
from .layouts import FAMILIES

__all__ = ["ENV", "LibraryInfo", "find", "library_info", "load", "mapped"]

ENV = "DSELEMENTS_NVDS_LIB_DIR"
SYSTEM_DIR = Path("/opt/nvidia/deepstream/deepstream/lib")
META, GST_META = "libnvds_meta.so", "libnvdsgst_meta.so"
WHEEL = "nvidia-deepstream-videodecode-cu13"

_lock = threading.Lock()
_info: LibraryInfo | None = None


class LibraryInfo(NamedTuple):
    """Which libraries this process uses."""

    meta_path: str
    gst_meta_path: str
    source: str
    """``process``, ``environment``, ``system`` or ``wheel``."""
    family: str = ""
    """SDK family of its structures (a row of layouts.py); empty before it is loaded."""


def mapped(name: str, maps: str | None = None) -> list[str]:
    """Paths under which a library is mapped into this process, each once.

    :param maps: text in the form of ``/proc/self/maps``, read from there when None.
    """
    text = Path("/proc/self/maps").read_text() if maps is None else maps
    found: dict[str, None] = {}
    for line in text.splitlines():
        path = line[line.find("/") :] if "/" in line else ""
        base = path.rsplit("/", 1)[-1]
        if base == name or base.startswith(name + "."):
            found[path] = None
    return list(found)


def wheel_dir() -> Path | None:
    """Folder of the wheel's libraries. Its ``__init__`` is not imported: it wants CUDA."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(root) / "deepstream_videodecode" / "_libs"
        if (folder / META).is_file():
            return folder
    return None


def _candidates() -> Iterator[tuple[str, Path | None, str]]:
    """Source, folder, and why the folder is None."""
    in_process = mapped(META)
    if len(in_process) > 1:
        raise LibraryNotFoundError(
            f"two copies of {META} are in this process: {' and '.join(in_process)}",
            hint="the second cannot register its types; let all elements use one folder",
        )
    yield (
        "process",
        Path(in_process[0]).parent if in_process else None,
        f"{META} is not in this process yet",
    )
    from_env = os.environ.get(ENV)
    yield "environment", Path(from_env) if from_env else None, f"{ENV} is not set"
    yield (
        "system",
        SYSTEM_DIR if SYSTEM_DIR.is_dir() else None,
        f"no DeepStream in {SYSTEM_DIR}",
    )
    yield "wheel", wheel_dir(), f"the package {WHEEL} is not installed"


def _check_whole(path: Path) -> None:
    """:raises LibraryNotFoundError: for a file that ends before what its ELF header promises.

    dlopen maps it all the same, and the process dies at the first page that is not there.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:4] != b"\x7fELF" or head[4] != 2:
            raise LibraryNotFoundError(f"{path} is no 64-bit ELF library")
        (offset,) = struct.unpack_from("<Q", head, 32)
        entry, count = struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(entry * count)
    ends = [offset + entry * count]
    for at in range(0, len(table) - 55, max(entry, 56)):
        begin = struct.unpack_from("<Q", table, at + 8)[0]
        ends.append(begin + struct.unpack_from("<Q", table, at + 32)[0])
    if max(ends) > size:
        raise LibraryNotFoundError(f"{path} is cut short: {size} bytes of {max(ends)}")


def find() -> LibraryInfo:
    """The libraries to use: in this process already, then by environment, system, wheel.

    :raises LibraryNotFoundError: naming each place and why it did not serve. A folder that
        the process or the environment names must serve: nothing else is tried then.
    """
    causes = []
    for source, folder, why in _candidates():
        if folder is None:
            causes.append(f"{source}: {why}")
            continue
        missing = [name for name in (META, GST_META) if not (folder / name).is_file()]
        if not missing and source != "process":
            for name in (META, GST_META):
                _check_whole(folder / name)
        if not missing:
            return LibraryInfo(str(folder / META), str(folder / GST_META), source)
        causes.append(f"{source}: {folder} has no {' and no '.join(missing)}")
        if source in ("process", "environment"):
            break
    raise LibraryNotFoundError("NVIDIA's metadata library was not found; " + "; ".join(causes))


def load() -> LibraryInfo:
    """Open the libraries, once; later calls return the same. Thread-safe.

    :raises LibraryNotFoundError: if they are nowhere or cannot be loaded, or if the process
        holds two copies.
    :raises UnsupportedLayoutError: if their structures belong to no known SDK family.
    """
    global _info
    with _lock:
        if _info is None:
            info = find()
            _native.open_library(info.meta_path, info.gst_meta_path, info.source == "process")
            for family in FAMILIES:
                _native.add_layout(family.name, family.sizes, family.offsets, family.fields)
            copies = mapped(META)
            if len(copies) > 1:
                raise LibraryNotFoundError(
                    f"two copies of {META} are in this process: {' and '.join(copies)}", hint=""
                )
            _info = info._replace(family=_native.library_family())
        return _info


def library_info() -> LibraryInfo:
    """The libraries in use; loads them if need be."""
    return load()
