"""Frames and their objects as JSON lines: what ``dselements demo`` writes and ``dssynth`` reads.

One line a frame, schema version 1::

    {"v": 1, "frame": 7, "source_id": 0, "pad_index": 0, "pts": 233333333,
     "width": 768, "height": 576,
     "objects": [{"class_id": 0, "label": "person", "confidence": 0.91, "object_id": null,
                  "left": 10.0, "top": 20.0, "width": 30.0, "height": 40.0,
                  "unique_component_id": 1}]}

``pts`` is nanoseconds, null where unset. ``object_id`` is a decimal string, as 64 bits do not
fit a JavaScript number, and null while untracked. Boxes are pixels of a width x height frame.
Optional in an object: ``tracker_confidence``, ``parent`` (index within the frame's objects),
``classifiers`` (list of label lists), ``payloads`` (mapping of name to value).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import msgspec
import numpy as np

from ..errors import ConfigError
from .classifier import Label
from .fields import NO_TIME, UNTRACKED
from .frame import Frame

__all__ = [
    "FrameRecord",
    "LabelRecord",
    "ObjectRecord",
    "apply_record",
    "frame_record",
    "read_records",
]

VERSION = 1
log = logging.getLogger("dselements.meta")


class LabelRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One label of a classifier."""

    label: str
    probability: float = 1.0
    class_id: int = 0
    label_id: int = 0


class ObjectRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One object of a line."""

    class_id: int
    label: str
    confidence: float
    object_id: Optional[str]  # noqa: UP045 -- evaluated at run time on Python 3.10
    left: float
    top: float
    width: float
    height: float
    unique_component_id: int = 0
    tracker_confidence: float = 0.0
    parent: Optional[int] = None  # noqa: UP045
    classifiers: list[list[LabelRecord]] = []
    payloads: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if self.width < 0 or self.height < 0:
            raise ValueError(f"negative size {self.width} x {self.height}")
        if self.object_id is not None and not (
            self.object_id.isascii() and self.object_id.isdigit() and int(self.object_id) < 2**64
        ):
            raise ValueError(f"object_id {self.object_id!r} is no decimal of 64 bits")
        if not -(2**31) <= self.class_id < 2**31:
            raise ValueError(f"class_id {self.class_id} is no int32")


class FrameRecord(msgspec.Struct, forbid_unknown_fields=True):
    """One line."""

    v: int
    frame: int
    source_id: int
    pad_index: int
    pts: Optional[int]  # noqa: UP045
    width: int
    height: int
    objects: list[ObjectRecord]

    def __post_init__(self) -> None:
        if self.v != VERSION:
            raise ValueError(f"version {self.v}; this dselements reads version {VERSION}")
        for index, obj in enumerate(self.objects):
            if obj.parent is not None and not (
                0 <= obj.parent < len(self.objects) and obj.parent != index
            ):
                raise ValueError(f"parent {obj.parent} of object {index} is no other object")


def frame_record(frame: Frame, *, details: bool = True) -> FrameRecord:
    """A frame and its objects as a record; ``msgspec.json.encode`` makes the line.

    :param details: also classifiers and payloads.
    """
    batch = frame._batch
    columns = batch.objects
    rows = batch._object_table().rows_of_frame(frame.row)
    width, height = frame.width, frame.height
    place = {int(row): index for index, row in enumerate(rows)}
    names = ("class_id", "confidence", "object_id", "unique_component_id", "tracker_confidence")
    values = [getattr(columns, name)[rows].tolist() for name in names]
    labels, boxes = columns.label[rows].tolist(), columns.rect[rows].tolist()
    parents = columns.parent[rows].tolist()
    objects = [
        ObjectRecord(
            class_id=class_id,
            label=label,
            confidence=confidence,
            object_id=None if object_id == UNTRACKED else str(object_id),
            left=box[0],
            top=box[1],
            width=box[2],
            height=box[3],
            unique_component_id=component,
            tracker_confidence=tracker,
            parent=place.get(parent) if parent >= 0 else None,
        )
        for class_id, confidence, object_id, component, tracker, label, box, parent in zip(
            *values, labels, boxes, parents, strict=True
        )
    ]
    _no_nan(objects, frame)
    if details:
        for record, obj in zip(objects, frame.objects, strict=True):
            record.classifiers = [
                [
                    LabelRecord(x.result_label, x.result_prob, x.result_class_id, x.label_id)
                    for x in classifier.labels
                ]
                for classifier in obj.classifiers
            ]
            record.payloads = dict(obj.payloads)
    pts = frame.buf_pts
    return FrameRecord(
        v=VERSION,
        frame=frame.frame_num,
        source_id=frame.source_id,
        pad_index=frame.pad_index,
        pts=None if pts == NO_TIME else pts,
        width=width,
        height=height,
        objects=objects,
    )


def _no_nan(objects: list[ObjectRecord], frame: Frame) -> None:
    """JSON has no NaN: what C elements left as NaN or infinite becomes 0, and is logged."""
    for index, obj in enumerate(objects):
        for name in ("confidence", "tracker_confidence", "left", "top", "width", "height"):
            value = getattr(obj, name)
            if not math.isfinite(value):
                log.warning(
                    "object %d of frame %d, source %d: %s %s is written as 0",
                    index, frame.frame_num, frame.source_id, name, value,
                )  # fmt: skip
                setattr(obj, name, 0.0)


def apply_record(frame: Frame, record: FrameRecord) -> None:
    """Add a record's objects to a frame, scaled from the record's size to the frame's."""
    objects = record.objects
    if not objects:
        return
    width, height = frame.width, frame.height
    sx = width / record.width if width and record.width else 1.0
    sy = height / record.height if height and record.height else 1.0
    boxes = np.array([[o.left * sx, o.top * sy, o.width * sx, o.height * sy] for o in objects])
    rows = frame.add_objects(
        boxes,
        class_id=[o.class_id for o in objects],
        confidence=[o.confidence for o in objects],
        label=[o.label for o in objects],
        object_id=np.array(
            [UNTRACKED if o.object_id is None else int(o.object_id) for o in objects], np.uint64
        ),
        unique_component_id=[o.unique_component_id for o in objects],
        tracker_confidence=[o.tracker_confidence for o in objects],
        parent=[-1] * len(objects),
    )
    batch = frame._batch
    handles = None
    for index, obj in enumerate(objects):
        if obj.parent is None and not obj.classifiers and not obj.payloads:
            continue
        if handles is None:
            found = batch.objects
            handles = [found[int(row)] for row in rows]
        if obj.parent is not None:
            handles[index].parent = handles[obj.parent]
        for labels in reversed(obj.classifiers):  # each add puts it first
            handles[index].classifiers.add(
                [Label(x.label, x.class_id, x.probability, x.label_id) for x in labels]
            )
        for name, value in obj.payloads.items():
            handles[index].payloads[name] = value


def read_records(path: str | Path) -> Iterator[FrameRecord]:
    """Records of a JSON lines file, one by one; empty lines are passed over.

    :raises ConfigError: for a file that cannot be read or a line that is no record; the message
        starts with file and line.
    """
    decoder = msgspec.json.Decoder(FrameRecord)
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield decoder.decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
                    raise ConfigError(
                        f"{path}:{number}: {error}",
                        hint="one JSON object a line, as in docs/jsonl.md",
                    ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
