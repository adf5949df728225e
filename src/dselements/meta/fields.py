"""The one table of metadata fields that are columns.

Coordinates are pixels of the batch's frames (what nvstreammux or dsmux put out), origin top
left, x to the right, y down. Colours are red, green, blue, alpha from 0 to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core import _native

__all__ = ["FRAME_COLUMNS", "OBJECT_COLUMNS", "UNTRACKED", "Column"]

UNTRACKED = 0xFFFFFFFFFFFFFFFF
"""``object_id`` of an object that no tracker has seen (UNTRACKED_OBJECT_ID of nvdsmeta.h)."""


class Column(NamedTuple):
    """One field of all rows of a table."""

    name: str
    level: int
    field: str
    """Key in the native core's layout table."""
    dtype: np.dtype
    width: int
    """Values a row: 1 gives shape (n,), more gives (n, width)."""
    doc: str
    writable: bool = True
    default: int = 0
    """Value of new rows."""

    @property
    def low_high(self) -> tuple[int, int] | None:
        """Range of an integer column; None for floats."""
        if self.dtype.kind == "f":
            return None
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)


def _columns(level: int, *rows: tuple[str, str, int, str]) -> dict[str, Column]:
    return {
        name: Column(name, level, name, np.dtype(kind), width, doc)
        for name, kind, width, doc in rows
    }


OBJECT_COLUMNS: dict[str, Column] = _columns(
    _native.OBJECT,
    ("class_id", "i4", 1, "class index of the detector"),
    ("object_id", "u8", 1, "tracker's id; UNTRACKED if none"),
    ("confidence", "f4", 1, "detector's confidence, 0 to 1 (C elements may set -0.1)"),
    ("tracker_confidence", "f4", 1, "tracker's confidence"),
    ("unique_component_id", "i4", 1, "unique-id of the element that made the object"),
    ("rect", "f4", 4, "left, top, width, height in pixels"),
    ("border_width", "u4", 1, "pixels"),
    ("border_color", "f8", 4, "red, green, blue, alpha, 0 to 1"),
    ("has_bg_color", "u4", 1, "1: the rectangle is filled with bg_color"),
    ("bg_color", "f8", 4, "red, green, blue, alpha, 0 to 1"),
    ("has_color_info", "i4", 1, "1: color_id is meant"),
    ("color_id", "i4", 1, "index of a colour table"),
    ("rotation_angle", "f4", 1, "degrees; SDK 9 and later only"),
    ("text_x", "u4", 1, "left of the text, pixels"),
    ("text_y", "u4", 1, "top of the text, pixels"),
    ("font_size", "u4", 1, "points"),
    ("font_color", "f8", 4, "red, green, blue, alpha, 0 to 1"),
    ("text_has_bg", "u4", 1, "1: the text stands on text_bg_color"),
    ("text_bg_color", "f8", 4, "red, green, blue, alpha, 0 to 1"),
    ("detector_bbox", "f4", 4, "detector's own left, top, width, height in pixels"),
    ("tracker_bbox", "f4", 4, "tracker's own left, top, width, height in pixels"),
    ("misc_obj_info", "i8", 4, "free for the application"),
)
OBJECT_COLUMNS["object_id"] = OBJECT_COLUMNS["object_id"]._replace(default=UNTRACKED)

FRAME_COLUMNS: dict[str, Column] = _columns(
    _native.FRAME,
    ("pad_index", "u4", 1, "muxer's sink pad"),
    ("batch_id", "u4", 1, "place of the frame's pixels in the batch"),
    ("frame_num", "i4", 1, "frame number within its source"),
    ("buf_pts", "u8", 1, "presentation time stamp, nanoseconds"),
    ("ntp_timestamp", "u8", 1, "wall clock time, nanoseconds since 1970"),
    ("source_id", "u4", 1, "source the frame comes from"),
    ("num_surfaces_per_frame", "i4", 1, "surfaces a frame"),
    ("source_frame_width", "u4", 1, "pixels before scaling"),
    ("source_frame_height", "u4", 1, "pixels before scaling"),
    ("surface_type", "u4", 1, "kind of surface"),
    ("surface_index", "u4", 1, "index of the surface"),
    ("num_obj_meta", "u4", 1, "objects of the frame, counted by the library"),
    ("bInferDone", "i4", 1, "1 once inference has run on the frame"),
    ("misc_frame_info", "i8", 4, "free for the application"),
    ("pipeline_width", "u4", 1, "pixels of the batched frame"),
    ("pipeline_height", "u4", 1, "pixels of the batched frame"),
)
FRAME_COLUMNS["num_obj_meta"] = FRAME_COLUMNS["num_obj_meta"]._replace(writable=False)
