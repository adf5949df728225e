"""Surfaces over real GstBuffers: views without copies, lifetimes, strides, errors."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo

from dselements._core import load
from dselements.errors import NonFiniteValueError, SurfaceError
from dselements.surface import SystemSurfaces, VideoFormat

RGBA = VideoFormat.make("RGBA", 6, 4)


@pytest.fixture(autouse=True, scope="module")
def _library() -> None:
    Gst.init(None)
    load()


def buffer_of(*frames: np.ndarray) -> Any:
    buffer = Gst.Buffer.new()
    for frame in frames:
        memory = Gst.Buffer.new_wrapped(frame.tobytes()).get_all_memory()
        writable = memory.copy(0, -1)
        del memory
        buffer.append_memory(writable)
        del writable
    return buffer


def bytes_of(buffer: Any, index: int = 0) -> bytes:
    memory = buffer.peek_memory(index)
    ok, info = memory.map(Gst.MapFlags.READ)
    assert ok
    try:
        return bytes(info.data)
    finally:
        memory.unmap(info)


def ramp(info: VideoFormat, start: int = 0) -> np.ndarray:
    return (np.arange(info.size) + start).astype(np.uint8)


def test_a_read_view_shows_the_memory() -> None:
    data = ramp(RGBA)
    buffer = buffer_of(data)
    with SystemSurfaces(hash(buffer), RGBA).surface(0, 0, False) as surface:
        assert (surface.width, surface.height, surface.writable) == (6, 4, False)
        assert surface.format == RGBA
        np.testing.assert_array_equal(surface.array, data.reshape(4, 6, 4))
        assert not surface.array.flags.writeable
        np.testing.assert_array_equal(surface.rgb(), data.reshape(4, 6, 4)[..., :3])
        with pytest.raises(ValueError, match="read-only"):
            surface.array[0, 0] = 1


def test_rows_are_where_the_stride_says() -> None:
    info = VideoFormat.make("RGB", 3, 2)  # 9 bytes a row, padded to 12
    buffer = buffer_of(np.arange(24, dtype=np.uint8))
    with SystemSurfaces(hash(buffer), info).surface(0, 0, False) as surface:
        assert surface.array[1, 0].tolist() == [12, 13, 14]
        assert surface.array[1, 2].tolist() == [18, 19, 20]


def test_planes_of_odd_sizes() -> None:
    info = VideoFormat.make("I420", 5, 3)
    buffer = buffer_of(ramp(info))
    with SystemSurfaces(hash(buffer), info).surface(0, 0, False) as surface:
        y, u, v = surface.planes
        assert y.shape == (3, 5)
        assert u.shape == v.shape == (2, 3)
        # luma: stride 8, 4 rows; chroma: stride 4, 2 rows
        assert (int(y[1, 0]), int(u[1, 2]), int(v[0, 0])) == (8, 32 + 4 + 2, 40)
        with pytest.raises(SurfaceError, match="3 planes"):
            _ = surface.array


def test_every_frame_of_a_batch_has_its_own_memory() -> None:
    buffer = buffer_of(ramp(RGBA), ramp(RGBA, 100))
    surfaces = SystemSurfaces(hash(buffer), RGBA)
    with surfaces.surface(0, 1, False) as second:
        assert second.array[0, 0].tolist() == [100, 101, 102, 103]
    with pytest.raises(SurfaceError, match="2 memories"):
        surfaces.surface(0, 2, False)
    assert surfaces.size(0) == (6, 4)


def test_a_crop_is_cut_at_the_borders() -> None:
    buffer = buffer_of(ramp(RGBA))
    with SystemSurfaces(hash(buffer), RGBA).surface(0, 0, False) as surface:
        whole = surface.array
        np.testing.assert_array_equal(surface.crop((-5, -5, 1e9, 1e9)), whole)
        np.testing.assert_array_equal(surface.crop((1.5, 1, 1, 2)), whole[1:3, 1:3])
        assert surface.crop((100, 0, 5, 5)).shape == (4, 0, 4)
        assert surface.crop((2, 2, 0, 0)).size == 0
        assert surface.crop((0, 0, float("inf"), 1)).shape == (1, 6, 4)
        with pytest.raises(NonFiniteValueError):
            surface.crop((float("nan"), 0, 1, 1))
        del whole


def test_use_after_close_raises() -> None:
    buffer = buffer_of(ramp(RGBA))
    with SystemSurfaces(hash(buffer), RGBA).surface(0, 0, False) as surface:
        assert not surface.closed
    assert surface.closed
    for use in (lambda: surface.array, lambda: surface.planes, surface.rgb, surface.__enter__):
        with pytest.raises(SurfaceError, match="closed"):
            use()
    surface.close()


def test_a_view_that_is_kept_stays_valid_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    data = ramp(RGBA)
    buffer = buffer_of(data)
    surfaces = SystemSurfaces(hash(buffer), RGBA)
    with surfaces.surface(0, 0, False) as surface:
        view = surface.array[1:]
    with caplog.at_level(logging.WARNING, "dselements.surface"):
        assert not caplog.records  # as yet it may be a local of process()
        surfaces.close()
    assert "views of 1 frames were kept" in caplog.text
    del buffer
    np.testing.assert_array_equal(view, data.reshape(4, 6, 4)[1:])


def test_a_view_that_died_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    buffer = buffer_of(ramp(RGBA))
    surfaces = SystemSurfaces(hash(buffer), RGBA)
    with surfaces.surface(0, 0, False) as surface:
        view = surface.array
    del view
    with caplog.at_level(logging.WARNING, "dselements.surface"):
        surfaces.close()
    assert caplog.text == ""


def test_closing_the_provider_closes_its_surfaces() -> None:
    buffer = buffer_of(ramp(RGBA))
    surfaces = SystemSurfaces(hash(buffer), RGBA)
    surface = surfaces.surface(0, 0, False)
    surfaces.close()
    assert surface.closed


def test_too_small_a_memory_names_the_mend() -> None:
    buffer = buffer_of(np.zeros(RGBA.size - 1, np.uint8))
    with pytest.raises(SurfaceError, match=r"needs 96 bytes, its memory has 95.*videoconvert"):
        SystemSurfaces(hash(buffer), RGBA).surface(0, 0, False)


def test_a_padded_buffer_is_read_by_its_video_meta() -> None:
    info = VideoFormat.make("NV12", 6, 4)
    data = np.arange(64 * 4 + 64 * 2, dtype=np.uint32).astype(np.uint8)
    buffer = buffer_of(data)
    GstVideo.buffer_add_video_meta_full(
        buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.NV12, 6, 4, 2,
        [0, 256, 0, 0], [64, 64, 0, 0],
    )  # fmt: skip
    with SystemSurfaces(hash(buffer), info).surface(0, 0, False) as surface:
        y, uv = surface.planes
        np.testing.assert_array_equal(y, data[:256].reshape(4, 64)[:, :6])
        np.testing.assert_array_equal(uv, data[256:].reshape(2, 64)[:, :6].reshape(2, 3, 2))


def test_a_video_meta_of_another_size_is_refused() -> None:
    buffer = buffer_of(ramp(RGBA))
    GstVideo.buffer_add_video_meta(
        buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.RGBA, 3, 2
    )
    with pytest.raises(SurfaceError, match=r"3x2.*6x4.*videoconvert"):
        SystemSurfaces(hash(buffer), RGBA).surface(0, 0, False)
