"""Makes ``import pyds`` find :mod:`dselements.compat.pyds` where NVIDIA's is absent."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import logging
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["find_pyds", "install", "uninstall"]

log = logging.getLogger("dselements.compat")

OURS, NVIDIA, UNRELATED, ABSENT = "dselements", "nvidia", "unrelated", "absent"

_MARK = "IS_DSELEMENTS"
_SUFFIXES = tuple(importlib.machinery.EXTENSION_SUFFIXES)


def _search() -> tuple[str, str]:
    """Kind and place of what ``import pyds`` would find on the path."""
    loaded = sys.modules.get("pyds")
    if loaded is not None:
        place = getattr(loaded, "__file__", None) or ""
        if getattr(loaded, _MARK, False):
            return OURS, place
        return (NVIDIA if hasattr(loaded, "gst_buffer_get_nvds_batch_meta") else UNRELATED), place
    spec = importlib.util.find_spec("pyds")
    if spec is None:
        return ABSENT, ""
    place = spec.origin or ""
    # NVIDIA's is one compiled module, alone or in a folder of its own; the package of the same
    # name on the Python Package Index is plain Python about labels of planetary data.
    folders = [Path(p) for p in spec.submodule_search_locations or ()]
    compiled = place.endswith(_SUFFIXES) or any(
        entry.name.startswith("pyds") and entry.name.endswith(_SUFFIXES)
        for folder in folders
        if folder.is_dir()
        for entry in folder.iterdir()
    )
    return (NVIDIA if compiled else UNRELATED), place or ", ".join(map(str, folders))


def find_pyds() -> tuple[str, str]:
    """What ``import pyds`` gives now, and where that is.

    :returns: ``nvidia`` for NVIDIA's bindings, ``unrelated`` for another module of that name,
        such as the reader of PDS labels of planetary data that ``pip install pyds`` brings,
        ``dselements`` after :func:`install`, ``absent`` for none; and its file.
    """
    return _search()


def install(*, replace: bool = False) -> ModuleType:
    """Let ``import pyds`` find :mod:`dselements.compat.pyds`, in this process.

    NVIDIA's pyds is kept if it is there. The unrelated package of the same name is passed over,
    with a warning in the log of ``dselements.compat``.

    :param replace: put ours in place of NVIDIA's.
    :returns: the module that ``import pyds`` gives from now on.
    """
    kind, place = _search()
    if kind == NVIDIA and not replace:
        log.info("NVIDIA's pyds at %s is kept; install(replace=True) puts ours in its place", place)
        return importlib.import_module("pyds")
    if kind == UNRELATED:
        log.warning(
            "%s is named pyds and is not NVIDIA's: pip install pyds brings an unrelated package "
            "that reads PDS labels of planetary data; remove it with: pip uninstall pyds. "
            "import pyds gives dselements.compat.pyds",
            place,
        )
    from . import pyds

    sys.modules["pyds"] = pyds
    return pyds


def uninstall() -> None:
    """Undo :func:`install`: the next ``import pyds`` searches the path again."""
    if getattr(sys.modules.get("pyds"), _MARK, False):
        del sys.modules["pyds"]
