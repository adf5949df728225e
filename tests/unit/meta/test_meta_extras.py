"""What hangs on frames and objects: payloads, classifiers, masks, display shapes."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dselements._core import _native
from dselements.errors import (
    MetadataValueError,
    NonFiniteValueError,
    PayloadError,
    StaleMetadataError,
)
from dselements.meta import Arrow, Batch, Circle, FrameSpec, Label, Line, ObjectSpec, Rect, Text
from dselements.meta.payloads import decode, encode


@pytest.fixture
def batch() -> Iterator[Batch]:
    made = Batch.synthetic(
        [FrameSpec(objects=[ObjectSpec((1, 2, 3, 4)), ObjectSpec((5, 6, 7, 8))]), FrameSpec()]
    )
    yield made
    made.close()


def again(batch: Batch) -> Batch:
    return Batch(batch.address)


# -- payloads --------------------------------------------------------------------
VALUES = [
    None, True, 0, -(2**63), 2**64 - 1, 1.5, "", "日本 😀 \0", [], {}, [1, [2, {"a": [None]}]],
    {"deep": {"er": {"est": "x" * 5000}}}, {"ä": 1},
]  # fmt: skip


@pytest.mark.parametrize("encoding", ["json", "msgpack"])
@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:20])
def test_payload_values_come_back(batch: Batch, value: Any, encoding: str) -> None:
    batch.payloads.put("v", value, encoding)
    batch.frames[1].payloads.put("v", value, encoding)
    batch.objects[1].payloads.put("v", value, encoding)
    assert batch.objects[1].payloads["v"] == value
    batch.commit()
    new = again(batch)
    assert [dict(h.payloads) for h in (new, new.frames[1], new.objects[1])] == [{"v": value}] * 3
    assert dict(new.objects[0].payloads) == {}
    with batch.copy() as copied:
        assert copied.objects[1].payloads["v"] == value


def test_msgpack_keeps_bytes_and_keys(batch: Batch) -> None:
    value = {1: b"\0\xff", "x": [b""]}
    batch.objects[0].payloads.put("v", value, "msgpack")
    batch.commit()
    assert again(batch).objects[0].payloads["v"] == value
    batch.payloads["j"] = b"\0\xff"
    assert batch.payloads["j"] == base64.b64encode(b"\0\xff").decode()


@dataclass
class Point:
    x: float
    y: float


def test_numpy_values_and_dataclasses_are_taken(batch: Batch) -> None:
    batch.payloads["v"] = {"a": np.arange(3), "b": np.float32(0.5), "c": Point(1, 2), "d": (1, 2)}
    assert batch.payloads["v"] == {"a": [0, 1, 2], "b": 0.5, "c": {"x": 1, "y": 2}, "d": [1, 2]}


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [1, {"a": -math.inf}],
        np.array([1, math.nan]),
        np.float32("inf"),
        Point(0, math.nan),
    ],
    ids=repr,
)
def test_json_refuses_what_it_would_turn_into_null(batch: Batch, value: Any) -> None:
    with pytest.raises(PayloadError, match="NaN"):
        batch.payloads["v"] = value
    batch.payloads.put("v", value, "msgpack")
    assert len(batch.payloads) == 1
    batch.payloads["n"] = {"none is fine": None}


@pytest.mark.parametrize("value", [object(), {"a": {1, object()}}, 2**70, "\ud800", lambda: 1])
@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_what_cannot_be_encoded_is_refused_at_once(batch: Batch, value: Any, encoding: str) -> None:
    if encoding == "json" and value == 2**70:
        batch.payloads["v"] = value  # JSON has no limit
        assert batch.payloads["v"] == pytest.approx(2**70)
        return
    with pytest.raises(PayloadError, match="'v'"):
        batch.payloads.put("v", value, encoding)
    assert "v" not in batch.payloads


@pytest.mark.parametrize("name", ["", "a\0b", 5, "\ud800", "x" * 70000])
def test_bad_payload_names(batch: Batch, name: Any) -> None:
    with pytest.raises(PayloadError):
        batch.payloads[name] = 1
    with pytest.raises(PayloadError, match="encoding 'xml'"):
        batch.payloads.put("v", 1, "xml")


def test_payloads_are_a_mapping(batch: Batch) -> None:
    p = batch.frames[0].payloads
    p.update(a=1, b=2, c=3)
    batch.commit()
    p = batch.frames[0].payloads
    assert list(p) == ["a", "b", "c"]
    p["b"] = 20
    del p["a"]
    p["d"] = 4
    assert dict(p) == {"b": 20, "c": 3, "d": 4}
    assert p.pop("c") == 3
    with pytest.raises(KeyError):
        _ = p["a"]
    batch.commit()
    assert dict(again(batch).frames[0].payloads) == {"b": 20, "d": 4}
    assert _native.live_payloads() == 2
    again_p = batch.frames[0].payloads
    again_p.clear()
    batch.commit()
    assert _native.live_payloads() == 0
    assert repr(batch.frames[0].payloads) == "<Payloads []>"


def test_an_unchanged_payload_is_not_replaced(batch: Batch) -> None:
    batch.payloads["a"] = 1
    batch.commit()
    before = _native.Snapshot(batch.address).gather_user(_native.BATCH)
    batch.payloads["a"] = 1
    batch.commit()
    assert _native.Snapshot(batch.address).gather_user(_native.BATCH) == before


def test_the_bytes_are_those_of_the_documented_header(batch: Batch) -> None:
    batch.objects[0].payloads["näme"] = [1, 2]
    batch.commit()
    ((row, address, meta_type, data),) = _native.Snapshot(batch.address).gather_user(_native.OBJECT)
    name, value = "näme".encode(), b"[1,2]"
    wanted = b"DSEP" + struct.pack("<HBBII", 1, 1, 0, len(name), len(value)) + name + b"\0" + value
    assert row == 0
    assert meta_type == _native.payload_meta_type()
    assert _native.read_memory(data, len(wanted)) == wanted
    assert _native.read_payload(address) == wanted


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"DSEP",
        encode("a", 1)[:-1],
        encode("a", 1) + b"x",
        b"XSEP" + encode("a", 1)[4:],
        encode("a", 1)[:6] + b"\x09" + encode("a", 1)[7:],
        encode("a", 1)[:-1] + b"{",
        encode("a", "x", "msgpack")[:-1] + b"\xff",
    ],
)
def test_malformed_payloads_cannot_be_decoded(block: bytes) -> None:
    with pytest.raises(PayloadError):
        decode(block)


def test_undecodable_data_raises_when_read_and_can_be_removed(batch: Batch) -> None:
    transaction = _native.Transaction(_native.Snapshot(batch.address))
    transaction.add_payload(_native.OBJECT, 0, encode("bad", 1)[:-1] + b"{")
    transaction.commit()
    p = batch.objects[0].payloads
    assert list(p) == ["bad"]
    with pytest.raises(PayloadError, match="'bad' cannot be decoded"):
        _ = p["bad"]
    del p["bad"]
    batch.commit()
    assert list(again(batch).objects[0].payloads) == []


def test_of_two_payloads_with_one_name_the_newest_is_meant(batch: Batch) -> None:
    for value in (1, 2):
        transaction = _native.Transaction(_native.Snapshot(batch.address))
        transaction.add_payload(_native.FRAME, 0, encode("n", value))
        transaction.commit()
    assert batch.frames[0].payloads["n"] == 2
    batch.frames[0].payloads["n"] = 3
    batch.commit()
    assert dict(again(batch).frames[0].payloads) == {"n": 3}
    assert _native.live_payloads() == 1


# -- classifiers -------------------------------------------------------------------
def test_classifiers_come_back(batch: Batch) -> None:
    obj = batch.objects[0]
    obj.classifiers.add(
        ["red", ("big", 0.25), Label("old", 3, 0.5, 2, 7)],
        unique_component_id=-4,
        classifier_type="colour",
    )
    obj.classifiers.add([])
    batch.commit()
    empty, full = again(batch).objects[0].classifiers
    assert empty.labels == ()
    assert full.labels == (Label("red"), Label("big", 0, 0.25), Label("old", 3, 0.5, 2, 7))
    assert (full.unique_component_id, full.classifier_type) == (-4, "colour")
    assert repr(full) == "<Classifier -4: red 1.00, big 0.25, old 0.50>"
    assert len(again(batch).objects[1].classifiers) == 0


def test_classifiers_are_edited_and_removed(batch: Batch) -> None:
    c = batch.objects[0].classifiers
    c.add(["a", "b"], unique_component_id=5, classifier_type="t")
    c.add(["c"])
    batch.commit()
    c = batch.objects[0].classifiers
    first, second = c
    c.edit(second, 1, ("B", 0.5))
    c.edit(second, 1, ("BB", 0.5))
    address = second.address
    c.remove(first)
    assert [x.labels for x in c] == [(Label("a"), Label("BB", 0, 0.5))]
    batch.commit()
    (only,) = again(batch).objects[0].classifiers
    assert only.labels == (Label("a"), Label("BB", 0, 0.5))
    assert (only.unique_component_id, only.classifier_type) == (5, "t")
    assert only.address == address  # in place
    c = batch.objects[0].classifiers
    c.replace(c[0], ["x", "y", "z"])
    batch.commit()
    (only,) = again(batch).objects[0].classifiers
    assert [x.result_label for x in only.labels] == ["x", "y", "z"]
    assert (only.unique_component_id, only.classifier_type) == (5, "t")
    batch.objects[0].classifiers.clear()
    batch.commit()
    pools = _native.pool_counters(batch.address)
    assert (pools["classifier"][2], pools["label"][2]) == (0, 0)


def test_classifiers_taken_back_before_commit(batch: Batch) -> None:
    c = batch.objects[0].classifiers
    new = c.add(["a"])
    c.edit(new, 0, "b")
    assert new.labels == (Label("b"),)
    c.remove(new)
    with pytest.raises(StaleMetadataError, match="does not hold"):
        c.remove(new)
    with pytest.raises(StaleMetadataError, match="does not hold"):
        c.edit(new, 0, "c")
    keep = c.add(["x"])
    c.edit(keep, 0, "y")
    batch.commit()
    assert [x.labels for x in again(batch).objects[0].classifiers] == [(Label("y"),)]


def test_edits_of_a_removed_object_write_no_memory(batch: Batch) -> None:
    """Its labels are back in the pool by then: they belong to whoever takes them next."""
    batch.objects[0].classifiers.add(["a"])
    batch.commit()
    obj = batch.objects[0]
    (held,) = obj.classifiers
    obj.classifiers.edit(held, 0, "EDITED")
    obj.classifiers.add(["NEW"])
    obj.remove()
    batch.commit()
    assert b"EDITED" not in _native.read_memory(held.label_addresses[0], 200)
    pools = _native.pool_counters(batch.address)
    assert (pools["classifier"][2], pools["label"][2]) == (0, 0)


@pytest.mark.parametrize(
    ("label", "error"),
    [
        ("a\0b", MetadataValueError), (5, MetadataValueError), ((), MetadataValueError),
        (("a", "b"), MetadataValueError), (("a", math.nan), NonFiniteValueError),
        (Label("a", -1), MetadataValueError), (Label("a", 2**32), MetadataValueError),
        (Label("a", 0, 1.0, 1.5), MetadataValueError), (Label("a", 0, 1e39), NonFiniteValueError),
    ],
)  # fmt: skip
def test_bad_classifier_labels(batch: Batch, label: Any, error: type[Exception]) -> None:
    c = batch.objects[0].classifiers
    with pytest.raises(error):
        c.add([label])
    with pytest.raises(MetadataValueError, match="list"):
        c.add("red")
    with pytest.raises(MetadataValueError, match="int32"):
        c.add(["x"], unique_component_id=2**31)
    assert len(c) == 0


def test_long_classifier_labels_are_cut(batch: Batch) -> None:
    batch.objects[0].classifiers.add(["é" * 100])
    batch.commit()
    assert again(batch).objects[0].classifiers[0].labels[0].result_label == "é" * 63


# -- masks -------------------------------------------------------------------------
def test_masks_come_back(batch: Batch) -> None:
    obj = batch.objects[0]
    assert obj.mask is None
    assert obj.mask_threshold == 0
    obj.mask = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert obj.mask_threshold == 0.5
    obj.mask_threshold = 0.75
    batch.commit()
    obj = again(batch).objects[0]
    assert obj.mask is not None
    assert obj.mask.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert obj.mask.dtype == np.float32
    assert obj.mask_threshold == 0.75
    obj.mask[0, 0] = 9  # a copy
    assert again(batch).objects[0].mask[0, 0] == 0  # type: ignore[index]
    batch.objects[0].mask = np.ones((3, 4), np.float32).T[1:]  # not contiguous
    batch.commit()
    assert again(batch).objects[0].mask.tolist() == [[1, 1, 1]] * 3  # type: ignore[union-attr]
    assert again(batch).objects[0].mask_threshold == 0.75
    batch.objects[0].mask = None
    batch.commit()
    assert again(batch).objects[0].mask is None


# -- display -----------------------------------------------------------------------
SHAPES = [
    Rect(1.5, 2.5, 3.5, 4.5, 6, (0.1, 0.2, 0.3, 0.4), True, (0.5, 0.6, 0.7, 0.8)),
    Text("héllo", 1, 2, "Mono", 13, (0, 0, 1, 1), False, (1, 1, 0, 0.5)),
    Line(1, 2, 3, 4, 5, (0, 1, 0, 1)),
    Arrow(1, 2, 3, 4, 5, 2, (0, 1, 1, 1)),
    Circle(1, 2, 3, (1, 0, 1, 1), True, (0, 0, 0, 0.25), 4),
]


def test_every_shape_comes_back(batch: Batch) -> None:
    for shape in SHAPES:
        batch.frames[0].display.add(shape)
    assert list(batch.frames[0].display) == SHAPES
    batch.commit()
    assert list(again(batch).frames[0].display) == SHAPES
    assert len(again(batch).frames[1].display) == 0
    assert _native.pool_counters(batch.address)["display"][2] == 1


def test_shapes_beyond_sixteen_spill_into_further_metas(batch: Batch) -> None:
    display = batch.frames[0].display
    for i in range(40):
        display.add_rect(i, 0, 1, 1)
    for i in range(17):
        display.add_text(f"t{i}", i, 0)
    batch.commit()
    metas = _native.Snapshot(batch.address).gather_display()
    counts = [(len(kinds["rects"]), len(kinds["texts"])) for _, _, kinds in metas]
    assert sorted(counts) == [(8, 0), (16, 1), (16, 16)]
    shapes = list(again(batch).frames[0].display)
    assert {s.left for s in shapes if isinstance(s, Rect)} == set(range(40))
    assert {s.display_text for s in shapes if isinstance(s, Text)} == {f"t{i}" for i in range(17)}
    assert len(shapes) == 57


def test_display_is_cleared(batch: Batch) -> None:
    batch.frames[0].display.add_line(0, 0, 5, 5)
    batch.frames[1].display.add_arrow(0, 0, 5, 5)
    batch.commit()
    display = batch.frames[0].display
    display.add_circle(1, 1, 1)
    assert len(display) == 2
    assert repr(display) == "<Display of 2 shapes>"
    display.clear()
    assert len(display) == 0
    display.add_circle(2, 2, 2)
    batch.commit()
    assert list(again(batch).frames[0].display) == [Circle(2, 2, 2)]
    assert list(again(batch).frames[1].display) == [Arrow(0, 0, 5, 5)]
    assert _native.pool_counters(batch.address)["display"][2] == 2


def test_pixels_of_shapes_are_rounded(batch: Batch) -> None:
    display = batch.frames[0].display
    display.add_line(np.float32(1.4), 1.6, np.int64(3), 4)  # type: ignore[arg-type]
    display.add_line(0, 0, 1, 1, line_color=[0, 0, 0, 1])
    assert list(display) == [Line(1, 2, 3, 4), Line(0, 0, 1, 1, line_color=(0, 0, 0, 1))]
    batch.commit()
    assert list(again(batch).frames[0].display) == [
        Line(1, 2, 3, 4), Line(0, 0, 1, 1, line_color=(0, 0, 0, 1))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        (Rect(math.nan, 0, 1, 1), NonFiniteValueError),
        (Rect(0, 0, -1, 1), MetadataValueError),
        (Rect(1e39, 0, 1, 1), NonFiniteValueError),
        (Rect(0, 0, 1, 1, border_color=(1, 0, 0)), MetadataValueError),  # type: ignore[arg-type]
        (Rect(0, 0, 1, 1, border_color=(1, 0, 0, math.inf)), NonFiniteValueError),
        (Line(-1, 0, 1, 1), MetadataValueError),
        (Line(0, 0, 2**32, 1), MetadataValueError),
        (Line("a", 0, 1, 1), MetadataValueError),  # type: ignore[arg-type]
        (Arrow(0, 0, 1, 1, arrow_head=3), MetadataValueError),
        (Circle(0, 0, math.inf), NonFiniteValueError),  # type: ignore[arg-type]
        (Text("a\0b", 0, 0), MetadataValueError),
        (Text(5, 0, 0), MetadataValueError),  # type: ignore[arg-type]
    ],
)
def test_bad_shapes_are_refused_at_once(batch: Batch, shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=type(shape).__name__):
        batch.frames[0].display.add(shape)
    assert len(batch.frames[0].display) == 0


def test_specs_and_mappings_build_the_same() -> None:
    mappings = Batch.synthetic(
        [
            {
                "source_id": 4,
                "pipeline_width": 640,
                "payloads": {"p": 1},
                "objects": [
                    {"rect": (1, 2, 3, 4), "parent": 1, "mask": [[0.5]]},
                    {
                        "rect": (1, 2, 3, 4),
                        "label": "x",
                        "border_width": 9,
                        "classifiers": [["a"], {"labels": ["b"], "unique_component_id": 3}],
                        "payloads": {"q": [2]},
                    },
                ],
            }
        ]
    )
    specs = Batch.synthetic(
        [
            FrameSpec(
                4,
                payloads={"p": 1},
                columns={"pipeline_width": 640},
                objects=[
                    ObjectSpec((1, 2, 3, 4), parent=1, mask=[[0.5]]),
                    ObjectSpec(
                        (1, 2, 3, 4),
                        label="x",
                        columns={"border_width": 9},
                        classifiers=[["a"], {"labels": ["b"], "unique_component_id": 3}],
                        payloads={"q": [2]},
                    ),
                ],
            )
        ]
    )
    with mappings, specs:
        for batch in (mappings, specs):
            frame = batch.frames[0]
            a, b = frame.objects
            assert (frame.source_id, frame.pipeline_width, dict(frame.payloads)) == (
                4, 640, {"p": 1}
            )  # fmt: skip
            assert a.parent == b
            assert a.mask is not None
            assert a.mask.tolist() == [[0.5]]
            assert (b.label, b.border_width, dict(b.payloads)) == ("x", 9, {"q": [2]})
            assert [(c.labels[0].result_label, c.unique_component_id) for c in b.classifiers] == [
                ("a", 0), ("b", 3)
            ]  # fmt: skip
