"""Model outputs as nvinfer attaches them, built here with ctypes from NVIDIA's declarations."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dselements._core import _native, load
from dselements.errors import MetadataValueError
from dselements.meta import Batch, FrameSpec, ObjectSpec, UserMeta, tensors
from dselements.meta.tensors import segmentations, tensor_outputs

TENSOR, SEGMENTATION, FOREIGN = 12, 13, 9000


class Dims(c.Structure):
    _fields_ = (("numDims", c.c_uint), ("d", c.c_uint * 8), ("numElements", c.c_uint))


class LayerInfo(c.Structure):
    _fields_ = (
        ("dataType", c.c_int), ("inferDims", Dims), ("bindingIndex", c.c_int),
        ("layerName", c.c_char_p), ("buffer", c.c_void_p), ("isInput", c.c_int),
    )  # fmt: skip


class NetworkInfo(c.Structure):
    _fields_ = (("width", c.c_uint), ("height", c.c_uint), ("channels", c.c_uint))


class TensorMeta(c.Structure):
    _fields_ = (
        ("unique_id", c.c_uint), ("num_output_layers", c.c_uint),
        ("output_layers_info", c.POINTER(LayerInfo)), ("out_buf_ptrs_host", c.POINTER(c.c_void_p)),
        ("out_buf_ptrs_dev", c.POINTER(c.c_void_p)), ("gpu_id", c.c_int),
        ("priv_data", c.c_void_p), ("network_info", NetworkInfo),
        ("maintain_aspect_ratio", c.c_int), ("symmetric_padding", c.c_int),
    )  # fmt: skip


class SegmentationMeta(c.Structure):
    _fields_ = (
        ("classes", c.c_uint), ("width", c.c_uint), ("height", c.c_uint),
        ("class_map", c.POINTER(c.c_int)), ("class_probabilities_map", c.POINTER(c.c_float)),
        ("priv_data", c.c_void_p), ("unique_id", c.c_int),
    )  # fmt: skip


class Made:
    """A structure and all that it points to, kept alive together."""

    def __init__(self, meta: c.Structure, *keep: Any) -> None:
        self.meta = meta
        self.keep = keep
        self.address = c.addressof(meta)


def layer(name: str, kind: int, array: Any, shape: tuple[int, ...]) -> LayerInfo:
    info = LayerInfo(kind, Dims(len(shape), (c.c_uint * 8)(*shape), array.size), 4)
    info.layerName = name.encode()
    return info


def tensor_meta(arrays: dict[str, tuple[int, Any]], host: bool = True) -> Made:
    infos = (LayerInfo * len(arrays))(*(layer(n, k, a, a.shape) for n, (k, a) in arrays.items()))
    pointers = (c.c_void_p * len(arrays))(*(a.ctypes.data for _, a in arrays.values()))
    meta = TensorMeta(7, len(arrays), infos, pointers if host else None, None, 1)
    meta.network_info = NetworkInfo(300, 200, 3)
    meta.maintain_aspect_ratio = 1
    return Made(meta, infos, pointers, arrays)


@pytest.fixture
def batch() -> Iterator[Batch]:
    made = Batch.synthetic([FrameSpec(objects=[ObjectSpec((1, 2, 3, 4))])])
    yield made
    made.close()


@pytest.fixture
def attach(batch: Batch) -> Any:
    """Attaches a structure to the frame or the object, as a C element does."""
    lib = c.CDLL(load().meta_path)
    lib.nvds_acquire_user_meta_from_pool.restype = c.c_void_p
    lib.nvds_acquire_user_meta_from_pool.argtypes = [c.c_void_p]
    snapshot = _native.Snapshot(batch.address)
    frame = int(np.frombuffer(snapshot.frame_address, np.uint64)[0])
    obj = int(np.frombuffer(snapshot.object_address, np.uint64)[0])

    def run(where: str, made: Made | None, meta_type: int) -> None:
        user = lib.nvds_acquire_user_meta_from_pool(batch.address)
        c.c_void_p.from_address(user + 40).value = made.address if made else None
        c.c_int.from_address(user + 8).value = meta_type
        add = lib.nvds_add_user_meta_to_frame if where == "frame" else lib.nvds_add_user_meta_to_obj
        add.argtypes = [c.c_void_p, c.c_void_p]
        add(frame if where == "frame" else obj, user)

    return run


def test_tensors_of_every_type(batch: Batch, attach: Any) -> None:
    arrays = {
        "float": (0, np.arange(24, dtype=np.float32).reshape(2, 3, 4)),
        "half": (1, np.array([0.5, 1.5], np.float16)),
        "int8": (2, np.array([[-1], [2]], np.int8)),
        "int32": (3, np.array([-(2**31)], np.int32)),
        "int64": (4, np.array([2**62], np.int64)),
        "a layer with a name longer than 64 bytes, as exporters make them/model/out:0": (
            5, np.array([255], np.uint8),
        ),
    }  # fmt: skip
    made = tensor_meta(arrays)
    attach("frame", made, TENSOR)
    attach("frame", made, FOREIGN)
    attach("frame", None, TENSOR)
    (output,) = batch.frames[0].tensors
    assert output.unique_id == 7
    assert output.network_size == (300, 200, 3)
    assert output.gpu_id == 1
    assert output.maintain_aspect_ratio
    assert [x.name for x in output.layers] == list(arrays)
    for name, (_, array) in arrays.items():
        found = output.layer(name)
        assert found.data is not None
        assert found.data.dtype == array.dtype
        assert found.shape == found.data.shape == array.shape
        assert found.data.tolist() == array.tolist()
        assert found.binding_index == 4
    with pytest.raises(KeyError, match="no layer 'nope'"):
        output.layer("nope")
    assert batch.objects[0].tensors == []


def test_tensors_of_objects_are_copies(batch: Batch, attach: Any) -> None:
    array = np.array([1, 2], np.float32)
    attach("object", tensor_meta({"x": (0, array)}), TENSOR)
    kept = tensor_meta({"x": (0, array)})
    attach("object", kept, TENSOR)
    first = batch.objects[0].tensors[0].layers[0].data
    assert first is not None
    array[:] = 0
    assert first.tolist() == [1, 2]
    assert not first.flags.writeable
    assert batch.frames[0].tensors == []


def test_tensors_left_on_the_gpu_have_no_data(batch: Batch, attach: Any) -> None:
    made = tensor_meta({"x": (0, np.zeros(3, np.float32))}, host=False)
    attach("frame", made, TENSOR)
    (found,) = batch.frames[0].tensors[0].layers
    assert (found.shape, found.data) == ((3,), None)


def test_names_are_read_without_crossing_into_another_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = c.create_string_buffer(b"n" * 200)
    real, reads = _native.read_memory, []

    def spy(address: int, size: int) -> bytes:
        reads.append((address, size))
        return real(address, size)

    monkeypatch.setattr(_native, "read_memory", spy)
    for start in range(64):
        assert tensors._text(c.addressof(text) + start) == "n" * (200 - start)
    assert {(at // 64) == (at + size - 1) // 64 for at, size in reads} == {True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m.meta, "num_output_layers", 5000), "5000 layers"),
        (lambda m: setattr(m.keep[0][0], "dataType", 77), "data type 77"),
        (lambda m: setattr(m.keep[0][0].inferDims, "numDims", 9), "9 dimensions"),
        (lambda m: setattr(m.keep[0][0].inferDims, "numElements", 4), "4 elements"),
    ],
)
def test_tensors_that_make_no_sense_are_not_read(change: Any, message: str) -> None:
    load()
    made = tensor_meta({"x": (0, np.zeros(3, np.float32))})
    change(made)
    with pytest.raises(MetadataValueError, match=message):
        tensor_outputs([UserMeta(TENSOR, 0, made.address)])


def segmentation(classes: int, height: int, width: int, probabilities: bool = True) -> Made:
    n = height * width
    classmap = (c.c_int * n)(*range(-1, n - 1))
    probs = (c.c_float * (classes * n))(*(i / 8 for i in range(classes * n)))
    meta = SegmentationMeta(classes, width, height, classmap, probs if probabilities else None)
    meta.unique_id = 9
    return Made(meta, classmap, probs)


def test_segmentations(batch: Batch, attach: Any) -> None:
    made, bare = segmentation(2, 2, 3), segmentation(2, 2, 3, probabilities=False)
    attach("object", bare, SEGMENTATION)
    attach("frame", made, SEGMENTATION)
    (found,) = batch.frames[0].segmentations
    assert found.unique_id == 9
    assert found.class_map.dtype == np.int32
    assert found.class_map.tolist() == [[-1, 0, 1], [2, 3, 4]]
    assert found.probabilities is not None
    assert found.probabilities.shape == (2, 2, 3)
    assert found.probabilities[1, 0, 2] == 8 / 8  # index c * w * h + y * w + x
    (other,) = batch.objects[0].segmentations
    assert other.probabilities is None


def test_a_segmentation_that_makes_no_sense_is_not_read() -> None:
    load()
    made = segmentation(2, 2, 3)
    made.meta.width = 2**31  # type: ignore[attr-defined]
    with pytest.raises(MetadataValueError, match="2147483648 x 2 pixels"):
        segmentations([UserMeta(SEGMENTATION, 0, made.address)])


def test_other_metas_are_listed_raw_and_stay(batch: Batch, attach: Any) -> None:
    made = segmentation(1, 1, 1)
    attach("frame", made, FOREIGN)
    payloads = batch.frames[0].payloads
    payloads["mine"] = 1
    batch.commit()
    payloads = batch.frames[0].payloads
    assert list(payloads) == ["mine"]
    assert [(m.meta_type, m.data) for m in payloads.others] == [(FOREIGN, made.address)]
    payloads.clear()
    batch.commit()
    assert len(batch.frames[0].payloads.others) == 1


def test_a_payload_of_another_version_is_listed_raw(batch: Batch, attach: Any) -> None:
    block = c.create_string_buffer(b"DSEP\x02\0" + bytes(20))

    class Raw:
        address = c.addressof(block)

    attach("frame", Raw(), _native.payload_meta_type())
    payloads = batch.frames[0].payloads
    assert list(payloads) == []
    assert [m.data for m in payloads.others] == [Raw.address]
