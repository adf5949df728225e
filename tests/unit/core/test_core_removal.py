"""Removal: what goes, what stays, in what order, and that nothing is counted twice."""

from __future__ import annotations

import ctypes
import random

import pytest
from core_tools import batch_of, classes, i32, in_use, ints, natural, parents

from dselements._core import _native
from dselements.errors import ConcurrentEditError, MetadataValueError, StaleMetadataError


def remove(batch: int, rows: set[int]) -> None:
    s = _native.Snapshot(batch)
    t = _native.Transaction(s)
    t.remove_objects(bytes(int(k in rows) for k in range(s.n_objects)))
    t.commit()


def test_removes_what_is_flagged_and_counts_frames() -> None:
    with batch_of([0, 0, 1, 1, 1]) as batch:
        remove(batch, {1, 2, 4})
        assert classes(batch) == [0, 3]
        counts = _native.Snapshot(batch).gather(_native.FRAME, "num_obj_meta")
        assert ints(counts) == [1, 1]
        assert in_use(batch)["object"] == 2


def test_removing_twice_in_one_transaction_is_one_removal() -> None:
    with batch_of([0, 0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.remove_objects(b"\0\1\0")
        t.remove_objects(b"\0\1\0")
        t.commit()
        assert classes(batch) == [0, 2]
        assert in_use(batch)["object"] == 2
        assert _native.pool_counters(batch)["object"][1] == 8 - 2


def test_removing_what_another_removed_first_is_refused() -> None:
    with batch_of([0, 0, 0]) as batch:
        s = _native.Snapshot(batch)
        remove(batch, {1})
        t = _native.Transaction(s)
        t.remove_objects(b"\0\1\0")
        with pytest.raises(ConcurrentEditError, match="nothing was written"):
            t.commit()
        assert classes(batch) == [0, 2]
        assert in_use(batch)["object"] == 2


def test_classifiers_display_and_payloads_named_twice_are_removed_once() -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.add_classifier(0, 1, b"colour", [(1, 2, 3, 0.5, b"red")])
        t.add_display(0, {"lines": [(1, 2, 3, 4, 5, (1.0, 0.0, 0.0, 1.0))]})
        t.commit()
        s = _native.Snapshot(batch)
        ((_row, classifier, *_),) = s.gather_classifiers()
        ((_frame, display, _shapes),) = s.gather_display()
        t = _native.Transaction(s)
        for _ in range(2):
            t.remove_classifier(0, classifier)
            t.remove_display(0, display)
        t.commit()
        counters = _native.pool_counters(batch)
        for name in ("classifier", "label", "display"):
            total, free, used = counters[name]
            assert (used, free) == (0, total), name


def test_children_of_a_removed_object_lose_their_parent() -> None:
    with batch_of([0, 0, 0, 1]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_parent(1, 0)
        t.set_parent(2, 1)
        t.set_parent(3, 0)  # in another frame
        t.commit()
        assert parents(batch) == [-1, 0, 1, 0]
        remove(batch, {0})
        assert parents(batch) == [-1, 0, -1]


def test_a_removed_frame_takes_its_objects_and_their_children_lose_it() -> None:
    with batch_of([0, 0, 1, 1]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.set_parent(3, 0)
        t.add_payload(_native.FRAME, 0, b"DSEP\1\0\1\0\1\0\0\0\1\0\0\0n\0001")
        t.add_display(0, {"circles": [(1, 2, 3, (1.0,) * 4, 0, (0.0,) * 4, 2)]})
        t.commit()
        t = _native.Transaction(_native.Snapshot(batch))
        t.remove_frame(0)
        t.add_objects(i32(0, 1))  # the first would go onto the dead frame
        t.commit()
        s = _native.Snapshot(batch)
        assert (s.n_frames, s.n_objects) == (1, 3)
        assert ints(s.class_id) == [0, 2, 3]
        assert parents(batch) == [-1, -1, -1]
        assert in_use(batch) == {
            "frame": 1, "object": 3, "classifier": 0, "display": 0, "user": 0, "label": 0
        }  # fmt: skip


@pytest.mark.parametrize(("frames", "objects"), [(1, 10), (4, 25), (7, 60), (1, 300)])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 1.0])
def test_ordered_removal_leaves_the_same_as_the_library(
    lib: ctypes.CDLL, frames: int, objects: int, share: float
) -> None:
    rng = random.Random(frames * objects)
    gone = {k for k in range(frames * objects) if rng.random() < share}
    left = []
    for threshold in (1, 1 << 30):  # always in order, never
        before = _native.set_presort_threshold(threshold)
        batch = natural(lib, frames, objects)
        try:
            remove(batch, gone)
            left.append((classes(batch), _native.pool_counters(batch)))
            # All elements can be had again, each once.
            t = _native.Transaction(_native.Snapshot(batch))
            t.add_objects(i32(*([0] * len(gone))))
            t.commit()
            addresses = bytes(_native.Snapshot(batch).object_address)
            chunks = {addresses[k : k + 8] for k in range(0, len(addresses), 8)}
            assert len(chunks) == frames * objects
        finally:
            _native.set_presort_threshold(before)
            _native.destroy_batch(batch)
    assert left[0] == left[1]
    # A frame's list is newest first.
    expected = [
        f * objects + k
        for f in range(frames)
        for n, k in enumerate(reversed(range(objects)))
        if f * objects + n not in gone
    ]
    assert left[0][0] == expected


def test_removal_of_many_does_not_search_the_pool_for_each(lib: ctypes.CDLL) -> None:
    """The library alone takes tens of times longer; a factor of 5 leaves room for noise."""
    import time

    def seconds(threshold: int) -> float:
        before = _native.set_presort_threshold(threshold)
        batch = natural(lib, 40, 100)
        try:
            start = time.perf_counter()
            remove(batch, set(range(0, 4000, 2)))
            return time.perf_counter() - start
        finally:
            _native.set_presort_threshold(before)
            _native.destroy_batch(batch)

    assert 5 * min(seconds(200) for _ in range(3)) < seconds(1 << 30)


@pytest.mark.parametrize("threshold", [1, 1 << 30])
def test_an_object_that_left_the_pools_list_is_refused(lib: ctypes.CDLL, threshold: int) -> None:
    """A list that names an element which the pool holds as unused: removal would lose count."""
    before = _native.set_presort_threshold(threshold)
    with batch_of([0, 1], frames=2) as batch:
        s = _native.Snapshot(batch)
        frame_b = int.from_bytes(s.frame_address[8:16], "little")
        stray = int.from_bytes(s.object_address[:8], "little")
        # Frame 1 lists the object of frame 0, in place of its own.
        own_node = ctypes.c_void_p.from_address(frame_b + 104).value
        assert own_node is not None
        own = ctypes.c_void_p.from_address(own_node).value
        ctypes.c_void_p.from_address(own_node).value = stray
        try:
            s = _native.Snapshot(batch)
            t = _native.Transaction(s)
            t.remove_objects(b"\1\1")
            with pytest.raises(ConcurrentEditError):
                t.commit()
            assert in_use(batch)["object"] == 2
        finally:
            ctypes.c_void_p.from_address(own_node).value = own
            _native.set_presort_threshold(before)


def test_a_transaction_is_used_once() -> None:
    with batch_of([0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        t.commit()
        for call in (
            t.commit,
            lambda: t.add_frames(1),
            lambda: t.add_objects(i32(0)),
            lambda: t.remove_objects(b"\1"),
            lambda: t.remove_frame(0),
            lambda: t.set_label(0, b"x"),
        ):
            with pytest.raises(StaleMetadataError, match="committed already"):
                call()


def test_nothing_is_written_when_the_batch_changed_meanwhile(lib: ctypes.CDLL) -> None:
    with batch_of([0, 0]) as batch:
        s = _native.Snapshot(batch)
        t = _native.Transaction(s)
        t.scatter(_native.OBJECT, "class_id", i32(50, 51))
        t.add_frames(1)
        t.remove_objects(b"\1\0")
        frame = int.from_bytes(s.frame_address, "little")
        other = lib.nvds_acquire_obj_meta_from_pool(batch)
        ctypes.c_int32.from_address(other + 52).value = 9
        lib.nvds_add_obj_meta_to_frame(frame, other, None)
        with pytest.raises(ConcurrentEditError):
            t.commit()
        assert classes(batch) == [9, 0, 1]
        assert _native.Snapshot(batch).n_frames == 1
        with pytest.raises(ConcurrentEditError):
            s.gather(_native.OBJECT, "border_width")
        with pytest.raises(ConcurrentEditError):
            s.gather_labels()


def test_wrong_number_of_flags() -> None:
    with batch_of([0, 0]) as batch:
        t = _native.Transaction(_native.Snapshot(batch))
        with pytest.raises(MetadataValueError, match="3 removal flags for 2 objects"):
            t.remove_objects(b"\1\1\1")
