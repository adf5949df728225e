"""Layouts: the numbers of each SDK family, and batches of families that are not loaded here.

A library with 544-byte objects is not at hand. Its batches are built here in plain memory, with
the offsets written out; of the loaded library only the lock touches them.
"""

from __future__ import annotations

import ctypes
import itertools
import struct

import pytest
from core_tools import floats, i32, ints, payload, u64s

from dselements._core import _native
from dselements._core.layouts import FAMILIES, FIELDS, META_TYPES
from dselements.errors import UnsupportedFieldError, UnsupportedLayoutError

# (frame, object, classifier, display, user, label) element sizes: sizeof in each SDK's headers.
SIZES = {
    "ds6": (200, 544, 64, 6912, 48, 200),
    "ds8": (232, 544, 64, 6912, 48, 200),
    "ds9": (232, 552, 64, 7040, 48, 200),
}
# offsetof in the headers of 8.0 and 9.1.
OLD = {
    "mask": 208, "text": 232, "label": 336, "classifiers": 464, "users": 472, "misc": 480,
    "texts": 1728, "lines": 3392, "arrows": 4288, "circles": 5312,
}  # fmt: skip
NEW = {
    "mask": 216, "text": 240, "label": 344, "classifiers": 472, "users": 480, "misc": 488,
    "texts": 1856, "lines": 3520, "arrows": 4416, "circles": 5440,
}  # fmt: skip
FAMILY = {family.name: family for family in FAMILIES}


class Memory:
    """A batch of 1 frame and n objects in memory of this test, newest object first."""

    def __init__(self, sizes: tuple[int, ...], at: dict[str, int], n: int) -> None:
        self.keep: list[object] = []
        self.at = at
        self.batch = self.block(192)
        self.frame = self.block(sizes[0])
        self.objects = [self.block(sizes[1]) for _ in range(n)]
        self.put(self.batch, 0, "Q", self.batch)
        self.put(self.batch, 40, "II", 1, 1)
        for k, (size, used) in enumerate(zip(sizes, (1, n, 0, 0, 0, 0), strict=True)):
            pool = self.block(56)
            self.put(pool, 4, "IIII", 16, size, 16 - used, used)
            self.put(self.batch, 48 + 8 * k, "Q", pool)
        self.put(self.batch, 96, "Q", self.chain([self.frame]))
        self.put(self.frame, 96, "I", n)
        self.put(self.frame, 104, "Q", self.chain(self.objects))
        for k, address in enumerate(self.objects):
            self.put(address, 48, "ii", 3, 10 + k)
            self.put(address, 56, "Q", 1000 + k)
            self.put(address, 96, "ff", 0.5 + k, 0.25)
            self.put(address, 104, "4f", 1.0, 2.0, 3.0, 4.0 + k)
            self.put(address, at["label"], "8s", b"car %d" % k)
            self.put(address, at["text"] + 8, "II", 7, 8 + k)
            self.put(address, at["misc"], "4q", k, 0, 0, -k)

    def block(self, size: int) -> int:
        # Room on both sides, filled: a write outside the element shows.
        memory = ctypes.create_string_buffer(b"\xaa" * 64 + bytes(size) + b"\xaa" * 64)
        self.keep.append((memory, size))
        return ctypes.addressof(memory) + 64

    def put(self, base: int, offset: int, form: str, *values: object) -> None:
        data = struct.pack("<" + form, *values)
        ctypes.memmove(base + offset, data, len(data))

    def chain(self, items: list[int]) -> int:
        nodes = [self.block(24) for _ in items]
        for k, (node, data) in enumerate(zip(nodes, items, strict=True)):
            after = nodes[k + 1] if k + 1 < len(nodes) else 0
            self.put(node, 0, "QQQ", data, after, nodes[k - 1] if k else 0)
        return nodes[0] if nodes else 0

    def margins_untouched(self) -> bool:
        return all(
            memory.raw[:64] == b"\xaa" * 64 and memory.raw[64 + size : 128 + size] == b"\xaa" * 64
            for memory, size in self.keep  # type: ignore[misc]
        )


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_offsets_are_those_of_the_headers(name: str) -> None:
    family, at = FAMILY[name], NEW if name == "ds9" else OLD
    pools = ("frame", "object", "classifier", "display", "user", "label")
    assert tuple(family.sizes[pool] for pool in pools) == SIZES[name]
    offsets = family.offsets
    assert {key: offsets[f"object.{key}"] for key in ("mask", "text", "label", "classifiers")} == {
        key: at[key] for key in ("mask", "text", "label", "classifiers")
    }
    assert offsets["object.users"] == at["users"]
    assert offsets["display.rects"] == 64
    for key in ("texts", "lines", "arrows", "circles"):
        assert offsets[f"display.{key}"] == at[key]
    fields = family.fields["object"]
    assert fields["misc_obj_info"] == (at["misc"], 32)
    assert fields["text_x"] == (at["text"] + 8, 4)
    assert fields["font_size"] == (at["text"] + 24, 4)
    assert fields["text_bg_color"] == (at["text"] + 72, 32)
    assert fields["bg_color"] == (168, 32)
    assert ("rotation_angle" in fields) == (name == "ds9")
    assert family.fields["frame"]["pipeline_height"] == (164, 4)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_fields_lie_inside_their_structure_and_apart(family: object) -> None:
    sizes = {"batch": 192, **family.sizes}  # type: ignore[attr-defined]
    for level, fields in family.fields.items():  # type: ignore[attr-defined]
        assert {key: size for key, (_at, size) in fields.items()}.items() <= FIELDS[level].items()
        ends = sorted((at, at + size) for at, size in fields.values())
        assert ends[-1][1] <= sizes[level]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends)), level


def test_the_loaded_library_has_the_sizes_of_its_family() -> None:
    batch = _native.create_batch(1)
    assert _native.layout_of(batch) == _native.library_family() == "ds9"
    found = []
    for k in range(6):
        pool = ctypes.c_uint64.from_address(batch + 48 + 8 * k).value
        found.append(ctypes.c_uint32.from_address(pool + 8).value)
    assert tuple(found) == SIZES["ds9"]
    _native.destroy_batch(batch)


@pytest.mark.parametrize("name", SIZES)
def test_reads_a_batch_of_any_family(name: str) -> None:
    memory = Memory(SIZES[name], NEW if name == "ds9" else OLD, 3)
    assert _native.layout_of(memory.batch) == name
    s = _native.Snapshot(memory.batch)
    assert s.family == name
    assert u64s(s.object_address) == memory.objects
    assert ints(s.class_id) == [10, 11, 12]
    assert u64s(s.object_id) == [1000, 1001, 1002]
    assert floats(s.confidence) == [0.5, 1.5, 2.5]
    assert floats(s.rect)[4:8] == [1.0, 2.0, 3.0, 5.0]
    codes, unique = s.gather_labels()
    assert [unique[code] for code in ints(codes)] == [b"car 0", b"car 1", b"car 2"]
    assert ints(s.gather(_native.OBJECT, "text_y")) == [8, 9, 10]
    assert struct.unpack("12q", s.gather(_native.OBJECT, "misc_obj_info"))[8:] == (2, 0, 0, -2)
    if name != "ds9":
        with pytest.raises(UnsupportedFieldError, match=f"{name} family has no field 'rotation"):
            s.gather(_native.OBJECT, "rotation_angle")


@pytest.mark.parametrize("name", SIZES)
def test_writes_a_batch_of_any_family(name: str) -> None:
    at = NEW if name == "ds9" else OLD
    memory = Memory(SIZES[name], at, 2)
    t = _native.Transaction(_native.Snapshot(memory.batch))
    t.scatter(_native.OBJECT, "class_id", i32(70, 71))
    t.scatter(_native.OBJECT, "text_bg_color", struct.pack("8d", *range(8)))
    t.scatter(_native.OBJECT, "misc_obj_info", struct.pack("8q", *range(8)))
    t.set_label(1, b"x" * 300)
    t.set_text(_native.OBJECT, 0, "font_name", b"Serif")
    t.set_parent(1, 0)
    t.set_mask(0, struct.pack("f", 0.5), 1, 1, 0.75)
    t.commit()
    first, second = memory.objects
    assert struct.unpack("i", _native.read_memory(first + 52, 4)) == (70,)
    background = _native.read_memory(second + at["text"] + 72, 32)
    assert struct.unpack("4d", background) == (4.0, 5.0, 6.0, 7.0)
    assert struct.unpack("4q", _native.read_memory(second + at["misc"], 32)) == (4, 5, 6, 7)
    assert _native.read_memory(second + at["label"], 128) == b"x" * 127 + b"\0"
    assert struct.unpack("Q", _native.read_memory(second + 40, 8)) == (first,)
    font = struct.unpack("Q", _native.read_memory(first + at["text"] + 16, 8))[0]
    assert ctypes.string_at(font) == b"Serif"
    size, threshold, width, height = struct.unpack(
        "IfII", _native.read_memory(first + at["mask"] + 8, 16)
    )
    assert (size, threshold, width, height) == (4, 0.75, 1, 1)
    # Lists of classifiers and users right behind the label are as they were.
    assert _native.read_memory(second + at["classifiers"], 16) == bytes(16)
    assert memory.margins_untouched()
    t = _native.Transaction(_native.Snapshot(memory.batch))
    t.set_mask(0, None, 0, 0, 0.0)  # frees it: these objects never go back to a pool
    t.commit()
    assert _native.Snapshot(memory.batch).gather_mask(0) is None


@pytest.mark.parametrize("pool", range(6))
def test_every_pools_size_must_be_known(pool: int) -> None:
    sizes = list(SIZES["ds8"])
    sizes[pool] += 8
    memory = Memory(tuple(sizes), OLD, 1)
    # 552-byte objects with the other sizes of 8.0 are no family either.
    with pytest.raises(UnsupportedLayoutError, match=str(sizes[pool])) as caught:
        _native.Snapshot(memory.batch)
    assert "object" in str(caught.value)
    with pytest.raises(UnsupportedLayoutError):
        _native.layout_of(memory.batch)
    with pytest.raises(UnsupportedLayoutError):
        _native.copy_batch(memory.batch)


def test_a_missing_pool_is_no_layout() -> None:
    memory = Memory(SIZES["ds8"], OLD, 1)
    memory.put(memory.batch, 48 + 8 * 3, "Q", 0)
    with pytest.raises(UnsupportedLayoutError, match="display none"):
        _native.layout_of(memory.batch)


def test_a_batch_that_would_crash_the_library_is_not_copied() -> None:
    batch = _native.create_batch(2)
    ctypes.c_uint32.from_address(batch + 40).value = 0
    with pytest.raises(ValueError, match="max_frames_in_batch 0"):
        _native.copy_batch(batch)
    ctypes.c_uint32.from_address(batch + 40).value = 2
    _native.destroy_batch(batch)


def test_payload_metas_of_other_families(lib: ctypes.CDLL) -> None:
    """The users' list of 544-byte objects lies 8 bytes before that of 552-byte ones."""
    memory = Memory(SIZES["ds8"], OLD, 1)
    block = memory.block(len(payload()))
    ctypes.memmove(block, payload(), len(payload()))
    user = memory.block(48)
    memory.put(user, 8, "i", _native.payload_meta_type())
    memory.put(user, 40, "Q", block)
    memory.put(memory.objects[0], OLD["users"], "Q", memory.chain([user]))
    found = _native.Snapshot(memory.batch).gather_user(_native.OBJECT)
    assert found == [(0, user, _native.payload_meta_type(), block)]
    assert _native.read_payload(user) == payload()


def test_meta_types_that_moved() -> None:
    assert META_TYPES["ds6"]["NVDS_AUDIO_BATCH_META"] == 16
    assert META_TYPES["ds8"]["NVDS_AUDIO_BATCH_META"] == 25
    assert META_TYPES["ds9"]["NVDS_PREPROCESS_BATCH_META"] == 28
    assert set(META_TYPES) == set(FAMILY)
    for types in META_TYPES.values():
        assert types["NVDSINFER_TENSOR_OUTPUT_META"] == 12
        assert len(set(types.values())) == len(types)
