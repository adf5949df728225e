"""An element's lines in GStreamer's debug log: ``GST_DEBUG=speedgate:5``."""

from __future__ import annotations

from typing import Any, ClassVar

from .._core import _native, load

__all__ = ["Log"]

ERROR, WARNING, FIXME, INFO, DEBUG, LOG = 1, 2, 3, 4, 5, 6
"""GstDebugLevel."""


class Log:
    """Writes to the category of one element factory."""

    __slots__ = ("_category", "_element")

    _categories: ClassVar[dict[str, int]] = {}

    def __init__(self, name: str, element: Any, description: str = "") -> None:
        category = self._categories.get(name)
        if category is None:
            load()
            category = _native.debug_category(name, description or f"{name} element")
            self._categories[name] = category
        self._category = category
        self._element = hash(element)  # the GObject's address; no reference is kept

    def enabled(self, level: int) -> bool:
        """True if messages of this level are logged."""
        return level <= _native.debug_threshold(self._category)

    def write(self, level: int, message: str) -> None:
        """Log a message."""
        _native.debug_log(self._category, level, self._element, "", message)

    def error(self, message: str) -> None:
        self.write(ERROR, message)

    def warning(self, message: str) -> None:
        self.write(WARNING, message)

    def info(self, message: str) -> None:
        self.write(INFO, message)

    def debug(self, message: str) -> None:
        self.write(DEBUG, message)
