"""Detections of one frame as columns, and the contract of output parsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ParserError
from .settings import ClassAttrs

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Detections:
    """Boxes found in one frame."""

    boxes: Floats
    """[n, 4] left, top, width, height; pixels of the network's input, or of the frame after
    mapping."""
    scores: Floats
    """[n] confidence."""
    class_ids: Ints
    """[n]"""

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: npt.NDArray[Any]) -> Detections:
        """Rows by index array or bool mask, in that order."""
        return Detections(self.boxes[rows], self.scores[rows], self.class_ids[rows])

    @classmethod
    def empty(cls) -> Detections:
        return cls(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64))


@dataclass(frozen=True)
class ParserContext:
    """What a parser may want to know."""

    network_width: int
    network_height: int
    num_classes: int
    pre_cluster_thresholds: Floats
    """[num_classes]; detections below are dropped afterwards in any case."""
    class_attrs: tuple[ClassAttrs, ...]
    """[num_classes]"""
    labels: tuple[str, ...] = ()


ParserResult = Detections | tuple[Any, Any, Any]
Parser = Callable[[Mapping[str, npt.NDArray[Any]], ParserContext], ParserResult]
"""Gets one frame's output layers by name (no batch axis; read them, do not write) and returns
detections: boxes [n, 4] left, top, width, height in pixels of the network's input, scores [n],
class_ids [n]."""


def check_result(name: str, result: object) -> Detections:
    """A parser's answer as float32 and int64 columns.

    :param name: the parser, for messages.
    :raises ParserError: not detections; the message says what is wrong.
    """
    if isinstance(result, Detections):
        parts: tuple[Any, ...] = (result.boxes, result.scores, result.class_ids)
    elif isinstance(result, tuple):
        parts = result
    else:
        raise ParserError(f"parser {name} returned {type(result).__name__}, not detections")
    if len(parts) != 3:
        raise ParserError(f"parser {name} returned {len(parts)} values, not 3")
    try:
        boxes = np.asarray(parts[0], np.float32)
        scores = np.asarray(parts[1], np.float32)
        class_ids = np.asarray(parts[2])
    except (TypeError, ValueError) as error:
        raise ParserError(f"parser {name} returned what is no array of numbers: {error}") from error
    if len(scores.shape) == 1 and boxes.size == 0 and len(scores) == 0:
        boxes = boxes.reshape(0, 4)
    count = len(scores) if scores.ndim == 1 else -1
    for what, array, shape in (
        ("scores", scores, (count,)),
        ("boxes", boxes, (count, 4)),
        ("class_ids", class_ids, (count,)),
    ):
        if array.shape != shape:
            wanted = "[n, 4]" if what == "boxes" else "[n]"
            of = f" with n = {count}" if count >= 0 else ""
            raise ParserError(
                f"parser {name} returned {what} of shape {list(array.shape)}, not {wanted}{of}"
            )
    _check_values(name, boxes, scores, class_ids)
    return Detections(boxes, scores, class_ids.astype(np.int64))


def _check_values(name: str, boxes: Floats, scores: Floats, class_ids: npt.NDArray[Any]) -> None:
    for what, array in (("boxes", boxes), ("scores", scores)):
        if not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            raise ParserError(
                f"parser {name} returned NaN or infinity in {what}, row {row}",
                hint="check the model's outputs and the parser's arithmetic",
            )
    if (boxes[:, 2:] < 0).any():
        row = int(np.argwhere(boxes[:, 2:] < 0)[0][0])
        raise ParserError(
            f"parser {name} returned a negative width or height in boxes, row {row}",
            hint="boxes are left, top, width, height",
        )
    if len(class_ids) and not np.issubdtype(class_ids.dtype, np.number):
        raise ParserError(f"parser {name} returned class_ids of type {class_ids.dtype}")
    if len(class_ids) and (
        not np.isfinite(class_ids).all()
        or (class_ids < 0).any()
        or (class_ids != np.floor(class_ids)).any()
    ):
        raise ParserError(f"parser {name} returned class_ids that are not whole numbers from 0")
