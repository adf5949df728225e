"""Adding rows: checks of their values, and what nvinfer sets for drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import MetadataValueError
from .checks import checked_texts, checked_values
from .fields import FRAME_COLUMNS, OBJECT_COLUMNS
from .objecttable import TEXTS

if TYPE_CHECKING:
    from .batch import Batch

__all__ = ["add_objects", "frame_values"]

# What gstnvinfer sets on the objects that it attaches.
_DISPLAY: dict[str, Any] = {
    "border_width": 3,
    "border_color": np.array([1.0, 0.0, 0.0, 1.0]),
    "font_name": "Serif",
    "font_size": 11,
    "font_color": np.array([1.0, 1.0, 1.0, 1.0]),
    "text_has_bg": 1,
    "text_bg_color": np.array([0.0, 0.0, 0.0, 1.0]),
}
# Pixels from the top left of a box to that of its text.
_TEXT_OFFSET = np.array([0, -10], np.float32)


def add_objects(
    batch: Batch, frame_rows: npt.ArrayLike, given: Mapping[str, Any], display: bool
) -> npt.NDArray[np.intp]:
    """See :meth:`Batch.add_objects`."""
    table, frames = batch._object_table(), batch._frame_table()
    frames.settle()
    rows = np.asarray(frame_rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise MetadataValueError(f"frame rows are int (n,), not {rows.dtype} {rows.shape}")
    n = len(rows)
    boxes = np.asarray(given["rect"])
    if boxes.shape != (n, 4):
        if not n and not boxes.size:
            return np.empty(0, np.intp)
        raise MetadataValueError(f"rect has shape {boxes.shape}, needed ({n}, 4)")
    if not n:
        return np.empty(0, np.intp)
    if int(rows.min()) < 0 or int(rows.max()) >= frames.n:
        raise MetadataValueError(f"frame rows outside 0 to {frames.n - 1}")
    if frames.n_dead and frames.dead is not None and frames.dead[rows].any():
        raise MetadataValueError("objects cannot be added to a removed frame")
    values = {name: _checked(name, value, n) for name, value in given.items()}
    values["frame_index"] = rows
    values.setdefault("detector_bbox", values["rect"])
    if display:
        box = values["rect"]
        xy = np.clip(box[:, :2] + _TEXT_OFFSET, 0, 0x7FFFFFFF).astype(np.uint32)
        values = {
            **_DISPLAY,
            "display_text": values["label"],
            "text_x": xy[:, 0],
            "text_y": xy[:, 1],
            **values,
        }
    first = table.append(n, values)
    return np.arange(first, first + n)


def _checked(name: str, value: Any, n: int) -> Any:
    if name in TEXTS:
        return checked_texts(name, value, n)
    column = OBJECT_COLUMNS.get(name)
    if column is not None:
        return checked_values(column, value, n, "new object {}".format)
    if name == "parent":  # rows are checked at commit, when all of them are known
        parents = np.asarray(value)
        if parents.dtype.kind not in "iu" or parents.shape not in ((), (n,)):
            raise MetadataValueError(f"parent holds rows, one or {n}, not {value!r}")
        return np.clip(parents, -2, 0x7FFFFFFF).astype(np.int32)
    raise MetadataValueError(f"objects have no column {name!r} to set")


def frame_values(row: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Checked values of a new frame. :raises MetadataValueError: if one does not fit."""
    values: dict[str, Any] = {"batch_id": row, "num_surfaces_per_frame": 1}
    for name, value in given.items():
        column = FRAME_COLUMNS.get(name)
        if column is None or not column.writable:
            raise MetadataValueError(f"frames have no field {name!r} to set")
        values[name] = checked_values(column, value, None, lambda _: "the new frame")
    return values
