"""Which buffer flags a batch has, of those of its frames. Knows no GStreamer."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["DISCONT", "batch_flags", "frame_flags"]

# GstBufferFlags
LIVE, DISCONT, RESYNC, CORRUPTED = 1 << 4, 1 << 6, 1 << 7, 1 << 8
GAP, DROPPABLE = 1 << 11, 1 << 12

_ANY = LIVE | DISCONT | RESYNC | CORRUPTED
_ALL = GAP | DROPPABLE


def batch_flags(frames: Iterable[int]) -> int:
    """Flags of the batch of these frames.

    What warns counts if one frame says so (live, discont, resync, corrupted), what allows to leave
    the buffer out only if all do (gap, droppable).
    """
    either, both = 0, _ALL
    for flags in frames:
        either |= flags
        both &= flags
    return (either & _ANY) | both


def frame_flags(batch: int) -> int:
    """Flags that a frame takes over from its batch."""
    return batch & (_ANY | _ALL)
