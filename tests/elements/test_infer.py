"""dsinfer in pipelines: real video against a direct run, batches, bad input."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst

import dselements as ds
from dselements import assets
from dselements.meta.jsonl import read_records

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
    "class_id",
    "confidence",
    "label",
    "rect",
    "object_id",
    "unique_component_id",
    "detector_bbox",
    "display_text",
    "border_width",
    "border_color",
    "has_bg_color",
    "bg_color",
    "font_size",
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


RAW = "video/x-raw,format=RGBA,width=64,height=48,framerate=10/1"


def source(pattern: str, n: int = 3) -> str:
    return f"videotestsrc num-buffers={n} pattern={pattern} ! videoconvert ! {RAW}"


# -- objects ------------------------------------------------------------------------
def test_objects_carry_nvinfers_values(config: Path) -> None:
    seen = run(f"{source('red')} ! dsinfer name=infer config-file-path={config} ! fakesink")
    assert seen.error == ""
    assert len(seen.buffers) == 3
    for (frame,) in seen.buffers:
        (obj,) = frame  # blue is 0: class 1 is below its threshold
        assert obj == {
            "class_id": 0,
            "confidence": pytest.approx(1.0, abs=1e-5),
            "label": "left",
            "rect": pytest.approx((0, 0, 32, 48), abs=0.01),
            "object_id": UNTRACKED,
            "unique_component_id": 7,
            "detector_bbox": pytest.approx((0, 0, 32, 48), abs=0.01),
            "display_text": "left",
            "border_width": 3,
            "border_color": RED,
            "has_bg_color": False,
            "bg_color": (0.0, 0.0, 0.0, 0.0),
            "font_size": 11,
        }
    assert all(frame["bInferDone"] for frame in seen.frames)
    assert seen.stats["objects-added"] == 3


def test_colours_of_a_class(config: Path) -> None:
    seen = run(f"{source('blue', 1)} ! dsinfer name=infer config-file-path={config} ! fakesink")
    ((obj,),) = seen.buffers[0]
    assert (obj["class_id"], obj["label"]) == (1, "lower right")
    assert obj["rect"] == pytest.approx((32, 24, 32, 24), abs=0.01)
    assert obj["border_color"] == GREEN
    assert (obj["has_bg_color"], obj["bg_color"]) == (True, (0.0, 0.0, 1.0, 0.5))


@pytest.mark.parametrize("pixels", ["RGBA", "BGRx", "RGB", "NV12", "I420"])
def test_formats(config: Path, pixels: str) -> None:
    text = source("red", 1).replace("format=RGBA", f"format={pixels}")
    seen = run(f"{text} ! dsinfer name=infer config-file-path={config} ! fakesink")
    assert seen.error == ""
    ((obj,),) = seen.buffers[0]
    # 8 bits of YUV do not hold pure red exactly.
    assert obj["confidence"] == pytest.approx(1.0, abs=0.02)


def test_a_batch_of_streams(config: Path) -> None:
    seen = run(
        f"dsmux name=m ! dsinfer name=infer config-file-path={config} ! fakesink "
        f"{source('red', 4)} ! m.sink_0 {source('blue', 4)} ! m.sink_1 "
        f"{source('black', 4)} ! m.sink_2"
    )
    assert seen.error == ""
    assert len(seen.buffers) == 4
    for frames in seen.buffers:
        assert [[obj["class_id"] for obj in frame] for frame in frames] == [[0], [1], []]


def test_interval_leaves_batches_out(config: Path) -> None:
    seen = run(
        f"{source('red', 7)} ! dsinfer name=infer interval=2 config-file-path={config} ! fakesink"
    )
    assert [len(frames[0]) for frames in seen.buffers] == [1, 0, 0, 1, 0, 0, 1]
    assert [frame["bInferDone"] for frame in seen.frames] == [True, False, False] * 2 + [True]


def test_properties_override_the_file(config: Path) -> None:
    seen = run(
        f"{source('red', 1)} ! dsinfer name=infer unique-id=42 filter-out-class-ids=0 "
        f"config-file-path={config} ! fakesink"
    )
    assert seen.buffers[0] == [[]]
    seen = run(
        f"{source('red', 1)} ! dsinfer name=infer unique-id=42 config-file-path={config} ! fakesink"
    )
    assert seen.buffers[0][0][0]["unique_component_id"] == 42


def test_a_parser_of_ones_own(config: Path) -> None:
    parser = config.with_name("mine.py")
    parser.write_text(
        "import numpy as np\n"
        "def parse(layers, context):\n"
        "    assert layers['scores'].shape == (2, 2)\n"
        "    w, h = context.network_width, context.network_height\n"
        "    return np.array([[0, 0, w / 2, h]]), np.array([0.5]), np.array([1])\n"
    )
    seen = run(
        f"{source('red', 1)} ! dsinfer name=infer parser={parser}:parse "
        f"config-file-path={config} ! fakesink"
    )
    assert seen.error == ""
    ((obj,),) = seen.buffers[0]
    assert (obj["class_id"], obj["confidence"]) == (1, 0.5)


# -- bad input ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("gie-unique-id=7", "gie-unikue-id=7"), ":5: unknown key"),
        (("batch-size=2", "batch-size=two"), ":6: "),
        (("onnx-file=model.onnx", "onnx-file=gone.onnx"), ":2: "),
        (("labelfile-path=labels.txt", "labelfile-path=none.txt"), "none.txt"),
        (("num-detected-classes=2", "num-detected-classes=5"), "2 labels, but"),
        (("cluster-mode=2", "cluster-mode=1"), "cluster-mode"),
        (("[property]", "[propertie]"), "propert"),
        (("network-input-order=1", "network-input-order=0"), "network-input-order"),
    ],
)
def test_a_bad_configuration_names_file_and_line(
    config: Path, change: tuple[str, str], told: str
) -> None:
    config.write_text(CONFIG.replace(*change))
    seen = run(f"{source('red', 1)} ! dsinfer name=infer config-file-path={config} ! fakesink")
    assert seen.error.startswith("starting: ")
    assert told in seen.error
    assert seen.buffers == []


def test_a_file_that_is_no_model(config: Path) -> None:
    (config.parent / "model.onnx").write_bytes(b"this is no model" * 100)
    seen = run(f"{source('red', 1)} ! dsinfer name=infer config-file-path={config} ! fakesink")
    assert seen.error.startswith("starting: ModelError: ")
    assert "model.onnx" in seen.error


def test_a_missing_configuration_is_named(tmp_path: Path) -> None:
    seen = run(
        f"{source('red', 1)} ! dsinfer name=infer config-file-path={tmp_path}/no.txt ! fakesink"
    )
    assert "no.txt" in seen.error


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise KeyError('scores')", "KeyError"),
        ("return None", "parse"),
        ("return np.zeros((1, 3)), np.zeros(1), np.zeros(1)", "[n, 4]"),
        ("return np.full((1, 4), np.nan), np.ones(1), np.zeros(1)", "NaN"),
    ],
)
def test_a_parser_that_goes_wrong_is_named(config: Path, body: str, told: str) -> None:
    parser = config.with_name("mine.py")
    parser.write_text(f"import numpy as np\ndef parse(layers, context):\n    {body}\n")
    seen = run(
        f"{source('red', 1)} ! dsinfer name=infer parser={parser}:parse "
        f"config-file-path={config} ! fakesink"
    )
    assert "ParserError" in seen.error
    assert "parse" in seen.error
    assert told.lower() in seen.error.lower()


# -- real video ---------------------------------------------------------------------------
def plain_nms(boxes: Any, scores: Any, limit: float) -> list[int]:
    """Greedy suppression, one box at a time."""
    kept: list[int] = []
    for i in sorted(range(len(scores)), key=lambda k: -scores[k]):
        for j in kept:
            x = min(boxes[i][2], boxes[j][2]) - max(boxes[i][0], boxes[j][0])
            y = min(boxes[i][3], boxes[j][3]) - max(boxes[i][1], boxes[j][1])
            shared = max(x, 0) * max(y, 0)
            both = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (boxes[i], boxes[j])) - shared
            if shared / both > limit:
                break
        else:
            kept.append(i)
    return kept


def direct_run(frames: list[Any], model: Path, threshold: float, limit: float) -> list[list[Any]]:
    """The same model on the same frames with ONNX Runtime alone: (class, score, x, y, w, h)."""
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    found = []
    for frame in frames:
        height, width = frame.shape[:2]
        image = cv2.resize(frame, (300, 300), interpolation=cv2.INTER_LINEAR)
        boxes, scores = session.run(["boxes", "scores"], {"image": image[None]})
        rows = []
        for class_id in range(scores.shape[2]):
            hits = np.flatnonzero(scores[0, :, class_id] >= threshold)
            pixels = [
                (b[1] * width, b[0] * height, b[3] * width, b[2] * height)
                for b in boxes[0, hits].astype(float).tolist()
            ]
            points = scores[0, hits, class_id].tolist()
            for k in plain_nms(pixels, points, limit):
                x1, y1, x2, y2 = pixels[k]
                x1, y1, x2, y2 = max(x1, 0), max(y1, 0), min(x2, width), min(y2, height)
                rows.append((class_id, points[k], x1, y1, x2 - x1, y2 - y1))
        found.append(sorted(rows, key=lambda r: (r[0], -r[1])))
    return found


FRAMES = 300


@pytest.mark.model
@pytest.mark.timeout(240)
def test_boxes_of_the_demo_equal_a_direct_run(tmp_path: Path) -> None:
    """What reaches objects.jsonl is what the model says outside GStreamer: 1 px, 1e-3."""
    clip, config = assets.clip("vtest"), assets.detector()
    lines = tmp_path / "objects.jsonl"
    from dselements.cli.demo.run import run as run_demo
    from dselements.cli.demo.settings import DemoSettings

    report = run_demo(
        DemoSettings(
            inputs=(str(clip),), output=tmp_path / "demo.mp4", objects=lines, config=config,
            min_confidence=0.0, classes=(), rule="", window=False, max_frames=FRAMES,
        )
    )  # fmt: skip
    assert report.error == ""
    records = list(read_records(lines))
    assert [record.frame for record in records] == list(range(FRAMES))

    grabbed: list[Any] = []
    pipeline = Gst.parse_launch(
        f"filesrc location={clip} ! decodebin ! videoconvert ! video/x-raw,format=RGB ! "
        f"appsink name=sink sync=false max-buffers=4"
    )
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    while len(grabbed) < FRAMES:
        buffer = sink.emit("pull-sample").get_buffer()
        grabbed.append(
            np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(576, 768, 3)
        )
    pipeline.set_state(Gst.State.NULL)

    text = config.read_text()
    threshold = float(re.search(r"pre-cluster-threshold=(\S+)", text)[1])
    limit = float(re.search(r"nms-iou-threshold=(\S+)", text)[1])
    expected = direct_run(grabbed, config.with_name("model.onnx"), threshold, limit)
    total = 0
    for record, rows in zip(records, expected, strict=True):
        mine = sorted(
            ((o.class_id, o.confidence, o.left, o.top, o.width, o.height) for o in record.objects),
            key=lambda r: (r[0], -r[1]),
        )
        assert [r[0] for r in mine] == [r[0] for r in rows], record.frame
        for ours, theirs in zip(mine, rows, strict=True):
            assert ours[1] == pytest.approx(theirs[1], abs=1e-3)
            assert ours[2:] == pytest.approx(theirs[2:], abs=1.0)
        total += len(rows)
    assert total > 1000
