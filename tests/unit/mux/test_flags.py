"""Which flags of its frames a batch has."""

from __future__ import annotations

import pytest

from dselements.meta.flags import batch_flags, frame_flags

DISCONT, CORRUPTED, GAP, DROPPABLE, HEADER = 1 << 6, 1 << 8, 1 << 11, 1 << 12, 1 << 10


@pytest.mark.parametrize(
    ("frames", "batch"),
    [
        ([0, 0], 0),
        ([DISCONT, 0], DISCONT),
        ([0, CORRUPTED | DISCONT], CORRUPTED | DISCONT),
        ([GAP, 0], 0),
        ([GAP, GAP | DROPPABLE], GAP),
        ([GAP | DROPPABLE] * 2, GAP | DROPPABLE),
        ([HEADER, HEADER], 0),
        ([GAP | CORRUPTED], GAP | CORRUPTED),
    ],
)
def test_what_warns_counts_if_one_says_so_the_rest_if_all_do(frames: list[int], batch: int) -> None:
    assert batch_flags(frames) == batch
    assert frame_flags(batch) == batch


def test_a_frame_takes_over_nothing_else() -> None:
    assert frame_flags(HEADER | DISCONT | 1 << 14 | 1 << 30) == DISCONT
