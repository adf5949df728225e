"""Which frames make a batch, and where they go afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from dselements.elements.demux.logic import combined, routes
from dselements.elements.mux.logic import FrameInfo, columns, together, turns
from dselements.errors import MetadataValueError

OK, NOT_LINKED, FLUSHING, EOS, ERROR = 0, -1, -2, -3, -5


@pytest.mark.parametrize(
    ("ready", "limit", "last", "everything", "batches", "next_last"),
    [
        ([], 3, -1, False, [], -1),
        ([0, 1, 2], 3, -1, False, [[0, 1, 2]], -1),
        ([0, 1, 2], 5, 1, False, [[0, 1, 2]], -1),
        ([0, 1, 2, 3], 2, -1, False, [[0, 1], [2, 3]], 3),
        ([0, 1, 2, 3, 4], 2, -1, False, [[0, 1], [2, 3]], 3),
        ([0, 1, 2, 3, 4], 2, 3, False, [[0, 4], [1, 2]], 2),
        ([0, 1, 2, 3, 4], 2, 2, False, [[3, 4], [0, 1]], 1),
        ([0, 1, 2, 3, 4], 2, 3, True, [[0, 4], [1, 2], [3]], 3),
        ([4, 7], 1, 4, False, [[7], [4]], 4),
        ([4, 7], 1, 7, False, [[4], [7]], 7),
    ],
)
def test_inputs_take_turns(
    ready: list[int],
    limit: int,
    last: int,
    everything: bool,
    batches: list[list[int]],
    next_last: int,
) -> None:
    assert turns(ready, limit, last, everything) == (batches, next_last)


def test_over_many_rounds_all_inputs_get_the_same_share() -> None:
    served = dict.fromkeys(range(5), 0)
    last = -1
    for _ in range(50):
        batches, last = turns(list(range(5)), 3, last, everything=False)
        assert [len(batch) for batch in batches] == [3]
        for number in batches[0]:
            served[number] += 1
    assert set(served.values()) == {30}


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ({0: 0, 1: 0}, [0, 1]),
        ({0: 100, 1: 40}, [1]),
        ({0: 59, 1: 40, 2: 61}, [0, 1]),
        ({0: None, 1: 40, 2: 90}, [0, 1]),
        ({0: None, 3: None}, [0, 3]),
    ],
)
def test_frames_of_one_moment(times: dict[int, int | None], chosen: list[int]) -> None:
    assert together(times, dict.fromkeys(times, 40)) == chosen


def test_columns() -> None:
    made = columns([FrameInfo(3, 7, 40, 640, 480), FrameInfo(5, 0, 50, 64, 48)], 100, 80, 9)
    assert made["pad_index"].tolist() == made["source_id"].tolist() == [3, 5]
    assert made["batch_id"].tolist() == [0, 1]
    assert made["frame_num"].tolist() == [7, 0]
    assert made["buf_pts"].tolist() == [40, 50]
    assert made["source_frame_width"].tolist() == [640, 64]
    assert made["pipeline_height"].tolist() == [80, 80]
    assert made["ntp_timestamp"].tolist() == [9, 9]
    sizes = {name: values.itemsize for name, values in made.items()}
    from dselements._core.layouts import FIELDS

    assert sizes == {name: FIELDS["frame"][name] for name in made}
    assert made["buf_pts"].dtype == np.uint64


def test_frames_go_to_the_pads_that_are_there() -> None:
    going, dropped = routes([0, 2, 5], [0, 1, 2], 3, [0, 5])
    assert going == [(0, 0, 0), (2, 2, 5)]
    assert dropped == 1
    with pytest.raises(MetadataValueError, match="frame 0 has batch_id 4, but the buffer holds 2"):
        routes([0], [4], 2, [0])


@pytest.mark.parametrize(
    ("flows", "result"),
    [
        ({}, OK),
        ({0: OK, 1: NOT_LINKED}, OK),
        ({0: NOT_LINKED, 1: NOT_LINKED}, NOT_LINKED),
        ({0: EOS, 1: OK}, OK),
        ({0: EOS, 1: EOS}, EOS),
        ({0: EOS, 1: NOT_LINKED}, EOS),
        ({0: OK, 1: FLUSHING}, FLUSHING),
        ({0: OK, 1: ERROR}, ERROR),
    ],
)
def test_flow_results_together(flows: dict[int, int], result: int) -> None:
    assert combined(flows) == result
