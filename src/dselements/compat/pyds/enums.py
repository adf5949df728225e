"""Enumerations, with the numbers that the library in use has."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

from ..._core.layouts import META_TYPES
from .base import family

__all__ = ["ENUMS", "enum", "meta_type", "value_of"]

# Names and numbers of nvdsmeta.h, gstnvdsmeta.h, nvll_osd_struct.h, nvdsmeta_schema.h, nvdsinfer.h
# and nvbufsurface.h. Those that moved between SDKs are in the layout table.
_FORCE32 = 0x7FFFFFFF
_SCHEMA_OPEN = 0x100

ENUMS: dict[str, dict[str, int]] = {
    "NvDsMetaType": {
        "NVDS_INVALID_META": -1, "NVDS_BATCH_META": 1, "NVDS_FRAME_META": 2, "NVDS_OBJ_META": 3,
        "NVDS_DISPLAY_META": 4, "NVDS_CLASSIFIER_META": 5, "NVDS_LABEL_INFO_META": 6,
        "NVDS_USER_META": 7, "NVDS_PAYLOAD_META": 8, "NVDS_RESERVED_META": 4095,
        "NVDS_GST_CUSTOM_META": 4096, "NVDS_FORCE32_META": _FORCE32,
    },
    "GstNvDsMetaType": {
        "NVDS_GST_INVALID_META": -1, "NVDS_BATCH_GST_META": 4097, "NVDS_DECODER_GST_META": 4098,
        "NVDS_DEWARPER_GST_META": 4099, "NVDS_RESERVED_GST_META": 8192,
        "NVDS_GST_META_FORCE32": _FORCE32,
    },
    "NvOSD_Mode": {"MODE_CPU": 0, "MODE_GPU": 1, "MODE_NONE": 2},
    "NvOSD_Arrow_Head_Direction": {"START_HEAD": 0, "END_HEAD": 1, "BOTH_HEAD": 2},
    "NvDsEventType": {
        "NVDS_EVENT_ENTRY": 0, "NVDS_EVENT_EXIT": 1, "NVDS_EVENT_MOVING": 2,
        "NVDS_EVENT_STOPPED": 3, "NVDS_EVENT_EMPTY": 4, "NVDS_EVENT_PARKED": 5,
        "NVDS_EVENT_RESET": 6, "NVDS_EVENT_RESERVED": _SCHEMA_OPEN,
        "NVDS_EVENT_CUSTOM": _SCHEMA_OPEN + 1, "NVDS_EVENT_FORCE32": _FORCE32,
    },
    "NvDsObjectType": {
        "NVDS_OBJECT_TYPE_VEHICLE": 0, "NVDS_OBJECT_TYPE_PERSON": 1, "NVDS_OBJECT_TYPE_FACE": 2,
        "NVDS_OBJECT_TYPE_BAG": 3, "NVDS_OBJECT_TYPE_BICYCLE": 4, "NVDS_OBJECT_TYPE_ROADSIGN": 5,
        "NVDS_OBJECT_TYPE_VEHICLE_EXT": 6, "NVDS_OBJECT_TYPE_PERSON_EXT": 7,
        "NVDS_OBJECT_TYPE_FACE_EXT": 8, "NVDS_OBJECT_TYPE_RESERVED": _SCHEMA_OPEN,
        "NVDS_OBJECT_TYPE_CUSTOM": _SCHEMA_OPEN + 1, "NVDS_OBJECT_TYPE_UNKNOWN": _SCHEMA_OPEN + 2,
        "NVDS_OBEJCT_TYPE_FORCE32": _FORCE32,
    },
    "NvDsPayloadType": {
        "NVDS_PAYLOAD_DEEPSTREAM": 0, "NVDS_PAYLOAD_DEEPSTREAM_MINIMAL": 1,
        "NVDS_PAYLOAD_RESERVED": _SCHEMA_OPEN, "NVDS_PAYLOAD_CUSTOM": _SCHEMA_OPEN + 1,
        "NVDS_PAYLOAD_FORCE32": _FORCE32,
    },
    "NvDsInferDataType": {"FLOAT": 0, "HALF": 1, "INT8": 2, "INT32": 3},
    "NvDsInferNetworkType": {
        "DETECTOR": 0, "CLASSIFIER": 1, "SEGMENTATION": 2, "INSTANCE_SEGMENTATION": 3, "OTHER": 100,
    },
    "ROI_STATUS_360D": {"ROI_ENTRY_360D": 0, "ROI_EXIT_360D": 1, "INSIDE_AISLE_360D": 2},
    "NvBufSurfaceMemMapFlags": {
        "NVBUF_MAP_READ": 0, "NVBUF_MAP_WRITE": 1, "NVBUF_MAP_READ_WRITE": 2,
    },
    "NvBufSurfaceLayout": {"NVBUF_LAYOUT_PITCH": 0, "NVBUF_LAYOUT_BLOCK_LINEAR": 1},
    "NvBufSurfaceMemType": {
        "NVBUF_MEM_DEFAULT": 0, "NVBUF_MEM_CUDA_PINNED": 1, "NVBUF_MEM_CUDA_DEVICE": 2,
        "NVBUF_MEM_CUDA_UNIFIED": 3, "NVBUF_MEM_SURFACE_ARRAY": 4, "NVBUF_MEM_HANDLE": 5,
        "NVBUF_MEM_SYSTEM": 6,
    },
    "NvBufSurfaceColorFormat": {
        f"NVBUF_COLOR_FORMAT_{name}": number
        for number, name in enumerate((
            "INVALID", "GRAY8", "YUV420", "YVU420", "YUV420_ER", "YVU420_ER", "NV12", "NV12_ER",
            "NV21", "NV21_ER", "UYVY", "UYVY_ER", "VYUY", "VYUY_ER", "YUYV", "YUYV_ER", "YVYU",
            "YVYU_ER", "YUV444", "RGBA", "BGRA", "ARGB", "ABGR", "RGBx", "BGRx", "xRGB", "xBGR",
            "RGB", "BGR", "NV12_10LE", "NV12_12LE", "YUV420_709", "YUV420_709_ER", "NV12_709",
            "NV12_709_ER", "YUV420_2020", "NV12_2020", "NV12_10LE_ER", "NV12_10LE_709",
            "NV12_10LE_709_ER", "NV12_10LE_2020", "SIGNED_R16G16",
        ))
    },
}  # fmt: skip
_QUALIFIED_ONLY = {"NvDsInferNetworkType"}


@cache
def enum(name: str) -> Any:
    """The enumeration of this name, as an IntEnum."""
    members = dict(ENUMS[name])
    if name == "NvDsMetaType":
        members.update(META_TYPES[family()])
        members.pop("NVDS_BATCH_GST_META", None)
    return IntEnum(name, members)


def value_of(name: str) -> Any:
    """The member of this name of any enumeration that exports its members; None if none has it."""
    for enum_name, members in ENUMS.items():
        if name in members and enum_name not in _QUALIFIED_ONLY:
            return enum(enum_name)[name]
    known = any(name in table for table in META_TYPES.values())
    return enum("NvDsMetaType").__members__.get(name) if known else None


def _as_member(name: str, number: int) -> int:
    try:
        return enum(name)(number)  # type: ignore[no-any-return]
    except ValueError:
        return number


def meta_type(number: int) -> int:
    """A NvDsMetaType, or the plain number of a user's own type."""
    return _as_member("NvDsMetaType", number)


def event_type(number: int) -> int:
    """A NvDsEventType, or the plain number of a custom one."""
    return _as_member("NvDsEventType", number)


def object_type(number: int) -> int:
    """A NvDsObjectType, or the plain number of a custom one."""
    return _as_member("NvDsObjectType", number)


def data_type(number: int) -> int:
    """A NvDsInferDataType, or the plain number of one that later SDKs added."""
    return _as_member("NvDsInferDataType", number)
