"""Builds batches from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import MetadataValueError

if TYPE_CHECKING:
    from .batch import Batch

__all__ = ["fill"]


def fill(batch: Batch, frames: Sequence[Mapping[str, Any]]) -> None:
    """Add frames and objects; see :meth:`Batch.synthetic` for the form."""
    for spec in frames:
        values = dict(spec)
        objects = values.pop("objects", ())
        payloads = values.pop("payloads", {})
        frame = batch.add_frame(**values)
        for name, value in payloads.items():
            frame.payloads[name] = value
        handles = []
        for item in objects:
            one = dict(item)
            parent = one.pop("parent", None)
            payload = one.pop("payloads", {})
            classifiers = one.pop("classifiers", ())
            mask = one.pop("mask", None)
            if "rect" not in one:
                raise MetadataValueError(f"an object needs a rect: {item!r}")
            obj = frame.add_object(one.pop("rect"), **one)
            if parent is not None:
                obj.parent = handles[parent]
            for name, value in payload.items():
                obj.payloads[name] = value
            for labels in classifiers:
                obj.classifiers.add(labels)
            if mask is not None:
                obj.mask = mask
            handles.append(obj)
