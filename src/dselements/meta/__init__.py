"""Metadata API: columns, guarded handles, all-or-nothing edits. Knows no GStreamer."""

from __future__ import annotations

from .batch import Batch, SurfaceProvider
from .classifier import Classifier, Classifiers, Label
from .display import Arrow, Circle, Display, Line, Rect, Text
from .fields import UNTRACKED
from .frame import Frame, FrameObjects, Frames
from .object import Object
from .objects import Objects
from .params import FontParams, RectParams, TextParams
from .payloads import Payloads, UserMeta
from .synthetic import FrameSpec, ObjectSpec
from .tensors import Segmentation, TensorLayer, TensorOutput

__all__ = [
    "UNTRACKED",
    "Arrow",
    "Batch",
    "Circle",
    "Classifier",
    "Classifiers",
    "Display",
    "FontParams",
    "Frame",
    "FrameObjects",
    "FrameSpec",
    "Frames",
    "Label",
    "Line",
    "Object",
    "ObjectSpec",
    "Objects",
    "Payloads",
    "Rect",
    "RectParams",
    "Segmentation",
    "SurfaceProvider",
    "TensorLayer",
    "TensorOutput",
    "Text",
    "TextParams",
    "UserMeta",
]
