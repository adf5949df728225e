"""Finds the engine for a model file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from ..errors import ModelError
from .base import Backend

# Name → class, and the file suffixes it takes. Imported when first needed.
BACKENDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "onnxruntime": ("dselements.backends.onnx:OnnxBackend", (".onnx", ".ort")),
}
DEFAULT = "onnxruntime"


def backend_names() -> tuple[str, ...]:
    """Names that :func:`open_backend` knows."""
    return tuple(BACKENDS)


def open_backend(path: Path, *, name: str | None = None, threads: int = 0) -> Backend:
    """Load a model.

    :param path: model file.
    :param name: engine; by the file's suffix when omitted, ONNX Runtime for an unknown one.
    :param threads: threads that one inference may use; 0 leaves it to the engine.
    :raises ModelError: missing or broken file, unknown engine.
    :raises MissingExtraError: the engine's library is not installed.
    """
    if name is None:
        suffix = path.suffix.lower()
        name = next((key for key, row in BACKENDS.items() if suffix in row[1]), DEFAULT)
    if name not in BACKENDS:
        raise ModelError(
            f"unknown inference engine {name!r}", hint=f"known engines: {', '.join(BACKENDS)}"
        )
    module, _, attribute = BACKENDS[name][0].partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    return cast(Backend, factory(path, threads=threads))
