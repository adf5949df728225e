"""NVMM surfaces over planted NvBufSurface structs in host memory; no GPU is needed."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
from gi.repository import Gst
from planted import Planted, nv12, packed

from dselements._core import _native, load
from dselements.errors import NonFiniteValueError, SurfaceError, UnsupportedLayoutError
from dselements.meta import Batch
from dselements.surface import NvmmSurfaces, cuda
from dselements.surface.device import DeviceArray

RGBA, BGR, GRAY8, NV12, NV12_ER, NV12_709 = 19, 28, 1, 6, 7, 33
PINNED, DEVICE, UNIFIED = 1, 2, 3


@pytest.fixture(autouse=True, scope="module")
def _library() -> None:
    Gst.init(None)
    load()


@pytest.mark.parametrize("family", ["6.x", "9.x"])
def test_each_frame_of_a_batch_is_found_in_both_families(family: str) -> None:
    planted = Planted([packed(RGBA, 6, 4, 4, 32), packed(RGBA, 8, 2, 4, 40)], family)
    surfaces = NvmmSurfaces(planted.address)
    assert [surfaces.size(i) for i in (0, 1)] == [(6, 4), (8, 2)]
    for i, (width, height, pitch) in enumerate([(6, 4, 32), (8, 2, 40)]):
        with surfaces.surface(i, i, False) as surface:
            array = surface.array
            assert (surface.width, surface.height, surface.format.format) == (width, height, "RGBA")
            assert array.shape == (height, width, 4)
            assert array.strides == (pitch, 4, 1)
            want = planted.frames[i].reshape(height, pitch)[:, : width * 4]
            np.testing.assert_array_equal(surface.numpy(), want.reshape(height, width, 4))
            np.testing.assert_array_equal(surface.rgb(), surface.numpy()[..., :3])


def test_dlpack_shares_the_memory_and_keeps_it() -> None:
    planted = Planted([packed(RGBA, 6, 4, 4, 32)])
    surfaces = NvmmSurfaces(planted.address)
    with surfaces.surface(0, 0, True) as surface:
        shared = np.from_dlpack(surface.array)
        held = weakref.ref(surface.check_open())
        shared[1, 2] = (9, 8, 7, 6)
    assert planted.frames[0][32 + 8 : 32 + 12].tolist() == [9, 8, 7, 6]
    assert shared.ctypes.data == planted.frames[0].ctypes.data
    assert held() is not None, "the mapped memory must outlive the surface with the array"
    del shared
    gc.collect()
    assert held() is None


def test_a_capsule_that_nobody_takes_gives_its_owner_back() -> None:
    for version in (None, (1, 0)):
        planted = Planted([packed(RGBA, 6, 4)])
        with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
            held = weakref.ref(surface.check_open())
            capsule = surface.array.__dlpack__(max_version=version)
            assert ("versioned" in repr(capsule)) == (version is not None)
        assert held() is not None
        del capsule
        assert held() is None


def test_read_only_is_told_to_those_who_can_hear_it() -> None:
    planted = Planted([packed(RGBA, 6, 4)])
    with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
        assert not np.from_dlpack(surface.array).flags.writeable
        with pytest.raises(SurfaceError, match="read-only"):
            surface.check_writable()
    with NvmmSurfaces(planted.address).surface(0, 0, True) as surface:
        surface.check_writable()


def test_other_devices_and_copies_are_refused() -> None:
    planted = Planted([packed(RGBA, 6, 4)])
    with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
        array = surface.array
        assert array.__dlpack_device__() == (1, 0)
        for options in ({"copy": True}, {"dl_device": (2, 0)}):
            with pytest.raises(BufferError):
                array.__dlpack__(**options)
        with pytest.raises(AttributeError, match="host"):
            _ = array.__cuda_array_interface__


@pytest.mark.parametrize(
    ("mem_type", "device"), [(DEVICE, (2, 0)), (PINNED, (3, 0)), (UNIFIED, (13, 0)), (0, (2, 0))]
)
def test_cuda_memory_is_offered_by_its_address(
    mem_type: int, device: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = Planted([packed(BGR, 6, 4, 3, 32)], mem_type=mem_type)
    surface = NvmmSurfaces(planted.address).surface(0, 0, False)
    array = surface.array
    interface = array.__cuda_array_interface__
    assert interface == {
        "shape": (4, 6, 3),
        "strides": (32, 3, 1),
        "typestr": "|u1",
        "data": (planted.frames[0].ctypes.data, True),
        "version": 3,
        "stream": None,
    }
    assert array.device == device
    monkeypatch.setattr(cuda, "synchronize", lambda gpu, stream=None: None)
    surface.close()


def test_closing_waits_for_what_was_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[int, int | None]] = []
    monkeypatch.setattr(cuda, "synchronize", lambda gpu, stream=None: waits.append((gpu, stream)))
    planted = Planted([packed(RGBA, 6, 4)], mem_type=DEVICE)
    surfaces = NvmmSurfaces(planted.address)

    surfaces.surface(0, 0, False).close()
    assert waits == [], "nothing was handed out"

    with surfaces.surface(0, 0, False) as surface:
        _ = surface.array.__cuda_array_interface__
    assert waits == [(0, None)]

    waits.clear()
    with surfaces.surface(0, 0, False) as surface:
        surface.array.__dlpack__()
        surface.used_on(types.SimpleNamespace(cuda_stream=0x10))  # as torch names it
        surface.used_on(types.SimpleNamespace(ptr=0x20))  # as CuPy does
        surface.used_on(0x10)
        with pytest.raises(TypeError, match="CUDA stream"):
            surface.used_on("default")
    assert sorted(waits) == [(0, 0x10), (0, 0x20)]


def test_work_that_failed_on_the_gpu_is_told_and_gives_the_memory_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(gpu: int, stream: int | None = None) -> None:
        raise SurfaceError("waiting for the GPU failed with CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(cuda, "synchronize", fail)
    planted = Planted([packed(RGBA, 6, 4)], mem_type=DEVICE)
    with Batch.synthetic([{}]) as batch:
        batch.surfaces = NvmmSurfaces(planted.address)
        surface: Any = batch.frames[0].surface()
        held = weakref.ref(surface.check_open())
        _ = surface.array.__cuda_array_interface__
        with pytest.raises(SurfaceError, match="ILLEGAL_ADDRESS"):
            batch.close()
    assert held() is None
    assert batch.closed


def test_nv12_has_its_planes_ranges_and_matrix() -> None:
    for color, matrix, full in ((NV12, "bt601", False), (NV12_ER, "bt601", True),
                                (NV12_709, "bt709", False)):  # fmt: skip
        planted = Planted([nv12(color, 5, 3, 16)])
        with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
            assert (surface.format.matrix, surface.format.full_range) == (matrix, full)
            luma, chroma = surface.planes
            assert (luma.shape, chroma.shape) == ((3, 5), (2, 3, 2))
            pixels = planted.frames[0]
            np.testing.assert_array_equal(luma.numpy(), pixels[:48].reshape(3, 16)[:, :5])
            np.testing.assert_array_equal(
                chroma.numpy(), pixels[48:80].reshape(2, 16)[:, :6].reshape(2, 3, 2)
            )
            assert surface.rgb().shape == (3, 5, 3)
            for use in (
                lambda s=surface: s.array,
                surface.numpy,
                lambda s=surface: s.crop((0, 0, 1, 1)),
            ):
                with pytest.raises(SurfaceError, match=r"NV12 has 2 planes.*nvvideoconvert"):
                    use()


def test_gray_is_one_plane() -> None:
    planted = Planted([packed(GRAY8, 6, 4, 1, 8)])
    with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
        assert surface.array.shape == (4, 6)


def test_crops_are_views_cut_at_the_borders() -> None:
    planted = Planted([packed(RGBA, 6, 4, 4, 32)])
    with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
        whole = surface.numpy()
        crop = surface.crop((1.5, 1, 1, 2))
        assert crop.shape == (2, 2, 4)
        np.testing.assert_array_equal(crop.numpy(), whole[1:3, 1:3])
        np.testing.assert_array_equal(np.from_dlpack(crop), whole[1:3, 1:3])
        np.testing.assert_array_equal(surface.crop((-5, -5, 1e9, 1e9)).numpy(), whole)
        assert surface.crop((100, 0, 5, 5)).numpy().shape == (4, 0, 4)
        with pytest.raises(NonFiniteValueError):
            surface.crop((float("nan"), 0, 1, 1))


def test_use_after_close_raises() -> None:
    planted = Planted([packed(RGBA, 6, 4)])
    with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
        array = surface.array
    for use in (
        lambda: surface.array, lambda: surface.planes, surface.rgb, surface.numpy, surface.torch,
        surface.__enter__, array.numpy, array.__dlpack__,
        lambda: array.__cuda_array_interface__,
    ):  # fmt: skip
        with pytest.raises(SurfaceError, match="closed"):
            use()
    surface.close()


def test_objects_give_crops_until_the_batch_is_closed() -> None:
    planted = Planted([packed(RGBA, 6, 4, 4, 32)])
    with Batch.synthetic([{"objects": [{"rect": (1, 1, 2, 2)}]}]) as batch:
        batch.surfaces = NvmmSurfaces(planted.address)
        crop: Any = batch.objects[0].crop()
        assert isinstance(crop, DeviceArray)
        assert crop.shape == (2, 2, 4)
        again: Any = batch.frames[0].objects[0].crop()
        assert again._surface is crop._surface, "one surface serves all objects of a frame"
    with pytest.raises(SurfaceError, match="closed"):
        crop.numpy()


# -- what is wrong is named ------------------------------------------------------
def raises(planted: Planted, text: str, kind: type[Exception] = SurfaceError) -> None:
    with pytest.raises(kind, match=text):
        NvmmSurfaces(planted.address).surface(0, 0, False)


def test_an_unknown_struct_is_refused() -> None:
    planted = Planted([packed(RGBA, 6, 4)])
    buffer = Gst.Buffer.new_wrapped(planted.bytes + b"12345678")
    with pytest.raises(UnsupportedLayoutError, match=r"80 bytes.*64 bytes .6.x"):
        NvmmSurfaces(hash(buffer)).surface(0, 0, False)


@pytest.mark.parametrize("mem_type", [4, 5, 7])
def test_jetson_memory_says_what_to_insert(mem_type: int) -> None:
    raises(Planted([packed(RGBA, 6, 4)], mem_type=mem_type), r"Jetson.*no CUDA address.*nv")


def test_formats_that_cannot_be_reached_say_what_to_insert() -> None:
    raises(Planted([packed(29, 6, 4)]), "colour format 29.*nvvideoconvert")
    raises(Planted([packed(RGBA, 6, 4) | {"layout": 1}]), "block-linear.*nvvideoconvert")


def test_a_struct_that_cannot_be_is_refused() -> None:
    raises(Planted([packed(RGBA, 6, 4)], batch_size=0), "0 frames")
    raises(Planted([packed(RGBA, 6, 4) | {"empty": True}]), "no memory")
    raises(Planted([packed(RGBA, 6, 4) | {"size": 50}]), "needs 96 bytes.*50")
    raises(Planted([packed(RGBA, 6, 4, 4, 20)]), "stride of 20")
    planted = Planted([packed(RGBA, 6, 4)])
    with pytest.raises(SurfaceError, match="batch_id 1 is beyond"):
        NvmmSurfaces(planted.address).surface(0, 1, False)
    assert NvmmSurfaces(planted.address).size(1) == (0, 0)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Planted([packed(RGBA, 6, 4)])
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with NvmmSurfaces(planted.address).surface(0, 0, False) as surface:
        with pytest.raises(SurfaceError, match="pip install torch"):
            surface.torch()
        with pytest.raises(SurfaceError, match="pip install cupy-cuda"):
            surface.cupy()


def test_a_copy_that_names_its_originals_pixels_is_not_written() -> None:
    planted = Planted([packed(RGBA, 6, 4)])
    other = Planted([packed(RGBA, 6, 4)])
    copy = planted.buffer.copy_region(Gst.BufferCopyFlags.MEMORY, 0, 2**64 - 1)
    copy.add_parent_buffer_meta(other.buffer)
    NvmmSurfaces(hash(copy)).surface(0, 0, True).close()
    copy.add_parent_buffer_meta(planted.buffer)
    assert set(_native.buffer_parents(hash(copy))) == {planted.address, other.address}
    with pytest.raises(SurfaceError, match=r"another branch.*nvvideoconvert"):
        NvmmSurfaces(hash(copy)).surface(0, 0, True)
    NvmmSurfaces(hash(copy)).surface(0, 0, False).close()


def test_dlpack_refuses_what_is_no_array() -> None:
    for arguments in (
        (0, (1,), (1,)), (4096, (), ()), (4096, (1,), (1, 1)), (4096, (1,) * 9, (1,) * 9),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="needs an address"):
            _native.dlpack_capsule(*arguments, 1, 0, object(), False, False)
