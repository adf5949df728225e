"""Converts TensorFlow.js graph models to ONNX: numpy and onnx, no TensorFlow.

A graph model is a frozen TensorFlow graph in JSON whose constants lie in binary shards beside it.
Image tensors are NHWC there and NCHW in ONNX. Only operations of convolutional detectors are known.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import AssetError, MissingExtraError

OPSET = 17
IR_VERSION = 8

_DTYPES = {"float32": np.float32, "int32": np.int32, "uint8": np.uint8, "bool": np.bool_}


@dataclass(frozen=True)
class Node:
    """One operation of the graph."""

    name: str
    op: str
    inputs: tuple[str, ...]
    """Names of the nodes it reads; the output number is left out."""
    attributes: Mapping[str, Any]


class TfjsGraph:
    """A graph model in memory.

    :param path: ``model.json``; its shards lie beside it.
    :raises AssetError: missing or broken files, quantised weights.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            document = json.loads(path.read_bytes())
            topology = document["modelTopology"]["node"]
            self.weights = self._read_weights(document["weightsManifest"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AssetError(
                f"{path} is not a TensorFlow.js graph model: {type(error).__name__}: {error}"
            ) from error
        self.nodes = {
            item["name"]: Node(
                item["name"],
                item["op"],
                tuple(_node_name(name) for name in item.get("input", ())),
                item.get("attr", {}),
            )
            for item in topology
        }

    def _read_weights(self, manifest: Sequence[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
        weights: dict[str, npt.NDArray[Any]] = {}
        for group in manifest:
            data = b"".join((self.path.parent / name).read_bytes() for name in group["paths"])
            offset = 0
            for item in group["weights"]:
                if "quantization" in item:
                    raise AssetError(f"{self.path}: quantised weight {item['name']}")
                dtype = np.dtype(_DTYPES[item["dtype"]])
                shape = tuple(int(size) for size in item["shape"])
                count = int(np.prod(shape, dtype=np.int64))
                weights[item["name"]] = np.frombuffer(data, dtype, count, offset).reshape(shape)
                offset += count * dtype.itemsize
            if offset != len(data):
                raise ValueError(f"shards hold {len(data)} bytes, {offset} expected")
        return weights

    def scalar(self, name: str) -> float:
        """A constant of one element."""
        return float(self.weights[name].reshape(()))


def _node_name(reference: str) -> str:
    return reference.lstrip("^").split(":")[0]


@dataclass
class OnnxBuilder:
    """Collects nodes and constants of an ONNX graph."""

    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError(
                "onnx is not installed", hint="pip install 'dselements[models]'"
            ) from error
        self._onnx = onnx

    def constant(self, name: str, value: npt.ArrayLike, dtype: Any = np.float32) -> str:
        """A named constant; the name is returned."""
        if name not in self.constants:
            array = np.ascontiguousarray(np.asarray(value, dtype))
            if np.ndim(value) == 0:
                array = array.reshape(())
            self.constants[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def add(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """An operation with one output; its name is returned."""
        self.add_many(op, inputs, [output], **attributes)
        return output

    def add_many(
        self, op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> None:
        """An operation with several outputs."""
        node = self._onnx.helper.make_node(op, inputs, outputs, name=outputs[0], **attributes)
        self.nodes.append(node)

    def save(
        self,
        path: Path,
        name: str,
        inputs: Mapping[str, tuple[Any, Sequence[Any]]],
        outputs: Mapping[str, tuple[Any, Sequence[Any]]],
    ) -> None:
        """Check the graph and write it.

        :param inputs: numpy dtype and shape of each input; a text in a shape names an open axis.
        :raises AssetError: the graph is not valid ONNX.
        """
        onnx = self._onnx

        def infos(items: Mapping[str, tuple[Any, Sequence[Any]]]) -> list[Any]:
            return [
                onnx.helper.make_tensor_value_info(
                    key, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape)
                )
                for key, (dtype, shape) in items.items()
            ]

        graph = onnx.helper.make_graph(
            self.nodes, name, infos(inputs), infos(outputs), list(self.constants.values())
        )
        model = onnx.helper.make_model(
            graph,
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="dselements",
        )
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as error:
            raise AssetError(f"the conversion of {name} is not valid ONNX: {error}") from error
        onnx.save(model, str(path))


class TrunkConverter:
    """Converts the part of a graph that lies between known tensors and wanted nodes.

    :param known: TensorFlow node → ONNX tensor (NCHW) that already stands for it.
    """

    def __init__(self, graph: TfjsGraph, builder: OnnxBuilder, known: Mapping[str, str]) -> None:
        self._graph = graph
        self._builder = builder
        self._done = dict(known)
        self._rules: dict[str, Callable[[Node], str]] = {
            "Conv2D": self._conv,
            "DepthwiseConv2dNative": self._depthwise,
            "FusedBatchNorm": self._batch_norm,
            "FusedBatchNormV3": self._batch_norm,
            "BiasAdd": self._add,
            "Add": self._add,
            "AddV2": self._add,
            "Mul": self._mul,
            "AddN": self._add_n,
            "Relu6": self._relu6,
        }

    def tensor(self, name: str) -> str:
        """The ONNX tensor (NCHW) of a node; what it needs is converted first.

        :raises AssetError: an operation that is not known.
        """
        pending = [name]
        while pending:
            node = self._graph.nodes.get(pending[-1])
            if pending[-1] in self._done:
                pending.pop()
                continue
            if node is None or node.op not in self._rules:
                what = node.op if node else "missing"
                raise AssetError(f"{self._graph.path}: node {pending[-1]} ({what}) is not known")
            needed = [
                item
                for item in node.inputs
                if item not in self._graph.weights and item not in self._done
            ]
            if needed:
                if len(pending) > len(self._graph.nodes):
                    raise AssetError(f"{self._graph.path}: node {name} depends on itself")
                pending += needed
                continue
            self._done[node.name] = self._rules[node.op](node)
            pending.pop()
        return self._done[name]

    def _operands(self, node: Node) -> list[str]:
        """Inputs of an elementwise operation; constants go along the channels."""
        names = []
        for item in node.inputs:
            if item in self._graph.weights:
                value = self._graph.weights[item]
                if value.ndim == 1:
                    value = value.reshape(-1, 1, 1)
                elif value.ndim != 0:
                    raise AssetError(f"{node.name}: constant of {value.ndim} axes")
                names.append(self._builder.constant(f"{item}/nchw", value))
            else:
                names.append(self._done[item])
        return names

    def _window(self, node: Node) -> dict[str, Any]:
        """Strides, dilation and padding of a convolution."""

        def pair(key: str) -> list[int]:
            if key not in node.attributes:
                return [1, 1]
            return [int(size) for size in node.attributes[key]["list"]["i"]][1:3]

        padding = _text(node.attributes["padding"]["s"])
        if padding not in ("SAME", "VALID"):
            raise AssetError(f"{node.name}: padding {padding} is not known")
        return {
            "strides": pair("strides"),
            "dilations": pair("dilations"),
            "auto_pad": "SAME_UPPER" if padding == "SAME" else "VALID",
        }

    def _conv(self, node: Node) -> str:
        kernel = self._graph.weights[node.inputs[1]].transpose(3, 2, 0, 1)  # HWIO → OIHW
        inputs = [self._done[node.inputs[0]], self._builder.constant(node.inputs[1], kernel)]
        return self._builder.add("Conv", inputs, node.name, **self._window(node))

    def _depthwise(self, node: Node) -> str:
        kernel = self._graph.weights[node.inputs[1]]  # height, width, channels, multiplier
        height, width, channels, multiplier = kernel.shape
        flat = kernel.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
        inputs = [self._done[node.inputs[0]], self._builder.constant(node.inputs[1], flat)]
        return self._builder.add("Conv", inputs, node.name, group=channels, **self._window(node))

    def _batch_norm(self, node: Node) -> str:
        constants = [
            self._builder.constant(item, self._graph.weights[item]) for item in node.inputs[1:5]
        ]
        epsilon = float(node.attributes["epsilon"]["f"])
        inputs = [self._done[node.inputs[0]], *constants]
        return self._builder.add("BatchNormalization", inputs, node.name, epsilon=epsilon)

    def _add(self, node: Node) -> str:
        return self._builder.add("Add", self._operands(node), node.name)

    def _mul(self, node: Node) -> str:
        return self._builder.add("Mul", self._operands(node), node.name)

    def _add_n(self, node: Node) -> str:
        return self._builder.add("Sum", self._operands(node), node.name)

    def _relu6(self, node: Node) -> str:
        limits = [self._builder.constant("relu6/0", 0.0), self._builder.constant("relu6/6", 6.0)]
        return self._builder.add("Clip", [self._done[node.inputs[0]], *limits], node.name)


def _text(value: Any) -> str:
    """A string attribute: plain, base64, or a list of character codes, as converters write it."""
    if isinstance(value, list):
        return bytes(value).decode()
    if value in ("SAME", "VALID"):
        return str(value)
    return base64.b64decode(value).decode()
