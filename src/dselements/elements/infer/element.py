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
from .logic import Detector, Pixels, pixels_of
from .settings import ClassAttrs, load_settings


@element(
    "dsinfer",
    description="Detects objects with an ONNX model; reads nvinfer's configuration files",
    klass="Filter/Analyzer/Video",
)
class Infer(MetaTransform):
    """See :mod:`dselements.elements.infer`."""

    pixels = "read"
    create_meta = True

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
        -1, min=-1, max=1024, help="Threads of one inference; 0 all cores, -1 as in the file",
        mutable=False,
    )

    _detector: Detector | None = None
    _colors: list[tuple[int, ClassAttrs]] = []
