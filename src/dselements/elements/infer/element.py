"""The GStreamer element ``dsinfer``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...element import MetaTransform, Property, element
from ...meta import Batch, Frame
from ...surface.format import FORMATS
from .detections import Detections
from .logic import Detector, Pixels, pixels_of
from .settings import load_settings


@element(
    "dsinfer",
    description="Detects objects with an ONNX model; reads nvinfer's configuration files",
    klass="Filter/Analyzer/Video",
    author="dselements",
)
class Infer(MetaTransform):
    """See :mod:`dselements.elements.infer`."""

    __gtype_name__ = "DsInfer"
    create_meta = True
    caps = f"video/x-raw,format={{{','.join(FORMATS)}}}"

    config_file_path = Property("", help="nvinfer configuration, INI or YAML", mutable=False)
    onnx_file = Property("", help="Model; overrides the file's onnx-file", mutable=False)
    labelfile_path = Property("", help="Labels; overrides labelfile-path", mutable=False)
    parser = Property(
        "",
        help="detectnet, ssd, yolov5, yolov8, module:function or path/file.py:function; "
        "overrides the file's parser",
        mutable=False,
    )
    batch_size = Property(
        0, min=0, max=1024, help="Frames inferred at once; 0 as in the file", mutable=False
    )
    interval = Property(
        -1,
        min=-1,
        max=2**31 - 1,
        help="Batches left out between two inferred ones; -1 as in the file",
        mutable=False,
    )
    unique_id = Property(
        0,
        min=0,
        max=2**31 - 1,
        help="unique_component_id of the objects; 0 as in the file, or 15",
        mutable=False,
    )
    process_mode = Property(
        1, min=1, max=2, help="1 full frames; 2 (objects) is refused", mutable=False
    )
    filter_out_class_ids = Property(
        "", help="Class ids to leave out, such as 0;2; overrides the file", mutable=False
    )
    intra_op_threads = Property(
        -1,
        min=-1,
        max=1024,
        help="Threads of one inference; 0 all cores, -1 as in the file",
        mutable=False,
    )

    _detector: Detector | None = None

    def _overrides(self) -> dict[str, Any]:
        """Properties that were set, under the configuration's names."""
        given: dict[str, Any] = {}
        for name, unset in (
            ("onnx_file", ""),
            ("labelfile_path", ""),
            ("parser", ""),
            ("batch_size", 0),
            ("interval", -1),
            ("unique_id", 0),
            ("filter_out_class_ids", ""),
            ("intra_op_threads", -1),
            ("process_mode", 1),
        ):
            value = getattr(self, name)
            if value != unset:
                given[name.replace("_", "-")] = value
        return given

    def start(self) -> None:
        path = Path(self.config_file_path) if self.config_file_path else None
        self._detector = Detector(load_settings(path, self._overrides()))
        for text in self._detector.warnings:
            self.log.warning(text)
        self._labels = np.array(
            [self._detector.label(i) for i in range(self._detector.num_classes)], object
        )

    def stop(self) -> None:
        self._detector = None

    def process(self, batch: Batch) -> None:
        detector = self._detector
        assert detector is not None  # start() ran
        if not detector.due():
            return
        frames = list(batch.frames)
        found = detector.detect([partial(self._open, frame) for frame in frames])
        for frame, detections in zip(frames, found, strict=True):
            self._attach(frame, detections)
            frame.bInferDone = True

    @contextmanager
    def _open(self, frame: Frame) -> Iterator[Pixels]:
        assert self._detector is not None
        with frame.surface() as surface:
            yield pixels_of(surface, gray=self._detector.gray)

    def _attach(self, frame: Frame, found: Detections) -> None:
        """Add objects with nvinfer's values."""
        detector = self._detector
        assert detector is not None
        if not len(found):
            return
        attrs = [detector.attrs[class_id] for class_id in found.class_ids.tolist()]
        fills = [one.bg_color for one in attrs]
        frame.add_objects(
            found.boxes,
            class_id=found.class_ids,
            confidence=found.scores,
            label=self._labels[found.class_ids],
            unique_component_id=detector.settings.unique_id,
            border_color=[one.border_color for one in attrs],
            has_bg_color=[fill is not None for fill in fills],
            bg_color=[fill or (0.0, 0.0, 0.0, 0.0) for fill in fills],
        )
