"""Finds the recorded frame of each frame of a video, in bounded memory."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import NamedTuple

from .reader import Item, Reader
from .schema import BatchLine, FrameLine

__all__ = ["MATCH", "Found", "Player"]

MATCH = ("pts", "frame-num")
_MOST_MARKS = 100_000
_ANYWHERE = 2**64


class Found(NamedTuple):
    """A recorded frame that was asked for."""

    frame: FrameLine
    batch: BatchLine | None
    """Its batch, if it was the batch's first frame."""


class _Waiting(NamedTuple):
    key: int
    found: Found


class _Mark(NamedTuple):
    """A place to begin again, and the largest key of each source before it."""

    offset: int
    before: dict[int, int]


class _Ahead:
    """Reads lines in a thread of its own, some ahead."""

    def __init__(self, reader: Reader, offset: int, size: int) -> None:
        self._queue: queue.Queue[Item | BaseException | None] = queue.Queue(size)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(reader, offset), name="dselements-replay", daemon=True
        )
        self._thread.start()

    def _put(self, item: Item | BaseException | None) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _run(self, reader: Reader, offset: int) -> None:
        try:
            for item in reader.items(offset):
                if not self._put(item):
                    return
        except BaseException as error:  # noqa: BLE001 -- raised by next() in the other thread
            self._put(error)
            return
        self._put(None)

    def next(self) -> Item | None:
        """The next line; None at the end. Raises what reading raised."""
        item = self._queue.get()
        if isinstance(item, BaseException):
            self._queue.put(item)  # it will be asked again
            raise item
        if item is None:
            self._queue.put(None)
        return item

    def close(self) -> None:
        self._stop.set()
        while True:
            try:
                self._queue.get_nowait()
            except queue.Empty:
                break
        self._thread.join()


class Player:
    """Hands out recorded frames by source and key, as a video asks for them.

    Each source's frames are asked for in rising order; going back (a seek) begins to read again at
    the last block before. Recorded frames of one source rise, too.

    :param match: ``pts`` or ``frame-num``: what the key is.
    :param tolerance: nanoseconds that a time stamp may be off.
    :param ahead: lines that are read ahead.
    :param window: frames that may wait for their source to be asked for.
    """

    def __init__(
        self, reader: Reader, match: str, *, tolerance: int = 0, ahead: int = 64, window: int = 4096
    ) -> None:
        self.reader = reader
        self.unused = 0
        """Recorded frames that were passed over."""
        self.rewinds = 0
        """How often reading began again."""
        self._match = match
        self._tolerance = tolerance if match == "pts" else 0
        self._size = ahead
        self._window = window
        self._marks: list[_Mark] = [_Mark(0, {})]
        self._calls = 0
        self._asked: dict[int, tuple[int, int]] = {}
        """Last key of each source, and the call that asked for it."""
        self._begin(self._marks[0])

    def _begin(self, mark: _Mark) -> None:
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._held = 0
        self._ended = False
        self._read: dict[int, int] = dict(mark.before)
        self._ahead = _Ahead(self.reader, mark.offset, self._size)

    def close(self) -> None:
        """Stop reading."""
        self._ahead.close()

    def restart(self) -> None:
        """Forget what was asked: a flush, after which anything may come."""
        for source in list(self._asked):
            self._forget(source)

    def _forget(self, source: int) -> None:
        """Whatever a source asks for next may lie before the place that is read."""
        self._asked[source] = (_ANYWHERE, self._calls - self._window)

    def find(self, source: int, key: int) -> Found | None:
        """The recorded frame of a source, None if there is none.

        :raises RecordingError: if the file cannot be read.
        :raises RecordingFormatError: if it is broken.
        """
        self._calls += 1
        last = self._asked.get(source)
        self._asked[source] = (key, self._calls)
        if last is None or key <= last[0]:
            self._rewind(source, key)
        low, high = key - self._tolerance, key + self._tolerance
        while True:
            waiting = self._waiting.get(source)
            while waiting and waiting[0].key < low:
                waiting.popleft()
                self._held -= 1
                self.unused += 1
            if waiting:
                if waiting[0].key > high:
                    return None
                self._held -= 1
                return waiting.popleft().found
            if self._ended or not self._room():
                return None
            self._read_on()

    def _room(self) -> bool:
        """Make room in the window; False if all that wait may still be asked for."""
        if self._held < self._window:
            return True
        for source, waiting in self._waiting.items():
            call = self._asked.get(source, (0, 0))[1]
            if waiting and self._calls - call >= self._window:
                self.unused += len(waiting)
                self._held -= len(waiting)
                waiting.clear()
                if source in self._asked:
                    self._forget(source)
        if self._held < self._window:
            return True
        # Nobody has asked for these yet, and there are more than fit.
        never = [w for s, w in self._waiting.items() if s not in self._asked and w]
        for waiting in never:
            self.unused += len(waiting)
            self._held -= len(waiting)
            waiting.clear()
        return bool(never)

    def _read_on(self) -> None:
        item = self._ahead.next()
        if item is None:
            self._ended = True
            return
        if item.offset > self._marks[-1].offset and len(self._marks) < _MOST_MARKS:
            self._marks.append(_Mark(item.offset, dict(self._read)))
        line = item.line
        if not isinstance(line, BatchLine):
            return
        for index, frame in enumerate(line.frames):
            key = frame.buf_pts if self._match == "pts" else frame.frame_num
            if key is None:
                self.unused += 1
                continue
            source = frame.source_id
            if key > self._read.get(source, -1):
                self._read[source] = key
            found = Found(frame, line if index == 0 else None)
            self._waiting.setdefault(source, deque()).append(_Waiting(key, found))
            self._held += 1

    def _rewind(self, source: int, key: int) -> None:
        """Begin again at the last block before a key, that of no waiting frame lost."""
        if not self._read or key > self._read.get(source, -1) + self._tolerance:
            return  # not read yet, or not in the file
        waiting = self._waiting.get(source)
        if waiting and waiting[0].key <= key - self._tolerance:
            return  # it waits still
        needs = {s: w[0].key for s, w in self._waiting.items() if w}
        needs[source] = key - self._tolerance
        for mark in reversed(self._marks):
            if all(mark.before.get(s, -1) < need for s, need in needs.items()):
                break
        self._ahead.close()
        self.rewinds += 1
        self._begin(mark)
