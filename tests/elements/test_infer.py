"""dsinfer in pipelines: real video against a direct run, batches, bad input."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst  # noqa: E402

import dselements as ds  # noqa: E402
from dselements import assets  # noqa: E402
from dselements.errors import AssetError  # noqa: E402

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
cv2 = pytest.importorskip("cv2")

TIMEOUT_S = 60
UNTRACKED = 0xFFFFFFFFFFFFFFFF
RED, GREEN = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    Gst.init(None)
    ds.register()


# -- a model of our own ---------------------------------------------------------
# Two boxes a frame, whose scores are the mean of red and of blue. Box 0 is the left half, box 1
# the lower right quarter.
BOXES = np.array([[0, 0, 1, 0.5], [0.5, 0.5, 1, 1]], np.float32)  # ymin, xmin, ymax, xmax

CONFIG = """\
[property]
onnx-file=model.onnx
labelfile-path=labels.txt
num-detected-classes=2
gie-unique-id=7
batch-size=2
network-input-order=1
cluster-mode=2
[class-attrs-all]
pre-cluster-threshold=0.1
[class-attrs-1]
border-color=0;1;0;1
bg-color=0;0;1;0.5
"""


def save_model(path: Path) -> None:
    helper, proto = onnx.helper, onnx.TensorProto
    pick = np.array([[1 / 255, 0], [0, 0], [0, 1 / 255]], np.float32)  # red → 0, blue → 1
    nodes = [
        helper.make_node("Cast", ["image"], ["float"], to=proto.FLOAT),
        helper.make_node("ReduceMean", ["float"], ["mean"], axes=[1, 2], keepdims=0),
        helper.make_node("MatMul", ["mean", "pick"], ["two"]),
        helper.make_node("Unsqueeze", ["two", "axis"], ["row"]),
        helper.make_node("Mul", ["row", "eye"], ["scores"]),  # anchor i shows class i only
        helper.make_node("Mul", ["row", "zero"], ["nothing"]),
        helper.make_node("ReduceSum", ["nothing", "axes"], ["none"], keepdims=1),
        helper.make_node("Add", ["none", "corners"], ["boxes"]),
    ]
    constants = {
        "pick": pick,
        "axis": np.array([1], np.int64),
        "eye": np.eye(2, dtype=np.float32)[None],
        "zero": np.zeros((1, 1, 1), np.float32),
        "axes": np.array([1, 2], np.int64),
        "corners": BOXES[None],
    }
    graph = helper.make_graph(
        nodes,
        "halves",
        [helper.make_tensor_value_info("image", proto.UINT8, ["N", 16, 16, 3])],
        [
            helper.make_tensor_value_info("boxes", proto.FLOAT, ["N", 2, 4]),
            helper.make_tensor_value_info("scores", proto.FLOAT, ["N", 2, 2]),
        ],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    save_model(tmp_path / "model.onnx")
    (tmp_path / "labels.txt").write_text("left\nlower right\n")
    path = tmp_path / "config.txt"
    path.write_text(CONFIG)
    return path


# -- running pipelines ------------------------------------------------------------
@dataclass
class Seen:
    """What came out of dsinfer: per buffer, per frame, the objects' values."""

    buffers: list[list[list[dict[str, Any]]]] = field(default_factory=list)
    frames: list[list[dict[str, Any]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    stats: dict[str, int] = field(default_factory=dict)


FIELDS = (
    "class_id", "confidence", "label", "rect", "object_id", "unique_component_id", "detector_bbox",
    "display_text", "border_width", "border_color", "has_bg_color", "bg_color", "font_size",
)


def run(description: str, element: str = "infer") -> Seen:
    pipeline = Gst.parse_launch(description)
    seen = Seen()

    def look(_pad: Any, info: Any) -> Any:
        batch = ds.Batch.from_buffer(info.get_buffer())
        frames = []
        for frame in batch.frames:
            seen.frames.append({name: getattr(frame, name) for name in ("bInferDone", "source_id")})
            frames.append([{name: getattr(o, name) for name in FIELDS} for o in frame.objects])
        seen.buffers.append(frames)
        batch.close()
        return Gst.PadProbeReturn.OK

    infer = pipeline.get_by_name(element)
    infer.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, look)
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    wanted = Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING
    try:
        while True:
            message = bus.timed_pop_filtered(TIMEOUT_S * Gst.SECOND, wanted)
            assert message is not None, "the pipeline hangs"
            if message.type == Gst.MessageType.WARNING:
                seen.warnings.append(str(message.parse_warning()))
                continue
            if message.type == Gst.MessageType.ERROR:
                problem, detail = message.parse_error()
                seen.error = f"{problem.message}\n{detail}"
            break
        stats = infer.get_property("stats")
        seen.stats = {
            stats.nth_field_name(i): stats.get_value(stats.nth_field_name(i))
            for i in range(stats.n_fields())
        }
    finally:
        pipeline.set_state(Gst.State.NULL)
    return seen
