"""The GStreamer element ``dssynth``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...element import MetaTransform, Property, element
from ...meta import UNTRACKED, Batch, Frame
from ...meta.jsonl import apply_record
from .logic import Scene, Script
from .settings import SynthSettings


@element(
    "dssynth",
    description="Puts moving synthetic objects, or objects from JSON lines, on any raw video",
    klass="Filter/Video",
    author="dselements",
)
class Synth(MetaTransform):
    """See :mod:`dselements.elements.synth`."""

    __gtype_name__ = "DsSynth"
    create_meta = True

    num_objects = Property(5, min=0, max=10_000, help="Objects on each frame")
    seed = Property(0, min=0, help="The same seed gives the same objects")
    classes = Property("person,car,bicycle", help="Labels, in the order of their class ids")
    min_size = Property(24, min=1, max=65536, help="Smallest box edge, pixels")
    max_size = Property(120, min=1, max=65536, help="Largest box edge, pixels")
    speed = Property(4.0, min=0.0, max=1e6, help="Pixels a frame, at most")
    jitter = Property(0.0, min=0.0, max=1e6, help="Random movement of the edges, pixels")
    min_confidence = Property(0.3, min=0.0, max=1.0, help="Smallest confidence")
    max_confidence = Property(1.0, min=0.0, max=1.0, help="Largest confidence")
    tracked = Property(True, help="Objects keep an object_id; otherwise they are untracked")
    batch_size = Property(
        1, min=1, max=1024, mutable=False, help="Frames in the metadata of one buffer"
    )
    source_id = Property(
        0, min=0, help="source_id of the first frame, where there is no muxer upstream"
    )
    unique_id = Property(1, min=0, help="unique_component_id of the objects")
    location = Property("", mutable=False, help="JSON lines file with the objects of each frame")
    loop = Property(False, mutable=False, help="Begin the file again when it ends")

    def __init__(self) -> None:
        super().__init__()
        self._settings = SynthSettings()
        self._scenes: dict[tuple[int, int, int], Scene] = {}
        self._script: Script | None = None

    def configure(self) -> None:
        self._settings = SynthSettings.parse(
            num_objects=self.num_objects,
            seed=self.seed,
            classes=self.classes,
            min_size=self.min_size,
            max_size=self.max_size,
            speed=self.speed,
            jitter=self.jitter,
            min_confidence=self.min_confidence,
            max_confidence=self.max_confidence,
            tracked=self.tracked,
        )
        self._scenes.clear()

    def start(self) -> None:
        self._script = Script(self.location, loop=self.loop) if self.location else None

    def stop(self) -> None:
        self._script = None
        self._scenes.clear()

    def max_frames(self) -> int:
        return self.batch_size

    def frame_specs(self, **common: Any) -> list[dict[str, Any]]:
        first = self.source_id
        return [
            {**common, "source_id": first + i, "pad_index": i, "batch_id": i}
            for i in range(self.batch_size)
        ]

    def process(self, batch: Batch) -> None:
        for frame in batch.frames:
            if self._script is not None:
                record = self._script.next(frame.source_id)
                if record is not None:
                    apply_record(frame, record)
            else:
                self._add(frame)

    def _add(self, frame: Frame) -> None:
        settings = self._settings
        width, height = frame.width or 1, frame.height or 1
        key = (frame.source_id, width, height)
        scene = self._scenes.get(key)
        if scene is None:
            scene = self._scenes[key] = Scene(settings, *key)
        objects = scene.at(frame.frame_num)
        names = np.array(settings.classes, object)
        frame.add_objects(
            objects.rect,
            class_id=objects.class_id,
            confidence=objects.confidence,
            label=names[objects.class_id],
            object_id=objects.object_id if settings.tracked else UNTRACKED,
            unique_component_id=self.unique_id,
        )
