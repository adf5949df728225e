"""Counts what passes and writes one JSON line a frame, outside the streaming thread."""

from __future__ import annotations

import queue
import threading
import time
from pathlib import Path
from typing import IO

import msgspec

from ...errors import AssetError
from ...meta.batch import Batch
from ...meta.jsonl import FrameRecord, frame_record

# Records waiting for the disk; a full queue makes the pipeline wait, so no line is lost.
QUEUE_SIZE = 1024


class Recorder:
    """Takes batches from the pipeline and writes their records to ``path``.

    :meth:`take` runs in the streaming thread and never touches the disk.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames = 0
        self.objects = 0
        self.started: float | None = None
        self.ended = 0.0
        self.error: OSError | None = None
        self._queue: queue.Queue[list[FrameRecord] | None] = queue.Queue(QUEUE_SIZE)
        self._thread = threading.Thread(target=self._write, name="dselements-recorder")

    def start(self) -> None:
        """Open the file and start the writer. :raises AssetError: if it cannot be opened."""
        try:
            file = self.path.open("wb")
        except OSError as error:
            raise AssetError(f"cannot write {self.path}: {error}", hint="") from error
        self._file: IO[bytes] = file
        self._thread.start()

    def take(self, batch: Batch) -> None:
        """Count a batch and queue its records."""
        if self.error is not None:
            raise AssetError(f"writing {self.path} failed: {self.error}", hint="")
        if self.started is None:
            self.started = time.perf_counter()
        records = [frame_record(frame) for frame in batch.frames]
        self.frames += len(records)
        self.objects += sum(len(record.objects) for record in records)
        self.ended = time.perf_counter()
        self._queue.put(records)

    def close(self) -> None:
        """Write what is queued and close the file. :raises AssetError: if writing failed."""
        if self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join()
        if self.error is not None:
            raise AssetError(f"writing {self.path} failed: {self.error}", hint="")

    @property
    def fps(self) -> float:
        """Frames a second between the first and the last frame; 0 before the second one."""
        if self.started is None or self.ended <= self.started:
            return 0.0
        return (self.frames - 1) / (self.ended - self.started) if self.frames > 1 else 0.0

    def _write(self) -> None:
        encoder = msgspec.json.Encoder()
        with self._file as file:
            while (records := self._queue.get()) is not None:
                if self.error is not None:
                    continue  # keep emptying the queue so that the pipeline is not stuck
                try:
                    for record in records:
                        file.write(encoder.encode(record) + b"\n")
                except OSError as error:
                    self.error = error
