"""Fields, labels, texts, masks, classifiers, display metas: what is written is what is there."""

from __future__ import annotations

import ctypes
import struct

import pytest
from core_tools import batch_of, floats, i32, in_use, ints, u64s

from dselements._core import _native
from dselements._core.layouts import FAMILIES
from dselements.errors import MetadataValueError, UnsupportedFieldError

UNTRACKED = 0xFFFFFFFFFFFFFFFF
FAMILY = {family.name: family for family in FAMILIES}


def labels(batch: int) -> list[bytes]:
    codes, unique = _native.Snapshot(batch).gather_labels()
    return [unique[code] for code in ints(codes)]


def resident_kb() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4


def test_every_plain_field_is_written_where_it_is_read() -> None:
    """Distinct values in all fields at once: an overlap or a wrong size would show."""
    with batch_of([0, 0, 1]) as batch:
        s = _native.Snapshot(batch)
        fields = FAMILY[s.family].fields
        counted = {"num_obj_meta", "num_frames_in_batch", "max_frames_in_batch"}
        written: dict[tuple[int, str], bytes] = {}
        t = _native.Transaction(s)
        for level, name in ((0, "batch"), (1, "frame"), (2, "object")):
            rows = (1, s.n_frames, s.n_objects)[level]
            for k, (field, (_offset, size)) in enumerate(fields[name].items()):
                if field in counted:
                    continue
                data = bytes((11 * level + 17 * k + n) % 251 + 1 for n in range(rows * size))
                t.scatter(level, field, data)
                written[level, field] = data
        t.commit()
        s = _native.Snapshot(batch)
        for (level, field), data in written.items():
            assert bytes(s.gather(level, field)) == data, field
        assert bytes(s.class_id) == written[2, "class_id"]
        assert bytes(s.object_id) == written[2, "object_id"]
        assert bytes(s.confidence) == written[2, "confidence"]
        assert bytes(s.rect) == written[2, "rect"]
        assert ints(s.gather(_native.FRAME, "num_obj_meta")) == [2, 1]


def test_only_changed_rows_are_written() -> None:
    with batch_of([0, 0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.scatter(_native.OBJECT, "class_id", i32(70, 71, 72), b"\1\0\1")
        t.commit()
        assert ints(_native.Snapshot(batch).class_id) == [70, 1, 72]


def test_what_the_caller_does_with_its_bytearrays_does_not_matter() -> None:
    with batch_of([0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        values, flags = bytearray(i32(8, 9)), bytearray(b"\1\1")
        codes, rows = bytearray(i32(0, -1)), bytearray(i32(0))
        t.scatter(_native.OBJECT, "class_id", values, flags)
        t.set_labels(codes, [b"car"])
        t.add_objects(rows)
        for array in (values, flags, codes, rows):
            array.clear()
        t.commit()
        s = _native.Snapshot(batch)
        assert ints(s.class_id) == [0, 8, 9]
        assert labels(batch) == [b"", b"car", b""]


def test_added_objects_come_first_in_order_and_untracked() -> None:
    with batch_of([0, 1]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        assert t.add_frames(1) == 2
        assert t.add_objects(i32(0, 0, 2)) == 2
        t.scatter(_native.OBJECT, "class_id", i32(0, 1, 20, 21, 22))
        t.set_label(4, b"new")
        t.commit()
        s = _native.Snapshot(batch)
        assert ints(s.class_id) == [20, 21, 0, 1, 22]
        assert ints(s.frame_index) == [0, 0, 0, 1, 2]
        assert u64s(s.object_id) == [UNTRACKED] * 5
        assert labels(batch) == [b"", b"", b"", b"", b"new"]


@pytest.mark.parametrize(
    ("label", "stored"),
    [
        (b"x" * 127, b"x" * 127),
        (b"x" * 300, b"x" * 127),
        ("é".encode() * 150, "é".encode() * 63),  # 2 bytes each: 126
        (b"a" + "é".encode() * 150, b"a" + "é".encode() * 63),  # 127
        ("漢".encode() * 100, "漢".encode() * 42),  # 3 bytes each: 126
        (b"ab" + "😀".encode() * 75, b"ab" + "😀".encode() * 31),  # 4 bytes each: 126
    ],
)
@pytest.mark.parametrize("bulk", [False, True])
def test_long_labels_are_cut_between_characters(label: bytes, stored: bytes, bulk: bool) -> None:
    with batch_of([0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        if bulk:
            t.set_labels(i32(0, -1), [label])
        else:
            t.set_label(0, label)
        t.commit()
        assert labels(batch) == [stored, b""]
        stored.decode()
        # The list of classifiers follows the label: it must be untouched.
        assert _native.Snapshot(batch).gather_classifiers() == []


def test_a_shorter_label_leaves_nothing_of_the_longer_one() -> None:
    with batch_of([0]) as batch:
        for label in (b"truck with a trailer", b"car"):
            t = _native.Transaction(_native.Snapshot(batch))
            t.set_label(0, label)
            t.commit()
        s = _native.Snapshot(batch)
        at = FAMILY[s.family].offsets["object.label"]
        raw = _native.read_memory(u64s(s.object_address)[0] + at, 128)
        assert raw == b"car".ljust(128, b"\0")


def test_labels_are_coded_once_each() -> None:
    with batch_of([0] * 6) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_labels(i32(0, 1, 0, 1, 1, -1), [b"car", b"bus"])
        t.commit()
        codes, unique = _native.Snapshot(batch).gather_labels()
        assert unique == [b"car", b"bus", b""]
        assert ints(codes) == [0, 1, 0, 1, 1, 2]


def test_texts_and_fonts() -> None:
    with batch_of([0, 0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_text(_native.OBJECT, 0, "display_text", b"first")
        t.set_text(_native.OBJECT, 0, "font_name", b"Serif")
        t.set_display_texts(i32(-1, 0, 1), (text for text in (b"bulk", None)))
        t.commit()
        s = _native.Snapshot(batch)
        assert s.gather_text(_native.OBJECT, "display_text") == [b"first", b"bulk", None]
        assert s.gather_text(_native.OBJECT, "font_name") == [b"Serif", None, None]
        t = _native.Transaction(s)
        t.set_text(_native.OBJECT, 0, "display_text", None)
        t.commit()
        assert _native.Snapshot(batch).gather_text(_native.OBJECT, "display_text")[0] is None


def test_texts_and_masks_are_owned_over_many_cycles() -> None:
    """Texts of 10 kB and masks of 16 kB, each set three times: one leak a cycle is over 20 MB."""
    text = b"t" * 10_000

    def cycle() -> None:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_objects(i32(0, 0))
        for _ in range(2):
            t.set_text(_native.OBJECT, 0, "display_text", text)
            t.set_text(_native.OBJECT, 0, "font_name", b"Sans")
            t.set_mask(1, bytes(16384), 64, 64, 0.5)
        t.set_display_texts(i32(0, 0), [text])
        t.add_display(0, {"texts": [(text.decode(), 1, 1, "Sans", 9, (1.0,) * 4, 0, (0.0,) * 4)]})
        t.add_classifier(1, 1, b"kind", [(1, 1, 1, 1.0, b"x")])
        t.commit()
        copy = _native.copy_batch(batch)
        assert _native.Snapshot(copy).gather_text(_native.OBJECT, "display_text") == [text, text]
        _native.destroy_batch(copy)
        s = _native.Snapshot(batch)
        t = _native.Transaction(s)
        t.remove_objects(b"\1\1")
        ((_row, display, _shapes),) = s.gather_display()
        t.remove_display(0, display)
        t.commit()

    with batch_of([], frames=1) as batch:
        for _ in range(200):
            cycle()
        before = resident_kb()
        for _ in range(2000):
            cycle()
        assert resident_kb() - before < 4096


def test_masks() -> None:
    with batch_of([0, 0]) as batch:
        values = [0.25 * k for k in range(6)]
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_mask(0, struct.pack("6f", *values), 3, 2, 0.5)
        t.commit()
        s = _native.Snapshot(batch)
        found = s.gather_mask(0)
        assert found is not None
        assert (floats(found[0]), *found[1:]) == (values, 3, 2, 0.5)
        assert s.gather_mask(1) is None
        copy = _native.copy_batch(batch)
        t = _native.Transaction(s)
        t.set_mask(0, None, 0, 0, 0.0)
        t.commit()
        assert _native.Snapshot(batch).gather_mask(0) is None
        assert _native.Snapshot(copy).gather_mask(0) == found
        _native.destroy_batch(copy)


def test_classifiers_are_read_edited_and_removed(lib: ctypes.CDLL) -> None:
    with batch_of([0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_classifier(1, 8, None, [])
        t.add_classifier(1, 7, b"vehicle", [(1, 2, 3, 0.5, b"red"), (4, 5, 6, 0.25, b"x" * 200)])
        t.commit()
        found = _native.Snapshot(batch).gather_classifiers()  # newest first
        assert [(c[0], c[2], c[3]) for c in found] == [(1, 7, b"vehicle"), (1, 8, None)]
        assert [entry[1:] for entry in found[0][4]] == [
            (1, 2, 3, 0.5, b"red"),
            (4, 5, 6, 0.25, b"x" * 127),
        ]
        # A label longer than its array lies behind a pointer that the label owns.
        label = found[0][4][0][0]
        ctypes.c_void_p.from_address(label + 176).value = lib.g_strdup(b"long" * 50)
        assert _native.Snapshot(batch).gather_classifiers()[0][4][0][5] == b"long" * 50
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_label_info(label, found[0][1], (9, 8, 7, 0.125, b"blue"))
        t.commit()
        assert _native.Snapshot(batch).gather_classifiers()[0][4][0][1:] == (
            9,
            8,
            7,
            0.125,
            b"blue",
        )
        assert ctypes.c_void_p.from_address(label + 176).value is None
        # An edit of a label that goes in the same transaction touches nothing.
        t = _native.Transaction(_native.Snapshot(batch))
        t.remove_classifier(1, found[0][1])
        t.set_label_info(label, found[0][1], (1, 1, 1, 1.0, b"stray"))
        t.commit()
        assert _native.read_memory(label + 44, 5) == bytes(5)
        assert in_use(batch)["label"] == 0
        assert in_use(batch)["classifier"] == 1


def test_display_shapes_round_trip() -> None:
    red, none = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0)
    shapes = {
        "rects": [(1.0, 2.0, 3.0, 4.0, 5, red, 1, none), (9.0, 8.0, 7.0, 6.0, 1, none, 0, red)],
        "texts": [
            (b"hello", 1, 2, b"Serif", 11, red, 1, none),
            (None, 3, 4, None, 5, none, 0, red),
        ],
        "lines": [(1, 2, 3, 4, 5, red)] * 16,
        "arrows": [(1, 2, 3, 4, 5, 2, red)],
        "circles": [(1, 2, 3, red, 1, none, 4)],
    }
    given = dict(shapes)
    given["texts"] = [
        tuple(v.decode() if isinstance(v, bytes) else v for v in text) for text in shapes["texts"]
    ]
    with batch_of([], frames=2) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_display(1, given)
        t.commit()
        copy = _native.copy_batch(batch)
        for each in (batch, copy):
            ((row, address, found),) = _native.Snapshot(each).gather_display()
            assert row == 1
            assert found == shapes
        _native.destroy_batch(copy)
        t = _native.Transaction(_native.Snapshot(batch))
        ((_row, address, _found),) = _native.Snapshot(batch).gather_display()
        t.remove_display(1, address)
        t.commit()
        assert in_use(batch)["display"] == 0


def test_rotation_angle_needs_its_family() -> None:
    with batch_of([0]) as batch:
        s = _native.Snapshot(batch)
        if s.family == "ds9":
            assert floats(s.gather(_native.OBJECT, "rotation_angle")) == [0.0]
        else:
            with pytest.raises(UnsupportedFieldError, match="rotation_angle"):
                s.gather(_native.OBJECT, "rotation_angle")
        with pytest.raises(UnsupportedFieldError, match="'no_such'"):
            s.gather(_native.OBJECT, "no_such")


def test_fields_that_the_library_keeps_are_refused() -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        for level, field in (
            (_native.FRAME, "num_obj_meta"),
            (_native.BATCH, "num_frames_in_batch"),
            (_native.BATCH, "max_frames_in_batch"),
        ):
            with pytest.raises(MetadataValueError, match=field):
                t.scatter(level, field, bytes(4))
