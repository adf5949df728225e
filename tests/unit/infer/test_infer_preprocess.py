"""Pre-processing by hand-made numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dselements.elements.infer.preprocess import NetworkInput, Preprocessor, place, read_ppm
from dselements.elements.infer.settings import InferSettings
from dselements.errors import ConfigError

cv2 = pytest.importorskip("cv2")

SETTINGS = InferSettings(onnx_file=Path("model.onnx"))
RNG = np.random.default_rng(7)


def network(
    width: int, height: int, channels: int = 3, nhwc: bool = False, dtype: Any = np.float32
) -> NetworkInput:
    return NetworkInput(width, height, channels, nhwc, np.dtype(dtype))


def run(
    net: NetworkInput, settings: InferSettings, pixels: np.ndarray, layout: str
) -> tuple[np.ndarray, Any]:
    pre = Preprocessor(net, settings)
    batch = pre.new_batch(1)
    batch[...] = 77  # what was there before must not show
    return batch[0], pre(pixels, layout, batch[0])


# frame, network, keep aspect, symmetric → crop size, size, offset
PLACES = [
    ((768, 576), (300, 300), False, False, (768, 576), (300, 300), (0, 0)),
    ((769, 577), (300, 300), False, False, (768, 576), (300, 300), (0, 0)),
    # 300 * 576 / 768 = 225
    ((768, 576), (300, 300), True, False, (768, 576), (300, 225), (0, 0)),
    ((768, 576), (300, 300), True, True, (768, 576), (300, 225), (0, 37)),
    # 640 * 1080 / 1920 = 360
    ((1920, 1080), (640, 640), True, True, (1920, 1080), (640, 360), (0, 140)),
    # 416 * 640 / 272 > 416, so the width is the limit: 416 * 272 / 640 = 176.8 → 176
    ((640, 272), (416, 416), True, True, (640, 272), (416, 176), (0, 120)),
    # tall: 300 * 200 / 401→400 = 150
    ((201, 401), (300, 300), True, True, (200, 400), (150, 300), (75, 0)),
]


@pytest.mark.parametrize(("frame", "net", "keep", "symmetric", "crop", "size", "offset"), PLACES)
def test_place(
    frame: Any, net: Any, keep: bool, symmetric: bool, crop: Any, size: Any, offset: Any
) -> None:
    placement = place(frame, net, keep_aspect=keep, symmetric=symmetric)
    assert placement.crop == (0, 0, *crop)
    assert (placement.size, placement.offset) == (size, offset)
    assert placement.ratio == (size[0] / crop[0], size[1] / crop[1])


def test_a_frame_of_one_pixel_is_refused() -> None:
    with pytest.raises(ConfigError, match="1x8 pixels is too small"):
        place((1, 8), (300, 300), keep_aspect=False, symmetric=False)


@pytest.mark.parametrize("nhwc", [False, True])
@pytest.mark.parametrize(
    ("layout", "color", "order"),
    [
        ("RGB", 0, (0, 1, 2)),
        ("RGBA", 0, (0, 1, 2)),
        ("RGBx", 1, (2, 1, 0)),
        ("BGR", 0, (2, 1, 0)),
        ("BGRA", 1, (0, 1, 2)),
        ("BGRx", 0, (2, 1, 0)),
    ],
)
def test_colours_scale_and_offsets(
    layout: str, color: int, order: tuple[int, int, int], nhwc: bool
) -> None:
    pixels = RNG.integers(0, 256, (4, 6, len(layout)), dtype=np.uint8)
    settings = replace(
        SETTINGS, net_scale_factor=0.5, offsets=(10.0, 20.0, 30.0), model_color_format=color
    )
    out, _ = run(network(6, 4, nhwc=nhwc), settings, pixels, layout)
    wanted = np.empty((3, 4, 6), np.float32)
    for index, channel in enumerate(order):
        for y in range(4):
            for x in range(6):
                wanted[index, y, x] = 0.5 * (pixels[y, x, channel] - settings.offsets[index])
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, wanted.transpose(1, 2, 0) if nhwc else wanted)


def test_scale_is_applied_in_float32() -> None:
    pixels = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, axis=2)
    settings = replace(SETTINGS, net_scale_factor=0.00392156862745098)
    out, _ = run(network(16, 16), settings, pixels, "RGB")
    wanted = np.arange(256, dtype=np.float32) * np.float32(0.00392156862745098)
    np.testing.assert_array_equal(out[0].ravel(), wanted)


def test_half_precision_input() -> None:
    pixels = np.full((2, 2, 3), 100, np.uint8)
    out, _ = run(
        network(2, 2, dtype=np.float16), replace(SETTINGS, net_scale_factor=0.01), pixels, "RGB"
    )
    assert out.dtype == np.float16
    assert (out == np.float16(1.0)).all()


def test_bytes_go_through_unchanged() -> None:
    pixels = RNG.integers(0, 256, (8, 8, 4), dtype=np.uint8)
    out, _ = run(network(8, 8, nhwc=True, dtype=np.uint8), SETTINGS, pixels, "RGBA")
    np.testing.assert_array_equal(out, pixels[:, :, :3])


def test_scaling_is_bilinear() -> None:
    pixels = RNG.integers(0, 256, (40, 60, 3), dtype=np.uint8)
    out, _ = run(network(30, 20, nhwc=True, dtype=np.uint8), SETTINGS, pixels, "RGB")
    # halving with half-pixel centres is the mean of each 2x2 block, rounded
    blocks = pixels.reshape(20, 2, 30, 2, 3).astype(np.float64).mean(axis=(1, 3))
    assert np.abs(out - blocks).max() <= 0.5


def test_nearest_takes_pixels_as_they_are() -> None:
    pixels = RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    settings = replace(SETTINGS, scaling_filter=0)
    out, _ = run(network(4, 4, nhwc=True, dtype=np.uint8), settings, pixels, "RGB")
    np.testing.assert_array_equal(out, pixels[::2, ::2])


@pytest.mark.parametrize("symmetric", [False, True])
def test_padding_is_black_and_normalised(symmetric: bool) -> None:
    pixels = np.full((4, 8, 3), 200, np.uint8)
    settings = replace(
        SETTINGS, maintain_aspect_ratio=True, symmetric_padding=symmetric, offsets=(1.0, 2.0, 3.0)
    )
    pre = Preprocessor(network(8, 8), settings)
    batch = pre.new_batch(1)
    for _ in range(2):  # the buffers are used again
        batch[...] = 77
        placement = pre(pixels, "RGB", batch[0])
        top = 2 if symmetric else 0
        assert placement.offset == (0, top)
        for channel in range(3):
            wanted = np.full((8, 8), -1.0 - channel, np.float32)
            wanted[top : top + 4] = 199.0 - channel
            np.testing.assert_array_equal(batch[0, channel], wanted)


def test_padding_with_scaling_and_a_padded_row() -> None:
    # rows of a GStreamer frame may be longer than the picture
    wide = np.full((20, 44, 3), 9, np.uint8)
    pixels = wide[:, :40]
    pixels[...] = 50
    settings = replace(SETTINGS, maintain_aspect_ratio=True)
    out, placement = run(network(10, 10, nhwc=True, dtype=np.uint8), settings, pixels, "RGB")
    assert placement.size == (10, 5)
    assert (out[:5] == 50).all()
    assert (out[5:] == 0).all()


def test_odd_sizes_lose_their_last_row_and_column() -> None:
    pixels = np.zeros((5, 7, 3), np.uint8)
    pixels[4], pixels[:, 6] = 255, 255
    out, placement = run(network(6, 4), SETTINGS, pixels, "RGB")
    assert placement.crop == (0, 0, 6, 4)
    assert (out == 0).all()


def test_grey_network_and_grey_frame() -> None:
    pixels = np.zeros((2, 2, 3), np.uint8)
    pixels[0, 0] = (255, 0, 0)
    pixels[0, 1] = (0, 255, 0)
    pixels[1, 0] = (0, 0, 255)
    settings = replace(SETTINGS, model_color_format=2)
    out, _ = run(network(2, 2, channels=1), settings, pixels, "RGB")
    # 255 times 0.299, 0.587, 0.114
    np.testing.assert_array_equal(out[0], [[76, 150], [29, 0]])
    gray = np.array([[1, 2], [3, 4]], np.uint8)
    out, _ = run(network(2, 2, channels=1), settings, gray, "GRAY8")
    np.testing.assert_array_equal(out[0], gray)
    out, _ = run(network(2, 2), SETTINGS, gray, "GRAY8")
    np.testing.assert_array_equal(out[2], gray)


P3 = b"P3\n# mean\n2 1\n255\n1 2 3\n4 5 6\n"
P6 = b"P6 2 1 255\n" + bytes([1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("data", [P3, P6])
def test_mean_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mean.ppm"
    path.write_bytes(data)
    np.testing.assert_array_equal(read_ppm(path), [[[1, 2, 3], [4, 5, 6]]])
    settings = replace(SETTINGS, mean_file=path, net_scale_factor=2.0, offsets=(9.0, 9.0, 9.0))
    # a network of 2x2 does not fit a mean image of 2x1
    with pytest.raises(ConfigError, match="mean image is 2x1 RGB, the network 2x2"):
        Preprocessor(network(2, 2), settings)
    pre = Preprocessor(network(2, 1), settings)
    out = pre.new_batch(1)[0]
    pre(np.full((2, 2, 3), 10, np.uint8), "RGB", out)
    np.testing.assert_array_equal(out, [[[18, 12]], [[16, 10]], [[14, 8]]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P5 2 1 255\n123456", "not a PPM image"),
        (b"P6 2 1 255\n12345", "broken"),
        (b"P6 2 1 65535\n123456123456", "broken.*65535"),
        (b"P3 2 1 255 1 2 3 4 5", "too few samples"),
        (b"P3 2 1 9 1 2 3 4 5 10", "out of range"),
        (b"P6 2", "cut off"),
        (b"P6 2 x 255\n", "broken"),
        (b"P6 0 1 255\n", "broken"),
    ],
)
def test_broken_mean_file(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "mean.ppm"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=message) as caught:
        read_ppm(path)
    assert caught.value.message.startswith(str(path))


@pytest.mark.parametrize(
    ("net", "changes", "message"),
    [
        (network(4, 4, channels=1), {}, "takes 1 channels, but model-color-format=0"),
        (network(4, 4), {"model_color_format": 2}, "takes 3 channels"),
        (network(4, 4, channels=1), {"model_color_format": 2, "offsets": (1.0, 2.0, 3.0)}, "offse"),
        (network(4, 4), {"offsets": (1.0,)}, "offsets has 1 values, the model 3 channels"),
        (network(4, 4, dtype=np.uint8), {"net_scale_factor": 0.5}, "takes uint8 pixels"),
        (network(4, 4, dtype=np.uint8), {"offsets": (1.0, 1.0, 1.0)}, "takes uint8 pixels"),
    ],
)
def test_settings_that_do_not_fit_the_model(
    net: NetworkInput, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Preprocessor(net, replace(SETTINGS, **changes))
