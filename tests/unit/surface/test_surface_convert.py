"""Colour conversion: known values, GStreamer's own converter, and OpenCV against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dselements.surface import convert
from dselements.surface.format import VideoFormat

RNG = np.random.default_rng(5)


def planes_of(name: str, width: int, height: int) -> tuple[list[np.ndarray], VideoFormat]:
    info = VideoFormat.make(name, width, height)
    data = RNG.integers(0, 256, info.size, np.uint8)
    planes = []
    for p in info.planes:
        shape = (p.height, p.width, p.channels) if p.channels > 1 else (p.height, p.width)
        strides = (p.stride, p.channels, 1)[: len(shape)]
        planes.append(np.ndarray(shape, np.uint8, data, p.offset, strides))
    return planes, info


@pytest.fixture(params=["opencv", "numpy"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(convert, "opencv", lambda: None)
    else:
        pytest.importorskip("cv2")
    return str(request.param)


@pytest.mark.parametrize(
    "name", ["RGBA", "BGRA", "ARGB", "ABGR", "RGBx", "BGRx", "xRGB", "xBGR", "RGB", "BGR"]
)
def test_packed_formats_keep_their_values(engine: str, name: str) -> None:
    planes, info = planes_of(name, 7, 5)
    rgb, rgba = convert.to_rgb(planes, info), convert.to_rgba(planes, info)
    assert rgb.shape == (5, 7, 3)
    assert rgb.dtype == np.uint8
    for channel, letter in enumerate("RGB"):
        np.testing.assert_array_equal(rgb[..., channel], planes[0][..., name.index(letter)])
    np.testing.assert_array_equal(rgba[..., :3], rgb)
    alpha = planes[0][..., name.index("A")] if "A" in name else 255
    np.testing.assert_array_equal(rgba[..., 3], np.broadcast_to(alpha, (5, 7)))


def test_gray_is_repeated(engine: str) -> None:
    planes, info = planes_of("GRAY8", 7, 5)
    rgb = convert.to_rgb(planes, info)
    for channel in range(3):
        np.testing.assert_array_equal(rgb[..., channel], planes[0])


# BT.601 and BT.709 codes of primaries in studio range, from the standards' own tables
# (75 % and 100 % colour bars; rounded).
KNOWN = [
    ("bt601", (81, 90, 240), (255, 0, 0)),
    ("bt601", (145, 54, 34), (0, 255, 0)),
    ("bt601", (41, 240, 110), (0, 0, 255)),
    ("bt709", (63, 102, 240), (255, 0, 0)),
    ("bt709", (173, 42, 26), (0, 255, 0)),
    ("bt709", (32, 240, 118), (0, 0, 255)),
    ("bt601", (235, 128, 128), (255, 255, 255)),
    ("bt709", (16, 128, 128), (0, 0, 0)),
]


@pytest.mark.parametrize(("matrix", "yuv", "expected"), KNOWN)
@pytest.mark.parametrize("name", ["NV12", "NV21", "I420", "YV12"])
def test_known_colours(
    engine: str, name: str, matrix: str, yuv: tuple[int, int, int], expected: tuple[int, int, int]
) -> None:
    planes, _ = planes_of(name, 6, 4)
    info = VideoFormat.make(name, 6, 4, matrix)
    y, u, v = yuv
    planes[0][...] = y
    if name in ("NV12", "NV21"):
        planes[1][...] = (u, v) if name == "NV12" else (v, u)
    else:
        planes[1][...], planes[2][...] = (u, v) if name == "I420" else (v, u)
    rgb = convert.to_rgb(planes, info)
    assert np.abs(rgb.astype(int) - expected).max() <= 2


@pytest.mark.parametrize("name", ["NV12", "I420", "YV12"])
@pytest.mark.parametrize("size", [(8, 6), (7, 5), (1, 1)])
def test_opencv_and_numpy_agree(
    monkeypatch: pytest.MonkeyPatch, name: str, size: tuple[int, int]
) -> None:
    pytest.importorskip("cv2")
    planes, info = planes_of(name, *size)
    fast = convert.to_rgb(planes, info).astype(int)
    monkeypatch.setattr(convert, "opencv", lambda: None)
    plain = convert.to_rgb(planes, info).astype(int)
    assert fast.shape == (size[1], size[0], 3)
    assert np.abs(fast - plain).max() <= 1


@pytest.mark.parametrize("matrix", ["bt601", "bt709", "bt2020"])
def test_values_of_a_colour_come_back(matrix: str) -> None:
    info = VideoFormat.make("I420", 2, 2, matrix)
    for colour in [(1, 0, 0), (0.2, 0.7, 0.4), (0, 0, 1), (1, 1, 1)]:
        y, u, v = (
            np.full((2, 2), round(x), np.uint8) for x in convert.rgb_to_yuv_values(*colour, info)
        )
        back = convert.to_rgb([y, u[:1, :1], v[:1, :1]], info)[0, 0]
        assert np.abs(back / 255 - colour).max() < 0.01
