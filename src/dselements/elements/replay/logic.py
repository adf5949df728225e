"""Puts records on the frames of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ConfigError, NoRecordError
from ...meta import Batch
from ...meta.fields import NO_TIME
from ...recording.mot import SOURCE_PATTERN, MotFile, MotFrame, location_of
from ...recording.player import Found, Player
from ...recording.restore import BOUND_FIELDS, Placement, Restored, restore
from .settings import ReplaySettings

__all__ = ["CREATED_FIELDS", "Counts", "MotReplay", "RecordingReplay"]

CREATED_FIELDS = BOUND_FIELDS & {
    "pad_index", "frame_num", "source_frame_width", "source_frame_height"
}  # fmt: skip
"""Fields of a frame that dsreplay itself made which the record knows better."""


@dataclass
class Counts:
    """What became of the video's frames."""

    matched: int = 0
    missing: int = 0
    lost: int = 0
    """Recorded columns that this SDK does not have."""


def _missing(counts: Counts, on_missing: str, what: str, location: str) -> bool:
    """Count a frame without a record; True if its buffer shall be dropped."""
    counts.missing += 1
    if on_missing == "fail":
        raise NoRecordError(f"{location} has no record of {what}")
    return on_missing == "drop"


class RecordingReplay:
    """Replays a recording.

    :param replace: take away what the frames had.
    """

    def __init__(self, player: Player, match: str, *, replace: bool, on_missing: str) -> None:
        self.counts = Counts()
        self._player = player
        self._match = match
        self._replace = replace
        self._on_missing = on_missing

    @property
    def unused(self) -> int:
        """Recorded frames that were passed over."""
        return self._player.unused

    def restart(self) -> None:
        """After a flush."""
        self._player.restart()

    def close(self) -> None:
        """Stop reading."""
        self._player.close()

    def apply(self, batch: Batch, created: bool) -> tuple[bool, Restored]:
        """Fill a batch's frames. Returns whether to drop it, and what was done.

        :raises NoRecordError: for a frame without a record, if ``on-missing`` is fail; nothing was
            changed then. What :func:`restore` and the player raise passes through.
        """
        found: list[tuple[int, Found]] = []
        drop = False
        for frame in batch.frames:
            pts = frame.buf_pts
            key = frame.frame_num if self._match == "frame-num" else pts
            one = None
            if self._match == "frame-num" or pts != NO_TIME:
                one = self._player.find(frame.source_id, key)
            if one is None:
                shown = "without a time stamp" if key == NO_TIME else f"{self._match} {key}"
                what = f"source {frame.source_id}, {shown}"
                drop |= _missing(self.counts, self._on_missing, what, self._player.reader.location)
            else:
                found.append((frame.row, one))
        if drop or not found:
            return drop, Restored()
        batch.commit()  # frames that are new get their place
        fields = None
        if created:
            from ...meta.fields import FRAME_COLUMNS

            fields = frozenset(FRAME_COLUMNS) - BOUND_FIELDS | CREATED_FIELDS
        done = restore(
            batch.address,
            [Placement(row, one.frame) for row, one in found],
            replace=self._replace,
            fields=fields,
            whole=[one.batch for _, one in found if one.batch is not None],
        )
        self.counts.matched += len(found)
        self.counts.lost += done.lost
        batch.rollback()  # what was read of it is old now
        return False, done


class MotReplay:
    """Replays MOT files, one for each source if the location holds ``%u``.

    :param origin: number of the first pixel.
    :param class_id: class of lines that have none.
    """

    def __init__(
        self, settings: ReplaySettings, *, origin: int, class_id: int, unique_id: int
    ) -> None:
        self.counts = Counts()
        self.unused = 0
        self._location = location = settings.location
        self._replace, self._on_missing = settings.replace, settings.on_missing
        self._origin, self._size = origin, settings.size
        self._classes, self._class_id, self._unique_id = settings.classes, class_id, unique_id
        self._files: dict[int, MotFile] = {}
        if SOURCE_PATTERN not in location:
            self._files[-1] = MotFile(location, origin=origin)

    def restart(self) -> None:
        """Nothing is kept of what was asked."""

    def close(self) -> None:
        """Forget the files."""
        self._files.clear()

    def _file(self, source: int) -> MotFile:
        if SOURCE_PATTERN not in self._location:
            self._files.setdefault(source, self._files[-1])
            if len(self._files) > 2:
                raise ConfigError(
                    f"{self._location} is one source's, and the batch has several",
                    hint=f"put {SOURCE_PATTERN} into the location: one file for each source",
                )
        elif source not in self._files:
            self._files[source] = MotFile(location_of(self._location, source), origin=self._origin)
        return self._files[source]

    def apply(self, batch: Batch, created: bool) -> tuple[bool, Restored]:
        """Fill a batch's frames. Returns whether to drop it, and what was done.

        A frame of the video up to the file's last one that has no line is one without objects.
        """
        done, drop = Restored(), False
        for frame in batch.frames:
            file = self._file(frame.source_id)
            objects = file.frame(frame.frame_num)
            if objects is None and frame.frame_num > file.last_frame:
                what = f"source {frame.source_id}, frame {frame.frame_num + 1}"
                drop |= _missing(self.counts, self._on_missing, what, self._location)
                continue
            self.counts.matched += 1
            if self._replace:
                old = frame.objects
                done.removed += len(old)
                batch.remove(list(old))
            frame.bInferDone = True
            if objects is not None:
                self._add(batch, frame.row, frame.width, frame.height, objects)
                done.added += len(objects.rect)
        return drop, done

    def _add(self, batch: Batch, row: int, width: int, height: int, objects: MotFrame) -> None:
        rect = objects.rect
        if self._size[0] and self._size[1] and width and height:
            sx, sy = width / self._size[0], height / self._size[1]
            rect = rect * [sx, sy, sx, sy]
        ids = np.where(objects.class_id < 0, self._class_id, objects.class_id)
        names = self._classes
        batch.add_objects(
            np.full(len(rect), row),
            rect,
            class_id=ids,
            confidence=objects.confidence,
            object_id=objects.object_id,
            unique_component_id=self._unique_id,
            label=[names[i] if 0 <= i < len(names) else "" for i in ids.tolist()],
        )
