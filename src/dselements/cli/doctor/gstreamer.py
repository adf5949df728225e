"""Checks of GStreamer, its Python side and its plugins."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator

from .catalogue import APT
from .context import Context
from .finding import Finding, error, info, ok, warning
from .probe import each, run

__all__ = ["drawing", "overrides", "plugins", "pygobject", "tools", "version"]

SUPPORTED = ((1, 20), (1, 28))
PLUGINS = {
    "decodebin": ("reading files and streams", "gstreamer1.0-plugins-base"),
    "videoconvert": ("every pipeline", "gstreamer1.0-plugins-base"),
    "qtdemux": ("MP4 files", "gstreamer1.0-plugins-good"),
    "mp4mux": ("the demo's MP4 file", "gstreamer1.0-plugins-good"),
    "rtspsrc": ("RTSP cameras", "gstreamer1.0-plugins-good"),
    "h264parse": ("H.264 video", "gstreamer1.0-plugins-bad"),
    "avdec_h264": ("H.264 video", "gstreamer1.0-libav"),
    "x264enc": ("the demo's MP4 file", "gstreamer1.0-plugins-ugly"),
}


def tools(ctx: Context) -> Iterator[Finding]:
    """gst-launch-1.0 and gst-inspect-1.0."""
    names = ("gst-launch-1.0", "gst-inspect-1.0")
    lacking = [name for name in names if shutil.which(name) is None]
    if lacking:
        text = f"{' and '.join(lacking)} not on PATH; checks of plugins are left out"
        yield error("gstreamer-tools", text, f"{APT} gstreamer1.0-tools")
    else:
        yield ok("gstreamer-tools", ", ".join(str(shutil.which(name)) for name in names))


def version(ctx: Context) -> Iterator[Finding]:
    """GStreamer's version, of the library if Python reaches it and of the tools if not."""
    found = tuple(ctx.gi.get("gstreamer", ()))
    if not found and ctx.has_inspect:
        match = re.search(r"GStreamer (\d+)\.(\d+)\.(\d+)", ctx.inspect("--version").out)
        found = tuple(int(n) for n in match.groups()) if match else ()
    if not found:
        yield error(
            "gstreamer-version",
            "GStreamer was not found",
            f"{APT} gstreamer1.0-tools gstreamer1.0-plugins-base",
        )
        return
    text = f"GStreamer {'.'.join(map(str, found))}"
    low, high = SUPPORTED
    span = f"{low[0]}.{low[1]} to {high[0]}.{high[1]}"
    if found[:2] < low:
        yield error("gstreamer-version", f"{text} is older than those supported ({span})")
    elif found[:2] > high:
        yield warning("gstreamer-version", f"{text} is newer than those tested ({span})")
    else:
        yield ok("gstreamer-version", text)


def pygobject(ctx: Context) -> Iterator[Finding]:
    """gi and the typelibs."""
    found = ctx.gi
    if "error" not in found:
        yield ok("gi", f"PyGObject {found['gi']} at {found['gi_file']}")
        return
    text = f"this Python cannot use GStreamer: {found['error']}"
    mend = f"{APT} python3-gi gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0"
    if "gi" not in found and _system_has_gi():
        mend = (
            "/usr/bin/python3 -m venv --system-site-packages .venv\n"
            ".venv/bin/pip install dselements"
        )
        text += f"; /usr/bin/python3 can, but {sys.executable} does not see its packages"
    yield error("gi", text, mend)


def _system_has_gi() -> bool:
    command = ["/usr/bin/python3", "-I", "-c", "import gi; gi.require_version('Gst', '1.0')"]
    return run(command, {"PATH": "/usr/bin:/bin"}).code == 0


def overrides(ctx: Context) -> Iterator[Finding]:
    """python3-gst-1.0."""
    found = ctx.gi
    if "gstreamer" not in found:
        return  # the finding gi says why
    if found.get("overrides"):
        yield ok("gst-overrides", "GStreamer's Python overrides are there")
    else:
        yield error(
            "gst-overrides",
            "GStreamer's Python overrides are missing for this Python: "
            f"{found.get('overrides_error', 'they do nothing')}",
            f"{APT} python3-gst-1.0",
        )


def plugins(ctx: Context) -> Iterator[Finding]:
    """Elements that the demo and most pipelines use."""
    if not ctx.has_inspect:
        return
    lacking = [name for name in PLUGINS if name not in ctx.features]
    if not lacking:
        yield ok("gst-plugins", ", ".join(PLUGINS))
        return
    packages = dict.fromkeys(PLUGINS[name][1] for name in lacking)
    told = "; ".join(f"{name} ({PLUGINS[name][0]})" for name in lacking)
    yield warning("gst-plugins", f"missing: {told}", f"{APT} {' '.join(packages)}")


def drawing(_: Context) -> Iterator[Finding]:
    """pycairo and fonts, for dsosd."""
    found = each("probe_import", ["cairo"])["cairo"]
    if "error" in found:
        text = f"dsosd cannot draw: {found['error']}"
        yield warning("osd", text, f"{APT} python3-cairo fonts-dejavu-core")
        return
    if shutil.which("fc-list") is None:
        text = f"pycairo {found['version']}; fonts were not looked for: fc-list is missing"
        yield info("osd", text, f"{APT} fontconfig")
        return
    fonts = [line for line in run(["fc-list"]).out.splitlines() if line.strip()]
    if fonts:
        yield ok("osd", f"pycairo {found['version']}, {len(fonts)} fonts")
    else:
        text = "no font is installed: labels would be empty"
        yield warning("osd", text, f"{APT} fonts-dejavu-core")
