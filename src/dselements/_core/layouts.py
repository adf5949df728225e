"""Where each field of NVIDIA's metadata structures lies, for each SDK family.

Offsets are bytes from the start of the structure on x86-64 and aarch64 (LP64).
The family of a batch is the one whose sizes all six of its own pools have, so no version
number or header is needed at run time:

===========  ==================  =================  ==========================================
family       NvDsObjectMeta      NvDsFrameMeta      DeepStream
===========  ==================  =================  ==========================================
``ds6``      544 bytes           200 bytes          6.x
``ds8``      544 bytes           232 bytes          7.x, 8.0 (sensor information in frames)
``ds9``      552 bytes           232 bytes          9.x (rotation angle in rectangles)
===========  ==================  =================  ==========================================

Every number was compared with the headers of one 6.x, of 8.0 and of 9.1; 7.x was not at hand.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAMILIES", "FIELDS", "META_TYPES", "Family", "Field"]

Field = tuple[int, int]
"""Offset and size in bytes."""


class Family(NamedTuple):
    """One SDK family."""

    name: str
    sizes: dict[str, int]
    """Size of each structure, as the pools' ``element_size`` gives it."""
    offsets: dict[str, int]
    """Structural offsets: lists, pointers and arrays that the native core follows."""
    fields: dict[str, dict[str, Field]]
    """Plain fields of ``batch``, ``frame`` and ``object``: offset and size."""


# Size of each plain field; the same in every family.
FIELDS: dict[str, dict[str, int]] = {
    "batch": {"max_frames_in_batch": 4, "num_frames_in_batch": 4, "misc_batch_info": 32},
    "frame": {
        "pad_index": 4, "batch_id": 4, "frame_num": 4, "buf_pts": 8, "ntp_timestamp": 8,
        "source_id": 4, "num_surfaces_per_frame": 4, "source_frame_width": 4,
        "source_frame_height": 4, "surface_type": 4, "surface_index": 4, "num_obj_meta": 4,
        "bInferDone": 4, "misc_frame_info": 32, "pipeline_width": 4, "pipeline_height": 4,
    },
    "object": {
        "unique_component_id": 4, "class_id": 4, "object_id": 8, "detector_bbox": 16,
        "tracker_bbox": 16, "confidence": 4, "tracker_confidence": 4, "rect": 16,
        "border_width": 4, "border_color": 32, "has_bg_color": 4, "bg_color": 32,
        "has_color_info": 4, "color_id": 4, "rotation_angle": 4, "text_x": 4, "text_y": 4,
        "font_size": 4, "font_color": 32, "text_has_bg": 4, "text_bg_color": 32,
        "misc_obj_info": 32,
    },
}  # fmt: skip

_BATCH = {"max_frames_in_batch": 40, "num_frames_in_batch": 44, "misc_batch_info": 128}
_FRAME = {
    "pad_index": 40, "batch_id": 44, "frame_num": 48, "buf_pts": 56, "ntp_timestamp": 64,
    "source_id": 72, "num_surfaces_per_frame": 76, "source_frame_width": 80,
    "source_frame_height": 84, "surface_type": 88, "surface_index": 92, "num_obj_meta": 96,
    "bInferDone": 100, "misc_frame_info": 128, "pipeline_width": 160, "pipeline_height": 164,
}  # fmt: skip


def _object(rect_size: int) -> dict[str, int]:
    """Offsets of NvDsObjectMeta's plain fields, given the size of NvOSD_RectParams."""
    rect = 104
    text = rect + rect_size + 24  # NvOSD_MaskParams lies between
    fields = {
        "unique_component_id": 48, "class_id": 52, "object_id": 56, "detector_bbox": 64,
        "tracker_bbox": 80, "confidence": 96, "tracker_confidence": 100, "rect": rect,
        "border_width": rect + 16, "border_color": rect + 24, "has_bg_color": rect + 56,
        "bg_color": rect + 64, "has_color_info": rect + 96, "color_id": rect + 100,
        "text_x": text + 8, "text_y": text + 12, "font_size": text + 24,
        "font_color": text + 32, "text_has_bg": text + 64, "text_bg_color": text + 72,
        "misc_obj_info": text + 104 + 128 + 16,
    }  # fmt: skip
    if rect_size >= 112:
        fields["rotation_angle"] = rect + 104
    return fields


def _structure(rect_size: int) -> dict[str, int]:
    """Structural offsets, given the size of NvOSD_RectParams."""
    mask = 104 + rect_size
    text = mask + 24
    label = text + 104
    rects = 64
    texts = rects + 16 * rect_size
    lines = texts + 16 * 104
    arrows = lines + 16 * 56
    circles = arrows + 16 * 64
    return {
        "object.mask": mask, "object.text": text, "object.label": label,
        "object.classifiers": label + 128, "object.users": label + 136,
        "display.rects": rects, "display.texts": texts, "display.lines": lines,
        "display.arrows": arrows, "display.circles": circles, "rect.size": rect_size,
    }  # fmt: skip


def _family(name: str, rect_size: int, frame_size: int) -> Family:
    object_size = 104 + rect_size + 24 + 104 + 128 + 16 + 32 + 32
    offsets = {"batch": _BATCH, "frame": _FRAME, "object": _object(rect_size)}
    return Family(
        name=name,
        sizes={
            "frame": frame_size, "object": object_size, "classifier": 64,
            "display": 64 + 16 * (rect_size + 104 + 56 + 64 + 96) + 64, "user": 48, "label": 200,
        },
        offsets=_structure(rect_size),
        fields={
            level: {key: (at, FIELDS[level][key]) for key, at in table.items()}
            for level, table in offsets.items()
        },
    )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    _family("ds6", 104, 200),
    _family("ds8", 104, 232),
    _family("ds9", 112, 232),
)

# Numbers of NvDsMetaType that moved: the tracker's and the 3D types of later SDKs were put
# before them. Read from the headers of 6.x, 8.0 and 9.1. A name that a family lacks is absent.
_MOVED_6 = {
    "NVDS_AUDIO_BATCH_META": 16, "NVDS_AUDIO_FRAME_META": 17, "NVDS_PREPROCESS_FRAME_META": 18,
    "NVDS_PREPROCESS_BATCH_META": 19, "NVDS_CUSTOM_MSG_BLOB": 20,
}  # fmt: skip
_MOVED_8 = {
    "NVDS_TRACKER_BATCH_REID_META": 16, "NVDS_TRACKER_OBJ_REID_META": 17,
    "NVDS_TRACKER_TERMINATED_LIST_META": 18, "NVDS_TRACKER_SHADOW_LIST_META": 19,
    "NVDS_OBJ_VISIBILITY": 20, "NVDS_OBJ_IMAGE_FOOT_LOCATION": 21,
    "NVDS_OBJ_WORLD_FOOT_LOCATION": 22, "NVDS_OBJ_IMAGE_CONVEX_HULL": 23, "NVDS_OBJ_3D_META": 24,
    "NVDS_AUDIO_BATCH_META": 25, "NVDS_AUDIO_FRAME_META": 26, "NVDS_PREPROCESS_FRAME_META": 27,
    "NVDS_PREPROCESS_BATCH_META": 28, "NVDS_CUSTOM_MSG_BLOB": 29, "NVDS_ROI_META": 30,
}  # fmt: skip
# The same in every family (6.x, 8.0, 9.1).
_FIXED = {
    "NVDS_EVENT_MSG_META": 9, "NVDS_OPTICAL_FLOW_META": 10, "NVDS_LATENCY_MEASUREMENT_META": 11,
    "NVDSINFER_TENSOR_OUTPUT_META": 12, "NVDSINFER_SEGMENTATION_META": 13,
    "NVDS_CROP_IMAGE_META": 14, "NVDS_TRACKER_PAST_FRAME_META": 15,
    "NVDS_BATCH_GST_META": 4097, "NVDS_START_USER_META": 8193,
}  # fmt: skip

META_TYPES: dict[str, dict[str, int]] = {
    "ds6": _FIXED | _MOVED_6,
    "ds8": _FIXED | _MOVED_8,
    "ds9": _FIXED | _MOVED_8,
}
"""For each family: numbers that ``base_meta.meta_type`` of a user meta may have, by name."""
