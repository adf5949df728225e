"""``dselements env``: what a shell needs for gst-launch-1.0 to find the elements."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ..entry_group import installed

__all__ = ["env", "env_lines", "env_values", "plugin_dir", "refresh"]


def plugin_dir() -> Path:
    """Folder for GST_PLUGIN_PATH; the loader looks into its ``python`` folder."""
    return Path(__file__).resolve().parents[1] / "plugin"


def _put_first(value: str, paths: str) -> str:
    rest = [p for p in paths.split(os.pathsep) if p and p != value]
    return os.pathsep.join([value, *rest])


def env_values(environ: Mapping[str, str]) -> dict[str, str]:
    """GST_PLUGIN_PATH and PATH as they should be.

    The loader takes the Python that ``python3`` on PATH names: it must be the one that
    dselements is installed in.
    """
    return {
        "GST_PLUGIN_PATH": _put_first(str(plugin_dir()), environ.get("GST_PLUGIN_PATH", "")),
        "PATH": _put_first(str(Path(sys.prefix) / "bin"), environ.get("PATH", "")),
    }


def env_lines(environ: Mapping[str, str]) -> list[str]:
    """Shell lines that set GST_PLUGIN_PATH and PATH."""
    values = env_values(environ)
    return [f"export {name}={shlex.quote(value)}" for name, value in values.items()]


def refresh(force: bool = False) -> bool:
    """Make GStreamer scan our plugin again if the installed elements have changed.

    Its registry notices a changed folder only, not what a file in it imports. True if touched.
    """
    found = sorted(
        f"{entry.name}={entry.value}={entry.dist.version if entry.dist else ''}"
        for entry in installed()
    )
    state = hashlib.sha256("\n".join(found).encode()).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dselements"
    folder = plugin_dir() / "python"
    # One for each environment: each has a folder of its own to touch.
    stamp = cache / f"entry-points-{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    if not force and stamp.is_file() and stamp.read_text() == state:
        return False
    try:
        os.utime(folder)
        cache.mkdir(parents=True, exist_ok=True)
        stamp.write_text(state)
    except OSError as error:
        typer.echo(f"dselements env: cannot mark {folder} as changed: {error}", err=True)
        return False
    return True


def env(
    refresh_registry: Annotated[
        bool, typer.Option("--refresh", help="Make GStreamer scan the elements again.")
    ] = False,
) -> None:
    """Print what to set for gst-launch-1.0 and gst-inspect-1.0: eval "$(dselements env)"."""
    refresh(force=refresh_registry)
    for line in env_lines(os.environ):
        typer.echo(line)
