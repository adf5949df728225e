"""Caps of dsdemux."""

from __future__ import annotations

CAPS = "video/x-raw"
"""Batches in system memory, one GstMemory a frame."""
