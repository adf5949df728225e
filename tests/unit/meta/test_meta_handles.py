"""Handles: removal inside loops, what is stale, parents, frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dselements._core import _native
from dselements.errors import MetadataValueError, StaleMetadataError
from dselements.meta import Batch, Object


def make(*sizes: int) -> Batch:
    """A batch of frames with so many objects; object k of frame f has class_id 100 f + k."""
    return Batch.synthetic(
        [
            {"source_id": f, "objects": [
                {"rect": (k, k, 10, 10), "class_id": 100 * f + k, "label": f"{f}.{k}"}
                for k in range(n)
            ]}
            for f, n in enumerate(sizes)
        ]
    )  # fmt: skip


@pytest.fixture
def batch() -> Iterator[Batch]:
    made = make(4, 3)
    yield made
    made.close()


def classes(batch: Batch) -> list[int]:
    """class_id of all objects, read natively."""
    return Batch(batch.address).objects.class_id.tolist()


def test_the_tutorial_loop_removes_all_that_it_should(batch: Batch) -> None:
    """With pyds, removing while walking the list ends each frame's walk at its first removal."""
    for frame in batch.frames:
        for obj in frame.objects:
            if obj.class_id % 2 == 0:
                obj.remove()
    batch.commit()
    assert classes(batch) == [1, 3, 101]
    assert batch.stats == {"in": 7, "out": 3, "removed": 4, "added": 0}


def test_a_loop_over_all_objects_may_remove_and_add(batch: Batch) -> None:
    for obj in batch.objects:
        if obj.class_id < 100:
            obj.frame.add_object(obj.rect, class_id=obj.class_id + 50)
            obj.remove()
    batch.commit()
    assert classes(batch) == [50, 51, 52, 53, 100, 101, 102]


def test_removing_everything_one_by_one(batch: Batch) -> None:
    for obj in batch.objects:
        obj.remove()
    assert len(batch.objects) == 0
    assert list(batch.frames[0].objects) == []
    batch.commit()
    assert classes(batch) == []
    assert _native.pool_counters(batch.address)["object"][2] == 0


def test_a_removed_handle_says_so(batch: Batch) -> None:
    obj, other = batch.objects[1], batch.objects[2]
    obj.remove()
    for use in (
        lambda: obj.class_id,
        lambda: obj.rect,
        lambda: obj.label,
        lambda: setattr(obj, "class_id", 1),
        lambda: setattr(obj, "label", "x"),
        lambda: obj.remove(),
        lambda: obj.frame,
        lambda: obj.parent,
        lambda: obj.mask,
        lambda: obj.payloads["x"],
        lambda: list(obj.classifiers),
        lambda: obj.rect_params.left,
        lambda: batch.remove([obj]),
    ):
        with pytest.raises(StaleMetadataError, match="this object was removed"):
            use()
    assert obj.removed
    assert repr(obj) == "<Object, removed>"
    assert other.class_id == 2
    assert obj != other
    assert obj == obj


def test_handles_find_their_row_after_compaction(batch: Batch) -> None:
    handles = list(batch.objects)
    batch.remove(np.array([0, 2, 5]))
    assert len(batch.objects) == 4
    assert [h.class_id for h in handles if not h.removed] == [1, 3, 100, 102]
    handles[6].class_id = 77
    batch.remove([1])
    assert len(batch.objects) == 3
    assert handles[6].class_id == 77
    assert handles[6].row == 2
    batch.commit()
    assert classes(batch) == [1, 100, 77]


def test_old_columns_are_refused_and_their_arrays_keep_what_was_written(batch: Batch) -> None:
    o = batch.objects
    confidence = o.confidence
    confidence[3] = 0.5
    batch.remove(o.class_id == 0)
    o.confidence[4] = 0.25  # not compacted yet: still the live view
    assert batch.objects.confidence.tolist() == [1, 1, 0.5, 0.25, 1, 1]
    with pytest.raises(StaleMetadataError, match="came or went"):
        _ = o.confidence
    with pytest.raises(StaleMetadataError):
        len(o)
    with pytest.raises(StaleMetadataError):
        o.confidence = 1
    assert repr(o) == "<Objects, stale>"
    with pytest.raises(ValueError, match="read-only"):
        confidence[0] = 9
    batch.commit()
    assert Batch(batch.address).objects.confidence.tolist() == [1, 1, 0.5, 0.25, 1, 1]


@pytest.mark.parametrize("column", ["confidence", "rect", "label", "border_color"])
def test_a_write_through_an_older_view_is_found_at_commit(batch: Batch, column: str) -> None:
    view = getattr(batch.objects, column)[1:]
    batch.remove(np.array([0]))
    getattr(batch.objects, column)
    view[0] = "late" if column == "label" else 0.125
    with pytest.raises(StaleMetadataError, match=f"column {column} was written through an array"):
        batch.commit()
    assert classes(batch) == [0, 1, 2, 3, 100, 101, 102]  # nothing was written
    batch.rollback()
    batch.remove(np.array([0]))
    batch.commit()
    assert classes(batch) == [1, 2, 3, 100, 101, 102]


def test_an_older_view_that_is_only_read_does_no_harm(batch: Batch) -> None:
    view = batch.objects.rect[:, 2:]
    batch.remove(batch.objects.class_id == 0)
    assert len(batch.objects) == 6
    assert view.sum() == 140
    batch.commit()
    assert len(classes(batch)) == 6


def test_a_mask_means_the_rows_it_was_made_from(batch: Batch) -> None:
    o = batch.objects
    mask = o.class_id >= 100
    batch.objects[0].remove()  # marked, not taken out yet
    assert batch.remove(mask) == 3
    assert batch.objects.class_id.tolist() == [1, 2, 3]
    with pytest.raises(MetadataValueError, match=r"mask of shape \(7,\) for 3 objects"):
        batch.remove(mask)


def test_ways_to_name_what_is_removed(batch: Batch) -> None:
    handles = list(batch.objects)
    assert batch.remove([]) == 0
    assert batch.remove(np.array([])) == 0
    assert batch.remove(np.zeros(7, bool)) == 0
    assert batch.remove(handles[0]) == 1
    assert batch.remove(handles[1:3]) == 2
    assert batch.remove(h for h in handles[3:4]) == 1
    assert batch.remove([4]) == 1
    assert batch.remove(np.array([4])) == 0  # removed already
    assert batch.remove([False] * 6 + [True]) == 1
    assert batch.objects.class_id.tolist() == [101]
    for wrong in (np.array([1]), np.array([-1]), np.array([0.5]), ["x"], [None]):
        with pytest.raises(MetadataValueError):
            batch.remove(wrong)  # type: ignore[arg-type]
    assert batch.remove(batch.objects) == 1
    assert len(batch.objects) == 0


def test_an_object_of_another_batch_is_refused(batch: Batch) -> None:
    with make(1) as other:
        stranger = other.objects[0]
        assert len(batch.objects) == 7
        with pytest.raises(MetadataValueError, match="no object of this batch"):
            batch.remove([stranger])
        with pytest.raises(MetadataValueError, match="same batch"):
            batch.objects[0].parent = stranger
        assert stranger != batch.objects[0]


def test_a_new_object_is_a_full_object(batch: Batch) -> None:
    first = batch.frames[0].add_object((1, 2, 3, 4), label="a")
    second = batch.frames[1].add_object((5, 6, 7, 8), label="b")
    assert first.rect == (1, 2, 3, 4)
    assert (second.label, second.left, second.frame.source_id) == ("b", 5, 1)
    first.label = "c"
    second.left = 9
    third = batch.frames[0].add_object((0, 0, 1, 1))
    assert third.text_y == 0
    assert (first.label, second.left) == ("c", 9)
    second.remove()
    assert [o.label for o in batch.frames[1].objects] == ["1.0", "1.1", "1.2"]
    batch.commit()
    assert Batch(batch.address).objects.label.tolist()[:3] == ["c", "", "0.0"]
    assert batch.stats == {"in": 7, "out": 9, "removed": 0, "added": 2}


def test_added_and_removed_before_commit_leaves_nothing(batch: Batch) -> None:
    obj = batch.frames[1].add_object((1, 2, 3, 4), label="a")
    obj.payloads["x"] = 1
    obj.mask = np.ones((2, 2))
    obj.classifiers.add(["red"])
    obj.remove()
    batch.commit()
    assert classes(batch) == [0, 1, 2, 3, 100, 101, 102]
    assert _native.live_payloads() == 0
    assert _native.pool_counters(batch.address)["classifier"][2] == 0


def test_handles_are_equal_by_row_and_hashable(batch: Batch) -> None:
    a, b = batch.objects[2], batch.frames[0].objects[2]
    assert a == b
    assert hash(a) == hash(b)
    assert a != batch.objects[3]
    assert a != "x"
    seen = {a}
    batch.objects[0].remove()
    assert len(batch.objects) == 6
    assert batch.objects[1] in seen
    assert batch.frames[0] == a.frame
    assert batch.frames[0] != a


def test_sequences(batch: Batch) -> None:
    assert [o.class_id for o in batch.objects[1:3]] == [1, 2]
    assert batch.objects[-1].class_id == 102
    o = batch.objects
    assert [x.class_id for x in o[o.class_id > 100]] == [101, 102]
    assert [x.class_id for x in o[np.array([5, 0])]] == [101, 0]
    with pytest.raises(IndexError):
        _ = o[np.zeros(3, bool)]
    assert [o.class_id for o in batch.frames[1].objects[1:]] == [101, 102]
    assert batch.frames[1].objects[-1].class_id == 102
    assert [f.source_id for f in batch.frames[::-1]] == [1, 0]
    assert batch.frames[-1].source_id == 1
    for outside in (7, -8):
        with pytest.raises(IndexError):
            _ = batch.objects[outside]
    with pytest.raises(IndexError):
        _ = batch.frames[2]
    assert len(batch.frames) == 2
    assert len(batch.frames[1].objects) == 3
    assert repr(batch.frames) == "<Frames of 2>"
    assert repr(batch.objects) == "<Objects of 7>"
    assert repr(batch.frames[1]) == "<Frame 1 source 1 number 0>"
    assert repr(batch.objects[4]) == "<Object 4 '1.0' class 100 1.00 at 0,0 10x10>"


def test_after_close_everything_is_stale() -> None:
    batch = make(2)
    obj, frame, o = batch.objects[0], batch.frames[0], batch.objects
    params = obj.rect_params
    payloads, display, confidence = batch.payloads, frame.display, o.confidence
    objects = frame.objects
    batch.close()
    batch.close()
    for use in (
        lambda: obj.class_id,
        lambda: frame.source_id,
        lambda: o.class_id,
        lambda: payloads["x"],
        lambda: list(display),
        lambda: list(objects),
        lambda: batch.objects,
        lambda: batch.frames,
        lambda: batch.commit(),
        lambda: batch.rollback(),
        lambda: batch.copy(),
        lambda: batch.misc_batch_info,
        lambda: obj.remove(),
        lambda: frame.remove(),
        lambda: frame.add_object((0, 0, 1, 1)),
    ):
        with pytest.raises(StaleMetadataError, match="closed"):
            use()
    with pytest.raises(ValueError, match="read-only"):
        confidence[0] = 1
    assert repr(params) == "<RectParams, stale>"
    assert (repr(batch), repr(frame), repr(obj)) == (
        "<Batch, closed>", "<Frame, stale>", "<Object, removed>"
    )  # fmt: skip


def test_handles_are_stale_after_commit_and_the_batch_goes_on(batch: Batch) -> None:
    obj, o = batch.objects[0], batch.objects
    obj.class_id = 55
    batch.commit()
    with pytest.raises(StaleMetadataError, match=r"after commit\(\)"):
        _ = obj.class_id
    with pytest.raises(StaleMetadataError):
        _ = o.class_id
    assert batch.objects[0].class_id == 55
    batch.objects[0].class_id = 56
    batch.commit()
    assert classes(batch)[0] == 56


# -- parents -----------------------------------------------------------------
def parents(batch: Batch) -> list[int]:
    return Batch(batch.address).objects.parent.tolist()


def test_parents_are_written_and_read(batch: Batch) -> None:
    a, b, c, _ = batch.frames[0].objects
    b.parent = a
    c.parent = b
    assert c.parent == b
    batch.commit()
    assert parents(batch) == [-1, 0, 1, -1, -1, -1, -1]
    batch.objects[1].parent = None
    batch.commit()
    assert parents(batch) == [-1, -1, 1, -1, -1, -1, -1]


def test_children_of_a_removed_parent_have_none(batch: Batch) -> None:
    a, b, c, d = batch.frames[0].objects
    b.parent, c.parent, d.parent = a, b, a
    batch.commit()
    a, b, c, d = batch.frames[0].objects
    a.remove()
    assert b.parent is None  # read after the removal
    assert c.parent == b
    assert len(batch.objects) == 6
    assert d.parent is None
    assert c.parent == b
    batch.commit()
    assert parents(batch)[:3] == [-1, 0, -1]


def test_children_lose_their_parent_even_if_nobody_reads_them(batch: Batch) -> None:
    a, b, *_ = batch.frames[0].objects
    b.parent = a
    batch.commit()
    batch.remove(np.array([0]))
    batch.commit()
    assert parents(batch) == [-1] * 6


def test_a_parent_set_and_then_removed(batch: Batch) -> None:
    a, b, c, _ = batch.frames[0].objects
    b.parent = a
    batch.commit()
    a, b, c, _ = batch.frames[0].objects
    b.parent = c
    c.remove()
    assert b.parent is None
    batch.commit()
    assert parents(batch)[:3] == [-1, -1, -1]


def test_a_new_object_as_parent_and_child(batch: Batch) -> None:
    old = batch.frames[0].objects[1]
    new = batch.frames[0].add_object((1, 1, 2, 2), label="new")
    newer = batch.frames[0].add_object((1, 1, 2, 2), label="newer")
    old.parent = new
    newer.parent = old
    batch.objects[0].remove()
    assert len(batch.objects) == 8
    assert newer.parent == old
    batch.commit()
    o = Batch(batch.address).objects
    assert o.label.tolist()[:4] == ["new", "newer", "0.1", "0.2"]
    assert o.parent.tolist()[:4] == [-1, 2, 0, -1]


def test_parent_rows_of_objects_added_at_once(batch: Batch) -> None:
    batch.objects[0].remove()
    assert len(batch.objects) == 6
    rows = batch.add_objects([0, 0], [[0, 0, 1, 1]] * 2, label=["x", "y"], parent=[2, 6])
    assert rows.tolist() == [6, 7]
    batch.objects[0].remove()
    batch.commit()
    o = Batch(batch.address).objects
    assert o.label.tolist()[:4] == ["x", "y", "0.2", "0.3"]
    assert o.parent.tolist()[:4] == [3, 0, -1, -1]


def test_impossible_parents_are_refused(batch: Batch) -> None:
    a, b, c, _ = batch.frames[0].objects
    with pytest.raises(MetadataValueError, match="another frame"):
        a.parent = batch.frames[1].objects[0]
    with pytest.raises(MetadataValueError, match="own parent"):
        a.parent = a
    b.parent, c.parent = a, b
    with pytest.raises(MetadataValueError, match="own parent"):
        a.parent = c
    with pytest.raises(MetadataValueError, match="an object of the same batch"):
        a.parent = 3  # type: ignore[assignment]
    gone = batch.objects[3]
    gone.remove()
    with pytest.raises(StaleMetadataError):
        a.parent = gone


@pytest.mark.parametrize(
    ("row", "parent", "message"),
    [
        (0, 4, r"object 0 \(frame 0, class 0\) cannot be row 4"),
        (0, 7, "cannot be row 7"),
        (1, -5, "cannot be row -5"),
        (2, 2, "its own parent"),
    ],
)
def test_impossible_parents_in_the_column_are_refused_at_commit(
    batch: Batch, row: int, parent: int, message: str
) -> None:
    batch.objects.parent[row] = parent
    with pytest.raises(MetadataValueError, match=message):
        batch.commit()
    assert parents(batch) == [-1] * 7


def test_a_removed_parent_in_the_column_is_refused(batch: Batch) -> None:
    o = batch.objects
    batch.remove(np.array([0]))
    o.parent[1] = 0
    with pytest.raises(MetadataValueError, match="cannot be row 0"):
        batch.commit()


def test_a_ring_of_parents_in_the_column_is_refused(batch: Batch) -> None:
    batch.objects.parent = [1, 2, 0, -1, -1, -1, -1]
    with pytest.raises(MetadataValueError, match="own parent"):
        batch.commit()
    batch.objects.parent[:] = [-1, 2, 1, 1, -1, -1, -1]
    with pytest.raises(MetadataValueError, match=r"own parent|ring"):
        batch.commit()
    with pytest.raises(MetadataValueError, match="parent"):
        batch.objects.parent = [0.5] * 7


# -- frames --------------------------------------------------------------------
def test_frames_are_removed_with_their_objects(batch: Batch) -> None:
    obj = batch.frames[0].objects[1]
    frame = batch.frames[0]
    frame.payloads["x"] = 1
    frame.display.add_line(0, 0, 1, 1)
    frame.remove()
    assert len(batch.frames) == 1
    assert batch.frames.source_id.tolist() == [1]
    assert obj.removed
    for use in (lambda: frame.source_id, lambda: frame.add_object((0, 0, 1, 1)), frame.remove):
        with pytest.raises(StaleMetadataError, match="this frame was removed"):
            use()
    with pytest.raises(MetadataValueError, match="removed frame"):
        batch.add_objects([0], [[0, 0, 1, 1]])
    assert batch.frames[0].objects[0].frame.source_id == 1
    batch.commit()
    new = Batch(batch.address)
    assert new.frames.source_id.tolist() == [1]
    assert new.objects.class_id.tolist() == [100, 101, 102]
    assert _native.pool_counters(batch.address)["frame"][2] == 1


def test_frames_are_added(batch: Batch) -> None:
    batch.frames[0].remove()
    frame = batch.add_frame(source_id=9, frame_num=3, misc_frame_info=[1, 2, 3, 4])
    frame.add_object((1, 2, 3, 4), label="there")
    frame.ntp_timestamp = 2**63
    assert frame.batch_id == 2
    assert [f.source_id for f in batch.frames] == [1, 9]
    batch.commit()
    new = Batch(batch.address).frames[-1]
    assert (new.source_id, new.frame_num, new.ntp_timestamp) == (9, 3, 2**63)
    assert new.misc_frame_info == (1, 2, 3, 4)
    assert [o.label for o in new.objects] == ["there"]
    for wrong in ({"nope": 1}, {"num_obj_meta": 3}, {"source_id": -1}, {"frame_num": "x"}):
        with pytest.raises(MetadataValueError):
            batch.add_frame(**wrong)


def test_frame_objects_skip_the_removed(batch: Batch) -> None:
    objects = batch.frames[0].objects
    objects[1].remove()
    assert len(objects) == 3
    assert [o.class_id for o in objects] == [0, 2, 3]
    assert isinstance(objects[1], Object)
    assert repr(objects) == "<FrameObjects of 3>"


def test_an_empty_batch() -> None:
    with Batch.synthetic([]) as batch:
        assert len(batch.frames) == 0
        assert len(batch.objects) == 0
        assert batch.objects.rect.shape == (0, 4)
        assert batch.objects.label.shape == (0,)
        assert batch.objects.center.shape == (0, 2)
        assert batch.remove(batch.objects.confidence < 0.5) == 0
        frame = batch.add_frame(source_id=1)
        assert list(frame.objects) == []
        frame.add_object((0, 0, 1, 1))
        assert len(frame.objects) == 1
