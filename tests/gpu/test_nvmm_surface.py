"""Pixels of NVMM frames in PyTorch, CuPy and NumPy; needs a GPU host.

``DSELEMENTS_GPU_CLIP`` names an H.264 MP4 (4:2:0) of at least 100 frames.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gi")
pytestmark = pytest.mark.gpu

import dselements as ds
from dselements.errors import SurfaceError

CLIP = os.environ.get("DSELEMENTS_GPU_CLIP", "")
DECODE = f"filesrc location={CLIP} ! qtdemux ! h264parse ! nvv4l2decoder"
RGBA = f"{DECODE} ! nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA"
TO_HOST = "nvvideoconvert ! video/x-raw,format=RGBA"


def run(text: str, **calls: Any) -> list[str]:
    from pipelines import launch, play, texts

    return texts(play(launch(text, **calls), 60))


def test_what_torch_writes_is_in_the_frame_that_comes_out() -> None:
    torch = pytest.importorskip("torch")
    seen: list[np.ndarray] = []

    def paint(batch: ds.Batch) -> None:
        with batch.frames[0].surface(write=True) as surface:
            tensor: Any = surface.torch()
            assert tensor.is_cuda
            assert tensor.dtype == torch.uint8
            assert tuple(tensor.shape) == (surface.height, surface.width, 4)
            tensor[:16] = torch.tensor([255, 0, 0, 255], dtype=torch.uint8, device="cuda")

    def look(batch: ds.Batch) -> None:
        with batch.frames[0].surface() as surface:
            seen.append(np.asarray(surface.array[:32]).copy())

    text = f"{RGBA} ! dssynth ! testlook name=paint ! {TO_HOST} ! testlook name=look ! fakesink"
    assert run(text, paint=paint, look=look) == []
    assert len(seen) >= 100
    for rows in seen:
        assert (rows[:16] == (255, 0, 0, 255)).all()
        assert not (rows[16:] == (255, 0, 0, 255)).all()


def test_torch_cupy_and_numpy_see_the_same_pixels() -> None:
    torch = pytest.importorskip("torch")
    cupy = pytest.importorskip("cupy")
    checked = []

    def look(batch: ds.Batch) -> None:
        frame = batch.frames[0]
        with frame.surface() as surface:
            host = surface.numpy()
            assert host.any()
            for other in (
                surface.torch().cpu().numpy(),
                cupy.asnumpy(surface.cupy()),
                torch.as_tensor(Keep(surface.array), device="cuda").cpu().numpy(),
                surface.rgba(),
            ):
                np.testing.assert_array_equal(other, host)
            crop = surface.crop((10.5, 20, 30, 40))
            np.testing.assert_array_equal(crop.torch().cpu().numpy(), host[20:60, 10:41])
            np.testing.assert_array_equal(cupy.asnumpy(crop.cupy()), host[20:60, 10:41])
            np.testing.assert_array_equal(crop.numpy(), host[20:60, 10:41])
            assert surface.torch().data_ptr() == surface.cupy().data.ptr
        obj = batch.objects[0]
        left, top, width, height = (int(v) for v in obj.rect)
        obj.rect = (left, top, width, height)
        np.testing.assert_array_equal(
            obj.crop().torch().cpu().numpy(), host[top : top + height, left : left + width]
        )
        checked.append(frame.frame_num)

    assert run(f"{RGBA} ! dssynth ! testlook name=look ! fakesink", look=look) == []
    assert len(checked) >= 100


class Keep:
    """Offers the interface as writable: PyTorch refuses read-only memory."""

    def __init__(self, array: Any) -> None:
        interface = array.__cuda_array_interface__
        self.__cuda_array_interface__ = interface | {"data": (interface["data"][0], False)}
        self.array = array


def test_nv12_from_the_decoder_is_the_picture_that_nvidia_converts_to() -> None:
    ours: list[np.ndarray] = []
    theirs: list[np.ndarray] = []

    def planes(batch: ds.Batch) -> None:
        with batch.frames[0].surface() as surface:
            assert surface.format.format == "NV12"
            luma, chroma = surface.planes
            assert luma.shape == (surface.height, surface.width)
            assert chroma.shape == (surface.height // 2, surface.width // 2, 2)
            assert tuple(luma.torch().shape) == luma.shape
            ours.append(surface.rgb())

    def packed(batch: ds.Batch) -> None:
        with batch.frames[0].surface() as surface:
            theirs.append(surface.rgb())

    assert run(f"{DECODE} ! dssynth ! testlook name=look ! fakesink", look=planes) == []
    assert run(f"{RGBA} ! dssynth ! testlook name=look ! fakesink", look=packed) == []
    assert len(ours) == len(theirs) >= 100
    for a, b in zip(ours[::10], theirs[::10], strict=True):
        difference = np.abs(a.astype(int) - b.astype(int))
        assert difference.mean() < 2
        assert np.percentile(difference, 99) <= 12  # chroma is repeated here, interpolated there


def test_a_surface_that_is_kept_raises_and_its_tensor_stays_memory() -> None:
    pytest.importorskip("torch")
    kept: list[Any] = []

    def keep(batch: ds.Batch) -> None:
        surface: Any = batch.frames[0].surface()
        kept.append((surface, surface.array, surface.torch()))

    assert run(f"{RGBA} ! dssynth ! testlook name=look ! fakesink", look=keep) == []
    assert len(kept) >= 100
    for surface, array, tensor in kept:
        for use in (lambda s=surface: s.array, surface.torch, array.numpy, array.cupy):
            with pytest.raises(SurfaceError, match="closed"):
                use()
        assert int(tensor.sum()) >= 0  # the frame's memory is not given away while it lives


def test_pixels_behind_a_tee_are_written_only_where_they_are_alone() -> None:
    told: list[str] = []
    wrote: list[int] = []

    def write(batch: ds.Batch) -> None:
        try:
            with batch.frames[0].surface(write=True) as surface:
                surface.torch()[:] = 0
                wrote.append(1)
        except SurfaceError as error:
            told.append(str(error))

    sums: list[int] = []

    def look(batch: ds.Batch) -> None:
        with batch.frames[0].surface() as surface:
            sums.append(int(surface.torch()[..., :3].sum()))

    both = (
        f"{RGBA} ! dssynth ! tee name=t t. ! queue ! testlook name=a ! fakesink "
        "t. ! queue ! testlook name=b ! fakesink"
    )
    assert run(both, a=write, b=look) == []
    assert all("nvvideoconvert" in text for text in told)
    assert len(told) + len(wrote) >= 100
    assert min(sums) > 0, "a branch saw what the other one wrote"

    told.clear(), wrote.clear(), sums.clear()
    apart = both.replace(
        "! queue ! testlook name=a",
        "! queue ! nvvideoconvert disable-passthrough=true "
        "! video/x-raw(memory:NVMM),format=RGBA ! testlook name=a",
    )
    assert run(apart, a=write, b=look) == []
    assert len(wrote) >= 100
    assert not told
    assert min(sums) > 0


def test_waiting_for_one_stream_is_enough() -> None:
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    sums: list[int] = []

    def paint(batch: ds.Batch) -> None:
        with batch.frames[0].surface(write=True) as surface, torch.cuda.stream(stream):
            tensor = surface.torch()
            torch.cuda._sleep(2_000_000)
            tensor.fill_(7)
            surface.used_on(stream)

    def look(batch: ds.Batch) -> None:
        with batch.frames[0].surface() as surface:
            sums.append(int((surface.array != 7).sum()))

    text = f"{RGBA} ! dssynth ! testlook name=paint ! {TO_HOST} ! testlook name=look ! fakesink"
    assert run(text, paint=paint, look=look) == []
    assert set(sums) == {0}
