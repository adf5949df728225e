"""The rule language against a plain evaluator, its errors, and what it refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dselements.elements.pythonfilter.rule import COLUMNS, MAX_LENGTH, compile_rule
from dselements.errors import RuleSyntaxError

ROWS = [
    {"confidence": 0.9, "class_id": 0, "label": "person", "left": 10.0, "top": 5.0, "area": 400.0,
     "bottom": 250.0, "tracked": True, "object_id": 2**64 - 2},
    {"confidence": 0.3, "class_id": 2, "label": "car", "left": -3.0, "top": 50.0, "area": 90.0,
     "bottom": 150.0, "tracked": False, "object_id": 2**64 - 1},
    {"confidence": 0.7, "class_id": 5, "label": "Bus", "left": 0.0, "top": 0.0, "area": 0.0,
     "bottom": 201.0, "tracked": True, "object_id": 7},
    {"confidence": 0.61, "class_id": 2, "label": "", "left": 5.5, "top": 7.0, "area": 1e6,
     "bottom": 1000.0, "tracked": True, "object_id": 0},
]  # fmt: skip


class Columns(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.class_id)


def columns(rows: list[dict[str, Any]]) -> Columns:
    def column(name: str) -> Any:
        values = [row[name] for row in rows]
        if name == "label":
            out = np.empty(len(rows), object)
            out[:] = values
            return out
        kinds = {"tracked": bool, "class_id": np.int32, "object_id": np.uint64}
        return np.array(values, kinds.get(name, np.float64))

    return Columns(**{name: column(name) for name in ROWS[0]})


def run(rule: str) -> list[bool]:
    return compile_rule(rule)(columns(ROWS)).tolist()


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ('confidence > 0.6 and label in ("person","car") and bottom > 200', [1, 0, 0, 0]),
        ("confidence >= 0.61", [1, 0, 1, 1]),
        ("0 < left <= 10", [1, 0, 0, 1]),
        ('label == "car" or class_id == 5', [0, 1, 1, 0]),
        ('not (label == "car")', [1, 0, 1, 1]),
        ("tracked", [1, 0, 1, 1]),
        ("not tracked", [0, 1, 0, 0]),
        ("class_id not in [0, 2]", [0, 0, 1, 0]),
        ("class_id in {5, -1}", [0, 0, 1, 0]),
        ("class_id in ()", [0, 0, 0, 0]),
        ('startswith(label, "p") or contains(label, "u")', [1, 0, 1, 0]),
        ('endswith(lower(label), "us")', [0, 0, 1, 0]),
        ('lower(label) == "bus"', [0, 0, 1, 0]),
        ("min(left, top) < 0", [0, 1, 0, 0]),
        ("max(left, 6) == 6 and abs(left) < 4", [0, 1, 1, 0]),
        ("class_id - 3 < 0", [1, 1, 0, 1]),
        ("class_id // 2 == 1 and class_id % 2 == 0", [0, 1, 0, 1]),
        ("100 / area > 1", [0, 1, 1, 0]),  # 100 / 0 is infinity
        ("area / area > 0", [1, 1, 0, 1]),  # 0 / 0 is NaN, and NaN > 0 is false
        ("-left > 0", [0, 1, 0, 0]),
        ("True", [1, 1, 1, 1]),
        ("1 < 2", [1, 1, 1, 1]),
        ('label == ""', [0, 0, 0, 1]),
        ("object_id == 18446744073709551614", [1, 0, 0, 0]),
        ("tracked == (class_id == 0)", [1, 1, 0, 0]),
        ("\n confidence > 0.6\n and tracked ", [1, 0, 1, 1]),
    ],
)
def test_values(rule: str, kept: list[int]) -> None:
    assert run(rule) == [bool(k) for k in kept]


def test_no_objects() -> None:
    empty = columns(ROWS)
    for name in ROWS[0]:
        setattr(empty, name, getattr(empty, name)[:0])
    for rule in (
        "confidence > 1",
        'label == "x"',
        'label in ("x",)',
        'lower(label) == "a"',
        "True",
    ):
        result = compile_rule(rule)(empty)
        assert result.shape == (0,)
        assert result.dtype == bool


def caret(error: RuleSyntaxError) -> int:
    """Column under which the caret stands."""
    why, _line, mark = error.message.split("\n")
    assert mark.strip() == "^"
    assert why
    return mark.index("^") - 2


@pytest.mark.parametrize(
    ("rule", "column", "told"),
    [
        ("confidnce > 1", 0, "unknown name 'confidnce'"),
        ("area > 5 and lable == 'x'", 13, "unknown name 'lable'"),
        ("label > 3", 8, "a text cannot be compared with a number"),
        ('label < "x"', 8, "only be compared by == and !="),
        ("confidence >", 12, "invalid syntax"),
        ("confidence > 0.6 and", 20, "invalid syntax"),
        ("area", 0, "gives a number"),
        ("label", 0, "gives a text"),
        ("area and tracked", 0, "a true or false is needed here"),
        ("not area", 4, "a true or false is needed here"),
        ('area + "x" > 1', 7, "a number is needed here"),
        ("area > 2 ** 3", 7, "operator is not allowed"),
        ("area in 5", 8, "'in' needs a list"),
        ("label in (1,)", 10, "a text cannot be in a list with a number"),
        ("area in (left,)", 9, "numbers or strings only"),
        ("size(area) > 1", 0, "unknown function 'size'"),
        ("abs(area, left) > 1", 0, "abs takes 1 value"),
        ("startswith(label, label)", 18, "a string"),
        ("  label == 3", 11, "cannot be compared"),
        ("'ü' == label and area", 17, "a true or false is needed"),
        ("label is None", 9, "None is not allowed"),
    ],
)
def test_errors_show_the_place(rule: str, column: int, told: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        compile_rule(rule)
    assert told in caught.value.message
    assert caret(caught.value) == column


def test_near_names_are_offered() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        compile_rule("confidnce > 1")
    assert caught.value.hint == "did you mean confidence?"


@pytest.mark.parametrize(
    "rule",
    [
        "__import__('os').system('x')",
        "(1).__class__ == 2",
        "label.upper() == 'X'",
        "[x for x in (1, 2)] == 3",
        "(lambda: 1)() > 0",
        "(x := 3) > 1",
        "f'{label}' == 'x'",
        "label[0] == 'x'",
        "area if tracked else left",
        "9 ** 9 ** 9 > 1",
        "~class_id > 1",
        "class_id << 99 > 1",
        "class_id & 1 == 1",
        "eval('1') > 0",
        "open('/etc/passwd') == 1",
        "(yield) > 1",
        "b'x' == label",
        "... == 1",
        "1j == area",
        "abs(*area) > 1",
        "",
        "#",
        "a; b",
        "\0",
    ],
)
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(RuleSyntaxError):
        compile_rule(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "(" * 5000 + "1" + ")" * 5000 + " > 0",
        "not " * 900 + "tracked",
        "-" * 3000 + "1 > 0",
        "area > " + "9" * 4000,
        "tracked" + " or tracked" * 2000,
    ],
)
def test_huge_rules_end_in_an_error_or_a_result(rule: str) -> None:
    try:
        result = compile_rule(rule)(columns(ROWS))
    except RuleSyntaxError:
        return
    assert result.shape == (len(ROWS),)
    assert len(rule) <= MAX_LENGTH


def test_the_names_it_reads_are_known() -> None:
    assert compile_rule('area > 1 and label == "x"').names == {"area", "label"}
    assert "parent" in COLUMNS


# -- against plain Python, row by row ------------------------------------------------
numbers = st.sampled_from(
    ["confidence", "class_id", "left", "top", "area", "bottom", "0", "2", "5.5"]
)
texts = st.sampled_from(['"car"', '"person"', '""', "label"])


def arithmetic(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner)


number = st.recursive(numbers, arithmetic, max_leaves=4)
compare = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
tests = st.one_of(
    st.builds("{} {} {}".format, number, compare, number),
    st.builds("{} < {} <= {}".format, number, number, number),
    st.builds("{} {} {}".format, texts, st.sampled_from(["==", "!="]), texts),
    st.builds("label {} ({}, {})".format, st.sampled_from(["in", "not in"]), texts, texts).filter(
        lambda text: "(label" not in text and ", label" not in text
    ),
    st.just("tracked"),
)
rules = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(rules)
def test_agrees_with_python(rule: str) -> None:
    expected = [bool(eval(rule, {"__builtins__": {}}, row)) for row in ROWS]  # noqa: S307
    assert run(rule) == expected
