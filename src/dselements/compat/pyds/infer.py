"""Raw outputs of nvinfer (nvdsinfer.h, gstnvdsinfer.h)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core import _native
from ...errors import MetadataValueError
from .base import Data, Field, Struct
from .enums import data_type

__all__ = [
    "NvDsInferAttribute",
    "NvDsInferDims",
    "NvDsInferDimsCHW",
    "NvDsInferLayerInfo",
    "NvDsInferNetworkInfo",
    "NvDsInferObjectDetectionInfo",
    "NvDsInferSegmentationMeta",
    "NvDsInferTensorMeta",
    "get_detections",
    "get_nvds_LayerInfo",
    "get_segmentation_masks",
]


class NvDsInferDims(Struct):
    """Dimensions of a layer, without the batch's."""

    __slots__ = ()
    SIZES = 40
    numDims = Field("u32", 0)
    numElements = Field("u32", 36)

    @property
    def d(self) -> npt.NDArray[np.uint32]:
        """Copy of the dimensions, uint32 [8]; the first ``numDims`` count."""
        raw = _native.struct_bytes(self, 4, 32)
        values: npt.NDArray[np.uint32] = np.frombuffer(raw, np.uint32).copy()
        return values


class NvDsInferDimsCHW(Struct):
    """Channels, height, width."""

    __slots__ = ()
    SIZES = 12
    c = Field("u32", 0)
    h = Field("u32", 4)
    w = Field("u32", 8)


class NvDsInferLayerInfo(Struct):
    """One layer of a network."""

    __slots__ = ()
    SIZES = 72
    dataType = Field("i32", 0, to_python=data_type)
    inferDims = Field("struct", 4, cls=NvDsInferDims)
    dims = Field("struct", 4, cls=NvDsInferDims)
    bindingIndex = Field("i32", 44)
    layerName = Field("string", 48, frozen="it is the network's")
    buffer = Field("pointer", 56)
    isInput = Field("i32", 64)


class NvDsInferNetworkInfo(Struct):
    """Size of a network's input."""

    __slots__ = ()
    SIZES = 12
    width = Field("u32", 0)
    height = Field("u32", 4)
    channels = Field("u32", 8)


class NvDsInferObjectDetectionInfo(Struct):
    """One box that a parser found, in pixels of the network's input."""

    __slots__ = ()
    SIZES = {"ds6": 24, "ds8": 24, "ds9": 28}  # noqa: RUF012
    classId = Field("u32", 0)
    left = Field("f32", 4)
    top = Field("f32", 8)
    width = Field("f32", 12)
    height = Field("f32", 16)
    detectionConfidence = Field("f32", 20)


class NvDsInferAttribute(Struct):
    """One attribute that a classifier parser found."""

    __slots__ = ()
    SIZES = 24
    attributeIndex = Field("u32", 0)
    atttributeIndex = Field("u32", 0)
    attributeValue = Field("u32", 4)
    attributeConfidence = Field("f32", 8)
    attributeLabel = Field("string", 16, frozen="it is the parser's")


class NvDsInferTensorMeta(Data):
    """Output layers of one nvinfer for one frame or object (``output-tensor-meta=1``)."""

    __slots__ = ()
    SIZES = 72
    unique_id = Field("u32", 0)
    num_output_layers = Field("u32", 4)
    out_buf_ptrs_host = Field("pointer", 16)
    out_buf_ptrs_dev = Field("pointer", 24)
    gpu_id = Field("i32", 32)
    priv_data = Field("pointer", 40)
    network_info = Field("struct", 48, cls=NvDsInferNetworkInfo)

    def output_layers_info(self, j: int) -> Any:
        """Layer ``j``. :raises MetadataValueError: if there is none."""
        if not 0 <= j < self.num_output_layers:
            raise MetadataValueError(f"layer {j} of {self.num_output_layers}")
        at = int.from_bytes(_native.struct_bytes(self, 8, 8), "little")
        size = NvDsInferLayerInfo.size_in("")
        return _native.struct_element(NvDsInferLayerInfo, self, at + size * j, size)


class NvDsInferSegmentationMeta(Data):
    """A semantic segmentation: the class of each pixel, -1 for none."""

    __slots__ = ()
    SIZES = 48
    classes = Field("u32", 0)
    width = Field("u32", 4)
    height = Field("u32", 8)
    class_map = Field("pointer", 16)
    class_probabilities_map = Field("pointer", 24)
    priv_data = Field("pointer", 32)


def get_nvds_LayerInfo(meta: Any, j: int) -> Any:
    """Layer ``j`` of a tensor meta; its ``buffer`` leads to the values in the host's memory.

    :raises MetadataValueError: if there is no such layer.
    """
    tensor = NvDsInferTensorMeta.cast(meta)
    info = tensor.output_layers_info(j)
    raw = _native.struct_follow(tensor, 16, 8 * tensor.num_output_layers)
    if raw is not None:
        info.buffer = int.from_bytes(raw[8 * j : 8 * j + 8], "little")
    return info


def get_detections(data: Any, i: int) -> float:
    """Value ``i`` of the float32 values that a layer's ``buffer`` leads to.

    :raises MetadataValueError: if that memory cannot be read.
    """
    address = data if isinstance(data, int) else data.native_address
    if i < 0 or not _native.is_readable(address + 4 * i, 4):
        raise MetadataValueError(f"there is no value {i} at {address:#x}")
    return float(np.frombuffer(_native.read_memory(address + 4 * i, 4), np.float32)[0])


def get_segmentation_masks(data: Any) -> npt.NDArray[np.int32]:
    """Copy of the class of each pixel, int32 (height, width)."""
    meta = NvDsInferSegmentationMeta.cast(data)
    height, width = meta.height, meta.width
    raw = _native.struct_follow(meta, 16, 4 * height * width)
    if raw is None:
        raise MetadataValueError("the segmentation has no class map")
    classes: npt.NDArray[np.int32] = np.frombuffer(raw, np.int32).reshape(height, width).copy()
    return classes
