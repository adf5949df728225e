"""Builds batches from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import MetadataValueError
from .fields import UNTRACKED
from .object import Object

if TYPE_CHECKING:
    from .batch import Batch
    from .frame import Frame

__all__ = ["FrameSpec", "ObjectSpec", "fill"]


@dataclass
class ObjectSpec:
    """An object of :meth:`Batch.synthetic`."""

    rect: tuple[float, float, float, float]
    """Left, top, width, height in pixels."""
    class_id: int = 0
    """Class index of the detector."""
    label: str = ""
    """Class name."""
    confidence: float = 1.0
    """0 to 1."""
    object_id: int = UNTRACKED
    """Tracker's id."""
    unique_component_id: int = 0
    """unique-id of the element that is said to have made it."""
    parent: int | None = None
    """Index of the parent within the frame's objects."""
    classifiers: Sequence[Any] = ()
    """For each result its labels, or a mapping of what ``classifiers.add`` takes."""
    payloads: Mapping[str, Any] = field(default_factory=dict)
    """User payloads by name."""
    mask: Any = None
    """float (height, width), or None."""
    display: bool = True
    """Also set what nvinfer sets for drawing."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Any other column."""


@dataclass
class FrameSpec:
    """A frame of :meth:`Batch.synthetic`."""

    source_id: int = 0
    """Source the frame comes from."""
    pad_index: int = 0
    """Muxer's sink pad."""
    frame_num: int = 0
    """Frame number within its source."""
    objects: Sequence[Mapping[str, Any] | ObjectSpec] = ()
    """Its objects, in this order."""
    payloads: Mapping[str, Any] = field(default_factory=dict)
    """User payloads by name."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Any other frame field."""


def _values(spec: Any) -> dict[str, Any]:
    if isinstance(spec, Mapping):
        return dict(spec)
    values = dict(vars(spec))
    values.update(values.pop("columns"))
    return values


def fill(batch: Batch, frames: Sequence[Mapping[str, Any] | FrameSpec]) -> None:
    """Add frames and objects; see :meth:`Batch.synthetic` for the form."""
    for spec in frames:
        values = _values(spec)
        objects = values.pop("objects", ())
        payloads = values.pop("payloads", {})
        frame = batch.add_frame(**values)
        frame.payloads.update(payloads)
        _add(frame, objects)


def _add(frame: Frame, objects: Sequence[Mapping[str, Any] | ObjectSpec]) -> None:
    handles: list[Object] = []
    parents: list[tuple[Object, int]] = []
    for item in objects:
        one = _values(item)
        parent = one.pop("parent", None)
        payloads = one.pop("payloads", {})
        classifiers = one.pop("classifiers", ())
        mask = one.pop("mask", None)
        if "rect" not in one:
            raise MetadataValueError(f"an object needs a rect: {item!r}")
        obj = frame.add_object(one.pop("rect"), **one)
        handles.append(obj)
        if parent is not None:
            parents.append((obj, parent))
        if payloads:
            obj.payloads.update(payloads)
        for classifier in reversed(classifiers):  # each comes before the one added last
            if isinstance(classifier, Mapping):
                obj.classifiers.add(**classifier)
            else:
                obj.classifiers.add(classifier)
        if mask is not None:
            obj.mask = mask
    for obj, parent in parents:
        obj.parent = handles[parent]
