"""Payload values that would come back changed are refused."""

from __future__ import annotations

import enum
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from dselements.errors import PayloadError
from dselements.meta.payloads import decode, encode


class _Level(enum.Enum):
    BAD = math.nan


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.0, None, math.nan], object),
        np.array([(1, math.nan)], [("a", "i4"), ("b", "f4")]),
        np.ma.array([1.0, 2.0], mask=[True, False]),
        np.array(["2020-01-01", "NaT"], "datetime64[ns]"),
        np.datetime64("NaT", "ns"),
        {"deep": [1, {"x": math.inf}]},
        {"none": None, "nan": math.nan},
        [np.float32("nan")],
        _Level.BAD,
        msgspec.Raw(b"{not json"),
    ],
    ids=str,
)
def test_values_that_would_come_back_changed_are_refused(value: Any) -> None:
    with pytest.raises(PayloadError):
        encode("x", value)


@pytest.mark.parametrize("value", [None, [None, 1], {"a": None}, (None, {"b": [None]}), "null"])
def test_none_is_none(value: Any) -> None:
    expected = list(value) if isinstance(value, tuple) else value
    assert decode(encode("x", value)) == expected


def test_very_deep_values_are_an_error_or_come_back() -> None:
    value: Any = None
    for _ in range(900):
        value = [value]
    try:
        block = encode("x", value)
    except PayloadError:
        return
    assert decode(block) == value
