"""Asks GStreamer, in C programs of their own, before and after a build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from ...errors import BuildError

__all__ = ["can_inspect", "inspect", "refuse_taken_name"]

TIMEOUT_S = 300
_ABOUT_SCANS = "dselements: where GStreamer was scanning"
"""A line of the shim that is of no use for a file that has no place yet."""


def can_inspect() -> bool:
    """True if gst-inspect-1.0 is installed."""
    return shutil.which("gst-inspect-1.0") is not None


def _gst_inspect(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["gst-inspect-1.0", *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def refuse_taken_name(name: str, output: Path) -> None:
    """Raise BuildError if GStreamer has another plugin of this name: it would know one of them."""
    done = _gst_inspect("--plugin", name)
    filename = re.search(r"^ *Filename +(.+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or filename is None:
        return
    if Path(filename[1]).resolve() != output.resolve():
        raise BuildError(
            f"GStreamer has a plugin {name} already: {filename[1]}",
            hint="choose another libgstNAME.so or --name",
        )


def inspect(plugin: Path) -> list[str]:
    """Load a plugin in gst-inspect-1.0; the elements it has, each ``name: long name``.

    :raises BuildError: if it does not load; the message has the traceback.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dselements"
    # A registry of its own, without the user's plugins: an older build of this one among them.
    done = _gst_inspect(
        str(plugin.absolute()),
        GST_REGISTRY=str(cache / "build-plugin-registry.bin"),
        GST_PLUGIN_PATH="",
        GST_PLUGIN_PATH_1_0="",
    )
    if done.returncode != 0 or "Plugin Details" not in done.stdout:
        told = [x for x in done.stderr.splitlines() if not x.startswith(_ABOUT_SCANS)]
        raise BuildError(
            f"GStreamer cannot load the plugin {plugin.name}, which was not written:\n"
            f"{chr(10).join(told or [done.stdout]).strip()[-4000:]}",
            hint="mend what the traceback names; --no-check builds where it cannot run",
        )
    return re.findall(r"^  (\S+: .+)$", done.stdout, re.MULTILINE)
