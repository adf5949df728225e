"""What tests of your own elements need; no GPU and no video are involved.

    from dselements.testing import ElementHarness

Also a pytest plugin: its fixtures begin with ``ds_`` (see docs/testing.md). Importing this loads
neither GStreamer nor numpy; using a name does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "ElementHarness": "harness",
    "BatchRecord": "records",
    "FrameRecord": "records",
    "ObjectRecord": "records",
    "record_batch": "records",
    "frames_from_columns": "builders",
    "frames_from_json": "builders",
    "frames_from_supervision": "builders",
    "make_buffer": "builders",
    "assert_flat_memory": "leaks",
    "assert_no_leaks": "leaks",
    "assert_matches_golden": "golden",
    "differences": "golden",
    "TestClock": "clock",
    "batches": "strategies",
    "frames": "strategies",
    "objects": "strategies",
}

__all__ = [  # noqa: RUF022 -- in the order a reader meets them
    "ElementHarness",
    "BatchRecord",
    "FrameRecord",
    "ObjectRecord",
    "record_batch",
    "frames_from_columns",
    "frames_from_json",
    "frames_from_supervision",
    "make_buffer",
    "assert_no_leaks",
    "assert_flat_memory",
    "assert_matches_golden",
    "differences",
    "TestClock",
    "objects",
    "frames",
    "batches",
]

if TYPE_CHECKING:
    from .builders import (
        frames_from_columns,
        frames_from_json,
        frames_from_supervision,
        make_buffer,
    )
    from .clock import TestClock
    from .golden import assert_matches_golden, differences
    from .harness import ElementHarness
    from .leaks import assert_flat_memory, assert_no_leaks
    from .records import BatchRecord, FrameRecord, ObjectRecord, record_batch
    from .strategies import batches, frames, objects


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
