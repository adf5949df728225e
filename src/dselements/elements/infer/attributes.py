"""What a classifier finds on one image, and the contract of its output parsers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ParserError

__all__ = ["Attribute", "ClassifierContext", "ClassifierParser", "check_attributes", "strongest"]


class Attribute(NamedTuple):
    """One attribute of an image: its class, as NvDsLabelInfo has it."""

    label_id: int
    """Which attribute, from 0."""
    result_class_id: int
    """Class of it, from 0."""
    result_prob: float
    """0 to 1."""
    result_label: str | None = None
    """None takes the label file's."""


@dataclass(frozen=True)
class ClassifierContext:
    """What a parser may want to know."""

    threshold: float
    """``classifier-threshold``."""
    labels: tuple[tuple[str, ...], ...]
    """Labels of each attribute's classes."""
    network_width: int
    network_height: int


Layers = Mapping[str, npt.NDArray[Any]]
ClassifierParser = Callable[[Layers, ClassifierContext], Iterable[Any]]
"""Gets one image's output layers by name (no batch axis) and returns attributes: tuples of
label_id, result_class_id, result_prob and, if wanted, result_label."""


def strongest(layers: Layers, context: ClassifierContext) -> list[Attribute]:
    """nvinfer's own parser: each output is an attribute, and holds a probability for each class.

    The class of the highest one above the threshold counts; the first of equal ones.
    """
    found = []
    for index, array in enumerate(layers.values()):
        # The first axis is the class; further ones (1 x 1 after a pooling) are not looked at.
        scores = array.reshape(len(array), -1)[:, 0] if array.ndim else array.reshape(1)
        if not np.isfinite(scores).all():
            raise ParserError(
                f"output {list(layers)[index]} holds NaN or infinity",
                hint="check the model and its pre-processing",
            )
        value = int(np.argmax(scores))
        if scores[value] > context.threshold:
            found.append(Attribute(index, value, float(scores[value])))
    return found


def check_attributes(
    name: str, answer: object, labels: Sequence[Sequence[str]]
) -> tuple[Attribute, ...]:
    """A parser's answer, with labels from the file where it gives none.

    :param name: the parser, for messages.
    :raises ParserError: not attributes; the message says what is wrong.
    """
    if not isinstance(answer, Iterable) or isinstance(answer, (str, bytes, Mapping)):
        raise ParserError(f"parser {name} returned {type(answer).__name__}, not attributes")
    return tuple(_attribute(name, item, labels) for item in answer)


def _attribute(name: str, item: Any, labels: Sequence[Sequence[str]]) -> Attribute:
    try:
        found = Attribute(*item)
        index, value = operator.index(found.label_id), operator.index(found.result_class_id)
        confidence = float(found.result_prob)
    except (TypeError, ValueError) as error:
        raise ParserError(
            f"parser {name} returned {item!r}: {error}",
            hint="an attribute is (label_id, result_class_id, result_prob[, result_label])",
        ) from None
    if index < 0 or value < 0 or max(index, value) >= 2**32:
        raise ParserError(f"parser {name} returned {item!r}: ids count from 0")
    if not math.isfinite(confidence):
        raise ParserError(f"parser {name} returned {item!r}: the probability is not finite")
    label = found.result_label
    if label is None:
        known = labels[index] if index < len(labels) else ()
        label = known[value] if value < len(known) else ""
    elif not isinstance(label, str):
        raise ParserError(f"parser {name} returned {item!r}: the label is not a str")
    return Attribute(index, value, confidence, label)
