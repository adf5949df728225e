"""The one table of metadata fields that are columns.

Coordinates are pixels of the batch's frames (what nvstreammux or dsmux put out), origin top
left, x to the right, y down. Colours are red, green, blue, alpha from 0 to 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core import _native

__all__ = ["BATCH_COLUMNS", "FRAME_COLUMNS", "NO_TIME", "OBJECT_COLUMNS", "UNTRACKED", "Column"]

UNTRACKED = 0xFFFFFFFFFFFFFFFF
"""``object_id`` of an object that no tracker has seen (UNTRACKED_OBJECT_ID of nvdsmeta.h)."""

NO_TIME = 0xFFFFFFFFFFFFFFFF
"""``buf_pts`` of a frame without one (GST_CLOCK_TIME_NONE)."""


class Column(NamedTuple):
    """One field of all rows of a table."""

    name: str
    """Name in Python; also the key in the native core's layout table."""
    level: int
    dtype: np.dtype[Any]
    width: int
    """Values a row: 1 gives shape (n,), more gives (n, width)."""
    unit: str
    """Unit of the values; ``""`` for numbers that have none."""
    doc: str
    writable: bool = True
    default: int = 0
    """Value of new rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row's value."""
        return () if self.width == 1 else (self.width,)

    @property
    def low_high(self) -> tuple[int, int] | None:
        """Range of an integer column; None for floats."""
        return _RANGES.get(self.dtype.str[1:])


_RANGES = {
    kind: (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in ("i4", "i8", "u4", "u8")
}


def _columns(level: int, *rows: tuple[str, str, int, str, str]) -> dict[str, Column]:
    return {
        name: Column(name, level, np.dtype(kind), width, unit, doc)
        for name, kind, width, unit, doc in rows
    }


OBJECT_COLUMNS: dict[str, Column] = _columns(
    _native.OBJECT,
    ("class_id", "i4", 1, "", "class index of the detector"),
    ("object_id", "u8", 1, "", "tracker's id; UNTRACKED if none"),
    ("confidence", "f4", 1, "0 to 1", "detector's confidence (C elements may set -0.1)"),
    ("tracker_confidence", "f4", 1, "0 to 1", "tracker's confidence"),
    ("unique_component_id", "i4", 1, "", "unique-id of the element that made the object"),
    ("rect", "f4", 4, "pixels", "left, top, width, height; a size is never negative"),
    ("border_width", "u4", 1, "pixels", "width of the drawn border"),
    ("border_color", "f8", 4, "0 to 1", "red, green, blue, alpha of the border"),
    ("has_bg_color", "u4", 1, "0 or 1", "1: the rectangle is filled with bg_color"),
    ("bg_color", "f8", 4, "0 to 1", "red, green, blue, alpha of the filling"),
    ("has_color_info", "i4", 1, "0 or 1", "1: color_id is meant"),
    ("color_id", "i4", 1, "", "index of a colour table"),
    ("rotation_angle", "f4", 1, "degrees", "turn of the rectangle; SDK 9 and later only"),
    ("text_x", "u4", 1, "pixels", "left of the text"),
    ("text_y", "u4", 1, "pixels", "top of the text"),
    ("font_size", "u4", 1, "points", "size of the text"),
    ("font_color", "f8", 4, "0 to 1", "red, green, blue, alpha of the text"),
    ("text_has_bg", "u4", 1, "0 or 1", "1: the text stands on text_bg_color"),
    ("text_bg_color", "f8", 4, "0 to 1", "red, green, blue, alpha behind the text"),
    ("detector_bbox", "f4", 4, "pixels", "detector's own left, top, width, height"),
    ("tracker_bbox", "f4", 4, "pixels", "tracker's own left, top, width, height"),
    ("misc_obj_info", "i8", 4, "", "free for the application"),
)
OBJECT_COLUMNS["object_id"] = OBJECT_COLUMNS["object_id"]._replace(default=UNTRACKED)

FRAME_COLUMNS: dict[str, Column] = _columns(
    _native.FRAME,
    ("pad_index", "u4", 1, "", "muxer's sink pad"),
    ("batch_id", "u4", 1, "", "place of the frame's pixels in the batch"),
    ("frame_num", "i4", 1, "", "frame number within its source"),
    ("buf_pts", "u8", 1, "nanoseconds", "presentation time stamp; 2**64 - 1 if unset"),
    ("ntp_timestamp", "u8", 1, "nanoseconds", "wall clock time since 1970"),
    ("source_id", "u4", 1, "", "source the frame comes from"),
    ("num_surfaces_per_frame", "i4", 1, "", "surfaces a frame"),
    ("source_frame_width", "u4", 1, "pixels", "width before scaling"),
    ("source_frame_height", "u4", 1, "pixels", "height before scaling"),
    ("surface_type", "u4", 1, "", "kind of surface"),
    ("surface_index", "u4", 1, "", "index of the surface"),
    ("num_obj_meta", "u4", 1, "", "objects of the frame, counted by the library"),
    ("bInferDone", "i4", 1, "0 or 1", "1 once inference has run on the frame"),
    ("misc_frame_info", "i8", 4, "", "free for the application"),
    ("pipeline_width", "u4", 1, "pixels", "width of the batched frame"),
    ("pipeline_height", "u4", 1, "pixels", "height of the batched frame"),
)
FRAME_COLUMNS["num_obj_meta"] = FRAME_COLUMNS["num_obj_meta"]._replace(writable=False)

BATCH_COLUMNS: dict[str, Column] = _columns(
    _native.BATCH,
    ("max_frames_in_batch", "u4", 1, "", "frames the batch has room for"),
    ("num_frames_in_batch", "u4", 1, "", "frames of the batch, counted by the library"),
    ("misc_batch_info", "i8", 4, "", "free for the application"),
)
for _name in ("max_frames_in_batch", "num_frames_in_batch"):
    BATCH_COLUMNS[_name] = BATCH_COLUMNS[_name]._replace(writable=False)
