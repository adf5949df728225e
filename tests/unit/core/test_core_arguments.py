"""Whatever is passed, an error that says what is wrong comes back; nothing crashes or half-happens."""
# ruff: noqa: E501 -- a table with one line a case

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from core_tools import batch_of, classes, i32, in_use

from dselements._core import _native
from dselements.errors import MetadataValueError, NoBatchMetaError, UnsupportedFieldError

HUGE = 2**70
COLOR = (1.0, 0.0, 0.0, 1.0)
LINE = (1, 2, 3, 4, 5, COLOR)
T = Callable[[Any], Any]

WRONG: dict[str, tuple[T, type[Exception], str]] = {
    "level": (lambda t: t.scatter(3, "class_id", i32(1, 2)), ValueError, "level 3"),
    "negative level": (lambda t: t.scatter(-1, "class_id", b""), ValueError, "level -1"),
    "huge level": (lambda t: t.scatter(HUGE, "class_id", b""), OverflowError, "."),
    "field": (lambda t: t.scatter(2, "klass", i32(1, 2)), UnsupportedFieldError, "'klass'"),
    "field type": (lambda t: t.scatter(2, None, i32(1, 2)), UnsupportedFieldError, "None"),
    "short": (lambda t: t.scatter(2, "class_id", i32(1)), MetadataValueError, "4 bytes for 2 rows"),
    "long": (lambda t: t.scatter(2, "class_id", i32(1, 2, 3)), MetadataValueError, "12 bytes"),
    "no bytes": (lambda t: t.scatter(2, "class_id", [1, 2]), TypeError, "not list"),
    "text": (lambda t: t.scatter(2, "class_id", "12345678"), TypeError, "not str"),
    "view": (lambda t: t.scatter(2, "class_id", memoryview(i32(1, 2))), TypeError, "memoryview"),
    "flags": (lambda t: t.scatter(2, "class_id", i32(1, 2), b"\1"), MetadataValueError, "1 change"),
    "flags type": (lambda t: t.scatter(2, "class_id", i32(1, 2), [1, 1]), TypeError, "not list"),
    "label row": (lambda t: t.set_label(2, b"x"), IndexError, "object row 2 of 2"),
    "label row -2": (lambda t: t.set_label(-2, b"x"), IndexError, "object row -2"),
    "label row -1": (lambda t: t.set_label(-1, b"x"), IndexError, "object row -1"),
    "label type": (lambda t: t.set_label(0, "x"), TypeError, "not str"),
    "label NUL": (lambda t: t.set_label(0, b"a\0b"), MetadataValueError, "NUL"),
    "labels code": (lambda t: t.set_labels(i32(0, 1), [b"a"]), MetadataValueError, "code 1 at row 1"),
    "labels code -2": (lambda t: t.set_labels(i32(0, -2), [b"a"]), MetadataValueError, "code -2"),
    "labels length": (lambda t: t.set_labels(i32(0), [b"a"]), MetadataValueError, "4 bytes of codes"),
    "text field": (lambda t: t.set_text(2, 0, "obj_label", b"x"), UnsupportedFieldError, "obj_label"),
    "text level": (lambda t: t.set_text(1, 0, "display_text", b"x"), UnsupportedFieldError, "level 1"),
    "text type": (lambda t: t.set_text(2, 0, "display_text", "x"), MetadataValueError, "bytes"),
    "text NUL": (lambda t: t.set_text(2, 0, "font_name", b"\0"), MetadataValueError, "NUL"),
    "text row": (lambda t: t.set_text(2, 9, "display_text", b"x"), IndexError, "row 9"),
    "texts type": (lambda t: t.set_display_texts(i32(0, 0), ["x"]), MetadataValueError, "bytes"),
    "mask size": (lambda t: t.set_mask(0, bytes(8), 1, 1, 0.5), MetadataValueError, "needs 4 bytes"),
    "mask empty": (lambda t: t.set_mask(0, b"", 0, 0, 0.5), MetadataValueError, "0x0"),
    "mask huge": (lambda t: t.set_mask(0, bytes(4), 65536, 65536, 0.5), MetadataValueError, "too"),
    # 4 * width * height is 2**64 + 4: in 64 bits it would pass for 4 bytes.
    "mask wraps": (
        lambda t: t.set_mask(0, bytes(4), 2147549185, 2147418113, 0.5), MetadataValueError, "too",
    ),
    "mask negative": (lambda t: t.set_mask(0, bytes(4), -1, -1, 0.5), OverflowError, "."),
    "mask type": (lambda t: t.set_mask(0, memoryview(bytes(4)), 1, 1, 0.5), TypeError, "memoryview"),
    "mask row": (lambda t: t.set_mask(5, bytes(4), 1, 1, 0.5), IndexError, "row 5"),
    "parent row": (lambda t: t.set_parent(0, 2), IndexError, "row 2 of 2"),
    "parent -2": (lambda t: t.set_parent(0, -2), IndexError, "row -2"),
    "parent itself": (lambda t: t.set_parent(1, 1), MetadataValueError, "its own parent"),
    "frames": (lambda t: t.add_frames(-1), MetadataValueError, "-1 frames"),
    "many frames": (lambda t: t.add_frames(2**40), MetadataValueError, "frames at once"),
    "objects row": (lambda t: t.add_objects(i32(0, 1)), IndexError, "frame row 1 of 1"),
    "objects row -1": (lambda t: t.add_objects(i32(-1)), IndexError, "frame row -1"),
    "objects bytes": (lambda t: t.add_objects(b"\0\0\0"), MetadataValueError, "int32"),
    "objects type": (lambda t: t.add_objects([0]), TypeError, "not list"),
    "flags short": (lambda t: t.remove_objects(b"\1"), MetadataValueError, "1 removal flags"),
    "flags list": (lambda t: t.remove_objects([1, 1]), TypeError, "not list"),
    "frame row": (lambda t: t.remove_frame(1), IndexError, "frame row 1 of 1"),
    "classifier row": (lambda t: t.add_classifier(2, 1, None, []), IndexError, "row 2"),
    "classifier row -1": (lambda t: t.add_classifier(-1, 1, None, []), IndexError, "row -1"),
    "classifier type": (lambda t: t.add_classifier(0, 1, "c", []), MetadataValueError, "bytes"),
    "classifier label": (lambda t: t.add_classifier(0, 1, None, [(1, 2)]), ValueError, "."),
    "classifier text": (lambda t: t.add_classifier(0, 1, None, [(1, 2, 3, 0.5, "x")]), TypeError, "."),
    "classifier id": (lambda t: t.add_classifier(0, HUGE, None, []), OverflowError, "."),
    "label info": (lambda t: t.set_label_info(0, 0, (1,)), ValueError, "."),
    "shape": (lambda t: t.add_display(0, {"squares": []}), MetadataValueError, "'squares'"),
    "shapes": (lambda t: t.add_display(0, {"lines": [LINE] * 17}), MetadataValueError, "17 lines"),
    "shape size": (lambda t: t.add_display(0, {"lines": [(1, 2)]}), ValueError, "."),
    "shape value": (lambda t: t.add_display(0, {"lines": [(-1, *LINE[1:])]}), OverflowError, "."),
    "shape text": (
        lambda t: t.add_display(0, {"texts": [("ok", 1, 1, None, 1, COLOR, 0, COLOR),
                                              (b"x", 1, 1, None, 1, COLOR, 0, COLOR)]}),
        TypeError, "not bytes",
    ),
    "shape NUL": (
        lambda t: t.add_display(0, {"texts": [("a\0b", 1, 1, None, 1, COLOR, 0, COLOR)]}),
        MetadataValueError, "NUL",
    ),
    "display row": (lambda t: t.add_display(1, {}), IndexError, "frame row 1"),
    "display row -1": (lambda t: t.add_display(-1, {}), IndexError, "frame row -1"),
    "no display": (lambda t: t.remove_display(-1, 0), IndexError, "frame row -1"),
    "payload row": (lambda t: t.add_payload(2, 2, b"DSEP"), ValueError, "."),
    "payload type": (lambda t: t.add_payload(2, 0, bytearray(20)), TypeError, "bytearray"),
    "payload level": (lambda t: t.remove_user(4, 0, 0), ValueError, "level 4"),
    "user row": (lambda t: t.remove_user(2, -1, 0), IndexError, "object row -1"),
    "user batch row": (lambda t: t.remove_user(0, 1, 0), IndexError, "batch row 1 of 1"),
    "classifier gone row": (lambda t: t.remove_classifier(-1, 0), IndexError, "object row -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_leave_the_transaction_as_it_was(name: str) -> None:
    call, error, words = WRONG[name]
    with batch_of([0, 0]) as batch:
        s = _native.Snapshot(batch)
        t = _native.Transaction(s)
        with pytest.raises(error, match=words):
            call(t)
        t.commit()  # nothing of the refused edit is in it
        assert classes(batch) == [0, 1]
        assert _native.Snapshot(batch).gather_mask(0) is None
        assert _native.Snapshot(batch).gather_display() == []
        assert in_use(batch) == {
            "frame": 1, "object": 2, "classifier": 0, "display": 0, "user": 0, "label": 0
        }  # fmt: skip


@pytest.mark.parametrize("row", [2, -1, 2**40])
def test_rows_of_a_snapshot(row: int) -> None:
    with batch_of([0, 0]) as batch, pytest.raises(IndexError):
        _native.Snapshot(batch).gather_mask(row)


def test_snapshots_of_nothing() -> None:
    with pytest.raises(NoBatchMetaError):
        _native.Snapshot(0)
    for wrong in (-1, HUGE):
        with pytest.raises(OverflowError):
            _native.Snapshot(wrong)
    for cls in (_native.Snapshot, _native.Transaction, _native.MemoryMap):
        with pytest.raises(TypeError):
            cls.__new__(cls)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        _native.Transaction(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("frames", [0, -1, 65537])
def test_numbers_of_frames(frames: int) -> None:
    with pytest.raises(MetadataValueError, match=f"{frames} is outside"):
        _native.create_batch(frames)


def test_a_batch_without_frames_or_objects() -> None:
    with batch_of([]) as batch:
        s = _native.Snapshot(batch)
        assert (s.n_frames, s.n_objects) == (0, 0)
        assert s.gather_labels() == (bytearray(), [])
        assert s.gather_parents() == bytearray()
        assert s.gather_classifiers() == s.gather_display() == s.gather_user(0) == []
        t = _native.Transaction(s)
        t.scatter(_native.OBJECT, "class_id", b"")
        t.scatter(_native.BATCH, "misc_batch_info", struct.pack("4q", 1, 2, 3, 4))
        t.remove_objects(b"")
        t.commit()
        found = _native.Snapshot(batch).gather(_native.BATCH, "misc_batch_info")
        assert struct.unpack("4q", found) == (1, 2, 3, 4)


def test_addresses_of_buffers_and_pads() -> None:
    for call in (
        lambda: _native.buffer_batch_meta(0),
        lambda: _native.buffer_info(0),
        lambda: _native.buffer_unref(0),
        lambda: _native.make_batched_buffer([0]),
        lambda: _native.pad_push(0, 0),
        lambda: _native.aggregator_finish(0, 0),
        lambda: _native.MemoryMap(0, 0, False),
        lambda: _native.read_memory(0, 4),
        lambda: _native.read_memory(64, -1),
    ):
        with pytest.raises(ValueError, match="0"):
            call()


@pytest.mark.parametrize("row_and_parent", [(0, 1), (1, 0)])
def test_parents_may_be_set_before_the_child_is_removed(row_and_parent: tuple[int, int]) -> None:
    row, parent = row_and_parent
    with batch_of([0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_parent(row, parent)
        t.remove_objects(bytes([parent == 0, parent == 1]))
        t.commit()
        assert _native.Snapshot(batch).gather_parents() == i32(-1)
