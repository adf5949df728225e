"""A batch, its line, and the batch rebuilt of it hold the same, bit for bit."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dselements import UNTRACKED, Batch
from dselements._core import _native
from dselements.errors import RecordingFormatError
from dselements.meta.fields import FRAME_COLUMNS, OBJECT_COLUMNS
from dselements.recording import BatchLine, Placement, capture, encode_batch, rebuild, restore
from dselements.recording.schema import float_of, number_of
from dselements.testing import strategies

DECODE = msgspec.json.Decoder(BatchLine).decode


def raw(level: int, batch: Batch, name: str, values: np.ndarray) -> None:
    """Write a column past the checks, as C elements can."""
    transaction = _native.Transaction(_native.Snapshot(batch.address))
    transaction.scatter(level, name, np.ascontiguousarray(values).tobytes())
    transaction.commit()


def same(a: Batch, b: Batch) -> None:
    """All that a capture holds, compared by its bytes."""
    one, other = capture(a.address), capture(b.address)
    assert one.family == other.family
    for name in ("frames", "objects"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.keys() == theirs.keys()
        for column in mine:
            assert mine[column].tobytes() == theirs[column].tobytes(), column
    assert one.bounds.tolist() == other.bounds.tolist()
    labels = [[c.labels[1][i] for i in c.labels[0].tolist()] for c in (one, other)]
    assert labels[0] == labels[1]
    assert one.texts == other.texts
    assert one.fonts == other.fonts
    assert one.parents.tolist() == other.parents.tolist()
    assert repr(one.masks) == repr(other.masks)
    assert one.misc.tolist() == other.misc.tolist()

    def without_addresses(c: Any) -> str:
        classifiers = [
            (row, component, kind, [label[1:] for label in labels])
            for row, _, component, kind, labels in c.classifiers
        ]
        return repr((classifiers, [(row, kinds) for row, _, kinds in c.displays], c.users))

    assert without_addresses(one) == without_addresses(other)


def round_trip(batch: Batch) -> BatchLine:
    line = encode_batch(capture(batch.address, 5), 3)
    assert line.count(b"\n") == 1
    read = DECODE(line)
    assert (read.n, read.pts) == (3, 5)
    with rebuild(read) as again:
        same(batch, again)
        assert encode_batch(capture(again.address, 5), 3) == line
    return read


def all_values(column: Any) -> Any:
    """Every bit pattern of a column."""
    size = column.dtype.itemsize * column.width
    return st.binary(min_size=size, max_size=size)


@st.composite
def wild_batches(draw: Any) -> tuple[list[Any], dict[tuple[int, str], bytes]]:
    frames = draw(strategies.batches(max_frames=3, max_objects=4))
    n = sum(len(frame["objects"]) for frame in frames)
    columns: dict[tuple[int, str], bytes] = {}
    for level, table, rows in (
        (_native.FRAME, FRAME_COLUMNS, len(frames)),
        (_native.OBJECT, OBJECT_COLUMNS, n),
    ):
        for name, column in table.items():
            if column.writable and rows and draw(st.booleans()):
                columns[level, name] = b"".join(draw(all_values(column)) for _ in range(rows))
    return frames, columns


@settings(max_examples=60, deadline=None)
@given(wild_batches(), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4))
def test_whatever_the_metadata_holds(wild: Any, misc: list[int]) -> None:
    frames, columns = wild
    with Batch.synthetic(frames) as batch:
        batch.misc_batch_info = misc
        batch.payloads["whole"] = {"n": misc}
        batch.commit()
        family = batch.family
        for (level, name), data in columns.items():
            if name != "rotation_angle" or family == "ds9":
                raw(level, batch, name, np.frombuffer(data, np.uint8))
        round_trip(batch)


def test_floats_that_json_does_not_have() -> None:
    bits = np.array([0x7F800000, 0xFF800000, 0x7FC00001, 0x7FA00002, 0x80000000, 1], np.uint32)
    with Batch.synthetic([{"objects": [{"rect": (0, 0, 1, 1)}] * 6}]) as batch:
        raw(_native.OBJECT, batch, "confidence", bits)
        line = round_trip(batch)
        values = line.frames[0].objects["confidence"]
        assert values[:4] == ["0x7f800000", "0xff800000", "0x7fc00001", "0x7fa00002"]
        assert str(values[4]) == "-0.0"
        assert values[5] == 2.0**-149
        batch.rollback()


def test_details_and_their_order() -> None:
    with Batch.synthetic(
        [
            {
                "source_id": 4,
                "payloads": {"b": 1, "a": [None, "ü\u2028"]},
                "objects": [
                    {
                        "rect": (0, 0, 9, 9),
                        "label": "人" * 42,
                        "object_id": 2**64 - 2,
                        "parent": 2,  # comes later in the list
                        "classifiers": [
                            {"labels": [("red", 0.1), ("suv", 0.2)], "unique_component_id": 7,
                             "classifier_type": "car"},
                            [("x", 0.3)],
                        ],
                    },
                    {"rect": (0, 0, 9, 9), "mask": np.eye(3), "payloads": {"p": {"k": 1.5}}},
                    {"rect": (0, 0, 9, 9), "display_text": "", "label": "🙂"},
                ],
            },
            {"source_id": 9},
        ]
    ) as batch:  # fmt: skip
        frame = batch.frames[0]
        frame.display.add_text("zwei\nZeilen", 1, 2, font_name=None)
        for i in range(20):
            frame.display.add_line(i, 0, 5, 5)
        frame.display.add_rect(-1.5, 2, 3, 4, has_bg_color=True, bg_color=(0.1, 0.2, 0.3, 0.4))
        frame.display.add_circle(1, 2, 3)
        frame.display.add_arrow(1, 2, 3, 4)
        frame.objects[1].payloads.put("bytes", {1: b"\0\xff"}, "msgpack")
        batch.commit()
        line = round_trip(batch)
    first = line.frames[0]
    assert first.objects["parent"] == [2, -1, -1]
    assert first.objects["object_id"] == [2**64 - 2, UNTRACKED, UNTRACKED]
    assert [c.unique_component_id for c in first.classifiers] == [7, 0]
    assert [label[4] for label in first.classifiers[0].labels] == ["red", "suv"]
    assert len(first.display) == 2
    assert {p.name for p in first.payloads} == {"a", "b", "p", "bytes"}
    assert line.frames[1].count == 0


def test_a_label_that_is_no_utf8() -> None:
    with Batch.synthetic([{"objects": [{"rect": (0, 0, 1, 1)}]}]) as batch:
        transaction = _native.Transaction(_native.Snapshot(batch.address))
        transaction.set_label(0, b"a\xff")
        transaction.commit()
        line = round_trip(batch)
        assert line.frames[0].objects["label"] == [{"base64": base64.b64encode(b"a\xff").decode()}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objects": {"class_id": [1]}}, "class_id does not have 2"),
        ({"objects": {"class_id": [1, 2.5]}}, "integers from"),
        ({"objects": {"class_id": [1, True]}}, "integers from"),
        ({"objects": {"rect": [[1, 2, 3], [1, 2, 3, 4]]}}, "list of 4"),
        ({"objects": {"confidence": ["0x7f", 0]}}, "no number"),
        ({"objects": {"confidence": [1e300, 0]}}, "overflow"),
        ({"objects": {"nonsense": [1, 2]}}, "no column 'nonsense'"),
        ({"objects": {"label": ["a\0", "b"]}}, "NUL"),
        ({"objects": {"parent": [1, 0]}}, "ring"),
        ({"objects": {"parent": [2, 0]}}, "parent holds"),
        ({"masks": [{"object": 5, "width": 1, "height": 1, "threshold": 0, "data": "AAAAAA=="}]},
         "no object 5"),
        ({"masks": [{"object": 0, "width": 2, "height": 1, "threshold": 0, "data": "AAAAAA=="}]},
         "2x1"),
        ({"payloads": [{"name": "x", "block": "AAAA"}]}, "malformed"),
        ({"display": [{"rects": [[1, 2]]}]}, "2 values"),
        ({"display": [{"stars": []}]}, "stars"),
        ({"fields": {"ntp_timestamp": -1}}, "ntp_timestamp"),
        ({"classifiers": [{"object": 0, "labels": [[-1, 0, 0, 1.0, "x"]]}]}, "uint32"),
    ],
)  # fmt: skip
def test_a_broken_line_changes_nothing(change: dict[str, Any], message: str) -> None:
    frame = {"source_id": 0, "frame_num": 0, "buf_pts": 0, "count": 2, **change}
    line = msgspec.convert({"kind": "batch", "n": 0, "max_frames": 1, "frames": [frame]}, BatchLine)
    with Batch.synthetic([{"objects": [{"rect": (1, 2, 3, 4), "label": "kept"}]}]) as batch:
        before = encode_batch(capture(batch.address))
        with pytest.raises(RecordingFormatError, match=message):
            restore(batch.address, [Placement(0, line.frames[0])])
        assert encode_batch(capture(batch.address)) == before
        with pytest.raises(RecordingFormatError, match=message):
            rebuild(line)


def test_replace_and_add() -> None:
    with (
        Batch.synthetic([{"objects": [{"rect": (1, 2, 3, 4), "label": "new"}]}]) as source,
        Batch.synthetic(
            [
                {"frame_num": 8, "payloads": {"old": 1}, "objects": [{"rect": (0, 0, 1, 1)}] * 2},
                {"frame_num": 9, "objects": [{"rect": (0, 0, 1, 1), "label": "other"}]},
            ]
        ) as batch,
    ):
        line = DECODE(encode_batch(capture(source.address))).frames[0]
        done = restore(batch.address, [Placement(0, line)], replace=False)
        assert (done.added, done.removed) == (1, 0)
        assert [o.label for o in batch.frames[0].objects] == ["new", "", ""]
        assert dict(batch.frames[0].payloads) == {"old": 1}
        batch.rollback()
        done = restore(batch.address, [Placement(0, line)])
        assert (done.added, done.removed) == (1, 3)
        assert [o.label for o in batch.frames[0].objects] == ["new"]
        assert [o.label for o in batch.frames[1].objects] == ["other"]
        assert dict(batch.frames[0].payloads) == {}
        assert [f.frame_num for f in batch.frames] == [8, 9]


@given(st.floats(width=32))
def test_numbers(value: float) -> None:
    again = float_of(number_of(value, "f"))
    assert np.float32(again).tobytes() == np.float32(value).tobytes()
