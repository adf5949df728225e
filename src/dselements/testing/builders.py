"""Frames from plain values, columns, JSON and supervision; and buffers that carry them.

A frame is a mapping as :meth:`dselements.Batch.synthetic` takes it. An object's box may also be
called ``bbox``, as it is in the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gi
import msgspec
import numpy as np
import numpy.typing as npt

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from .._core import _native, load
from ..errors import MetadataValueError
from ..meta import UNTRACKED, Batch
from ..meta.fields import NO_TIME
from ..meta.jsonl import FrameRecord, read_records
from ..meta.synthetic import fill

__all__ = [
    "FrameLike",
    "frames_from_columns",
    "frames_from_json",
    "frames_from_supervision",
    "make_buffer",
]

FrameLike = Mapping[str, Any]
MAX_MEMORIES = 16
"""Memories that a GstBuffer has room for."""


def frame_spec(frame: FrameLike) -> dict[str, Any]:
    """A frame with ``rect`` in place of ``bbox``. :raises MetadataValueError: for both."""
    return {**frame, "objects": [_object_spec(obj) for obj in frame.get("objects", ())]}


def _object_spec(obj: Any) -> Any:
    if not isinstance(obj, Mapping) or "bbox" not in obj:
        return obj
    if "rect" in obj:
        raise MetadataValueError(f"an object has a bbox and a rect: {obj!r}")
    values = dict(obj)
    values["rect"] = values.pop("bbox")
    if values.get("object_id", 0) is None:
        values["object_id"] = UNTRACKED
    return values


def frames_from_columns(
    rect: npt.ArrayLike, frame_index: npt.ArrayLike = 0, **columns: Any
) -> list[dict[str, Any]]:
    """Frames from numpy columns.

    :param rect: [n, 4] left, top, width, height in pixels.
    :param frame_index: [n] place of each object's frame in the batch, or one for all.
    :param columns: ``class_id``, ``confidence``, ``label`` …: [n], or one value for all.
    :raises MetadataValueError: for columns of another length.
    """
    boxes = np.asarray(rect, np.float64).reshape(-1, 4)
    n = len(boxes)
    index = _column("frame_index", frame_index, n)
    values = {name: _column(name, value, n) for name, value in columns.items()}
    count = max((int(i) for i in index), default=0) + 1
    frames: list[dict[str, Any]] = [
        {"source_id": i, "pad_index": i, "objects": []} for i in range(count)
    ]
    for row in range(n):
        one = {name: column[row] for name, column in values.items()}
        frames[int(index[row])]["objects"].append({"rect": tuple(boxes[row]), **one})
    return frames


def _column(name: str, value: Any, n: int) -> list[Any]:
    if isinstance(value, (str, bytes)) or np.ndim(value) == 0:
        return [value] * n
    items = list(value)
    if len(items) != n:
        raise MetadataValueError(f"{name} has {len(items)} values for {n} boxes")
    return [item.item() if isinstance(item, np.generic) else item for item in items]


def frames_from_json(source: str | Path | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Frames from lines as in docs/jsonl.md: a file, or mappings of that form.

    :raises ConfigError: for a line that is none.
    """
    if isinstance(source, (str, Path)):
        return [_from_record(record) for record in read_records(source)]
    return [_from_record(msgspec.convert(dict(one), FrameRecord)) for one in source]


def _from_record(record: FrameRecord) -> dict[str, Any]:
    objects = [
        {
            "rect": (obj.left, obj.top, obj.width, obj.height),
            "class_id": obj.class_id,
            "label": obj.label,
            "confidence": obj.confidence,
            "object_id": UNTRACKED if obj.object_id is None else int(obj.object_id),
            "unique_component_id": obj.unique_component_id,
            "tracker_confidence": obj.tracker_confidence,
            "parent": obj.parent,
            "classifiers": [[(x.label, x.probability) for x in c] for c in obj.classifiers],
            "payloads": obj.payloads,
        }
        for obj in record.objects
    ]
    return {
        "source_id": record.source_id,
        "pad_index": record.pad_index,
        "frame_num": record.frame,
        "buf_pts": NO_TIME if record.pts is None else record.pts,
        "source_frame_width": record.width,
        "source_frame_height": record.height,
        "objects": objects,
    }


def frames_from_supervision(*detections: Any, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One frame for each ``supervision.Detections``.

    :param names: label of each class id; where there is none, ``data["class_name"]`` counts.
    """
    frames = []
    for number, found in enumerate(detections):
        corners = np.asarray(found.xyxy, np.float64).reshape(-1, 4)
        n = len(corners)
        class_ids = [0] * n if found.class_id is None else [int(x) for x in found.class_id]
        scores = [1.0] * n if found.confidence is None else [float(x) for x in found.confidence]
        ids = [UNTRACKED] * n if found.tracker_id is None else [int(x) for x in found.tracker_id]
        given = (found.data or {}).get("class_name")
        labels = [
            names[c] if c < len(names) else (str(given[row]) if given is not None else "")
            for row, c in enumerate(class_ids)
        ]
        objects = [
            {
                "rect": (x1, y1, x2 - x1, y2 - y1),
                "class_id": class_ids[row],
                "confidence": scores[row],
                "object_id": ids[row],
                "label": labels[row],
            }
            for row, (x1, y1, x2, y2) in enumerate(corners.tolist())
        ]
        frames.append({"source_id": number, "pad_index": number, "objects": objects})
    return frames


def make_buffer(
    frames: Sequence[FrameLike] | None,
    pixels: Sequence[npt.ArrayLike | bytes],
    *,
    pts: int = NO_TIME,
    duration: int = NO_TIME,
    size: tuple[int, int] = (0, 0),
    payloads: Mapping[str, Any] | None = None,
) -> int:
    """A GstBuffer with one memory a frame and, unless ``frames`` is None, a batch of them.

    :param pixels: bytes of each memory.
    :param pts: nanoseconds; so is ``duration``.
    :param size: width and height for frames that do not say.
    :returns: its address; whoever takes it owns the one reference (``_native.buffer_unref``).
    :raises MetadataValueError: for values that do not fit, or too many frames.
    """
    load()
    if len(pixels) > MAX_MEMORIES:
        raise MetadataValueError(
            f"{len(pixels)} frames: a GstBuffer has room for {MAX_MEMORIES} memories"
        )
    parts = [
        Gst.Buffer.new_wrapped(one if isinstance(one, bytes) else np.asarray(one).tobytes())
        for one in pixels
    ]
    address = _native.make_batched_buffer([hash(part) for part in parts])
    parts.clear()
    try:
        _native.buffer_set_times(address, pts, NO_TIME, duration)
        if frames is not None:
            batch = Batch.create(max(len(frames), 1), buffer=address)
            try:
                common = {
                    "buf_pts": pts,
                    "source_frame_width": size[0],
                    "source_frame_height": size[1],
                    "pipeline_width": size[0],
                    "pipeline_height": size[1],
                }
                fill(batch, [{**common, **frame_spec(frame)} for frame in frames])
                batch.payloads.update(payloads or {})
                batch.commit()
            finally:
                batch.close()
    except BaseException:
        _native.buffer_unref(address)
        raise
    return address
