"""The writer's thread and the queue before it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dselements import Batch
from dselements.errors import RecordingError
from dselements.recording import Capture, capture
from dselements.recording.writer import Writer


class Slow:
    """An output that waits for a permit before each batch."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.calls: list[Any] = []
        self.fails: BaseException | None = None

    def batch(self, captured: Capture) -> int:
        self.permits.acquire()
        if self.fails is not None:
            raise self.fails
        self.calls.append(captured.pts)
        return 1

    def caps(self, text: str) -> None:
        self.calls.append(text)

    def end_block(self) -> None:
        self.calls.append("block")

    def end(self, dropped: int) -> None:
        self.calls.append(("end", dropped))

    def close(self) -> None:
        self.calls.append("close")

    def abandon(self) -> None:
        self.calls.append("abandon")


@pytest.fixture
def captured() -> Callable[[int], Capture]:
    with Batch.synthetic([{}]) as batch:
        one = capture(batch.address)
    return lambda n: one._replace(pts=n)


def writer(output: Slow, on_full: str, size: int = 2, block_batches: int = 100) -> Writer:
    return Writer(output, size=size, on_full=on_full, block_batches=block_batches, block_s=1e6)


def started(output: Slow, made: Writer, captured: Callable[[int], Capture]) -> None:
    """Batch 0 is with the output, which waits; the queue is empty."""
    made.put(captured(0))
    while made.waiting:
        threading.Event().wait(0.005)


@pytest.mark.parametrize(
    ("on_full", "kept"), [("drop-oldest", [0, 3, 4]), ("drop-newest", [0, 1, 2])]
)
def test_what_a_full_queue_drops(
    on_full: str, kept: list[int], captured: Callable[[int], Capture]
) -> None:
    output = Slow()
    made = writer(output, on_full)
    started(output, made, captured)
    made.caps("caps")
    results = [made.put(captured(n)) for n in (1, 2, 3, 4)]
    assert results == [True, True, False, False]
    for _ in range(3):
        output.permits.release()
    made.close()
    assert [c for c in output.calls if isinstance(c, int)] == kept
    assert output.calls.index("caps") == 1
    assert output.calls[-2:] == [("end", 2), "close"]
    counters = made.counters
    assert (counters.written, counters.dropped, counters.full) == (3, 2, 2)


@pytest.mark.parametrize("ends", ["flushing", "release"])
def test_a_flush_or_a_stop_lets_a_waiting_batch_go(
    ends: str, captured: Callable[[int], Capture]
) -> None:
    output = Slow()
    made = writer(output, "block", size=1)
    started(output, made, captured)
    assert made.put(captured(1))
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(made.put(captured(2))))
    thread.start()
    while not made.counters.full:
        threading.Event().wait(0.005)
    if ends == "flushing":
        made.flushing(True)
    else:
        made.release()
    thread.join(20)
    assert results == [False]
    made.flushing(False)
    for _ in range(2):
        output.permits.release()
    made.close()
    assert [c for c in output.calls if isinstance(c, int)] == [0, 1]
    assert made.counters.dropped == 1


def test_a_waiting_batch_goes_on_when_there_is_room(captured: Callable[[int], Capture]) -> None:
    output = Slow()
    made = writer(output, "block", size=1)
    for _ in range(50):
        output.permits.release()
    for n in range(50):
        assert made.put(captured(n))
    made.end()
    assert [c for c in output.calls if isinstance(c, int)] == list(range(50))
    made.close()
    assert made.counters.dropped == 0


def test_blocks_end_every_few_batches(captured: Callable[[int], Capture]) -> None:
    output = Slow()
    made = writer(output, "block", size=9, block_batches=2)
    for n in range(5):
        output.permits.release()
        made.put(captured(n))
    made.close()
    assert output.calls == [0, 1, "block", 2, 3, "block", 4, ("end", 0), "close"]


@pytest.mark.parametrize("error", [RecordingError("disk", hint="h"), RuntimeError("odd")])
def test_an_error_is_told_to_whoever_comes_next(
    error: Exception, captured: Callable[[int], Capture]
) -> None:
    output = Slow()
    output.fails = error
    made = writer(output, "block", size=1)
    started(output, made, captured)
    made.put(captured(1))
    output.permits.release()
    for call in (lambda: made.put(captured(2)), made.end, made.close):
        with pytest.raises(RecordingError, match="disk" if "disk" in str(error) else "odd"):
            call()
    assert output.calls == ["abandon"]
    assert made.counters.dropped >= 2
