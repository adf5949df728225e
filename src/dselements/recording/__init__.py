"""Recordings: all metadata of batches as lines of JSON, and back, exact to the bit. Knows no gi.

docs/recording.md describes the format. :func:`capture` copies a batch's metadata out,
:func:`encode_batch` makes its line, :func:`restore` puts frames back into a batch,
:func:`rebuild` makes a batch of a line, and :func:`read_batches` reads a file.
"""

from __future__ import annotations

from .capture import Capture, capture
from .encode import encode_batch
from .reader import Reader, read_batches
from .restore import Placement, rebuild, restore
from .schema import SCHEMA, VERSION, BatchLine, FrameLine, HeaderLine

__all__ = [
    "SCHEMA",
    "VERSION",
    "BatchLine",
    "Capture",
    "FrameLine",
    "HeaderLine",
    "Placement",
    "Reader",
    "capture",
    "encode_batch",
    "read_batches",
    "rebuild",
    "restore",
]
