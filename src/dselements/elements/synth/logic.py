"""Synthetic objects as a function of seed, source and frame number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...meta.jsonl import FrameRecord, read_records
from .settings import SynthSettings

__all__ = ["Scene", "Script", "SynthObjects"]


class SynthObjects(NamedTuple):
    """Objects of one frame."""

    rect: npt.NDArray[np.float64]
    """left, top, width, height in pixels, float64 (n, 4); inside the frame."""
    class_id: npt.NDArray[np.int64]
    """Index into the settings' classes, (n,)."""
    confidence: npt.NDArray[np.float64]
    object_id: npt.NDArray[np.uint64]
    """1 to n."""


def bounced(position: npt.NDArray[Any], room: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A position that moves to and fro between 0 and ``room``."""
    period = np.maximum(2 * room, 1e-9)
    phase = np.mod(position, period)
    inside: npt.NDArray[Any] = np.clip(np.minimum(phase, period - phase), 0, room)
    return inside


class Scene:
    """Objects of one source; :meth:`at` gives those of any frame number."""

    def __init__(self, settings: SynthSettings, source_id: int, width: int, height: int) -> None:
        self.settings = settings
        self.size = (width, height)
        self._key = (settings.seed, source_id)
        n = settings.num_objects
        rng = np.random.default_rng([*self._key, 0])
        low = np.minimum(settings.min_size, [width, height])
        high = np.minimum(settings.max_size, [width, height])
        self._box = low + rng.random((n, 2)) * (high - low)
        self._room = np.array([width, height]) - self._box
        self._start = rng.random((n, 2)) * 2 * self._room
        angle = rng.random(n) * 2 * np.pi
        pace = settings.speed * (0.25 + 0.75 * rng.random(n))
        self._step = np.stack([np.cos(angle), np.sin(angle)], 1) * pace[:, None]
        self._class = rng.integers(0, len(settings.classes), n)
        spread = settings.max_confidence - settings.min_confidence
        self._confidence = settings.min_confidence + spread * rng.random(n)

    def at(self, frame_num: int) -> SynthObjects:
        """Objects of a frame."""
        settings = self.settings
        corner = bounced(self._start + self._step * frame_num, self._room)
        rect = np.concatenate([corner, self._box], 1)
        n = len(rect)
        if settings.jitter and n:
            rng = np.random.default_rng([*self._key, 1, frame_num])
            rect += rng.normal(0, settings.jitter, rect.shape)
            size = np.array(self.size, float)
            rect[:, 2:] = np.clip(rect[:, 2:], 1, size)
            rect[:, :2] = np.clip(rect[:, :2], 0, size - rect[:, 2:])
        return SynthObjects(
            rect, self._class, self._confidence, np.arange(1, n + 1, dtype=np.uint64)
        )


class Script:
    """Records of a JSON lines file, handed out by source in the file's order."""

    def __init__(self, path: str | Path, *, loop: bool) -> None:
        self._path = path
        self._loop = loop
        self._records: Iterator[FrameRecord] = read_records(path)
        self._waiting: dict[int, list[FrameRecord]] = {}
        self._ended = False
        self._seen: set[int] = set()
        self._fill(None)  # so that a broken or missing file is found at the start

    def _fill(self, source_id: int | None) -> None:
        """Read on until there is a record of the source (any, if None), or the file ends."""
        for record in self._records:
            self._waiting.setdefault(record.source_id, []).append(record)
            self._seen.add(record.source_id)
            if source_id is None or record.source_id == source_id:
                return
        self._ended = True

    def next(self, source_id: int) -> FrameRecord | None:
        """The next record of a source; None when there is none any more."""
        waiting = self._waiting.get(source_id)
        if not waiting and not self._ended:
            self._fill(source_id)
            waiting = self._waiting.get(source_id)
        if not waiting and self._ended and self._loop and source_id in self._seen:
            self._records = read_records(self._path)
            self._ended = False
            self._fill(source_id)
            waiting = self._waiting.get(source_id)
        return waiting.pop(0) if waiting else None
