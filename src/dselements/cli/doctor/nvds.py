"""Checks of NVIDIA's metadata library."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

from .context import Context, paths
from .finding import Finding, error, info, ok, warning
from .probe import run

__all__ = ["copies", "layout", "library", "process"]

# As in _core/loader.py, which cannot be imported when the native module is broken.
ENV = "DSELEMENTS_NVDS_LIB_DIR"
SYSTEM_DIR = Path("/opt/nvidia/deepstream/deepstream/lib")
META = "libnvds_meta.so"
INSTALL = "pip install --no-deps nvidia-deepstream-videodecode-cu13"


def library(ctx: Context) -> Iterator[Finding]:
    """Which library elements use."""
    found = ctx.nvds
    if "meta_path" in found or found.get("error") == "UnsupportedLayoutError":
        where = found.get("meta_path") or ", ".join(found.get("mapped", ()))
        text = f"{where} ({found['source']})" if "source" in found else where
        version = _version(Path(where))
        yield ok("nvds-library", text + (f", {version}" if version else ""))
        return
    if len(found.get("before", ())) > 1 or len(found.get("mapped", ())) > 1:
        return  # told by nvds-process
    why = found.get("text") or found.get("failure") or "the probe said nothing"
    chosen = ctx.environ.get(ENV)
    mend = f"unset {ENV}\n{INSTALL}" if chosen else INSTALL
    if found.get("error") in ("ImportError", "ModuleNotFoundError"):
        mend = "dselements doctor --only native-module"
    yield error("nvds-library", f"no usable metadata library: {why}", mend)


def _version(path: Path) -> str:
    """The wheel's or the SDK's version, from what lies around the file."""
    for folder in path.resolve().parents:
        for info_dir in folder.glob("nvidia_deepstream_videodecode*.dist-info"):
            return "wheel " + info_dir.name.removesuffix(".dist-info").split("-")[1]
        match = re.fullmatch(r"deepstream-(\d[\d.]*)", folder.name)
        if match:
            return "DeepStream " + match[1]
    return ""


def layout(ctx: Context) -> Iterator[Finding]:
    """The SDK family."""
    found = ctx.nvds
    if found.get("error") == "UnsupportedLayoutError":
        yield error(
            "nvds-layout",
            f"{', '.join(found.get('mapped', ()))} has structures of no known SDK family: "
            f"{found['text']}",
            f"unset {ENV} LD_LIBRARY_PATH LD_PRELOAD\n{INSTALL}",
        )
    elif found.get("family"):
        yield ok("nvds-layout", f"structures of the family {found['family']}")


def _folders(ctx: Context) -> Iterator[tuple[str, Path]]:
    """Where copies may be, and who would take one from there."""
    chosen = ctx.environ.get(ENV)
    if chosen:
        yield ENV, Path(chosen)
    yield "DeepStream", SYSTEM_DIR
    yield from (
        ("DeepStream", p / "lib") for p in sorted(SYSTEM_DIR.parents[1].glob("deepstream*"))
    )
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations if spec else None) or ():
        yield "wheel", Path(root) / "deepstream_videodecode" / "_libs"
    yield from (("LD_LIBRARY_PATH", p) for p in paths(ctx.environ.get("LD_LIBRARY_PATH")))
    listing = run(["ldconfig", "-p"], {**os.environ, "PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
    for match in re.finditer(rf"\s{re.escape(META)}\S* .*=> (\S+)", listing.out):
        yield "ldconfig", Path(match[1]).parent


def copies(ctx: Context) -> Iterator[Finding]:
    """Other copies that something else in the process could bring in."""
    used = ctx.nvds.get("meta_path")
    if not used:
        return
    others: dict[Path, str] = {}
    for who, folder in _folders(ctx):
        file = folder / META
        if file.is_file() and not os.path.samefile(file, used):
            others.setdefault(file.resolve(), who)
    told = ", ".join(f"{path} ({who})" for path, who in others.items())
    if not others:
        yield ok("nvds-copies", "no other copy of libnvds_meta was found")
    elif set(others.values()) & {"LD_LIBRARY_PATH", "ldconfig", "DeepStream"}:
        yield warning(
            "nvds-copies",
            f"elements use {used}, but NVIDIA's plugins and other libraries would load another "
            f"copy: {told}. Two in one process cannot both register their types",
            f"export {ENV}={next(iter(others)).parent}",
        )
    else:
        yield info("nvds-copies", f"not used: {told}")


def process(ctx: Context) -> Iterator[Finding]:
    """How many copies are mapped after everything is loaded."""
    found = ctx.nvds
    before, mapped = found.get("before", []), found.get("mapped", [])
    everything = found.get("all", mapped)
    if len(everything) > 1:
        if len(before) > 1:
            who = "when Python starts (LD_PRELOAD)"
        elif len(mapped) > 1:
            who = "when dselements loads its own"
        else:
            who = "once all installed elements and NVIDIA's plugins are loaded"
        foreign = next((path for path in everything if path not in mapped), everything[-1])
        preload = ctx.environ.get("LD_PRELOAD")
        mend = "unset LD_PRELOAD" if preload else f"export {ENV}={Path(foreign).parent}"
        yield error(
            "nvds-process",
            f"{len(everything)} copies of libnvds_meta are in the process {who}: "
            f"{' and '.join(everything)}; the second cannot register its types",
            mend,
        )
    elif everything and "all" in found:
        yield ok("nvds-process", "one copy of libnvds_meta, with all elements loaded")
    elif found.get("meta_path"):
        text = f"the process ended while all elements were loaded: {found.get('failure')}"
        yield error("nvds-process", text, "dselements doctor --only element")
