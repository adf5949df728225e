"""What a plugin is built from and what it says of itself; checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...errors import BuildError

__all__ = ["LICENSES", "BuildSettings", "plugin_name"]

LICENSES = {
    "LGPL": "LGPL",
    "GPL": "GPL",
    "QPL": "QPL",
    "GPL/QPL": "GPL/QPL",
    "MPL": "MPL",
    "MPL-2.0": "MPL-2.0",
    "BSD": "BSD",
    "BSD-2-Clause": "BSD",
    "BSD-3-Clause": "BSD",
    "MIT": "MIT/X11",
    "MIT/X11": "MIT/X11",
    "0BSD": "0BSD",
    "Apache-2.0": "Apache 2.0",
    "Apache 2.0": "Apache 2.0",
    "LGPL-2.1-or-later": "LGPL",
    "LGPL-3.0-or-later": "LGPL",
    "GPL-2.0-or-later": "GPL",
    "GPL-3.0-or-later": "GPL",
    "Proprietary": "Proprietary",
    "unknown": "unknown",
}
"""What ``--license`` takes, SPDX identifiers among it, and GStreamer's word for it."""

_FILE = re.compile(r"libgst([a-z][a-z0-9_-]*)\.so")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def plugin_name(output: Path) -> str:
    """Plugin name that GStreamer expects in a file: ``libgstmy.so`` holds ``my``.

    :raises BuildError: for a file name that GStreamer's plugins do not have.
    """
    match = _FILE.fullmatch(output.name)
    if match is None:
        raise BuildError(
            f"{output.name} is no name of a plugin",
            hint="libgstNAME.so, where NAME has lower-case letters, digits, - and _",
        )
    return match[1]


@dataclass(frozen=True)
class BuildSettings:
    """Everything that decides the result."""

    sources: tuple[Path, ...]
    """Python files, or folders of packages."""
    output: Path
    """``…/libgstNAME.so``."""
    name: str = ""
    """Plugin name; that of the file when empty."""
    version: str = "0.1.0"
    license: str = "unknown"
    package: str = ""
    """Name of the package the plugin belongs to; the plugin's own when empty."""
    origin: str = "unknown"
    """Where it comes from, a URL."""
    description: str = ""
    """What it is; the first line of the first docstring when empty."""
    cython: bool = True
    """Compile to C; else the bytecode is embedded."""
    optimize: int = 2
    """The C compiler's -O level, 0 to 3."""

    def __post_init__(self) -> None:
        if not self.sources:
            raise BuildError("there is no Python file to build from")
        in_file = plugin_name(self.output)
        name = self.name or in_file
        if not _NAME.fullmatch(name):
            raise BuildError(
                f"{name!r} cannot name a plugin", hint="lower-case letters, digits, - and _"
            )
        object.__setattr__(self, "name", name)
        if self.license not in LICENSES:
            raise BuildError(
                f"GStreamer does not know the licence {self.license!r}",
                hint=f"one of {', '.join(LICENSES)}",
            )
        for field in ("version", "package", "origin", "description"):
            text = getattr(self, field)
            if any(ord(c) < 32 for c in text):
                raise BuildError(f"{field} must be one line of text, not {text!r}")
        if not self.version:
            raise BuildError("the version is empty")
        if not 0 <= self.optimize <= 3:
            raise BuildError(f"optimize={self.optimize} is no -O level", hint="0 to 3")

    @property
    def symbol(self) -> str:
        """Function that GStreamer looks up, named after the file."""
        return f"gst_plugin_{plugin_name(self.output).replace('-', '_')}_get_desc"
