"""Checks of the gst-python loader: the plugin, its Python, and whether that is ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..env import plugin_dir
from .catalogue import APT
from .context import Context, paths
from .finding import Finding, Level, error, ok, warning
from .probe import PROBES, run

__all__ = ["embeds", "path", "plugin", "python", "starts"]

PACKAGE = f"{APT} gstreamer1.0-python3-plugin-loader"
EVAL = f'eval "$({sys.executable} -m dselements env)"'
_LIBPYTHON = re.compile(rb"libpython(3)\.(\d+)[a-z]*\.so")


class Embedded(NamedTuple):
    """How the loader did in a process of its own."""

    record: dict[str, Any]
    """What the embedded Python said of itself; empty if none spoke."""
    complaint: str


def _embedded(loader: Path, path_value: str, environ: dict[str, str]) -> Embedded:
    """Let the loader import one file of ours, and nothing else, with a registry of its own."""
    with tempfile.TemporaryDirectory(prefix="dselements-doctor-") as name:
        folder = Path(name)
        (folder / "plugin" / "python").mkdir(parents=True)
        (folder / "system").mkdir()
        shutil.copy(PROBES / "embedded.py", folder / "plugin/python/dselements_doctor_probe.py")
        (folder / "system" / loader.name).symlink_to(loader.resolve())
        drop = ("GST_PLUGIN_PATH_1_0", "GST_PLUGIN_SYSTEM_PATH_1_0", "GST_REGISTRY_1_0")
        env = {k: v for k, v in environ.items() if k not in drop}
        env |= {
            "GST_PLUGIN_PATH": str(folder / "plugin"),
            "GST_PLUGIN_SYSTEM_PATH": str(folder / "system"),
            "GST_REGISTRY": str(folder / "registry.bin"),
            "GST_DEBUG": "pyplugin:4,GST_PLUGIN_LOADING:2",
            "GST_DEBUG_NO_COLOR": "1",
            "PATH": path_value,
            "DSELEMENTS_DOCTOR_OUT": str(folder / "out.json"),
        }
        done = run([shutil.which("gst-inspect-1.0") or "gst-inspect-1.0", "python"], env)
        output = folder / "out.json"
        record = json.loads(output.read_text()) if output.is_file() else {}
        return Embedded(record, _complaint(done.err) or done.failure())


def _complaint(err: str) -> str:
    """The lines of standard error that say why; without times and addresses."""
    wanted = re.compile(r"pygobject|libpython|could not|couldn't|cannot|error", re.IGNORECASE)
    lines = [re.sub(r"^.*?\s(gst\S+?:|<\S+>)", "", x).strip() for x in err.splitlines()]
    hits = [x for x in lines if wanted.search(x) and "loading libpython" not in x]
    return "; ".join(dict.fromkeys(hits))[:600]


def plugin(ctx: Context) -> Iterator[Finding]:
    """The loader's plugin is there and GStreamer knows it."""
    if not ctx.has_inspect:
        return
    if ctx.loader is not None:
        yield ok("loader-plugin", f"gst-python loader {ctx.loader}")
    elif ctx.loader_on_disk is None:
        where = ", ".join(str(folder) for folder in ctx.plugin_folders)
        yield error(
            "loader-plugin",
            "the gst-python loader is not installed, so gst-launch-1.0 finds no element in "
            f"Python (searched: {where})",
            PACKAGE,
        )
    else:
        black = ctx.loader_on_disk.name in ctx.blacklist
        yield error(
            "loader-plugin",
            f"GStreamer does not load {ctx.loader_on_disk}"
            + (": it is blacklisted in the registry cache" if black else ""),
            f"rm -f {ctx.registry}\ngst-inspect-1.0 python",
        )


def _libpythons(loader: Path) -> list[tuple[int, int]]:
    """Versions of libpython that the loader's file names."""
    data = loader.read_bytes()
    return sorted({(int(m[1]), int(m[2])) for m in _LIBPYTHON.finditer(data)})


def _named(loader: Path) -> str:
    """The name under which the loader opens libpython, not the one that it is linked with."""
    found = re.findall(rb"[\w./-]*libpython3\.\d+[a-z]*\.so[.\d]*(?=\0)", loader.read_bytes())
    opened = [name for name in found if name.endswith(b".so")] or found
    return opened[0].decode() if opened else "no libpython"


def embeds(ctx: Context) -> Iterator[Finding]:
    """The loader's libpython and this interpreter are of one version."""
    if ctx.loader_on_disk is None:
        return
    versions = _libpythons(ctx.loader_on_disk)
    own = sys.version_info[:2]
    if own in versions or not versions:
        named = _named(ctx.loader_on_disk)
        yield ok("loader-libpython", f"the loader embeds {named}, as this Python {own[0]}.{own[1]}")
        return
    theirs = " or ".join(f"{a}.{b}" for a, b in versions)
    yield error(
        "loader-libpython",
        f"the loader embeds Python {theirs}, but dselements is installed for {own[0]}.{own[1]} "
        f"({sys.executable}): gst-launch-1.0 cannot run its elements; Python programs can",
        "/usr/bin/python3 -m venv --system-site-packages .venv\n.venv/bin/pip install dselements",
    )


def _same_version(loader: Path) -> bool:
    versions = _libpythons(loader)
    return not versions or sys.version_info[:2] in versions


def starts(ctx: Context) -> Iterator[Finding]:
    """The loader's Python runs a file, in the environment that ``dselements env`` sets."""
    loader = ctx.loader_on_disk
    if loader is None or not ctx.has_inspect:
        return
    own = _same_version(loader)
    path_value = ctx.wanted_env["PATH"] if own else "/usr/bin:/bin"
    found = _embedded(loader, path_value, ctx.environ)
    record = found.record
    if record and "gi" in record:
        yield ok("loader-starts", f"the loader runs Python {record['version']}")
        return
    why = record.get("gi_error") or found.complaint or "it said nothing"
    if "pygobject" in why or record:
        mend = (
            f"{APT} python3-gi python3-gst-1.0\n"
            f"/usr/bin/python3 -m venv --system-site-packages {sys.prefix}"
        )
    else:
        mend = f"{APT} libpython3-dev"
        why += f" (it opens {_named(loader)}, which on Debian 13 only libpython3-dev brings)"
    yield error("loader-starts", f"the loader cannot start its Python: {why}", mend)


def python(ctx: Context) -> Iterator[Finding]:
    """The loader takes our environment, by the ``python3`` that this shell's PATH names."""
    loader = ctx.loader_on_disk
    if loader is None or not ctx.has_inspect or not _same_version(loader):
        return
    named = shutil.which("python3", path=ctx.environ.get("PATH"))
    found = _embedded(loader, ctx.environ.get("PATH", ""), ctx.environ).record
    ours = Path(__file__).resolve().parents[2]
    theirs = found.get("dselements")
    if theirs and Path(theirs).resolve().parent == ours:
        yield ok("loader-python", f"the loader takes {found['prefix']} (python3 is {named})")
        return
    if theirs:
        what = f"which has dselements at {theirs}"
    else:
        why = found.get("dselements_error", "its Python did not start")
        what = f"which has no dselements ({why})"
    # Nobody whose GST_PLUGIN_PATH does not name us expects gst-launch to work.
    level: Level = "error" if _on_path(ctx) else "warning"
    yield Finding(
        "loader-python",
        level,
        f"in this shell the loader takes the Python of {named}, {what}, and not {sys.prefix}",
        EVAL,
    )


def _on_path(ctx: Context) -> bool:
    value = ctx.environ.get("GST_PLUGIN_PATH_1_0") or ctx.environ.get("GST_PLUGIN_PATH")
    return plugin_dir() in [folder.resolve() for folder in paths(value)]


def path(ctx: Context) -> Iterator[Finding]:
    """GST_PLUGIN_PATH."""
    if _on_path(ctx):
        yield ok("plugin-path", f"GST_PLUGIN_PATH has {plugin_dir()}")
        return
    value = ctx.environ.get("GST_PLUGIN_PATH")
    text = f"GST_PLUGIN_PATH {'is ' + value if value else 'is not set'}, without {plugin_dir()}"
    if os.environ.get("GST_PLUGIN_PATH_1_0"):
        text += "; GST_PLUGIN_PATH_1_0 is set and goes before it"
    yield warning(
        "plugin-path",
        text + ": gst-launch-1.0 in this shell does not find the elements; Python programs do",
        EVAL,
    )
