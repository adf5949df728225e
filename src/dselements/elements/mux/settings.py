"""Defaults and limits of dsmux, as nvstreammux has them."""

from __future__ import annotations

FORMATS = ("RGBA", "NV12")
"""Formats of a batch."""

MAX_BATCH = 1024
MAX_EDGE = 16384
DEFAULT_TIMEOUT_US = -1
"""``batched-push-timeout``: -1 waits for every input."""
