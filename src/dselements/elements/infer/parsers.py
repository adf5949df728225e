"""Output parsers: built-in layouts, and loading of the user's own."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError, ModelError, ParserError
from .detections import Detections, Floats, Parser, ParserContext

Layers = Mapping[str, npt.NDArray[Any]]
Shapes = Mapping[str, tuple["int | None", ...]]

# The size that DetectNet v2's outputs are scaled by (fixed when such a model is trained).
DETECTNET_BOX_NORM = np.float32(35.0)


def _select(scores: npt.NDArray[Any], context: ParserContext) -> tuple[Any, Any]:
    """Rows and classes of scores [n, classes] that reach their class's threshold."""
    count = min(scores.shape[1], context.num_classes)
    rows, class_ids = np.nonzero(scores[:, :count] >= context.pre_cluster_thresholds[:count])
    return rows, class_ids


def _from_corners(
    x1: npt.NDArray[Any],
    y1: npt.NDArray[Any],
    x2: npt.NDArray[Any],
    y2: npt.NDArray[Any],
    context: ParserContext,
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Boxes [n, 4] clipped to the network's input, and which of them are not inside out."""
    width, height = np.float32(context.network_width), np.float32(context.network_height)
    boxes = np.empty((len(x1), 4), np.float32)
    np.clip(x1, 0, width, out=boxes[:, 0])
    np.clip(y1, 0, height, out=boxes[:, 1])
    np.subtract(np.clip(x2, 0, width), boxes[:, 0], out=boxes[:, 2])
    np.subtract(np.clip(y2, 0, height), boxes[:, 1], out=boxes[:, 3])
    return boxes, (boxes[:, 2] >= 0) & (boxes[:, 3] >= 0)


def parse_detectnet(layers: Layers, context: ParserContext) -> Detections:
    """nvinfer's default: layers whose names hold ``bbox`` [4C, H, W] and ``cov`` [C, H, W].

    A grid cell gives the distances from its centre to the four sides, in units of 35 pixels.
    """
    bbox = next(array for name, array in layers.items() if "bbox" in name)
    cov = next(array for name, array in layers.items() if "cov" in name)
    grid_h, grid_w = cov.shape[1:]
    # strides are rounded up
    stride_x = -(-context.network_width // grid_w)
    stride_y = -(-context.network_height // grid_h)
    count = min(len(cov), context.num_classes)
    thresholds = context.pre_cluster_thresholds[:count, None, None]
    class_ids, rows, columns = np.nonzero(cov[:count] >= thresholds)
    sides = bbox.reshape(-1, 4, grid_h, grid_w)[class_ids, :, rows, columns]
    norm = DETECTNET_BOX_NORM
    x = (columns * stride_x + 0.5).astype(np.float32) / norm
    y = (rows * stride_y + 0.5).astype(np.float32) / norm
    x1, y1 = (sides[:, 0] - x) * -norm, (sides[:, 1] - y) * -norm
    x2, y2 = (sides[:, 2] + x) * norm, (sides[:, 3] + y) * norm
    # Clipped to the last pixel, as nvinfer's own parser does.
    last_x, last_y = np.float32(context.network_width - 1), np.float32(context.network_height - 1)
    x1, x2 = (np.clip(np.where(v >= context.network_width, last_x, v), 0, None) for v in (x1, x2))
    y1, y2 = (np.clip(np.where(v >= context.network_height, last_y, v), 0, None) for v in (y1, y2))
    boxes = np.stack([x1, y1, x2 - x1, y2 - y1], axis=1).astype(np.float32, copy=False)
    good = (boxes[:, 2] >= 0) & (boxes[:, 3] >= 0)
    scores = cov[class_ids, rows, columns].astype(np.float32, copy=False)
    return Detections(boxes, scores, class_ids.astype(np.int64)).take(good)


def parse_ssd(layers: Layers, context: ParserContext) -> Detections:
    """SSD: boxes [A, 4] ymin, xmin, ymax, xmax in 0 to 1, and scores [A, classes].

    An anchor gives one detection for each class that reaches its threshold.
    """
    boxes_name, scores_name = _ssd_names({name: a.shape for name, a in layers.items()})
    scores, corners = layers[scores_name], layers[boxes_name]
    anchors, class_ids = _select(scores, context)
    chosen = corners[anchors].astype(np.float32, copy=False)
    width, height = np.float32(context.network_width), np.float32(context.network_height)
    boxes, good = _from_corners(
        chosen[:, 1] * width,
        chosen[:, 0] * height,
        chosen[:, 3] * width,
        chosen[:, 2] * height,
        context,
    )
    picked = scores[anchors, class_ids].astype(np.float32, copy=False)
    return Detections(boxes, picked, class_ids.astype(np.int64)).take(good)


def _yolo(rows: npt.NDArray[Any], scores: npt.NDArray[Any], context: ParserContext) -> Detections:
    """The best class of each row [n, 4] centre x, centre y, width, height in pixels."""
    class_ids = scores.argmax(axis=1)
    best = scores[np.arange(len(scores)), class_ids]
    keep = np.flatnonzero(
        (class_ids < context.num_classes)
        & (best >= context.pre_cluster_thresholds[np.minimum(class_ids, context.num_classes - 1)])
    )
    chosen = rows[keep].astype(np.float32, copy=False)
    half_w, half_h = chosen[:, 2] / 2, chosen[:, 3] / 2
    boxes, good = _from_corners(
        chosen[:, 0] - half_w,
        chosen[:, 1] - half_h,
        chosen[:, 0] + half_w,
        chosen[:, 1] + half_h,
        context,
    )
    picked = best[keep].astype(np.float32, copy=False)
    return Detections(boxes, picked, class_ids[keep].astype(np.int64)).take(good)


def parse_yolov8(layers: Layers, context: ParserContext) -> Detections:
    """YOLOv8 and its like: one layer [4 + classes, A] or its transpose; scores in 0 to 1."""
    array = next(iter(layers.values()))
    if array.shape[0] == 4 + context.num_classes:
        array = array.T
    return _yolo(array[:, :4], array[:, 4:], context)


def parse_yolov5(layers: Layers, context: ParserContext) -> Detections:
    """YOLOv5 and its like: one layer [A, 5 + classes].

    Confidence is objectness times class score.
    """
    array = next(iter(layers.values()))
    # The product is at most the objectness: only rows that could reach a threshold matter.
    array = array[array[:, 4] >= np.min(context.pre_cluster_thresholds)]
    return _yolo(array[:, :4], array[:, 5:] * array[:, 4:5], context)


def _ssd_names(shapes: Shapes) -> tuple[str, str]:
    """Names of the boxes and scores of an SSD; empty if the outputs are not such a pair."""
    if len(shapes) != 2 or any(len(shape) != 2 for shape in shapes.values()):
        return "", ""
    (first, a), (second, b) = shapes.items()
    # With four classes both have four columns: then the name decides.
    if a[1] == 4 and (b[1] != 4 or "box" in first.lower()):
        return first, second
    if b[1] == 4:
        return second, first
    return "", ""


def _layout_classes(layout: str, shapes: Shapes, num_classes: int) -> int | None:
    """Number of classes that outputs hold if they have this layout, else None."""
    if layout == "detectnet":
        cov = [shape for name, shape in shapes.items() if "cov" in name and len(shape) == 3]
        bbox = [shape for name, shape in shapes.items() if "bbox" in name and len(shape) == 3]
        if cov and bbox and cov[0][0] and bbox[0][0] == 4 * cov[0][0]:
            return cov[0][0]
    elif layout == "ssd":
        boxes, scores = _ssd_names(shapes)
        if boxes and shapes[boxes][0] == shapes[scores][0]:
            return shapes[scores][1]
    elif len(shapes) == 1:
        shape = next(iter(shapes.values()))
        if len(shape) == 2:
            if layout == "yolov8" and 4 + num_classes in shape:
                return num_classes
            if layout == "yolov5" and shape[1] == 5 + num_classes:
                return num_classes
    return None


BUILT_IN: dict[str, Parser] = {
    "detectnet": parse_detectnet,
    "ssd": parse_ssd,
    "yolov8": parse_yolov8,
    "yolov5": parse_yolov5,
}


def find_parser(
    spec: str, shapes: Shapes, num_classes: int, folder: Path | None
) -> tuple[str, Parser]:
    """The parser to use, with a name for messages.

    :param spec: a name in :data:`BUILT_IN`, ``module:function``, ``path/file.py:function``
        (relative to ``folder``), or empty: the built-in layout that fits the outputs.
    :param shapes: the outputs without their batch axis.
    :param folder: folder of the configuration file.
    :raises ConfigError: the function cannot be found or imported.
    :raises ModelError: the outputs do not fit a built-in layout.
    """
    if ":" in spec:
        return spec, load_parser(spec, folder)
    if spec and spec not in BUILT_IN:
        raise ConfigError(
            f"unknown parser {spec!r}",
            hint=f"built-in are {', '.join(BUILT_IN)}; your own is module:function",
        )
    described = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    for layout in [spec] if spec else BUILT_IN:
        count = _layout_classes(layout, shapes, num_classes)
        if count is None:
            continue
        if count != num_classes:
            raise ModelError(
                f"the model's outputs hold {count} classes, but num-detected-classes is "
                f"{num_classes}",
                hint="correct num-detected-classes and the label file",
            )
        return layout, BUILT_IN[layout]
    wanted = f"layout {spec}" if spec else "any built-in layout"
    raise ModelError(
        f"the outputs ({described}) do not fit {wanted} with {num_classes} classes",
        hint="check num-detected-classes, or set parser=module:function to your own parser",
    )


def load_parser(spec: str, folder: Path | None) -> Parser:
    """Import ``module:function`` or ``path/file.py:function``.

    :raises ConfigError: no such file, module or function, or the import raised.
    """
    module_name, _, function_name = spec.rpartition(":")
    try:
        if module_name.endswith(".py"):
            module = _import_file((folder or Path.cwd()) / module_name)
        else:
            module = importlib.import_module(module_name)
    except Exception as error:
        raise ConfigError(
            f"parser {spec}: cannot import {module_name}: {type(error).__name__}: {error}",
            hint="check PYTHONPATH, or name a file: parser=path/file.py:function",
        ) from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ConfigError(f"parser {spec}: {module_name} has no function {function_name!r}")
    return cast(Parser, function)


def _import_file(path: Path) -> Any:
    path = path.resolve()
    name = f"dselements_parser_{path.stem}_{abs(hash(str(path))):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look the module up by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def call_parser(name: str, parser: Parser, layers: Layers, context: ParserContext) -> object:
    """Run a parser. :raises ParserError: it raised; the cause is chained."""
    try:
        return parser(layers, context)
    except Exception as error:
        raise ParserError(
            f"parser {name} raised {type(error).__name__}: {error}",
            hint="a parser gets one frame's layers by name and a ParserContext",
        ) from error
