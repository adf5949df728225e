"""What the tracker attaches (nvds_tracker_meta.h): frames of the past, ReID vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core import _native
from .base import Data, Field, Struct
from .osd import NvOSD_RectParams

__all__ = [
    "NvDsObjReid",
    "NvDsTargetMiscDataBatch",
    "NvDsTargetMiscDataFrame",
    "NvDsTargetMiscDataObject",
    "NvDsTargetMiscDataStream",
]


def _items(holder: Struct, cls: type[Struct], count: int) -> Iterator[Any]:
    at = int.from_bytes(_native.struct_bytes(holder, 0, 8), "little")
    if not at:
        return
    size = cls.size_in(_native.struct_family(holder))
    for k in range(count):
        yield _native.struct_element(cls, holder, at + k * size, size)


class NvDsTargetMiscDataFrame(Data):
    """A target in one frame of the past."""

    __slots__ = ()
    SIZES = {"ds8": 128, "ds9": 144}  # noqa: RUF012
    frameNum = Field("u32", 0)
    tBbox = Field("struct", 8, cls=NvOSD_RectParams)
    confidence = Field("f32", {"ds8": 112, "ds9": 120})
    age = Field("u32", {"ds8": 116, "ds9": 124})


class NvDsTargetMiscDataObject(Data):
    """One target with its frames of the past."""

    __slots__ = ()
    SIZES = 160
    numObj = Field("u32", 8)
    uniqueId = Field("u64", 16)
    classId = Field("u16", 24)
    objLabel = Field("chars", 26, size=128)

    def list(self) -> Iterator[Any]:
        """The frames, oldest first."""
        return _items(self, NvDsTargetMiscDataFrame, self.numObj)


class NvDsTargetMiscDataStream(Data):
    """The targets of one stream."""

    __slots__ = ()
    SIZES = 32
    streamID = Field("u32", 8)
    surfaceStreamID = Field("u64", 16)
    numAllocated = Field("u32", 24)
    numFilled = Field("u32", 28)

    def list(self) -> Iterator[Any]:
        """The targets."""
        return _items(self, NvDsTargetMiscDataObject, self.numFilled)


class NvDsTargetMiscDataBatch(Data):
    """Targets of all streams, on the batch's user metas."""

    __slots__ = ()
    SIZES = 24
    numAllocated = Field("u32", 8)
    numFilled = Field("u32", 12)

    def list(self) -> Iterator[Any]:
        """The streams."""
        return _items(self, NvDsTargetMiscDataStream, self.numFilled)


class NvDsObjReid(Data):
    """The ReID vector of one object."""

    __slots__ = ()
    SIZES = 24
    featureSize = Field("u32", 0)

    def get_host_reid_vector(self) -> npt.NDArray[np.float32]:
        """Copy of the vector, float32 [featureSize]; empty if it is on the GPU only."""
        raw = _native.struct_follow(self, 8, 4 * self.featureSize)
        values: npt.NDArray[np.float32] = np.frombuffer(raw or b"", np.float32).copy()
        return values
