"""The detector: frames in, detections out. No GStreamer here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...backends import Backend, TensorSpec, open_backend
from ...errors import ConfigError, ModelError
from .cluster import cluster
from .detections import Detections, ParserContext, check_result
from .labels import read_labels
from .parsers import call_parser, find_parser
from .postprocess import FrameMapper
from .preprocess import CHANNELS, GRAY, NetworkInput, Preprocessor
from .settings import InferSettings

__all__ = ["Detector", "Pixels", "pixels_of"]

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


class Detector:
    """A loaded model with nvinfer's steps before and after it.

    :param settings: checked settings.
    :param backend: the engine; opened from ``settings.onnx_file`` when omitted.
    :raises ModelError: the model is broken, or its inputs or outputs do not fit.
    :raises ConfigError: settings contradict the model, the labels or each other.
    :raises MissingExtraError: onnxruntime or OpenCV is not installed.
    """

    def __init__(self, settings: InferSettings, backend: Backend | None = None) -> None:
        self.settings = settings
        self.warnings = list(settings.warnings)
        self._where = f"{settings.source}: " if settings.source else ""
        self.labels: list[str] = []
        if settings.labelfile_path is not None:
            self.labels = read_labels(settings.labelfile_path)
        self.num_classes = self._count_classes()
        self.attrs = tuple(settings.attrs(index) for index in range(self.num_classes))
        self.backend = backend or open_backend(
            settings.onnx_file, threads=settings.intra_op_threads
        )
        self._input = self._find_input()
        self._outputs = self._find_outputs()
        self.network = self._network_input()
        self.preprocess = Preprocessor(self.network, settings)
        self.gray = settings.model_color_format == GRAY
        self._size, self._fixed_batch = self._batch_size()
        self._buffer = self.preprocess.new_batch(self._size)
        thresholds = [item.pre_cluster_threshold for item in self.attrs]
        self.context = ParserContext(
            self.network.width,
            self.network.height,
            self.num_classes,
            np.array(thresholds, np.float32),
            self.attrs,
            tuple(self.labels),
        )
        folder = Path(settings.source).resolve().parent if settings.source else None
        shapes = {spec.name: spec.shape[1:] for spec in self._outputs}
        self.parser_name, self._parser = find_parser(
            settings.parser, shapes, self.num_classes, folder
        )
        self._map = FrameMapper(
            self.attrs, settings.filter_out_class_ids, settings.crop_objects_to_roi_boundary
        )
        self._check_class_ids()
        self._batches = 0
        self.inferences = 0
        """Calls of the engine."""
        self.inferred_frames = 0
        self.inference_ns = 0
        """Time in the engine, summed."""
        self.inference_ns_max = 0

    # -- set-up ---------------------------------------------------------------
    def _count_classes(self) -> int:
        wanted, labels = self.settings.num_detected_classes, len(self.labels)
        if wanted is None:
            if not labels:
                raise ConfigError(
                    f"{self._where}num-detected-classes and labelfile-path are both missing",
                    hint="set num-detected-classes to the number of classes of the model",
                )
            return labels
        if self.labels and labels < wanted:
            raise ConfigError(
                f"{self.settings.labelfile_path}: {labels} labels, but num-detected-classes is "
                f"{wanted}",
                hint="write one label a line for every class",
            )
        if labels > wanted:
            self.warnings.append(
                f"{self.settings.labelfile_path}: {labels} labels, but num-detected-classes is "
                f"{wanted}: the last {labels - wanted} are not used"
            )
        return wanted

    def _check_class_ids(self) -> None:
        groups = self.settings.class_attrs
        for what, ids in (
            ("class-attrs", groups),
            ("filter-out-class-ids", self.settings.filter_out_class_ids),
        ):
            beyond = [index for index in ids if index >= self.num_classes]
            if beyond:
                raise ConfigError(
                    f"{self._where}{what} names class {min(beyond)}, but there are "
                    f"{self.num_classes} classes"
                )

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

    # -- use ------------------------------------------------------------------
    def due(self) -> bool:
        """Counts one batch; True if it is to be inferred (one of ``interval`` + 1)."""
        due = self._batches % (self.settings.interval + 1) == 0
        self._batches += 1
        return due

    def restart(self) -> None:
        """The next batch is inferred (a new stream begins)."""
        self._batches = 0

    def detect(self, frames: Sequence[OpenPixels]) -> list[Detections]:
        """Detections of each frame, in pixels of that frame.

        :param frames: one function a frame that opens its pixels. Frames are opened in order, one
            at a time, and closed as soon as they are in the network's input.
        :raises ParserError: the parser raised or returned what is not detections.
        :raises ModelError: the engine failed.
        """
        found: list[Detections] = []
        for start in range(0, len(frames), self._size):
            found += self._detect_part(frames[start : start + self._size])
        return found

    def _detect_part(self, frames: Sequence[OpenPixels]) -> list[Detections]:
        placed = []
        for slot, frame in enumerate(frames):
            with frame() as pixels:
                size = (pixels.array.shape[1], pixels.array.shape[0])
                placement = self.preprocess(pixels.array, pixels.layout, self._buffer[slot])
            placed.append((placement, size))
        layers = self._run(len(frames))
        found = []
        for slot, (placement, size) in enumerate(placed):
            one = {name: array[slot] for name, array in layers.items()}
            answer = call_parser(self.parser_name, self._parser, one, self.context)
            checked = check_result(self.parser_name, answer)
            kept = cluster(checked, self.attrs, self.settings.cluster_mode)
            found.append(self._map(kept, placement, size))
        return found

    def _run(self, count: int) -> Mapping[str, npt.NDArray[Any]]:
        size = self._size if self._fixed_batch else count
        # Slots beyond count hold older frames; what comes of them is not looked at.
        start = time.perf_counter_ns()
        outputs = self.backend.run({self._input.name: self._buffer[:size]})
        took = time.perf_counter_ns() - start
        self.inferences += 1
        self.inferred_frames += count
        self.inference_ns += took
        self.inference_ns_max = max(self.inference_ns_max, took)
        layers = {spec.name: outputs[spec.name] for spec in self._outputs}
        for name, array in layers.items():
            if array.ndim == 0 or len(array) != size:
                raise ModelError(
                    f"{self.settings.onnx_file}: output {name} has shape {list(array.shape)} for a "
                    f"batch of {size}",
                    hint="each output needs the batch as its first axis",
                )
        return layers

    def label(self, class_id: int) -> str:
        """Label of a class; empty without a label file, as in nvinfer."""
        return self.labels[class_id] if class_id < len(self.labels) else ""

    def close(self) -> None:
        """Give the model back."""
        self.backend.close()
