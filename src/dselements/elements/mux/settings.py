"""Defaults and limits of dsmux, as nvstreammux has them."""

from __future__ import annotations

FORMATS = ("RGBA", "NV12")
"""Formats of a batch."""

MAX_BATCH = 1024
"""nvstreammux's limit. Up to 16 frames share their inputs' memory; more are copied into one."""
MAX_EDGE = 16384
DEFAULT_TIMEOUT_US = -1
"""``batched-push-timeout``: -1 waits for every input."""

SD_HEIGHT = 576
"""Up to here GStreamer takes YUV without colorimetry as bt601, above as bt709."""
