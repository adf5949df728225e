"""Lists of pyds: walking, removing while walking, and what tutorials do with them."""

from __future__ import annotations

from typing import Any

import pytest
from walking import frames, objects, walk

import dselements.compat.pyds as pyds
from dselements._core import _native
from dselements.errors import MetadataValueError, StaleMetadataError


def confidences(frame_meta: Any) -> list[float]:
    return [round(o.confidence, 2) for o in objects(frame_meta)]


def test_lists_have_the_order_of_the_batch(batch_meta: Any) -> None:
    assert [f.source_id for f in frames(batch_meta)] == [0, 1]
    assert [o.obj_label for o in objects(frames(batch_meta)[0])] == [f"l{i}" for i in range(6)]
    node = batch_meta.frame_meta_list
    assert node.prev is None
    assert node.next.next is None
    assert pyds.NvDsFrameMeta.cast(node.next.prev.data).source_id == 0


def test_an_empty_list_is_none_and_casts_to_none(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    assert frame.display_meta_list is None
    assert frame.frame_user_meta_list is None
    assert pyds.NvDsDisplayMeta.cast(None) is None
    assert pyds.GList().next is None
    assert pyds.GList().data is None


def test_next_after_remove_goes_on(batch_meta: Any) -> None:
    for frame in frames(batch_meta):
        node = frame.obj_meta_list
        while node is not None:
            obj = pyds.NvDsObjectMeta.cast(node.data)
            if obj.confidence < 0.3:
                pyds.nvds_remove_obj_meta_from_frame(frame, obj)
            node = node.next
        assert confidences(frame) == [0.35, 0.45, 0.55]
        assert frame.num_obj_meta == 3


def test_removing_all_then_walking_again(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    node = frame.obj_meta_list
    while node is not None:
        pyds.nvds_remove_obj_meta_from_frame(frame, pyds.NvDsObjectMeta.cast(node.data))
        node = node.next
    assert frame.obj_meta_list is None
    assert frame.num_obj_meta == 0
    assert len(objects(frames(batch_meta)[1])) == 6


def test_an_inner_loop_may_remove_what_the_outer_has_not_reached(batch_meta: Any) -> None:
    """As a suppression of overlaps does it: each object removes those of its class after it."""
    frame = frames(batch_meta)[0]
    outer = frame.obj_meta_list
    seen = []
    while outer is not None:
        kept = pyds.NvDsObjectMeta.cast(outer.data)
        seen.append(kept.obj_label)
        inner = outer.next
        while inner is not None:
            other = pyds.NvDsObjectMeta.cast(inner.data)
            if other.class_id == kept.class_id:
                pyds.nvds_remove_obj_meta_from_frame(frame, other)
            inner = inner.next
        outer = outer.next
    assert seen == ["l0", "l1", "l2"]
    assert [o.obj_label for o in objects(frame)] == ["l0", "l1", "l2"]


def test_a_break_in_mid_list_and_a_second_loop(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    node = frame.obj_meta_list
    while node is not None:
        obj = pyds.NvDsObjectMeta.cast(node.data)
        if obj.obj_label == "l2":
            pyds.nvds_remove_obj_meta_from_frame(frame, obj)
            break
        node = node.next
    assert [o.obj_label for o in objects(frame)] == ["l0", "l1", "l3", "l4", "l5"]


def test_an_object_added_in_the_loop_is_not_met_even_where_a_removed_one_was(
    batch_meta: Any,
) -> None:
    frame = frames(batch_meta)[0]
    node = frame.obj_meta_list
    last = objects(frame)[-1]
    pyds.nvds_remove_obj_meta_from_frame(frame, last)
    new = pyds.nvds_acquire_obj_meta_from_pool(batch_meta)  # the memory of ``last``
    new.obj_label = "new"
    pyds.nvds_add_obj_meta_to_frame(frame, new, None)
    assert [pyds.NvDsObjectMeta.cast(d).obj_label for d in walk(node)] == [
        "l0", "l1", "l2", "l3", "l4",
    ]  # fmt: skip
    assert [o.obj_label for o in objects(frame)] == ["new", "l0", "l1", "l2", "l3", "l4"]
    with pytest.raises(StaleMetadataError):
        _ = last.obj_label


def test_removing_twice_is_told_and_harms_nothing(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    obj, again = objects(frame)[1], objects(frame)[1]
    pyds.nvds_remove_obj_meta_from_frame(frame, obj)
    for handle in (obj, again):
        with pytest.raises(StaleMetadataError, match="was removed"):
            pyds.nvds_remove_obj_meta_from_frame(frame, handle)
    assert frame.num_obj_meta == 5
    assert _native.pool_counters(batch_meta.native_address)["object"][2] == 11


def test_removing_from_the_wrong_frame_is_refused(batch_meta: Any) -> None:
    a, b = frames(batch_meta)
    obj = objects(a)[0]
    with pytest.raises(MetadataValueError, match="does not hang on this NvDsFrameMeta"):
        pyds.nvds_remove_obj_meta_from_frame(b, obj)
    assert (a.num_obj_meta, b.num_obj_meta) == (6, 6)
    assert obj.obj_label == "l0"


def test_an_acquired_object_that_was_never_added_cannot_be_removed(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    new = pyds.nvds_acquire_obj_meta_from_pool(batch_meta)
    with pytest.raises(MetadataValueError, match="does not hang"):
        pyds.nvds_remove_obj_meta_from_frame(frame, new)
    pyds.nvds_add_obj_meta_to_frame(frame, new, None)
    with pytest.raises(MetadataValueError, match="hangs somewhere already"):
        pyds.nvds_add_obj_meta_to_frame(frame, new, None)
    assert frame.num_obj_meta == 7


def test_children_of_a_removed_object_lose_their_parent(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    parent = objects(frame)[0]
    child = pyds.nvds_acquire_obj_meta_from_pool(batch_meta)
    pyds.nvds_add_obj_meta_to_frame(frame, child, parent)
    assert child.parent == parent
    assert child.parent.obj_label == "l0"
    pyds.nvds_remove_obj_meta_from_frame(frame, parent)
    assert child.parent is None


def test_clear_functions_empty_a_list(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    display = pyds.nvds_acquire_display_meta_from_pool(batch_meta)
    pyds.nvds_add_display_meta_to_frame(frame, display)
    pyds.nvds_clear_obj_meta_list(frame, frame.obj_meta_list)
    pyds.nvds_clear_display_meta_list(frame, frame.display_meta_list)
    assert (frame.num_obj_meta, frame.obj_meta_list, frame.display_meta_list) == (0, None, None)
    pyds.nvds_clear_frame_meta_list(batch_meta, batch_meta.frame_meta_list)
    assert batch_meta.num_frames_in_batch == 0
    with pytest.raises(StaleMetadataError):
        _ = frame.source_id


def test_frames_by_number_and_by_removal(batch_meta: Any) -> None:
    second = pyds.nvds_get_nth_frame_meta(batch_meta.frame_meta_list, 1)
    assert second.source_id == 1
    assert pyds.nvds_get_nth_frame_meta(batch_meta.frame_meta_list, 2) is None
    held = objects(second)[0]
    pyds.nvds_remove_frame_meta_from_batch(batch_meta, second)
    assert [f.source_id for f in frames(batch_meta)] == [0]
    with pytest.raises(StaleMetadataError):
        _ = held.obj_label  # it went with its frame
    new = pyds.nvds_acquire_frame_meta_from_pool(batch_meta)
    new.source_id = 9
    pyds.nvds_add_frame_meta_to_batch(batch_meta, new)
    assert [f.source_id for f in frames(batch_meta)] == [0, 9]


def test_a_function_that_does_not_exist_anywhere_is_a_warning(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    obj = objects(frame)[0]
    pyds.nvds_remove_obj_meta_from_frame(frame, obj)
    with pytest.warns(UserWarning, match="exists in no DeepStream SDK and is not needed"):
        pyds.nvds_destroy_obj_meta(obj)
    assert frame.num_obj_meta == 5
