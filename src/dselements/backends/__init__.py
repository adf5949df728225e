"""Inference engines behind one protocol: numpy arrays in, numpy arrays out."""

from __future__ import annotations

from .base import Backend, TensorSpec
from .registry import backend_names, open_backend

__all__ = ["Backend", "TensorSpec", "backend_names", "open_backend"]
