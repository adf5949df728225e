"""nvinfer's pre-processing: crop to even size, scale, pad, normalise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError, MissingExtraError
from .settings import InferSettings

RGB, BGR, GRAY = 0, 1, 2

# Where red, green and blue are in packed formats that can be scaled as they are.
CHANNELS: dict[str, tuple[int, int, int]] = {
    "RGB": (0, 1, 2),
    "RGBA": (0, 1, 2),
    "RGBx": (0, 1, 2),
    "BGR": (2, 1, 0),
    "BGRA": (2, 1, 0),
    "BGRx": (2, 1, 0),
}
# Weights of luma, ITU-R BT.601.
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class NetworkInput:
    """The model's input for one frame."""

    width: int
    height: int
    channels: int
    nhwc: bool
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one frame, in the network's order."""
        if self.nhwc:
            return self.height, self.width, self.channels
        return self.channels, self.height, self.width


@dataclass(frozen=True)
class Placement:
    """How a frame lies in the network's input: network = (frame - crop) * ratio + offset."""

    crop: tuple[int, int, int, int]
    """left, top, width, height of the part of the frame that was used; pixels, all even."""
    size: tuple[int, int]
    """Width and height of the scaled frame in the network's input."""
    offset: tuple[int, int]
    """Left and top padding."""
    ratio: tuple[float, float]
    """Horizontal and vertical scale, network over frame."""


def place(
    frame: tuple[int, int], network: tuple[int, int], *, keep_aspect: bool, symmetric: bool
) -> Placement:
    """Where a frame goes.

    :param frame: width and height; odd sizes lose their last column or row.
    :param network: width and height.
    :param keep_aspect: fit (sizes cut to whole pixels) instead of stretching.
    :param symmetric: padding on both sides instead of right and bottom.
    """
    width, height = frame[0] // 2 * 2, frame[1] // 2 * 2
    if width <= 0 or height <= 0:
        raise ConfigError(f"a frame of {frame[0]}x{frame[1]} pixels is too small to infer on")
    size = network
    if keep_aspect:
        fit_height = network[0] * height / width
        if fit_height <= network[1]:
            size = (network[0], int(fit_height))
        else:
            size = (int(network[1] * width / height), network[1])
        size = (max(size[0], 1), max(size[1], 1))
    offset = (0, 0)
    if keep_aspect and symmetric:
        offset = ((network[0] - size[0]) // 2, (network[1] - size[1]) // 2)
    ratio = (size[0] / width, size[1] / height)
    return Placement((0, 0, width, height), size, offset, ratio)


class Preprocessor:
    """Writes frames into the network's input batch.

    :raises ConfigError: the settings do not fit the model's input.
    :raises MissingExtraError: OpenCV is not installed.
    """

    def __init__(self, network: NetworkInput, settings: InferSettings) -> None:
        try:
            import cv2
        except ImportError as error:
            raise MissingExtraError(
                "OpenCV is not installed", hint="pip install 'dselements[infer]'"
            ) from error
        self._cv2 = cv2
        self.network = network
        self._settings = settings
        self._filter = cv2.INTER_LINEAR if settings.scaling_filter else cv2.INTER_NEAREST
        self._scale = np.float32(settings.net_scale_factor)
        self._mean = self._load_mean()
        # One for each size of frame, so that its padding stays black.
        self._canvases: dict[tuple[int, ...], npt.NDArray[np.uint8]] = {}
        self._placements: dict[tuple[int, int], Placement] = {}

    def _load_mean(self) -> npt.NDArray[np.float32] | None:
        """[channels, 1, 1] or [channels, height, width]; None subtracts nothing."""
        network, settings = self.network, self._settings
        where = f"{settings.source}: " if settings.source else ""
        wanted = 1 if settings.model_color_format == GRAY else 3
        if network.channels != wanted:
            name = ("RGB", "BGR", "GRAY")[settings.model_color_format]
            raise ConfigError(
                f"{where}the model takes {network.channels} channels, but "
                f"model-color-format={settings.model_color_format} ({name}) gives {wanted}",
                hint="check model-color-format, network-input-order and infer-dims",
            )
        plain = settings.net_scale_factor == 1.0 and not settings.offsets and not settings.mean_file
        if network.dtype == np.uint8 and not plain:
            raise ConfigError(
                f"{where}the model takes uint8 pixels, so that net-scale-factor, offsets and "
                "mean-file cannot be applied",
                hint="remove them; such a model normalises by itself",
            )
        if settings.mean_file is not None:
            mean = read_ppm(settings.mean_file)
            size = (network.height, network.width)
            if mean.shape[:2] != size or wanted != 3:
                raise ConfigError(
                    f"{settings.mean_file}: the mean image is {mean.shape[1]}x{mean.shape[0]} RGB, "
                    f"the network {size[1]}x{size[0]} with {wanted} channels"
                )
            return np.ascontiguousarray(mean.transpose(2, 0, 1), np.float32)
        if settings.offsets:
            if len(settings.offsets) != network.channels:
                raise ConfigError(
                    f"{where}offsets has {len(settings.offsets)} values, the model "
                    f"{network.channels} channels"
                )
            return np.array(settings.offsets, np.float32).reshape(-1, 1, 1)
        return None

    def new_batch(self, size: int) -> npt.NDArray[Any]:
        """A zeroed input for ``size`` frames."""
        return np.zeros((size, *self.network.shape), self.network.dtype)

    def __call__(
        self, pixels: npt.NDArray[np.uint8], layout: str, out: npt.NDArray[Any]
    ) -> Placement:
        """Scale, pad and normalise one frame.

        :param pixels: [height, width, channels] (or [height, width] for GRAY8), uint8.
        :param layout: GStreamer's name of the format: one of :data:`CHANNELS` or GRAY8.
        :param out: the frame's slot in the batch, of :attr:`NetworkInput.shape`; overwritten.
        :returns: how the frame lies in it.
        """
        network = self.network
        frame = (pixels.shape[1], pixels.shape[0])
        placement = self._placements.get(frame)
        if placement is None:
            placement = self._placements[frame] = place(
                frame,
                (network.width, network.height),
                keep_aspect=self._settings.maintain_aspect_ratio,
                symmetric=self._settings.symmetric_padding,
            )
        left, top, width, height = placement.crop
        cropped = pixels[top : top + height, left : left + width]
        planes = self._pick(self._scale_frame(cropped, placement), layout)
        self._normalise(planes, out)
        return placement

    def _scale_frame(
        self, pixels: npt.NDArray[np.uint8], placement: Placement
    ) -> npt.NDArray[np.uint8]:
        """The frame at the network's size, black where it does not reach.

        The result is the frame itself or a buffer that the next call overwrites.
        """
        network, size = self.network, placement.size
        same = (pixels.shape[1], pixels.shape[0]) == size
        if same and size == (network.width, network.height):
            return pixels
        key = (*pixels.shape, *placement.offset)
        canvas = self._canvases.get(key)
        if canvas is None:
            shape = (network.height, network.width, *pixels.shape[2:])
            canvas = self._canvases[key] = np.zeros(shape, np.uint8)
        x, y = placement.offset
        target = canvas[y : y + size[1], x : x + size[0]]
        if same:
            target[...] = pixels
        else:
            self._cv2.resize(pixels, size, dst=target, interpolation=self._filter)
        return canvas

    def _pick(self, pixels: npt.NDArray[np.uint8], layout: str) -> list[npt.NDArray[np.uint8]]:
        """One plane for each channel of the network."""
        if layout == "GRAY8":
            plane = pixels if pixels.ndim == 2 else pixels[:, :, 0]
            return [plane] * self.network.channels
        red, green, blue = CHANNELS[layout]
        order: Sequence[int] = (red, green, blue)
        if self._settings.model_color_format == GRAY:
            rgb = pixels[:, :, list(order)].astype(np.float32)
            luma = rgb @ np.array(LUMA, np.float32)
            return [np.rint(luma).astype(np.uint8)]
        if self._settings.model_color_format == BGR:
            order = (blue, green, red)
        return [pixels[:, :, index] for index in order]

    def _normalise(self, planes: list[npt.NDArray[np.uint8]], out: npt.NDArray[Any]) -> None:
        """``net-scale-factor * (x - mean)`` in float32; uint8 models get x."""
        for index, plane in enumerate(planes):
            target = out[:, :, index] if self.network.nhwc else out[index]
            if self.network.dtype == np.uint8:
                target[...] = plane
            elif self._mean is not None:
                target[...] = (plane - self._mean[index]) * self._scale
            else:
                np.multiply(plane, self._scale, out=target, dtype=np.float32, casting="same_kind")


def read_ppm(path: Path) -> npt.NDArray[np.uint8]:
    """A PPM image, plain (P3) or raw (P6), as [height, width, 3] RGB.

    :raises ConfigError: not such a file, more than 8 bits a sample, or cut off.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: mean-file cannot be read: {error.strerror}") from error
    magic = data[:2]
    if magic not in (b"P3", b"P6"):
        raise ConfigError(f"{path}: mean-file is not a PPM image (P3 or P6)")
    numbers: list[int] = []
    position = 2
    try:
        while len(numbers) < 3:
            token, position = _ppm_token(data, position)
            numbers.append(int(token))
        width, height, most = numbers
        if not 0 < most < 256 or width <= 0 or height <= 0:
            raise ValueError(f"size {width}x{height}, largest value {most}")
        count = width * height * 3
        if magic == b"P6":  # exactly one white-space byte, then the samples
            raw = np.frombuffer(data, np.uint8, count, position + 1)
        else:
            raw = np.array(data[position:].split()[:count], np.int64)
            if len(raw) != count or (raw < 0).any() or (raw > most).any():
                raise ValueError("too few samples, or samples out of range")
    except ValueError as error:
        raise ConfigError(f"{path}: mean-file is broken: {error}") from error
    return raw.astype(np.uint8).reshape(height, width, 3)


def _ppm_token(data: bytes, position: int) -> tuple[bytes, int]:
    """Next word of the header and the position after it; ``#`` starts a comment."""
    while position < len(data):
        if data[position : position + 1].isspace():
            position += 1
        elif data[position : position + 1] == b"#":
            end = data.find(b"\n", position)
            position = len(data) if end < 0 else end + 1
        else:
            end = position
            while end < len(data) and not data[end : end + 1].isspace():
                end += 1
            return data[position:end], end
    raise ValueError("the header is cut off")
