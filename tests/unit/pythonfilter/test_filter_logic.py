"""Parsing of the filter's properties, and which objects stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dselements.elements.pythonfilter.logic import ClassCounts, inside, keep_mask, rename
from dselements.elements.pythonfilter.settings import FilterSettings, Region
from dselements.errors import PropertyValueError
from dselements.meta import Batch

OBJECTS = [
    {"rect": (0, 0, 10, 20), "label": "person", "class_id": 0, "confidence": 0.9},
    {"rect": (50, 50, 40, 40), "label": "car", "class_id": 2, "confidence": 0.6},
    {"rect": (90, 10, 5, 5), "label": "truck", "class_id": 7, "confidence": 0.4},
    {"rect": (20, 70, 30, 30), "label": "car", "class_id": 2, "confidence": -0.1},
]


def kept(nvds: Any, **values: Any) -> list[int]:
    """Indices of the objects that stay; the frame is 100 x 100 pixels."""
    with Batch.synthetic(
        [{"pipeline_width": 100, "pipeline_height": 100, "objects": OBJECTS}]
    ) as batch:
        settings = FilterSettings.parse(**values)
        sizes = np.full((4, 2), 100.0)
        return np.flatnonzero(keep_mask(batch.objects, settings, lambda: sizes)).tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [0, 1, 2, 3]),  # also confidence -0.1, which C elements write
        ({"min_confidence": 0.5}, [0, 1]),
        ({"min_confidence": 0.6}, [0, 1]),  # 0.6 as float32 is not below 0.6
        ({"class_thresholds": "person:0.95;2:0.5"}, [1, 2]),
        ({"min_confidence": 0.5, "class_thresholds": "truck:0.3"}, [0, 1, 2]),
        ({"keep_classes": "person, 7"}, [0, 2]),
        ({"drop_classes": "car;0"}, [2]),
        ({"keep_classes": "car", "drop_classes": "2"}, []),
        ({"min_width": 10.0}, [0, 1, 3]),
        ({"max_height": 20.0}, [0, 2]),
        ({"min_area": 200.0}, [0, 1, 3]),
        ({"rule": 'area > 300 and label == "car"'}, [1, 3]),
        ({"region": "0,0,30,30", "anchor": "center"}, [0]),
        ({"region": "0,0,30,30", "region_mode": "drop"}, [1, 2, 3]),
        ({"region": "% 50,0 100,0 100,95 50,95"}, [1, 2]),
        ({"region": "0,60 100,60 50,200", "anchor": "bottom-center"}, [1, 3]),
    ],
)
def test_filters(nvds: Any, values: dict[str, Any], expected: list[int]) -> None:
    assert kept(nvds, **values) == expected


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"class_thresholds": "person"}, "'person' is not CLASS:VALUE"),
        ({"class_thresholds": "person:2"}, "no number from 0 to 1"),
        ({"class_thresholds": "person:nan"}, "no number from 0 to 1"),
        ({"relabel": "car"}, "'car' is not CLASS:VALUE"),
        ({"relabel": "car:bus=x"}, "'x' is no class id"),
        ({"region": "1,2,3"}, "has 3 numbers"),
        ({"region": "a,b,c,d"}, "could not convert"),
        ({"region": "1,1,1,9"}, "has no area"),
        ({"region": "nan,1,2,9"}, "numbers"),
        ({"min_width": 9.0, "max_width": 5.0}, "min-width 9.0 is above 5.0"),
    ],
)
def test_wrong_values_are_named(values: dict[str, Any], told: str) -> None:
    with pytest.raises(PropertyValueError, match=told):
        FilterSettings.parse(**values)


def test_even_odd_rule() -> None:
    # A square with a notch from above: worked out by hand.
    points = Region.parse("0,0 4,0 4,4 3,4 3,1 1,1 1,4 0,4").points
    x = np.array([0.5, 2.0, 2.0, 3.5, 5.0, 0.0])
    y = np.array([3.0, 3.0, 0.5, 2.0, 2.0, 0.0])
    assert inside(points, x, y).tolist() == [True, False, True, True, False, True]


def test_relabel(nvds: Any) -> None:
    settings = FilterSettings.parse(relabel="car:truck;truck:lorry=9;0:=42")
    with Batch.synthetic([{"objects": OBJECTS}]) as batch:
        rename(batch.objects, settings)
        # A renamed car does not become a lorry: each object is renamed once.
        assert batch.objects.label.tolist() == ["person", "truck", "lorry", "truck"]
        assert batch.objects.class_id.tolist() == [42, 2, 9, 2]


def test_counts() -> None:
    counts = ClassCounts()
    labels = np.array(["a", "a", ""], object)
    for _ in range(2):
        counts.add(labels, np.array([0, 0, 5]), np.array([True, False, True]))
    assert counts.table() == {
        "a": {"found": 4, "kept": 2, "removed": 2},
        "5": {"found": 2, "kept": 2, "removed": 0},
    }
