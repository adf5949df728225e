"""Metadata API: columns, guarded handles, all-or-nothing edits. Knows no GStreamer."""

from __future__ import annotations

from .batch import Batch, SurfaceProvider
from .classifier import Classifier, Label
from .display import Arrow, Circle, Line, Rect, Text
from .fields import UNTRACKED
from .frame import Frame, Frames
from .object import Object
from .objects import Objects
from .payloads import Payloads, UserMeta
from .synthetic import FrameSpec, ObjectSpec
from .tensors import Segmentation, TensorLayer, TensorOutput

__all__ = [
    "UNTRACKED",
    "Arrow",
    "Batch",
    "Circle",
    "Classifier",
    "Frame",
    "FrameSpec",
    "Frames",
    "Label",
    "Line",
    "Object",
    "ObjectSpec",
    "Objects",
    "Payloads",
    "Rect",
    "Segmentation",
    "SurfaceProvider",
    "TensorLayer",
    "TensorOutput",
    "Text",
    "UserMeta",
]
