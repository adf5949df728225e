"""The detector: frames in, detections out. No GStreamer here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...backends import Backend
from ...errors import ConfigError
from .cluster import cluster
from .detections import Detections, ParserContext, check_result
from .labels import read_labels
from .network import Network, OpenPixels
from .parsers import call_parser, find_parser
from .postprocess import FrameMapper
from .settings import InferSettings

__all__ = ["Detector"]


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
        self.model = Network(settings, backend)
        self.warnings += self.model.warnings
        self.network = self.model.input
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
        shapes = {spec.name: spec.shape[1:] for spec in self.model.outputs}
        self.parser_name, self._parser = find_parser(
            settings.parser, shapes, self.num_classes, folder
        )
        self._map = FrameMapper(
            self.attrs, settings.filter_out_class_ids, settings.crop_objects_to_roi_boundary
        )
        self._check_class_ids()
        self._batches = 0

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
        for start in range(0, len(frames), self.model.size):
            found += self._detect_part(frames[start : start + self.model.size])
        return found

    def _detect_part(self, frames: Sequence[OpenPixels]) -> list[Detections]:
        placed = []
        for slot, frame in enumerate(frames):
            with frame() as pixels:
                size = (pixels.array.shape[1], pixels.array.shape[0])
                placement = self.model.fill(slot, pixels)
            placed.append((placement, size))
        layers = self.model.run(len(frames))
        found = []
        for slot, (placement, size) in enumerate(placed):
            one = {name: array[slot] for name, array in layers.items()}
            answer = call_parser(self.parser_name, self._parser, one, self.context)
            checked = check_result(self.parser_name, answer)
            kept = cluster(checked, self.attrs, self.settings.cluster_mode)
            found.append(self._map(kept, placement, size))
        return found

    def label(self, class_id: int) -> str:
        """Label of a class; empty without a label file, as in nvinfer."""
        return self.labels[class_id] if class_id < len(self.labels) else ""

    def close(self) -> None:
        """Give the model back."""
        self.model.close()
