"""Properties of dspythonfilter, parsed and checked."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import PropertyValueError
from ...meta.checks import checked_text
from .rule import Rule, compile_rule

__all__ = ["ANCHORS", "ClassSet", "FilterSettings", "Region"]

ANCHORS: dict[str, tuple[float, float]] = {
    "center": (0.5, 0.5),
    "top-center": (0.5, 0.0),
    "bottom-center": (0.5, 1.0),
    "top-left": (0.0, 0.0),
    "top-right": (1.0, 0.0),
    "bottom-left": (0.0, 1.0),
    "bottom-right": (1.0, 1.0),
}
"""Point of the box that must lie in the region, as fractions of its width and height."""

_SEPARATOR = re.compile(r"[,;]")


@dataclass(frozen=True)
class ClassSet:
    """Classes by id and by label."""

    ids: frozenset[int]
    labels: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.ids or self.labels)

    @classmethod
    def parse(cls, text: str) -> ClassSet:
        """``"person,2;car"``: whole numbers are ids, anything else is a label."""
        ids, labels = set(), set()
        for item in _items(text):
            number = _class_id(item)
            if number is None:
                labels.add(item)
            else:
                ids.add(number)
        return cls(frozenset(ids), frozenset(labels))


@dataclass(frozen=True)
class Region:
    """Polygon in pixels, or in fractions of the frame."""

    points: npt.NDArray[np.float64]
    """Corners, float64 (n, 2)."""
    fractions: bool

    @classmethod
    def parse(cls, text: str) -> Region:
        """``"x1,y1,x2,y2"`` is a rectangle; three and more corners ``"x,y x,y x,y"`` a polygon.

        A leading ``%`` makes the numbers percent of the frame's width and height.

        :raises PropertyValueError: for anything else, or a region without area.
        """
        body = text.strip()
        fractions = body.startswith("%")
        numbers = [part for part in re.split(r"[,;\s]+", body.lstrip("%").strip()) if part]
        try:
            values = [float(n) for n in numbers]
        except ValueError as error:
            raise PropertyValueError(f"region {text!r}: {error}", hint=_REGION_HINT) from None
        if not all(map(math.isfinite, values)) or len(values) % 2 or len(values) < 4:
            raise PropertyValueError(
                f"region {text!r} has {len(values)} numbers", hint=_REGION_HINT
            )
        if len(values) == 4:
            x1, y1, x2, y2 = values
            values = [x1, y1, x2, y1, x2, y2, x1, y2]
        points = np.array(values).reshape(-1, 2)
        x, y = points[:, 0], points[:, 1]
        # Shoelace formula.
        if abs(float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))) < 1e-9:
            raise PropertyValueError(f"region {text!r} has no area", hint=_REGION_HINT)
        return cls(points / 100 if fractions else points, fractions)


_REGION_HINT = "x1,y1,x2,y2 or x,y x,y x,y …; a leading % means percent of the frame"


def _items(text: str) -> list[str]:
    return [item.strip() for item in _SEPARATOR.split(text) if item.strip()]


def _class_id(text: str) -> int | None:
    """The number, if the text is one. :raises PropertyValueError: if it is no int32."""
    if not re.fullmatch(r"-?\d+", text):
        return None
    if len(text) > 11 or not -(2**31) <= int(text) < 2**31:
        raise PropertyValueError(f"class id {text:.40} is outside {-(2**31)} to {2**31 - 1}")
    return int(text)


def _pairs(name: str, text: str) -> list[tuple[str, str]]:
    pairs = []
    for item in _items(text):
        key, colon, value = item.partition(":")
        if not colon or not key.strip() or not value.strip():
            raise PropertyValueError(
                f"{name}: {item!r} is not CLASS:VALUE", hint="such as person:0.6"
            )
        pairs.append((key.strip(), value.strip()))
    return pairs


def parse_thresholds(text: str) -> tuple[dict[int, float], dict[str, float]]:
    """``"0:0.5;person:0.6"`` as thresholds by id and by label."""
    ids: dict[int, float] = {}
    labels: dict[str, float] = {}
    for key, value in _pairs("class-thresholds", text):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0.0 <= number <= 1.0:
            raise PropertyValueError(f"class-thresholds: {key}:{value} is no number from 0 to 1")
        class_id = _class_id(key)
        if class_id is None:
            labels[key] = number
        else:
            ids[class_id] = number
    return ids, labels


@dataclass(frozen=True)
class Rename:
    """One relabelling: which objects, the new label (if any) and class id (if any)."""

    class_id: int | None
    label: str | None
    new_label: str | None
    new_class_id: int | None


def parse_relabel(text: str) -> tuple[Rename, ...]:
    """``"truck:vehicle;2:car=7;bus:=9"``: CLASS:LABEL, CLASS:LABEL=ID or CLASS:=ID."""
    renames = []
    for key, value in _pairs("relabel", text):
        checked_text("label", value)
        label, equals, number = value.rpartition("=") if "=" in value else (value, "", "")
        new_id = _class_id(number) if equals else None
        if equals and new_id is None:
            raise PropertyValueError(f"relabel: {key}:{value}: {number!r} is no class id")
        class_id = _class_id(key)
        renames.append(
            Rename(class_id, None if class_id is not None else key, label.strip() or None, new_id)
        )
    return tuple(renames)


@dataclass(frozen=True)
class FilterSettings:
    """What the filter does; made by :meth:`parse` from the properties' values."""

    min_confidence: float = 0.0
    id_thresholds: dict[int, float] = field(default_factory=dict)
    label_thresholds: dict[str, float] = field(default_factory=dict)
    keep: ClassSet = ClassSet(frozenset(), frozenset())
    drop: ClassSet = ClassSet(frozenset(), frozenset())
    relabel: tuple[Rename, ...] = ()
    min_width: float = 0.0
    min_height: float = 0.0
    max_width: float = 0.0
    max_height: float = 0.0
    min_area: float = 0.0
    region: Region | None = None
    region_drop: bool = False
    anchor: tuple[float, float] = ANCHORS["bottom-center"]
    rule: Rule | None = None

    @classmethod
    def parse(cls, **values: Any) -> FilterSettings:
        """Check the properties' values. :raises PropertyValueError: RuleSyntaxError: naming it."""
        ids, labels = parse_thresholds(values.pop("class_thresholds", ""))
        region = values.pop("region", "")
        rule = values.pop("rule", "")
        settings = cls(
            id_thresholds=ids,
            label_thresholds=labels,
            keep=ClassSet.parse(values.pop("keep_classes", "")),
            drop=ClassSet.parse(values.pop("drop_classes", "")),
            relabel=parse_relabel(values.pop("relabel", "")),
            region=Region.parse(region) if region.strip() else None,
            region_drop=values.pop("region_mode", "keep") == "drop",
            anchor=ANCHORS[values.pop("anchor", "bottom-center")],
            rule=compile_rule(rule) if rule.strip() else None,
            **values,
        )
        for low, high in (("min_width", "max_width"), ("min_height", "max_height")):
            least, most = getattr(settings, low), getattr(settings, high)
            if most and least > most:
                raise PropertyValueError(f"{low.replace('_', '-')} {least} is above {most}")
        return settings
