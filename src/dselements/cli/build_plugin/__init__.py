"""``dselements build-plugin``: Python files become one GStreamer plugin, a shared library."""

from .build import Result, build
from .settings import BuildSettings

__all__ = ["BuildSettings", "Result", "build"]
