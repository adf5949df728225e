"""The thread that writes a recording, and the bounded queue before it."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from ..errors import RecordingError
from .capture import Capture

__all__ = ["ON_FULL", "Counters", "Output", "Writer"]

ON_FULL = ("block", "drop-oldest", "drop-newest")


class Output(Protocol):
    """Where batches are written: a recording, or files of MOT lines."""

    def batch(self, captured: Capture) -> int:
        """Write one; returns its size in bytes before compression."""
        ...

    def caps(self, text: str) -> None:
        """The caps changed."""
        ...

    def end_block(self) -> None:
        """Make what was written readable."""
        ...

    def end(self, dropped: int) -> None:
        """The stream ended; more may come after a seek."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...

    def abandon(self) -> None:
        """Close the file after an error."""
        ...


@dataclass
class Counters:
    """What became of the batches."""

    written: int = 0
    dropped: int = 0
    """Thrown away by a full queue, a flush, or after an error."""
    bytes: int = 0
    """Before compression."""
    queued_max: int = 0
    full: int = 0
    """Batches that found the queue full."""


@dataclass
class _Queue:
    items: deque[Capture | str | None] = field(default_factory=deque)
    batches: int = 0


class Writer:
    """Takes captured batches in the streaming thread, writes them in its own.

    :param output: written to, and closed, by the thread only.
    :param size: batches that may wait.
    :param on_full: ``block``, ``drop-oldest`` or ``drop-newest``.
    :param block_batches: end a block after so many batches,
    :param block_s: or after so many seconds.
    """

    def __init__(
        self, output: Output, *, size: int, on_full: str, block_batches: int, block_s: float
    ) -> None:
        self.counters = Counters()
        self.error: BaseException | None = None
        self._output = output
        self._size = size
        self._on_full = on_full
        self._block_batches, self._block_s = block_batches, block_s
        self._queue = _Queue()
        self._change = threading.Condition()
        self._flushing = False
        self._closing = False
        self._busy = False
        self._ends = 0
        self._ended = 0
        self._thread = threading.Thread(target=self._run, name="dselements-record", daemon=True)
        self._thread.start()

    # -- streaming thread ----------------------------------------------------
    def put(self, captured: Capture) -> bool:
        """Queue a batch; returns False if it, or by it an older one, was dropped.

        :raises RecordingError: if writing failed before.
        """
        queue, counters = self._queue, self.counters
        with self._change:
            self._raise()
            whole = True
            if queue.batches >= self._size:
                counters.full += 1
                if self._on_full == "block":
                    while (
                        queue.batches >= self._size
                        and not (self._flushing or self._closing)
                        and self.error is None
                    ):
                        self._change.wait()
                    self._raise()
                    if queue.batches >= self._size:
                        counters.dropped += 1
                        return False
                elif self._on_full == "drop-newest":
                    counters.dropped += 1
                    return False
                else:
                    self._drop_oldest()
                    whole = False
            queue.items.append(captured)
            queue.batches += 1
            counters.queued_max = max(counters.queued_max, queue.batches)
            self._change.notify_all()
            return whole

    def _drop_oldest(self) -> None:
        for at, item in enumerate(self._queue.items):
            if isinstance(item, Capture):
                del self._queue.items[at]
                self._queue.batches -= 1
                self.counters.dropped += 1
                return

    def caps(self, text: str) -> None:
        """The caps changed; written in order, never dropped."""
        with self._change:
            self._queue.items.append(text)
            self._change.notify_all()

    def flushing(self, on: bool) -> None:
        """A flush began (a batch that waits for room is given up) or ended."""
        with self._change:
            self._flushing = on
            self._change.notify_all()

    def end(self) -> None:
        """Wait until all that is queued, and the end's line, is in the file.

        :raises RecordingError: if writing failed.
        """
        with self._change:
            self._raise()
            self._ends += 1
            mine = self._ends
            self._queue.items.append(None)
            self._change.notify_all()
            while self._ended < mine and self.error is None and self._thread.is_alive():
                self._change.wait(0.5)
            self._raise()

    def release(self) -> None:
        """Let a waiting :meth:`put` go: the element is about to stop."""
        with self._change:
            self._closing = True
            self._change.notify_all()

    def close(self) -> None:
        """Write what is queued and finish the file. :raises RecordingError: if that failed."""
        self.release()
        self._thread.join()
        self._raise()

    def _raise(self) -> None:
        if self.error is not None:
            error = self.error
            if isinstance(error, RecordingError):
                raise RecordingError(error.message, hint=error.hint)
            raise RecordingError(f"the recording stopped: {error}", hint="") from error

    @property
    def waiting(self) -> int:
        """Batches in the queue now."""
        return self._queue.batches

    # -- its own thread --------------------------------------------------------
    def _run(self) -> None:
        try:
            self._write()
            self._output.close()
        except BaseException as error:  # noqa: BLE001 -- kept for the streaming thread to raise
            with self._change:
                self.error = error
                self.counters.dropped += self._queue.batches + self._busy
                self._queue = _Queue()
                self._change.notify_all()
            self._output.abandon()

    def _next(self, timeout: float | None) -> tuple[bool, Capture | str | None]:
        """The next item; (False, None) at a timeout or the close."""
        with self._change:
            self._busy = False
            while not self._queue.items:
                if self._closing or not self._change.wait(timeout):
                    return False, None
            item = self._queue.items.popleft()
            if isinstance(item, Capture):
                self._queue.batches -= 1
                self._busy = True
                self._change.notify_all()
            return True, item

    def _write(self) -> None:
        output, counters = self._output, self.counters
        open_batches, since = 0, 0.0
        while True:
            left = max(since + self._block_s - time.monotonic(), 0.0) if open_batches else None
            got, item = self._next(left)
            if not got and self._closing and not self._queue.items:
                break
            if isinstance(item, Capture):
                counters.bytes += output.batch(item)
                counters.written += 1
                if not open_batches:
                    since = time.monotonic()
                open_batches += 1
            elif isinstance(item, str):
                output.caps(item)
            elif got:
                output.end(counters.dropped)
                open_batches = 0
                with self._change:
                    self._ended += 1
                    self._change.notify_all()
            late = open_batches and time.monotonic() >= since + self._block_s
            if open_batches >= self._block_batches or late:
                output.end_block()
                open_batches = 0
        output.end(counters.dropped)
