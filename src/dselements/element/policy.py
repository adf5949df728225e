"""What an element does when something fails, and how it says so."""

from __future__ import annotations

import time
import traceback
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

from ..errors import DselementsError

__all__ = ["DROP", "ON_ERROR", "RateLimit", "post_error", "post_warning"]

DROP = False
"""What ``process`` returns to drop the buffer."""

ON_ERROR = ("fail", "drop", "pass")
WARNING_INTERVAL_S = 1.0

_ENUMS = {
    "core": Gst.CoreError,
    "library": Gst.LibraryError,
    "resource": Gst.ResourceError,
    "stream": Gst.StreamError,
}


class RateLimit:
    """Lets one message a second through and counts the others."""

    __slots__ = ("_interval", "_next", "suppressed")

    def __init__(self, interval_s: float = WARNING_INTERVAL_S) -> None:
        self._interval = interval_s
        self._next = 0.0
        self.suppressed = 0

    def allows(self) -> bool:
        """True if a message may be posted now."""
        now = time.monotonic()
        if now < self._next:
            self.suppressed += 1
            return False
        self._next = now + self._interval
        return True

    def take(self) -> int:
        """How many were kept back since the last call."""
        count, self.suppressed = self.suppressed, 0
        return count


def _g_error(error: BaseException, text: str) -> Any:
    if isinstance(error, DselementsError):
        enum = _ENUMS[error.gst_domain]
        code = int(getattr(enum, error.gst_code))
    else:
        enum, code = Gst.LibraryError, int(Gst.LibraryError.FAILED)
    return GLib.Error.new_literal(enum.quark(), text, code)


def describe(error: BaseException, doing: str) -> tuple[str, str]:
    """Text for the user and details with the traceback."""
    try:
        message = error.message if isinstance(error, DselementsError) else str(error)
    except Exception as wrong:  # noqa: BLE001 -- told in its place
        message = f"(its text cannot be had: {type(wrong).__name__})"
    text = f"{doing}: {type(error).__name__}: {message}"
    details = []
    if isinstance(error, DselementsError) and error.hint:
        details.append(f"hint: {error.hint}")
    details.append("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    return _utf8(text), _utf8("\n".join(details))


def _utf8(text: str) -> str:
    """The text without what a C string in UTF-8 cannot hold."""
    return text.replace("\0", "?").encode("utf-8", "replace").decode()


def post_error(element: Any, error: BaseException, doing: str) -> None:
    """Post an element error with the user's traceback in its details."""
    text, details = describe(error, doing)
    element.post_message(Gst.Message.new_error(element, _g_error(error, text), details))


def post_warning(element: Any, error: BaseException, doing: str, suppressed: int = 0) -> None:
    """Post a warning with the user's traceback in its details."""
    text, details = describe(error, doing)
    if suppressed:
        text += f" (and {suppressed} more like it)"
    element.post_message(Gst.Message.new_warning(element, _g_error(error, text), details))
