"""The GStreamer element ``dsreplay``."""

from __future__ import annotations

import logging
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ...element import DROP, MetaTransform, Property, element
from ...errors import RecordingError
from ...meta import Batch
from ...recording.player import MATCH, Player
from ...recording.reader import Reader
from .logic import MotReplay, RecordingReplay
from .settings import ReplaySettings

_UINT_MAX = 2**31 - 1
log = logging.getLogger("dselements.replay")


@element(
    "dsreplay",
    description="Puts recorded metadata back on the frames that it belongs to",
    klass="Filter/Video",
    author="dselements",
)
class Replay(MetaTransform):
    """See :mod:`dselements.elements.replay`."""

    __gtype_name__ = "DsReplay"
    create_meta = True

    location = Property(
        "", mutable=False, help="Recording or MOT file; %u in a MOT file's name is the source_id"
    )
    match = Property("pts", choices=MATCH, mutable=False, help="What of a frame finds its record")
    pts_tolerance = Property(
        0, min=0, max=2**62, mutable=False, help="Nanoseconds that a time stamp may be off"
    )
    mode = Property(
        "replace", choices=("replace", "add"), mutable=False, help="What was there goes, or stays"
    )
    on_missing = Property(
        "pass", choices=("pass", "drop", "fail"), mutable=False, help="A frame has no record"
    )
    source_id = Property(
        0, min=0, mutable=False, help="source_id of the frames, where there is no muxer upstream"
    )
    queue_size = Property(
        64, min=1, max=1_000_000, mutable=False, help="Batches that are read ahead"
    )
    window = Property(
        4096, min=1, max=_UINT_MAX, mutable=False, help="Frames that may wait for their source"
    )
    mot_origin = Property(
        1, min=0, max=1, mutable=False, help="Number of the first pixel in MOT files"
    )
    mot_width = Property(
        0, min=0, mutable=False, help="Width that a MOT file's boxes are for; 0 is the frame's"
    )
    mot_height = Property(
        0, min=0, mutable=False, help="Height that a MOT file's boxes are for; 0 is the frame's"
    )
    classes = Property("", mutable=False, help="MOT files: label of each class id, from 0")
    class_id = Property(0, mutable=False, help="MOT files: class of lines that have none")
    unique_id = Property(1, min=0, mutable=False, help="MOT files: unique_component_id")

    def __init__(self) -> None:
        super().__init__()
        self._replay: RecordingReplay | MotReplay | None = None
        self._reader: Reader | None = None
        self._last = (0, 0, 0, 0)
        self._had_frames = True

    def start(self) -> None:
        settings = ReplaySettings.parse(
            self.location,
            self.mode,
            self.on_missing,
            (self.mot_width, self.mot_height),
            self.classes,
        )
        if settings.mot:
            self._replay = MotReplay(
                settings, origin=self.mot_origin, class_id=self.class_id, unique_id=self.unique_id
            )
            return
        self._reader = Reader(self.location)
        player = Player(
            self._reader,
            self.match,
            tolerance=self.pts_tolerance,
            ahead=self.queue_size,
            window=self.window,
        )
        self._replay = RecordingReplay(
            player, self.match, replace=settings.replace, on_missing=settings.on_missing
        )

    def stop(self) -> None:
        replay, self._replay = self._replay, None
        if replay is None:
            return
        counts = replay.counts
        self._last = (counts.matched, counts.missing, replay.unused, counts.lost)
        replay.close()
        if self._reader is not None and self._reader.cut_short:
            log.warning("%s was not finished properly; its last batches may lack", self.location)
        self._reader = None

    def frame_specs(self, **common: Any) -> list[dict[str, Any]]:
        return [{**common, "source_id": self.source_id}]

    def _add_frames(self, batch: Batch, address: int) -> None:
        # After a failure they may be there already.
        self._had_frames = bool(len(batch.frames))
        if not self._had_frames:
            super()._add_frames(batch, address)

    def process(self, batch: Batch) -> object:
        replay = self._replay
        if replay is None:
            raise RecordingError("dsreplay was given a buffer before it was started", hint="")
        created, self._had_frames = not self._had_frames, True
        lost = replay.counts.lost
        drop, done = replay.apply(batch, created)
        if drop:
            batch.rollback()
            return DROP
        if isinstance(replay, RecordingReplay):
            # Written past the batch's own tables.
            self._stats.objects_added += done.added
            self._stats.objects_removed += done.removed
            self._stats.objects_out += done.added - done.removed
        if replay.counts.lost > lost == 0:
            self.post_warning("the recording holds fields that this DeepStream does not have")
        return None

    def on_event(self, event: Any, upstream: bool) -> None:
        if not upstream and event.type == Gst.EventType.FLUSH_STOP and self._replay is not None:
            self._replay.restart()

    # -- GStreamer -------------------------------------------------------------
    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name != "stats":
            return super().do_get_property(pspec)
        structure = self._stats.structure(self._ds_name)
        replay, counters = self._replay, self._last
        if replay is not None:
            counts = replay.counts
            counters = (counts.matched, counts.missing, replay.unused, counts.lost)
        names = ("matched", "missing", "unused", "fields-lost")
        for name, value in zip(names, counters, strict=True):
            structure.set_value(name, GObject.Value(GObject.TYPE_UINT64, value))
        return structure
