"""Event messages for nvmsgconv (nvdsmeta_schema.h), as real structures that it reads.

Strings and structures assigned to a field belong to it from then on. A message belongs to the
user meta whose ``user_meta_data`` it became, and is copied and freed with it, in C.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any

from ..._core import _native
from ...errors import MetadataValueError
from .base import Field, Struct
from .enums import event_type, object_type
from .metas import NvDsUserMeta

__all__ = [
    "CustomDataStruct",
    "NvDsCoordinate",
    "NvDsEvent",
    "NvDsEventMsgMeta",
    "NvDsFaceObject",
    "NvDsFaceObjectWithExt",
    "NvDsGeoLocation",
    "NvDsObjectSignature",
    "NvDsPayload",
    "NvDsPersonObject",
    "NvDsPersonObjectExt",
    "NvDsRect",
    "NvDsVehicleObject",
    "NvDsVehicleObjectExt",
    "alloc_custom_struct",
    "alloc_nvds_event",
    "alloc_nvds_event_msg_meta",
    "alloc_nvds_face_object",
    "alloc_nvds_payload",
    "alloc_nvds_person_object",
    "alloc_nvds_vehicle_object",
    "generate_ts_rfc3339",
]


class NvDsRect(Struct):
    """A box in pixels."""

    __slots__ = ()
    SIZES = 16
    top = Field("f32", 0)
    left = Field("f32", 4)
    width = Field("f32", 8)
    height = Field("f32", 12)


class NvDsGeoLocation(Struct):
    """Latitude, longitude (degrees), altitude (metres)."""

    __slots__ = ()
    SIZES = 24
    lat = Field("f64", 0)
    lon = Field("f64", 8)
    alt = Field("f64", 16)


class NvDsCoordinate(Struct):
    """A point in a coordinate system of the user's."""

    __slots__ = ()
    SIZES = 24
    x = Field("f64", 0)
    y = Field("f64", 8)
    z = Field("f64", 16)


class NvDsObjectSignature(Struct):
    """A feature vector: address of float64 values and their number."""

    __slots__ = ()
    SIZES = 16
    OWNED = (0,)
    signature = Field("pointer", 0)
    size = Field("u32", 8)


class NvDsVehicleObject(Struct):
    """What is known of a vehicle."""

    __slots__ = ()
    SIZES = 48
    OWNED = (0, 8, 16, 24, 32, 40)
    type = Field("block_text", 0)
    make = Field("block_text", 8)
    model = Field("block_text", 16)
    color = Field("block_text", 24)
    region = Field("block_text", 32)
    license = Field("block_text", 40)


class NvDsVehicleObjectExt(NvDsVehicleObject):
    """A vehicle with a polygon mask, a GList of the user's."""

    __slots__ = ()
    SIZES = 56
    mask = Field("pointer", 48)


class NvDsPersonObject(Struct):
    """What is known of a person."""

    __slots__ = ()
    SIZES = 40
    OWNED = (0, 8, 16, 24)
    gender = Field("block_text", 0)
    hair = Field("block_text", 8)
    cap = Field("block_text", 16)
    apparel = Field("block_text", 24)
    age = Field("u32", 32)


class NvDsPersonObjectExt(NvDsPersonObject):
    """A person with a polygon mask, a GList of the user's."""

    __slots__ = ()
    SIZES = 48
    mask = Field("pointer", 40)


class NvDsFaceObject(Struct):
    """What is known of a face."""

    __slots__ = ()
    SIZES = 64
    OWNED = (0, 8, 16, 24, 32, 40, 48)
    gender = Field("block_text", 0)
    hair = Field("block_text", 8)
    cap = Field("block_text", 16)
    glasses = Field("block_text", 24)
    facialhair = Field("block_text", 32)
    name = Field("block_text", 40)
    eyecolor = Field("block_text", 48)
    age = Field("u32", 56)


class NvDsFaceObjectWithExt(NvDsFaceObject):
    """A face with a polygon mask, a GList of the user's."""

    __slots__ = ()
    SIZES = 72
    mask = Field("pointer", 64)


class NvDsEventMsgMeta(Struct):
    """An event message. Its layout is that of 8.0 and 9.1, and is not known for 6.x."""

    __slots__ = ()
    SIZES = {"ds8": 14032, "ds9": 14040}  # noqa: RUF012
    OWNED = (72, 128, 136, 144, 13832, 13840, 13848)
    type = Field("i32", 0, to_python=event_type)
    objType = Field("i32", 4, to_python=object_type)
    bbox = Field("struct", 8, cls=NvDsRect)
    location = Field("struct", 24, cls=NvDsGeoLocation)
    coordinate = Field("struct", 48, cls=NvDsCoordinate)
    objSignature = Field("struct", 72, cls=NvDsObjectSignature)
    objClassId = Field("i32", 88)
    sensorId = Field("i32", 92)
    moduleId = Field("i32", 96)
    placeId = Field("i32", 100)
    componentId = Field("i32", 104)
    frameId = Field("i32", 108)
    confidence = Field("f64", 112)
    trackingId = Field("u64", 120)
    ts = Field("block_pointer", 128)
    objectId = Field("block_text", 136)
    sensorStr = Field("block_text", 144)
    otherAttrs = Field("block_text", 13832)
    videoPath = Field("block_text", 13840)
    extMsg = Field("pointer", 13848)
    extMsgSize = Field("u32", 13856)


class NvDsEvent(Struct):
    """An event and its message."""

    __slots__ = ()
    SIZES = 16
    OWNED = (8,)
    eventType = Field("i32", 0, to_python=event_type)
    metadata = Field("pointer", 8)


class NvDsPayload(Struct):
    """Bytes for a message broker."""

    __slots__ = ()
    SIZES = 16
    OWNED = (0,)
    payload = Field("pointer", 0)
    payloadSize = Field("u32", 8)
    componentId = Field("u32", 12)


class CustomDataStruct(Struct):
    """The example data of pyds's custom user metas: a number, a text, a number."""

    __slots__ = ()
    SIZES = 24
    OWNED = (8,)
    structId = Field("i32", 0)
    message = Field("block_text", 8)
    sampleInt = Field("i32", 16)


def _for_user_meta(user_meta: Any, data: Struct) -> Any:
    if user_meta is not None:
        _native.user_block_functions(NvDsUserMeta.cast(user_meta))
    return data


def alloc_nvds_event_msg_meta(user_meta: Any = None) -> Any:
    """A new event message.

    :param user_meta: gets copy and release functions for it; None if yours are set.
    """
    return _for_user_meta(user_meta, NvDsEventMsgMeta())


def alloc_custom_struct(user_meta: Any = None) -> Any:
    """A new CustomDataStruct. :param user_meta: gets copy and release functions for it."""
    return _for_user_meta(user_meta, CustomDataStruct())


def alloc_nvds_vehicle_object() -> Any:
    """A new NvDsVehicleObject."""
    return NvDsVehicleObject()


def alloc_nvds_person_object() -> Any:
    """A new NvDsPersonObject."""
    return NvDsPersonObject()


def alloc_nvds_face_object() -> Any:
    """A new NvDsFaceObject."""
    return NvDsFaceObject()


def alloc_nvds_event() -> Any:
    """A new NvDsEvent."""
    return NvDsEvent()


def alloc_nvds_payload() -> Any:
    """A new NvDsPayload."""
    return NvDsPayload()


def generate_ts_rfc3339(buffer: int, size: int) -> None:
    """Write the time now, as 2026-01-31T12:00:00.000Z, into memory of alloc_buffer().

    :raises MetadataValueError: if the memory is not from alloc_buffer(), or smaller than ``size``.
    """
    now = time.time()
    text = datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    whole = f"{text}.{int(now * 1000) % 1000:03d}Z".encode()[: max(size - 1, 0)] + b"\0"
    if size < 1 or _native.block_size(int(buffer)) < size:
        raise MetadataValueError(
            f"there is no memory of {size} bytes at {int(buffer):#x}",
            hint="make it with pyds.alloc_buffer(33)",
        )
    _native.block_write(int(buffer), whole)
