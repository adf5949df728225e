"""VideoFormat against GStreamer's own GstVideoInfo."""

from __future__ import annotations

import pytest

from dselements.errors import SurfaceError
from dselements.surface.format import FORMATS, VideoFormat

SIZES = [(1, 1), (2, 2), (3, 5), (17, 9), (318, 241), (641, 479), (1280, 720), (1919, 1081)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_strides_and_offsets_are_gstreamers(name: str, width: int, height: int) -> None:
    gi = pytest.importorskip("gi")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import Gst, GstVideo

    Gst.init(None)
    info = GstVideo.VideoInfo.new()
    assert info.set_format(GstVideo.VideoFormat.from_string(name), width, height)
    ours = VideoFormat.make(name, width, height)
    n = len(ours.planes)
    assert n == info.finfo.n_planes
    assert [p.stride for p in ours.planes] == list(info.stride)[:n]
    assert [p.offset for p in ours.planes] == list(info.offset)[:n]
    assert ours.size == info.size


@pytest.mark.parametrize("height", [240, 480, 576, 577, 720, 2159, 2160])
def test_colorimetry_without_caps_is_what_gstreamer_assumes(height: int) -> None:
    gi = pytest.importorskip("gi")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import Gst, GstVideo

    Gst.init(None)
    info = GstVideo.VideoInfo.new()
    info.set_format(GstVideo.VideoFormat.NV12, 64, height)
    made = VideoFormat.make("NV12", 64, height)
    assert f"colorimetry=(string){made.matrix}" in info.to_caps().to_string()
    assert made.full_range is False
    assert int(info.colorimetry.range) == 2  # GST_VIDEO_COLOR_RANGE_16_235


@pytest.mark.parametrize(
    ("text", "matrix", "full"),
    [
        ("bt601", "bt601", False),
        ("bt709", "bt709", False),
        ("bt2020", "bt2020", False),
        ("1:4:0:0", "bt601", True),  # jpeg: full range BT.601
        ("2:3:5:1", "bt709", False),
        ("1:3:5:1", "bt709", True),
        ("nonsense", "bt601", False),  # 480 rows: as if not given
    ],
)
def test_colorimetry_of_caps(text: str, matrix: str, full: bool) -> None:
    made = VideoFormat.make("I420", 640, 480, text)
    assert (made.matrix, made.full_range) == (matrix, full)


def test_unknown_formats_and_sizes_name_the_mend() -> None:
    with pytest.raises(SurfaceError, match=r"P010_10LE.*videoconvert"):
        VideoFormat.make("P010_10LE", 64, 64)
    with pytest.raises(SurfaceError, match="0x64"):
        VideoFormat.make("RGBA", 0, 64)


def test_strides_of_a_padded_buffer() -> None:
    made = VideoFormat.make("I420", 10, 6).with_strides((0, 64 * 8, 64 * 8 + 32 * 4), (64, 32, 32))
    assert [(p.offset, p.stride) for p in made.planes] == [(0, 64), (512, 32), (640, 32)]
    assert made.size == 640 + 32 * 2 + 5  # to the last sample of the last plane
    with pytest.raises(SurfaceError, match="3 planes"):
        VideoFormat.make("I420", 10, 6).with_strides((0,), (64,))
    with pytest.raises(SurfaceError, match=r"stride of 8 bytes.*videoconvert"):
        VideoFormat.make("RGBA", 10, 6).with_strides((0,), (8,))
