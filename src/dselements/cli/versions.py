"""What ``dselements version`` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from ..errors import LibraryNotFoundError


def version_lines() -> Iterator[str]:
    """One line each for dselements, Python, GStreamer and NVIDIA's metadata library."""
    from .. import __version__

    yield f"dselements {__version__}"
    yield f"Python {platform.python_version()}"
    try:
        import gi

        gi.require_version("Gst", "1.0")
        from gi.repository import Gst

        Gst.init(None)
        yield Gst.version_string()
    except (ImportError, ValueError) as error:
        yield f"GStreamer not usable from this Python: {error}"
    try:
        from .._core import library_info, load

        load()
        info = library_info()
        yield f"libnvds_meta {info.meta_path} ({info.source})"
    except LibraryNotFoundError as error:
        yield f"libnvds_meta not found: {error}"
