"""Raw model outputs that nvinfer and nvinferserver attach as user metas, as numpy arrays.

Read from NvDsInferTensorMeta and NvDsInferSegmentationMeta (gstnvdsinfer.h) with
NvDsInferLayerInfo and NvDsInferDims (nvdsinfer.h). Offsets are of 64-bit platforms and the same
in the headers of DeepStream 8.0 and 9.1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError
from .payloads import UserMeta

__all__ = ["Segmentation", "TensorLayer", "TensorOutput", "segmentations", "tensor_outputs"]

# NvDsMetaType of nvdsmeta.h: NVDSINFER_TENSOR_OUTPUT_META, NVDSINFER_SEGMENTATION_META.
TENSOR_META = 12
SEGMENTATION_META = 13

# unique_id, num_output_layers, output_layers_info, out_buf_ptrs_host, out_buf_ptrs_dev, gpu_id,
# priv_data, network width, height, channels, maintain_aspect_ratio
_TENSOR = struct.Struct("<IIQQQi4xQIIIi")
# classes, width, height, class_map, class_probabilities_map, priv_data, unique_id
_SEGMENTATION = struct.Struct("<III4xQQQi")
# dataType, numDims, d[8], numElements, bindingIndex, layerName, buffer, isInput
_LAYER = struct.Struct("<iI8IIiQQi4x")
_POINTER = 8

_DTYPES: dict[int, np.dtype[Any]] = {
    0: np.dtype("f4"), 1: np.dtype("f2"), 2: np.dtype("i1"), 3: np.dtype("i4"),
    4: np.dtype("i8"), 5: np.dtype("u1"),
}  # fmt: skip
_MAX_LAYERS = 4096
_MAX_NAME = 1024


class TensorLayer(NamedTuple):
    """One output layer of a model."""

    name: str
    """Name in the model; ``layerN`` if it has none."""
    binding_index: int
    """TensorRT binding index."""
    shape: tuple[int, ...]
    """Dimensions without the batch's."""
    data: npt.NDArray[Any] | None
    """Read-only copy of the values, of ``shape``; None if nvinfer left them on the GPU only."""


class TensorOutput(NamedTuple):
    """What one nvinfer made of one frame or object."""

    unique_id: int
    """unique-id of the nvinfer."""
    layers: list[TensorLayer]
    """Output layers, in the model's order."""
    network_size: tuple[int, int, int]
    """Width, height, channels of the network's input."""
    gpu_id: int
    """GPU that the model ran on."""
    maintain_aspect_ratio: bool
    """True if the input was scaled by one factor and padded."""

    def layer(self, name: str) -> TensorLayer:
        """The layer of this name. :raises KeyError: naming those there are."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(f"no layer {name!r}; there are {[x.name for x in self.layers]}")


class Segmentation(NamedTuple):
    """A semantic segmentation of one frame or object."""

    unique_id: int
    """unique-id of the nvinfer."""
    class_map: npt.NDArray[np.int32]
    """Class of each pixel, int32 (height, width) of the network's output; -1 for none."""
    probabilities: npt.NDArray[np.float32] | None
    """float32 (classes, height, width); None if nvinfer gave none."""


def tensor_outputs(metas: Iterable[UserMeta]) -> list[TensorOutput]:
    """Tensor outputs among user metas, in list order.

    :raises MetadataValueError: if one is not laid out as the headers say.
    """
    return [_tensor(meta.data) for meta in metas if meta.meta_type == TENSOR_META and meta.data]


def segmentations(metas: Iterable[UserMeta]) -> list[Segmentation]:
    """Segmentation maps among user metas, in list order.

    :raises MetadataValueError: if one is not laid out as the headers say.
    """
    found = []
    for meta in metas:
        if meta.meta_type != SEGMENTATION_META or not meta.data:
            continue
        classes, width, height, map_at, probs_at, _, unique_id = _SEGMENTATION.unpack(
            _native.read_memory(meta.data, _SEGMENTATION.size)
        )
        if not map_at or not 0 < width * height <= 1 << 28 or classes > 1 << 16:
            raise MetadataValueError(
                f"a segmentation meta tells {classes} classes of {width} x {height} pixels"
            )
        class_map = _array(map_at, np.dtype("i4"), (height, width))
        probs = _array(probs_at, np.dtype("f4"), (classes, height, width)) if probs_at else None
        found.append(Segmentation(unique_id, class_map, probs))
    return found


def _tensor(address: int) -> TensorOutput:
    unique_id, n, infos, hosts, _, gpu_id, _, width, height, channels, keep = _TENSOR.unpack(
        _native.read_memory(address, _TENSOR.size)
    )
    if n > _MAX_LAYERS or (n and not infos):
        raise MetadataValueError(f"a tensor meta of nvinfer {unique_id} tells {n} layers")
    pointers: tuple[int, ...] = (0,) * n
    if n and hosts:
        pointers = struct.unpack(f"<{n}Q", _native.read_memory(hosts, n * _POINTER))
    layers = [_layer(infos + i * _LAYER.size, pointers[i]) for i in range(n)]
    return TensorOutput(unique_id, layers, (width, height, channels), gpu_id, bool(keep))


def _layer(address: int, data: int) -> TensorLayer:
    kind, n_dims, *rest = _LAYER.unpack(_native.read_memory(address, _LAYER.size))
    dims, elements, binding, name_at = tuple(rest[:8]), rest[8], rest[9], rest[10]
    name = _text(name_at) if name_at else f"layer{binding}"
    dtype = _DTYPES.get(kind)
    if dtype is None or n_dims > len(dims) or math.prod(dims[:n_dims]) != elements:
        raise MetadataValueError(
            f"layer {name!r} tells data type {kind}, {n_dims} dimensions {dims[: min(n_dims, 8)]} "
            f"and {elements} elements"
        )
    shape = dims[:n_dims]
    return TensorLayer(name, binding, shape, _array(data, dtype, shape) if data else None)


def _array(address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    size = math.prod(shape) * dtype.itemsize
    return np.frombuffer(_native.read_memory(address, size), dtype).reshape(shape)


def _text(address: int) -> str:
    """A C string. Read in pieces that cross no 64-byte line, so never into another page."""
    found = b""
    while len(found) < _MAX_NAME:
        at = address + len(found)
        piece = _native.read_memory(at, 64 - at % 64)
        end = piece.find(b"\0")
        if end >= 0:
            return (found + piece[:end]).decode("utf-8", "replace")
        found += piece
    return found.decode("utf-8", "replace")
