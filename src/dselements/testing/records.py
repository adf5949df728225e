"""Copies of a batch's metadata that stay good after the buffer is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..meta import UNTRACKED, Batch, Frame, Object
from ..meta.fields import NO_TIME

__all__ = ["BatchRecord", "FrameRecord", "ObjectRecord", "record_batch"]

_COLUMNS = ("class_id", "confidence", "object_id", "label", "rect")


@dataclass
class ObjectRecord:
    """One object, copied."""

    class_id: int
    """Class index of the detector."""
    label: str
    """Text of its class."""
    confidence: float
    """Of the detector, 0 to 1."""
    bbox: tuple[float, float, float, float]
    """Left, top, width, height in pixels of the frame."""
    object_id: int | None = None
    """None while untracked."""
    unique_component_id: int = 0
    """Which detector found it."""
    tracker_confidence: float = 0.0
    """Of the tracker, 0 to 1."""
    parent: int | None = None
    """Index of the parent within the frame's objects."""
    display_text: str | None = None
    """Text that is drawn; None for none."""
    classifiers: list[list[tuple[str, float]]] = field(default_factory=list)
    """Label and probability of each label of each classifier, newest classifier first."""
    payloads: dict[str, Any] = field(default_factory=dict)
    """Named values that are attached to it."""
    mask: npt.NDArray[np.float32] | None = None
    """float32 (height, width) or None."""


@dataclass
class FrameRecord:
    """One frame, copied."""

    source_id: int
    """Number of the stream."""
    frame_num: int
    """Number of the frame in its stream."""
    pts: int | None
    """``buf_pts`` in nanoseconds; None if unset."""
    size: tuple[int, int]
    """Width and height in pixels."""
    objects: list[ObjectRecord] = field(default_factory=list)
    """In the order of the metadata."""
    payloads: dict[str, Any] = field(default_factory=dict)
    """Named values that are attached to it."""
    display: list[dict[str, Any]] = field(default_factory=list)
    """Shapes of the display metas: ``kind`` and the fields of it."""


@dataclass
class BatchRecord:
    """What one buffer carried."""

    pts: int | None
    """Of the buffer, nanoseconds; None if unset."""
    frames: list[FrameRecord] | None
    """None if the buffer had no NvDsBatchMeta."""
    payloads: dict[str, Any] = field(default_factory=dict)
    """Named values that are attached to the batch."""
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """``class_id`` int32, ``confidence`` float32, ``object_id`` uint64, ``label`` object [n] and
    ``rect`` float32 [n, 4] of all objects of all frames."""
    pixels: list[npt.NDArray[np.uint8]] = field(default_factory=list)
    """Bytes of each memory of the buffer."""
    flags: int = 0
    """GstBufferFlags."""

    @property
    def objects(self) -> list[ObjectRecord]:
        """Objects of all frames."""
        return [obj for frame in self.frames or () for obj in frame.objects]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: all but the columns and the pixels."""
        return {
            "pts": self.pts,
            "payloads": self.payloads,
            "frames": None if self.frames is None else [_frame_dict(f) for f in self.frames],
        }


def _frame_dict(frame: FrameRecord) -> dict[str, Any]:
    return {**vars(frame), "objects": [_object_dict(obj) for obj in frame.objects]}


def _object_dict(obj: ObjectRecord) -> dict[str, Any]:
    values = dict(vars(obj))
    values["object_id"] = None if obj.object_id is None else str(obj.object_id)
    values["mask"] = None if obj.mask is None else np.asarray(obj.mask).tolist()
    return values


def record_batch(batch: Batch) -> BatchRecord:
    """Copy all that a batch says.

    :raises StaleMetadataError: if the batch is closed.
    """
    frames = [_frame(frame) for frame in batch.frames]
    table = batch.objects
    columns = {name: np.array(getattr(table, name)) for name in _COLUMNS}
    return BatchRecord(None, frames, dict(batch.payloads), columns)


def _frame(frame: Frame) -> FrameRecord:
    objects = list(frame.objects)
    rows = {obj.row: index for index, obj in enumerate(objects)}
    pts = frame.buf_pts
    return FrameRecord(
        source_id=frame.source_id,
        frame_num=frame.frame_num,
        pts=None if pts == NO_TIME else pts,
        size=(frame.width, frame.height),
        objects=[_object(obj, rows) for obj in objects],
        payloads=dict(frame.payloads),
        display=[{"kind": type(shape).__name__, **shape._asdict()} for shape in frame.display],
    )


def _object(obj: Object, rows: Mapping[int, int]) -> ObjectRecord:
    parent = obj.parent
    mask = obj.mask
    return ObjectRecord(
        class_id=obj.class_id,
        label=obj.label,
        confidence=obj.confidence,
        bbox=obj.rect,
        object_id=None if obj.object_id == UNTRACKED else obj.object_id,
        unique_component_id=obj.unique_component_id,
        tracker_confidence=obj.tracker_confidence,
        parent=None if parent is None else rows.get(parent.row),
        display_text=obj.display_text,
        classifiers=[
            [(label.result_label, label.result_prob) for label in classifier.labels]
            for classifier in obj.classifiers
        ],
        payloads=dict(obj.payloads),
        mask=None if mask is None else np.array(mask, np.float32),
    )
