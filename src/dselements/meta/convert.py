"""Batches as ``supervision.Detections`` and as ``pyarrow.Table``.

Both libraries are optional and imported when used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import MetadataValueError, MissingExtraError
from .fields import OBJECT_COLUMNS

if TYPE_CHECKING:
    from .batch import Batch
    from .frame import Frame

__all__ = ["ROW_KEY", "from_supervision", "to_arrow", "to_supervision"]

ROW_KEY = "dselements_row"
"""Key in ``Detections.data`` that tells which object a detection is; -1 for a new one."""
CLASS_NAME = "class_name"
"""supervision's key of the labels (CLASS_NAME_DATA_FIELD of supervision.config)."""

_FRAME_FIELDS = ("source_id", "frame_num", "buf_pts", "pad_index")


def _library(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"{name} cannot be imported: {error}", hint=f"pip install 'dselements[{extra}]'"
        ) from error


def to_supervision(batch: Batch, frame: Frame | None = None) -> Any:
    """Objects as ``supervision.Detections``.

    ``xyxy`` float32 (n, 4) in pixels; ``confidence`` float32; ``class_id`` int; ``tracker_id``
    int64 with the bits of object_id, so that untracked is -1, and None if no object is tracked;
    ``data``: ``class_name`` and :data:`ROW_KEY`. Masks are not converted: ours cover the box,
    supervision's the frame.

    :param frame: only its objects; all objects of the batch if None.
    :raises MissingExtraError: if supervision is not installed.
    """
    sv = _library("supervision", "supervision")
    table = batch._object_table()
    table.compact()
    rows = np.arange(table.n) if frame is None else table.rows_of_frame(frame.row)
    rect = table.column("rect")[rows]
    ids = table.column("object_id")[rows].view(np.int64)
    return sv.Detections(
        xyxy=np.concatenate([rect[:, :2], rect[:, :2] + rect[:, 2:]], axis=1),
        confidence=table.column("confidence")[rows],
        class_id=table.column("class_id")[rows].astype(int),
        tracker_id=ids if (ids != -1).any() else None,
        data={
            CLASS_NAME: np.array(table.column("label")[rows].tolist(), dtype=str),
            ROW_KEY: table.sources()[rows].astype(np.int64),
        },
    )


def from_supervision(batch: Batch, frame: Frame, detections: Any, **columns: Any) -> None:
    """Make a frame's objects those of ``supervision.Detections``.

    Detections that came from :meth:`Batch.to_supervision` in this ``process`` call (they carry
    :data:`ROW_KEY`) update their objects: box, confidence, class, label and tracker id; what else
    hangs on those stays. Objects of the frame without a detection are removed, detections
    without an object added.

    :param columns: further columns of added objects, as for ``add_objects``.
    :raises MetadataValueError: if a detection names an object of another frame or none, or a
        value does not fit; NonFiniteValueError for NaN.
    """
    table = batch._object_table()
    table.compact()
    mine = table.rows_of_frame(frame.row)
    n = len(detections)
    xyxy = np.asarray(detections.xyxy, np.float64).reshape(n, 4)
    rect = np.concatenate([xyxy[:, :2], xyxy[:, 2:] - xyxy[:, :2]], axis=1)
    values: dict[str, npt.NDArray[Any]] = {"rect": rect}
    if detections.confidence is not None:
        values["confidence"] = np.asarray(detections.confidence)
    if detections.class_id is not None:
        values["class_id"] = np.asarray(detections.class_id)
    if detections.tracker_id is not None:
        values["object_id"] = np.asarray(detections.tracker_id, np.int64).view(np.uint64)
    data = detections.data or {}
    if CLASS_NAME in data:
        labels = np.empty(n, object)
        labels[:] = [str(text) for text in data[CLASS_NAME]]
        values["label"] = labels
    native = np.asarray(data.get(ROW_KEY, np.full(n, -1)), np.int64)
    known = np.flatnonzero(native >= 0)
    back = {int(row): at for row, at in zip(table.sources()[mine], mine, strict=True)}
    try:
        rows = np.array([back[row] for row in native[known].tolist()], np.intp)
    except KeyError as error:
        raise MetadataValueError(
            f"a detection names object {error.args[0]}, which frame {frame.row} does not hold",
            hint="use detections of this frame and of this process() call",
        ) from None
    if len(set(rows.tolist())) != len(rows):
        raise MetadataValueError("two detections name the same object")
    new = np.flatnonzero(native < 0)
    objects = batch.objects
    for name, column in values.items():
        whole = table.column(name).copy()
        whole[rows] = column[known]
        setattr(objects, name, whole)
    table.kill(np.setdiff1d(mine, rows))
    if len(new):
        frame.add_objects(**{name: column[new] for name, column in values.items()}, **columns)


def to_arrow(batch: Batch) -> Any:
    """Objects as ``pyarrow.Table``: one row for each, every column of ``batch.objects``.

    ``rect`` is the four columns left, top, width, height; other columns of several values are
    fixed-size lists; labels are dictionary-encoded; ``frame_index`` and some fields of the frame
    come with each object. Fields that the SDK does not have are left out.

    :raises MissingExtraError: if pyarrow is not installed.
    """
    pa = _library("pyarrow", "arrow")
    objects = batch.objects
    columns: dict[str, Any] = {"frame_index": pa.array(objects.frame_index)}
    frames = batch._frame_table()
    frames.settle()
    for name in _FRAME_FIELDS:
        columns[name] = pa.array(frames.column(name)[objects.frame_index])
    for name, column in OBJECT_COLUMNS.items():
        if name == "rotation_angle" and batch.family != "ds9":
            continue
        values = getattr(objects, name)
        if name == "rect":
            for index, part in enumerate(("left", "top", "width", "height")):
                columns[part] = pa.array(values[:, index])
        elif column.width > 1:
            flat = pa.array(values.reshape(-1))
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, column.width)
        else:
            columns[name] = pa.array(values)
    columns["label"] = pa.array(objects.label, pa.string()).dictionary_encode()
    for name in ("display_text", "font_name"):
        columns[name] = pa.array(getattr(objects, name), pa.string())
    columns["parent"] = pa.array(objects.parent)
    return pa.table(columns)
