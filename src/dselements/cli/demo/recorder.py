"""Counts what passes and writes one JSON line a frame, outside the streaming thread."""

from __future__ import annotations

import queue
import threading
import time
from pathlib import Path
from typing import IO

import msgspec

from ...errors import AssetError, PayloadError
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
        self.error: Exception | None = None
        self._encode = msgspec.json.Encoder().encode
        self._queue: queue.Queue[bytes | None] = queue.Queue(QUEUE_SIZE)
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
        lines = b"".join(self._line(record) for record in records)
        self.frames += len(records)
        self.objects += sum(len(record.objects) for record in records)
        self.ended = time.perf_counter()
        self._queue.put(lines)

    def _line(self, record: FrameRecord) -> bytes:
        try:
            return self._encode(record) + b"\n"
        except (TypeError, ValueError) as error:
            raise PayloadError(
                f"frame {record.frame} of source {record.source_id} cannot be written as JSON: "
                f"{error}"
            ) from error

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
        ended = False
        try:
            with self._file as file:
                while not ended:
                    lines = self._queue.get()
                    if lines is None:
                        ended = True
                    else:
                        file.write(lines)
                file.flush()
        except Exception as error:  # noqa: BLE001 -- kept for take() and close() to raise
            self.error = error
        # Keep emptying the queue, so that the pipeline is not stuck before it is told.
        while not ended:
            ended = self._queue.get() is None
