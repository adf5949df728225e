"""ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtraError, ModelError
from .base import TensorSpec

# ONNX Runtime's type names that numpy can hold.
_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(uint16)": np.uint16,
    "tensor(int16)": np.int16,
    "tensor(uint32)": np.uint32,
    "tensor(int32)": np.int32,
    "tensor(uint64)": np.uint64,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


class OnnxBackend:
    """An ONNX model in an ONNX Runtime session.

    :param path: ``.onnx`` file.
    :param threads: threads within one operator (``intra_op_num_threads``); 0 takes one a core.
    :raises ModelError: missing file, or not a model that ONNX Runtime can load.
    :raises MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError(
                "onnxruntime is not installed", hint="pip install 'dselements[infer]'"
            ) from error
        if not path.is_file():
            raise ModelError(f"model file {path} does not exist", hint="check onnx-file")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # A spinning pool would take the cores that decoding needs between two buffers.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ModelError(
                f"{path} is not a model that ONNX Runtime can load: {error}",
                hint="export the model to ONNX again, or check that the file is whole",
            ) from error
        self._path = path
        self._session: Any = session
        self._inputs = tuple(self._spec(node) for node in session.get_inputs())
        self._outputs = tuple(self._spec(node) for node in session.get_outputs())

    def _spec(self, node: Any) -> TensorSpec:
        if node.type not in _DTYPES:
            raise ModelError(f"{self._path}: {node.name} is a {node.type}, not a dense tensor")
        shape = tuple(size if isinstance(size, int) else None for size in node.shape)
        return TensorSpec(node.name, np.dtype(_DTYPES[node.type]), shape)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def run(self, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        names = [spec.name for spec in self._outputs]
        try:
            arrays = self._session.run(names, dict(inputs))
        except Exception as error:
            raise ModelError(f"{self._path}: inference failed: {error}") from error
        return dict(zip(names, arrays, strict=True))

    def close(self) -> None:
        self._session = None
