"""A model that takes images: its input filled from pixels, and run. No GStreamer here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...backends import Backend, TensorSpec, open_backend
from ...errors import ConfigError, ModelError
from .preprocess import CHANNELS, GRAY, NetworkInput, Placement, Preprocessor
from .settings import InferSettings

__all__ = ["Network", "OpenPixels", "Pixels", "pixels_of"]

INPUT_DTYPES = (np.uint8, np.float16, np.float32)


@dataclass(frozen=True)
class Pixels:
    """One frame's pixels."""

    array: npt.NDArray[np.uint8]
    """[height, width, channels], or [height, width] for GRAY8."""
    layout: str
    """GStreamer's name of the packed format."""


OpenPixels = Callable[[], AbstractContextManager[Pixels]]


def pixels_of(surface: Any, *, gray: bool) -> Pixels:
    """A surface's pixels, converted to RGB only if they cannot be scaled as they are.

    Frames in NVMM are copied to system memory.

    :param gray: the network takes one channel, for which a luma plane is enough.
    """
    name = str(surface.format.format)
    if name in CHANNELS or name == "GRAY8":
        return Pixels(_in_host(surface.array), name)
    if gray:
        return Pixels(_in_host(surface.planes[0]), "GRAY8")
    return Pixels(surface.rgb(), "RGB")


def _in_host(view: Any) -> npt.NDArray[np.uint8]:
    """The view itself in system memory; a copy of one in the GPU's."""
    return view if isinstance(view, np.ndarray) else view.numpy()


class Network:
    """A loaded model and the batch that is its input.

    :param settings: checked settings.
    :param backend: the engine; opened from ``settings.onnx_file`` when omitted.
    :raises ModelError: the model is broken, or its inputs or outputs do not fit.
    :raises ConfigError: settings contradict the model.
    :raises MissingExtraError: onnxruntime or OpenCV is not installed.
    """

    def __init__(self, settings: InferSettings, backend: Backend | None = None) -> None:
        self.settings = settings
        self.warnings: list[str] = []
        self._where = f"{settings.source}: " if settings.source else ""
        self.backend = backend or open_backend(
            settings.onnx_file, threads=settings.intra_op_threads
        )
        self._input = self._find_input()
        self.outputs = self._find_outputs()
        """Outputs that are looked at, in order."""
        self.input = self._network_input()
        self.preprocess = Preprocessor(self.input, settings)
        self.gray = settings.model_color_format == GRAY
        """True for a network that takes one channel."""
        self.size, self._fixed_batch = self._batch_size()
        """Images of one run, at most."""
        self._buffer = self.preprocess.new_batch(self.size)
        self.inferences = 0
        """Calls of the engine."""
        self.inferred_frames = 0
        """Images in them."""
        self.inference_ns = 0
        """Time in the engine, summed."""
        self.inference_ns_max = 0

    def _find_input(self) -> TensorSpec:
        inputs = self.backend.inputs
        listed = "; ".join(map(str, inputs))
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            raise ModelError(
                f"{self.settings.onnx_file}: one input of 4 axes (a batch of images) expected, "
                f"the model has {listed or 'none'}",
                hint="export the detector with an image batch as its only input",
            )
        if inputs[0].dtype not in INPUT_DTYPES:
            raise ModelError(
                f"{self.settings.onnx_file}: input {listed} is none of uint8, float16, float32"
            )
        return inputs[0]

    def _find_outputs(self) -> tuple[TensorSpec, ...]:
        outputs = {spec.name: spec for spec in self.backend.outputs}
        for name in self.settings.output_blob_names:
            if name not in outputs:
                raise ModelError(
                    f"{self.settings.onnx_file} has no output {name!r}",
                    hint=f"its outputs are {', '.join(outputs)}; correct output-blob-names",
                )
        return tuple(outputs[name] for name in self.settings.output_blob_names or outputs)

    def _network_input(self) -> NetworkInput:
        shape, nhwc = self._input.shape, self.settings.network_input_order == 1
        sizes: tuple[int | None, ...] = (shape[3], *shape[1:3]) if nhwc else shape[1:]
        wanted = self.settings.infer_dims
        merged = tuple(
            have or want for have, want in zip(sizes, wanted or (None,) * 3, strict=True)
        )
        if wanted is not None and merged != wanted:
            raise ConfigError(
                f"{self._where}infer-dims={';'.join(map(str, wanted))} does not fit the model's "
                f"input {self._input} read as {'NHWC' if nhwc else 'NCHW'}",
                hint="check infer-dims and network-input-order",
            )
        channels, height, width = merged
        if channels is None and height and width:
            channels = 1 if self.settings.model_color_format == GRAY else 3
        if not channels or not height or not width:
            raise ConfigError(
                f"{self._where}the model leaves its input size open ({self._input})",
                hint="set infer-dims=channels;height;width",
            )
        if channels not in (1, 3):
            other = "NCHW (0)" if nhwc else "NHWC (1)"
            raise ConfigError(
                f"{self._where}the model's input {self._input} has {channels} channels when read "
                f"as {'NHWC' if nhwc else 'NCHW'}",
                hint=f"set network-input-order to {other}",
            )
        return NetworkInput(width, height, channels, nhwc, self._input.dtype)

    def _batch_size(self) -> tuple[int, bool]:
        fixed = self._input.shape[0]
        if fixed is None:
            return self.settings.batch_size, False
        if fixed < 1:
            raise ModelError(
                f"{self.settings.onnx_file}: input {self._input} takes batches of {fixed}",
                hint="export the model with a batch of 1 or more, or a dynamic one",
            )
        if fixed < self.settings.batch_size:
            self.warnings.append(
                f"{self.settings.onnx_file} takes batches of {fixed}: batches of "
                f"{self.settings.batch_size} are inferred in parts"
            )
        return fixed, True

    def fill(self, slot: int, pixels: Pixels) -> Placement:
        """Put an image into a place of the next run; how it lies there."""
        return self.preprocess(pixels.array, pixels.layout, self._buffer[slot])

    def run(self, count: int) -> Mapping[str, npt.NDArray[Any]]:
        """Outputs by name for the first ``count`` places; each has the batch as its first axis.

        :raises ModelError: the engine failed.
        """
        size = self.size if self._fixed_batch else count
        # Slots beyond count hold older frames; what comes of them is not looked at.
        start = time.perf_counter_ns()
        outputs = self.backend.run({self._input.name: self._buffer[:size]})
        took = time.perf_counter_ns() - start
        self.inferences += 1
        self.inferred_frames += count
        self.inference_ns += took
        self.inference_ns_max = max(self.inference_ns_max, took)
        layers = {spec.name: outputs[spec.name] for spec in self.outputs}
        for name, array in layers.items():
            if array.ndim == 0 or len(array) != size:
                raise ModelError(
                    f"{self.settings.onnx_file}: output {name} has shape {list(array.shape)} for a "
                    f"batch of {size}",
                    hint="each output needs the batch as its first axis",
                )
        return layers

    def close(self) -> None:
        """Give the model back."""
        self.backend.close()
