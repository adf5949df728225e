"""Copies, payloads and what a batch of our own must have set."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from core_tools import batch_of, classes, i32, in_use, ints, natural, parents, payload, u64s

from dselements._core import _native
from dselements.errors import ConcurrentEditError, MetadataValueError, PayloadError

BATCH_META, BATCH_GST_META = 1, 4097


def u32(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def pointer(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def users(batch: int, level: int) -> list[bytes | None]:
    found = _native.Snapshot(batch).gather_user(level)
    return [_native.read_payload(address) for _row, address, *_ in found]


def dressed(batch: int) -> None:
    """Parents in both directions of the list, classifiers, payloads, displays."""
    t = _native.Transaction(_native.Snapshot(batch))
    t.set_parent(0, 2)
    t.set_parent(2, 1)
    t.set_parent(4, 3)
    t.set_parent(3, 0)  # a parent in another frame
    t.add_classifier(0, 1, b"a", [(1, 1, 1, 0.5, b"one"), (2, 2, 2, 0.5, b"two")])
    t.add_classifier(0, 2, b"b", [])
    for level in (_native.BATCH, _native.FRAME, _native.OBJECT):
        for value in (b"1", b"2", b"3"):
            t.add_payload(level, 0, payload(value=value))
    for x in range(3):
        t.add_display(0, {"lines": [(x, 0, 0, 0, 1, (1.0,) * 4)]})
    t.commit()


def everything(batch: int) -> tuple[object, ...]:
    """All that a copy must share, without addresses."""
    s = _native.Snapshot(batch)
    return (
        ints(s.frame_index), ints(s.class_id), parents(batch),
        [(c[0], c[2], c[3], [label[1:] for label in c[4]]) for c in s.gather_classifiers()],
        [(row, shapes) for row, _address, shapes in s.gather_display()],
        [users(batch, level) for level in (_native.BATCH, _native.FRAME, _native.OBJECT)],
        in_use(batch),
    )  # fmt: skip


def test_a_new_batch_has_what_the_library_leaves_unset() -> None:
    address = _native.create_batch(3)
    assert pointer(address) == address  # base_meta.batch_meta
    assert u32(address + 8) == BATCH_META
    assert pointer(address + 24) != 0  # copy
    assert pointer(address + 32) != 0  # release
    assert u32(address + 40) == 3  # max_frames_in_batch
    _native.destroy_batch(address)


def test_the_buffers_meta_is_set_whole(lib: ctypes.CDLL) -> None:
    buffer = lib.gst_buffer_new_allocate(None, 16, None)
    address = _native.create_batch(1, buffer)
    assert _native.buffer_batch_meta(buffer) == address
    lib.gst_buffer_get_nvds_meta.restype = ctypes.c_void_p
    lib.gst_buffer_get_nvds_meta.argtypes = [ctypes.c_void_p]
    gst_meta = lib.gst_buffer_get_nvds_meta(buffer)
    data, user, kind = struct.unpack("<QQi", _native.read_memory(gst_meta + 16, 20))
    assert (data, user, kind) == (address, 0, BATCH_GST_META)
    copy, free, transform, release = struct.unpack("<4Q", _native.read_memory(gst_meta + 40, 32))
    assert copy == pointer(address + 24)
    assert free == pointer(address + 32)
    assert (transform, release) == (0, 0)
    before = _native.live_batches()
    _native.buffer_unref(buffer)
    assert _native.live_batches() == before - 1


def test_copies_keep_order_parents_types_and_payloads() -> None:
    with batch_of([0, 0, 0, 1, 1]) as batch:
        dressed(batch)
        assert parents(batch) == [2, -1, 1, 0, 3]
        copy = _native.copy_batch(batch)
        assert everything(copy) == everything(batch)
        again = _native.copy_batch(copy)
        assert everything(again) == everything(batch)
        _native.destroy_batch(copy)
        _native.destroy_batch(again)


def test_gstreamers_copy_of_a_buffer_does_the_same(lib: ctypes.CDLL) -> None:
    buffer = lib.gst_buffer_new_allocate(None, 16, None)
    batch = _native.create_batch(2, buffer)
    t = _native.Transaction(_native.Snapshot(batch))
    t.add_frames(2)
    t.add_objects(i32(0, 0, 0, 1, 1))
    t.scatter(_native.OBJECT, "class_id", i32(0, 1, 2, 3, 4))
    t.commit()
    dressed(batch)
    copied = lib.gst_buffer_copy_deep(buffer)
    copy = _native.buffer_batch_meta(copied)
    assert copy not in (0, batch)
    assert everything(copy) == everything(batch)
    _native.buffer_unref(buffer)
    assert classes(copy) == [0, 1, 2, 3, 4]
    _native.buffer_unref(copied)


def test_a_batch_larger_than_planned_is_copied_whole() -> None:
    with batch_of([0, 1, 2, 3, 4], frames=5) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_frames(40)
        t.add_objects(i32(*range(45)))
        t.commit()
        copy = _native.copy_batch(batch)
        assert _native.Snapshot(copy).n_frames == 45
        assert classes(copy) == classes(batch)
        _native.destroy_batch(copy)


def test_a_copy_waits_for_the_sources_lock(lib: ctypes.CDLL) -> None:
    with batch_of([0, 0]) as batch:
        lib.nvds_acquire_meta_lock(batch)
        made: list[int] = []
        thread = threading.Thread(target=lambda: made.append(_native.copy_batch(batch)))
        thread.start()
        thread.join(0.2)
        assert not made
        lib.nvds_release_meta_lock(batch)
        thread.join(10)
        assert classes(made[0]) == [0, 1]
        _native.destroy_batch(made[0])


def test_a_batch_is_destroyed_once_and_only_by_its_owner(lib: ctypes.CDLL) -> None:
    batch = _native.create_batch(1)
    _native.destroy_batch(batch)
    with pytest.raises(MetadataValueError, match="still lives"):
        _native.destroy_batch(batch)
    buffer = lib.gst_buffer_new_allocate(None, 16, None)
    owned = _native.create_batch(1, buffer)
    with pytest.raises(MetadataValueError, match="without a buffer"):
        _native.destroy_batch(owned)
    with pytest.raises(MetadataValueError, match="already"):
        _native.create_batch(1, buffer)
    _native.buffer_unref(buffer)


def test_a_shared_buffer_gets_no_batch(lib: ctypes.CDLL) -> None:
    buffer = lib.gst_buffer_new_allocate(None, 16, None)
    lib.gst_mini_object_ref(buffer)
    with pytest.raises(MetadataValueError, match="shared"):
        _native.create_batch(1, buffer)
    _native.buffer_unref(buffer)
    _native.buffer_unref(buffer)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_payloads_are_copied_and_released_once_each(level: int) -> None:
    alive = _native.live_payloads()
    with batch_of([0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        for k in range(3):
            t.add_payload(level, 0, payload(value=b"%d" % k))
        assert _native.live_payloads() == alive  # none attached before the commit
        t.commit()
        assert _native.live_payloads() == alive + 3
        copy = _native.copy_batch(batch)
        assert _native.live_payloads() == alive + 6
        s = _native.Snapshot(batch)
        found = s.gather_user(level)
        assert {meta_type for *_, meta_type, _data in found} == {_native.payload_meta_type()}
        t = _native.Transaction(s)
        t.remove_user(level, 0, found[0][1])
        t.remove_user(level, 0, found[0][1])
        t.commit()
        assert _native.live_payloads() == alive + 5
        assert in_use(batch)["user"] == 2
        if level == _native.OBJECT:
            t = _native.Transaction(_native.Snapshot(batch))
            t.remove_objects(b"\1\0")
            t.commit()
            assert _native.live_payloads() == alive + 3
        _native.destroy_batch(copy)
    assert _native.live_payloads() == alive


def test_a_payload_of_a_dropped_transaction_is_never_attached() -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_payload(_native.OBJECT, 0, payload())
        del t
        assert users(batch, _native.OBJECT) == []


def test_removing_a_payload_that_is_gone_is_refused() -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_payload(_native.OBJECT, 0, payload())
        t.commit()
        s = _native.Snapshot(batch)
        ((_row, address, *_),) = s.gather_user(_native.OBJECT)
        first, second = _native.Transaction(s), _native.Transaction(s)
        first.remove_user(_native.OBJECT, 0, address)
        second.remove_user(_native.OBJECT, 0, address)
        first.commit()
        with pytest.raises(ConcurrentEditError):
            second.commit()
        assert in_use(batch)["user"] == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes"),
        (payload()[:16], "16 bytes"),
        (b"XXXX" + payload()[4:], "magic"),
        (b"DSEP\2" + payload()[5:], "version"),
        (payload() + b"x", "tells 19 bytes, there are 20"),
        (payload()[:8] + b"\xff\xff\xff\xff" + payload()[12:], "there are 19"),
        (payload().replace(b"n\0", b"nn"), "NUL"),
    ],
)
def test_broken_payload_blocks_are_refused(data: bytes, words: str) -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        with pytest.raises(PayloadError, match=words):
            t.add_payload(_native.OBJECT, 0, data)
        t.commit()
        assert in_use(batch)["user"] == 0


def test_user_metas_of_others_are_no_payloads(lib: ctypes.CDLL) -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_payload(_native.OBJECT, 0, payload())
        t.commit()
        ((_row, address, _type, data),) = _native.Snapshot(batch).gather_user(_native.OBJECT)
        assert _native.read_memory(data, 4) == b"DSEP"
        kind = ctypes.c_int32.from_address(address + 8)
        ours, kind.value = kind.value, 12
        assert _native.read_payload(address) is None
        kind.value = ours
        assert _native.read_payload(address) == payload()


def test_one_frame_becomes_a_buffer_of_its_own(lib: ctypes.CDLL) -> None:
    sources = [lib.gst_buffer_new_allocate(None, 16, None) for _ in range(2)]
    whole = _native.make_batched_buffer(sources)
    batch = _native.create_batch(2, whole)
    t = _native.Transaction(_native.Snapshot(batch))
    t.add_frames(2)
    t.add_objects(i32(0, 1, 1, 1))
    t.scatter(_native.FRAME, "batch_id", i32(0, 1))
    t.scatter(_native.FRAME, "source_id", i32(5, 6))
    t.scatter(_native.OBJECT, "class_id", i32(0, 1, 2, 3))
    t.set_parent(1, 3)
    t.set_parent(3, 2)
    t.set_parent(2, 0)  # a parent in the frame that is left behind
    t.add_payload(_native.FRAME, 1, payload())
    t.commit()
    one = _native.copy_frame_to_new_buffer(whole, batch, 1, 1)
    assert _native.buffer_info(one)[3:] == (16, 1)
    assert lib.gst_buffer_peek_memory(one, 0) == lib.gst_buffer_peek_memory(sources[1], 0)
    copy = _native.buffer_batch_meta(one)
    s = _native.Snapshot(copy)
    assert ints(s.class_id) == [1, 2, 3]
    assert parents(copy) == [2, -1, 1]
    assert ints(s.gather(_native.FRAME, "source_id")) == [6]
    assert ints(s.gather(_native.FRAME, "batch_id")) == [0]
    assert users(copy, _native.FRAME) == [payload()]
    assert parents(batch) == [-1, 3, 0, 2]
    for frame_row, memory in ((2, 0), (-1, 0), (0, 2)):
        with pytest.raises(IndexError):
            _native.copy_frame_to_new_buffer(whole, batch, frame_row, memory)
    for buffer in (one, whole, *sources):
        _native.buffer_unref(buffer)


@contextmanager
def _native_map(buffer: int) -> Iterator[bytes]:
    mapped = _native.MemoryMap(buffer, 0, False)
    yield _native.read_memory(mapped.address, mapped.size)
    mapped.close()


def test_batching_shares_pixels_as_far_as_a_buffer_holds_memories(lib: ctypes.CDLL) -> None:
    sources = [lib.gst_buffer_new_allocate(None, 4, None) for _ in range(17)]
    whole = _native.make_batched_buffer(sources[:16])
    assert _native.buffer_info(whole) == (2**64 - 1, 2**64 - 1, 2**64 - 1, 64, 16)
    for k, source in enumerate(sources[:16]):
        assert lib.gst_buffer_peek_memory(whole, k) == lib.gst_buffer_peek_memory(source, 0)
    _native.buffer_set_times(whole, 1, 2, 3)
    assert _native.buffer_info(whole)[:3] == (1, 2, 3)
    with pytest.raises(MetadataValueError, match="at least one"):
        _native.make_batched_buffer([])
    for k, source in enumerate(sources):
        lib.gst_buffer_memset(ctypes.c_void_p(source), ctypes.c_size_t(0), k, ctypes.c_size_t(4))
    copied = _native.make_batched_buffer(sources)  # one more than it holds
    assert _native.buffer_info(copied)[3:] == (68, 1)
    with _native_map(copied) as data:
        assert data == b"".join(bytes([k]) * 4 for k in range(17))
    sources.append(lib.gst_buffer_new_allocate(None, 5, None))
    with pytest.raises(MetadataValueError, match="differ in size"):
        _native.make_batched_buffer(sources)
    for buffer in (copied, whole, *sources):
        _native.buffer_unref(buffer)


def test_addresses_are_those_of_the_lists(lib: ctypes.CDLL) -> None:
    batch = natural(lib, 2, 3)
    s = _native.Snapshot(batch)
    heads = [pointer(frame + 104) for frame in u64s(s.frame_address)]
    assert [u64s(s.object_address)[k] for k in (0, 3)] == [pointer(head) for head in heads]
    assert classes(batch) == [2, 1, 0, 5, 4, 3]
    _native.destroy_batch(batch)
