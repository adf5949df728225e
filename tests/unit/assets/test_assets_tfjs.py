"""The TensorFlow.js converter against plain numpy, which follows TensorFlow's own definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dselements.assets.tfjs import OnnxBuilder, TfjsGraph, TrunkConverter
from dselements.errors import AssetError

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

RNG = np.random.default_rng(11)


class Graph:
    """Builds a graph model's files."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"name": "x", "op": "Placeholder"}]
        self.weights: dict[str, np.ndarray] = {}

    def constant(self, name: str, value: np.ndarray) -> str:
        self.weights[name] = value.astype(np.float32)
        self.nodes.append({"name": name, "op": "Const"})
        return name

    def node(self, name: str, op: str, inputs: list[str], **attributes: Any) -> str:
        self.nodes.append({"name": name, "op": op, "input": inputs, "attr": attributes})
        return name

    def write(self, folder: Path) -> Path:
        data = b"".join(value.tobytes() for value in self.weights.values())
        cut = len(data) // 2  # shards are cut anywhere, even within a weight
        (folder / "shard1").write_bytes(data[:cut])
        (folder / "shard2").write_bytes(data[cut:])
        entries = [
            {"name": name, "shape": list(value.shape), "dtype": "float32"}
            for name, value in self.weights.items()
        ]
        document = {
            "modelTopology": {"node": self.nodes},
            "weightsManifest": [{"paths": ["shard1", "shard2"], "weights": entries}],
        }
        path = folder / "model.json"
        path.write_text(json.dumps(document))
        return path


def window(stride: int, padding: str, coded: Any = None) -> dict[str, Any]:
    return {
        "strides": {"list": {"i": ["1", str(stride), str(stride), "1"]}},
        "padding": {"s": coded or list(padding.encode())},
    }


def tf_conv(x: np.ndarray, kernel: np.ndarray, stride: int, padding: str) -> np.ndarray:
    """NHWC convolution by TensorFlow's rule: SAME pads the odd pixel at the end."""
    height, width = kernel.shape[:2]
    if padding == "SAME":
        pads = []
        for size, k in ((x.shape[1], height), (x.shape[2], width)):
            out = -(-size // stride)
            total = max((out - 1) * stride + k - size, 0)
            pads.append((total // 2, total - total // 2))
        x = np.pad(x, ((0, 0), pads[0], pads[1], (0, 0)))
    rows = (x.shape[1] - height) // stride + 1
    columns = (x.shape[2] - width) // stride + 1
    out = np.zeros((len(x), rows, columns, kernel.shape[3]))
    for r in range(rows):
        for c in range(columns):
            patch = x[:, r * stride : r * stride + height, c * stride : c * stride + width]
            out[:, r, c] = np.einsum("nhwi,hwio->no", patch, kernel)
    return out


def convert(path: Path, wanted: str, channels: int) -> Any:
    """An ONNX session that gives node ``wanted`` (NCHW) for ``x`` (NCHW)."""
    build = OnnxBuilder()
    tensor = TrunkConverter(TfjsGraph(path), build, {"x": "x"}).tensor(wanted)
    target = path.parent / "out.onnx"
    shape = ("N", channels, "H", "W")
    build.add("Identity", [tensor], "result")
    build.save(
        target, "test", {"x": (np.float32, shape)}, {"result": (np.float32, ("N", "C", "h", "w"))}
    )
    return onnxruntime.InferenceSession(str(target))


def run(session: Any, x: np.ndarray) -> np.ndarray:
    (y,) = session.run(None, {"x": x.transpose(0, 3, 1, 2).astype(np.float32)})
    return np.asarray(y).transpose(0, 2, 3, 1)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolution(tmp_path: Path, stride: int, padding: str) -> None:
    x, kernel = RNG.normal(size=(2, 8, 7, 3)), RNG.normal(size=(3, 3, 3, 5))
    graph = Graph()
    graph.constant("k", kernel)
    graph.node("y", "Conv2D", ["x", "k"], **window(stride, padding))
    got = run(convert(graph.write(tmp_path), "y", 3), x)
    np.testing.assert_allclose(got, tf_conv(x, kernel, stride, padding), atol=1e-4)


@pytest.mark.parametrize("coded", [None, "U0FNRQ==", "SAME"])
def test_depthwise_convolution(tmp_path: Path, coded: Any) -> None:
    x, kernel = RNG.normal(size=(1, 6, 6, 4)), RNG.normal(size=(3, 3, 4, 2))
    graph = Graph()
    graph.constant("k", kernel)
    graph.node("y", "DepthwiseConv2dNative", ["x", "k"], **window(2, "SAME", coded))
    got = run(convert(graph.write(tmp_path), "y", 4), x)
    # TensorFlow's output channel c * multiplier + m reads input channel c only
    wanted = np.concatenate(
        [tf_conv(x[..., c : c + 1], kernel[:, :, c : c + 1], 2, "SAME") for c in range(4)], axis=3
    )
    np.testing.assert_allclose(got, wanted, atol=1e-4)


def test_elementwise_operations(tmp_path: Path) -> None:
    x = RNG.normal(size=(1, 3, 3, 4)) * 4
    names = ("scale", "offset", "mean", "variance", "bias", "factor")
    values = {name: RNG.uniform(0.5, 2, 4) for name in names}
    graph = Graph()
    for name, value in values.items():
        graph.constant(name, value)
    graph.node(
        "bn", "FusedBatchNorm", ["x", "scale", "offset", "mean", "variance"], epsilon={"f": 0.25}
    )
    graph.node("biased", "BiasAdd", ["bn:0", "bias"])
    graph.node("scaled", "Mul", ["factor", "biased"])  # the constant may come first
    graph.node("summed", "AddN", ["scaled", "x", "bn"])
    graph.node("twice", "Add", ["summed", "summed"])
    graph.node("y", "Relu6", ["twice"])
    got = run(convert(graph.write(tmp_path), "y", 4), x)
    v = values
    bn = (x - v["mean"]) / np.sqrt(v["variance"] + 0.25) * v["scale"] + v["offset"]
    wanted = np.clip(2 * ((bn + v["bias"]) * v["factor"] + x + bn), 0, 6)
    np.testing.assert_allclose(got, wanted, atol=1e-4)
    assert 0 < (wanted == 0).sum() < wanted.size  # both ends of the clip were met


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    graph = Graph()
    graph.constant("k", RNG.normal(size=(1, 1, 3, 1)))
    graph.constant("cube", RNG.normal(size=(2, 2, 2)))
    graph.node("odd", "Softmax", ["x"])
    graph.node("late", "Relu6", ["odd"])
    graph.node("circle", "Relu6", ["circle2"])
    graph.node("circle2", "Relu6", ["circle"])
    graph.node("pad", "Conv2D", ["x", "k"], **window(1, "EXPLICIT", list(b"EXPLICIT")))
    graph.node("axes", "Add", ["x", "cube"])
    loaded = TfjsGraph(graph.write(tmp_path))
    for name, message in (
        ("late", r"node odd \(Softmax\) is not known"),
        ("gone", r"node gone \(missing\)"),
        ("circle", "depends on itself"),
        ("pad", "padding EXPLICIT"),
        ("axes", "constant of 3 axes"),
    ):
        with pytest.raises(AssetError, match=message):
            TrunkConverter(loaded, OnnxBuilder(), {"x": "x"}).tensor(name)


def test_broken_files(tmp_path: Path) -> None:
    graph = Graph()
    graph.constant("k", np.ones((2, 2)))
    path = graph.write(tmp_path)
    assert TfjsGraph(path).weights["k"].tolist() == [[1, 1], [1, 1]]
    (tmp_path / "shard2").write_bytes(b"\0" * 4)
    with pytest.raises(AssetError, match="is not a TensorFlow"):
        TfjsGraph(path)
    (tmp_path / "shard2").write_bytes(b"\0" * 99)
    with pytest.raises(AssetError, match="shards hold 107 bytes, 16 expected"):
        TfjsGraph(path)
    (tmp_path / "shard2").unlink()
    with pytest.raises(AssetError, match="FileNotFoundError"):
        TfjsGraph(path)
    path.write_text("{}")
    with pytest.raises(AssetError, match="KeyError"):
        TfjsGraph(path)


def test_invalid_onnx_is_not_written(tmp_path: Path) -> None:
    build = OnnxBuilder()
    build.add("Relu", ["nowhere"], "y")
    target = tmp_path / "bad.onnx"
    with pytest.raises(AssetError, match="conversion of bad is not valid ONNX"):
        build.save(target, "bad", {}, {"y": (np.float32, (1,))})
    assert not target.exists()
