"""Which inputs go into the next batches, and what their frames say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["FrameInfo", "columns", "together", "turns"]


class FrameInfo(NamedTuple):
    """One frame of a batch."""

    pad_index: int
    """Number of the sink pad; also the source_id."""
    frame_num: int
    """Frames of this input before it."""
    pts: int
    """Time stamp within its own stream, nanoseconds; NO_TIME if it has none."""
    width: int
    """Before scaling, pixels."""
    height: int


def together(times: Mapping[int, int | None], lengths: Mapping[int, int]) -> list[int]:
    """Inputs whose waiting frames belong to one moment.

    :param times: running time of each input's frame, nanoseconds; None if it has none.
    :param lengths: duration of each frame, nanoseconds.
    :returns: the earliest one, those that begin within half its duration, and those without a time.
    """
    known = {number: time for number, time in times.items() if time is not None}
    if not known:
        return sorted(times)
    first = min(known, key=lambda number: (known[number], number))
    until = known[first] + lengths[first] // 2
    return sorted(n for n, time in times.items() if time is None or time <= until)


def turns(
    ready: Sequence[int], limit: int, last: int, everything: bool
) -> tuple[list[list[int]], int]:
    """Inputs of the next batches, at most one frame of each.

    If all fit, they are one batch. Otherwise they take turns, those after ``last`` first, and
    what is left over begins the next round, so that batches are full.

    :param ready: numbers of the inputs that have a frame, ascending.
    :param limit: most frames of a batch, at least 1.
    :param last: number of the input that came last in the round before; -1 at the start.
    :param everything: also push what is left over.
    :returns: the batches, each ascending; and ``last`` for the next round.
    """
    if len(ready) <= limit:
        return ([list(ready)] if ready else []), -1
    ring = [n for n in ready if n > last] + [n for n in ready if n <= last]
    if not everything:
        ring = ring[: len(ring) - len(ring) % limit]
    return [sorted(ring[i : i + limit]) for i in range(0, len(ring), limit)], ring[-1]


def columns(
    frames: Sequence[FrameInfo], width: int, height: int, wall_ns: int
) -> dict[str, npt.NDArray[np.generic]]:
    """Frame columns of a batch, in the native core's names and types."""
    n = len(frames)
    pads = np.array([f.pad_index for f in frames], np.uint32)
    return {
        "pad_index": pads,
        "source_id": pads,
        "batch_id": np.arange(n, dtype=np.uint32),
        "frame_num": np.array([f.frame_num for f in frames], np.int32),
        "buf_pts": np.array([f.pts for f in frames], np.uint64),
        "ntp_timestamp": np.full(n, wall_ns, np.uint64),
        "num_surfaces_per_frame": np.ones(n, np.int32),
        "source_frame_width": np.array([f.width for f in frames], np.uint32),
        "source_frame_height": np.array([f.height for f in frames], np.uint32),
        "pipeline_width": np.full(n, width, np.uint32),
        "pipeline_height": np.full(n, height, np.uint32),
    }
