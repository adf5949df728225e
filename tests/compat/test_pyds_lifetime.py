"""Handles that are kept too long, made of the wrong thing, or used from other threads."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest
from walking import fill, frames, objects

import dselements.compat.pyds as pyds
from dselements._core import _native, library_info
from dselements.errors import ConcurrentEditError, MetadataValueError, StaleMetadataError
from dselements.meta import Batch

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
from gi.repository import Gst

Gst.init(None)


def with_batch() -> Any:
    """A Gst.Buffer that owns a batch of dselements."""
    buffer = Gst.Buffer.new_allocate(None, 16, None)
    fill(_native.create_batch(4, hash(buffer)))
    return buffer


def with_foreign_batch() -> Any:
    """A Gst.Buffer whose batch was made and attached by C code, as nvstreammux does."""
    buffer = Gst.Buffer.new_allocate(None, 16, None)
    info = library_info()
    meta, gst = ctypes.CDLL(info.meta_path), ctypes.CDLL(info.gst_meta_path)
    meta.nvds_create_batch_meta.restype = ctypes.c_void_p
    batch = meta.nvds_create_batch_meta(4)
    ctypes.c_uint32.from_address(batch + 40).value = 4  # max_frames_in_batch
    gst.gst_buffer_add_nvds_meta.restype = ctypes.c_void_p
    attached = gst.gst_buffer_add_nvds_meta(
        ctypes.c_void_p(hash(buffer)), ctypes.c_void_p(batch), None,
        meta.nvds_batch_meta_copy_func, meta.nvds_batch_meta_release_func,
    )  # fmt: skip
    ctypes.c_int32.from_address(attached + 32).value = 4097  # NVDS_BATCH_GST_META
    fill(batch)
    return buffer


MAKERS = pytest.mark.parametrize("make", [with_batch, with_foreign_batch])


@MAKERS
def test_handles_of_a_buffer_that_is_gone_are_stale(make: Callable[[], Any]) -> None:
    buffer = make()
    batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(buffer))
    frame = frames(batch_meta)[0]
    node = frame.obj_meta_list
    obj = pyds.NvDsObjectMeta.cast(node.data)
    rect, color, pointer = obj.rect_params, obj.rect_params.border_color, node.data
    assert (rect.width, obj.is_stale) == (20, False)
    del buffer
    gc.collect()
    assert obj.is_stale
    for use in (
        lambda: batch_meta.frame_meta_list,
        lambda: frame.source_id,
        lambda: obj.obj_label,
        lambda: rect.left,
        lambda: color.red,
        lambda: node.next,
        lambda: node.data,
        lambda: pyds.NvDsObjectMeta.cast(pointer),
        lambda: setattr(obj, "class_id", 3),
        lambda: setattr(obj, "obj_label", "x"),
        lambda: pyds.nvds_remove_obj_meta_from_frame(frame, obj),
        lambda: pyds.nvds_acquire_obj_meta_from_pool(batch_meta),
        lambda: pyds.nvds_acquire_meta_lock(batch_meta),
    ):
        with pytest.raises(StaleMetadataError, match="buffer that is gone"):
            use()


@MAKERS
def test_a_new_batch_at_the_same_address_does_not_revive_old_handles(
    make: Callable[[], Any],
) -> None:
    addresses = set()
    old: list[Any] = []
    for _ in range(20):
        buffer = make()
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(buffer))
        addresses.add(batch_meta.native_address)
        assert objects(frames(batch_meta)[0])[0].obj_label == "l0"
        assert all(handle.is_stale for handle in old)
        old.append(objects(frames(batch_meta)[0])[0])
        del buffer
        gc.collect()
    assert len(addresses) < 20  # at least one came again


def test_two_lookups_of_one_buffer_share_what_was_removed() -> None:
    buffer = with_batch()
    first = objects(frames(pyds.gst_buffer_get_nvds_batch_meta(hash(buffer)))[0])[0]
    frame = frames(pyds.gst_buffer_get_nvds_batch_meta(hash(buffer)))[0]
    pyds.nvds_remove_obj_meta_from_frame(frame, objects(frame)[0])
    with pytest.raises(StaleMetadataError, match="was removed"):
        _ = first.obj_label


def test_removal_by_columns_is_noticed(address: int) -> None:
    frame = frames(pyds.NvDsBatchMeta.cast(address))[0]
    held = objects(frame)
    with Batch(address) as batch:
        batch.remove(batch.objects.confidence < 0.3)
    assert [o.is_stale for o in held] == [True] * 3 + [False] * 3
    assert [o.obj_label for o in objects(frame)] == ["l3", "l4", "l5"]
    assert held[4].obj_label == "l4"


def test_columns_notice_what_pyds_edits_even_at_the_same_address(address: int) -> None:
    batch_meta = pyds.NvDsBatchMeta.cast(address)
    frame = frames(batch_meta)[0]
    batch = Batch(address)
    batch.objects.class_id[:] = 9
    first = objects(frame)[0]
    pyds.nvds_remove_obj_meta_from_frame(frame, first)
    new = pyds.nvds_acquire_obj_meta_from_pool(batch_meta)
    pyds.nvds_add_obj_meta_to_frame(frame, new, None)
    assert first.is_stale
    assert not new.is_stale
    with pytest.raises(ConcurrentEditError):
        batch.commit()
    batch.close()
    assert [o.class_id for o in objects(frame)] == [0, 1, 2, 0, 1, 2]
    assert [o.is_stale for o in objects(frame)] == [False] * 6


def test_a_classifier_goes_with_its_object(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    obj = objects(frame)[0]
    classifier = pyds.nvds_acquire_classifier_meta_from_pool(batch_meta)
    label = pyds.nvds_acquire_label_info_meta_from_pool(batch_meta)
    pyds.nvds_add_label_info_meta_to_classifier(classifier, label)
    pyds.nvds_add_classifier_meta_to_object(obj, classifier)
    pyds.nvds_remove_obj_meta_from_frame(frame, obj)
    for handle in (classifier, label):
        with pytest.raises(StaleMetadataError, match="was removed"):
            _ = handle.base_meta.meta_type


@pytest.mark.parametrize("wrong", [0, 1, 8, 123456789, 1 << 47, hash(None), id(object())])
def test_an_address_that_is_no_buffer_is_refused(wrong: int) -> None:
    with pytest.raises(MetadataValueError, match="not the address of a GstBuffer"):
        pyds.gst_buffer_get_nvds_batch_meta(wrong)


def test_a_buffer_without_metadata_has_none_and_one_may_be_passed_itself() -> None:
    assert pyds.gst_buffer_get_nvds_batch_meta(hash(Gst.Buffer.new())) is None
    buffer = with_batch()
    assert pyds.gst_buffer_get_nvds_batch_meta(buffer).num_frames_in_batch == 2


def test_casts_know_what_they_are_given(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    obj = objects(frame)[0]
    assert pyds.NvDsObjectMeta.cast(obj) == obj
    assert pyds.NvDsObjectMeta.cast(pyds.get_ptr(obj)) == obj
    assert pyds.glist_get_nvds_object_meta(frame.obj_meta_list.data) == obj
    for wrong, words in (
        (frame.obj_meta_list.data, "leads to a NvDsObjectMeta, which NvDsFrameMeta is not"),
        (obj, "NvDsObjectMeta is not a NvDsFrameMeta"),
        (pyds.get_ptr(obj), "there is no NvDsFrameMeta"),
        (12345, "there is no NvDsFrameMeta"),
        ("text", "not str"),
    ):
        with pytest.raises(MetadataValueError, match=words):
            pyds.NvDsFrameMeta.cast(wrong)


def test_metas_of_another_batch_are_refused(batch_meta: Any) -> None:
    other = pyds.nvds_create_batch_meta(1)
    try:
        frame = pyds.nvds_acquire_frame_meta_from_pool(other)
        with pytest.raises(MetadataValueError, match="belongs to another batch"):
            pyds.nvds_add_frame_meta_to_batch(batch_meta, frame)
        pyds.nvds_add_frame_meta_to_batch(other, frame)
    finally:
        pyds.nvds_destroy_batch_meta(other)
    with pytest.raises(StaleMetadataError):
        _ = frame.source_id


def test_the_batch_of_a_buffer_cannot_be_destroyed() -> None:
    buffer = with_batch()
    batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(buffer))
    with pytest.raises(MetadataValueError, match="made without a buffer"):
        pyds.nvds_destroy_batch_meta(batch_meta)
    assert batch_meta.num_frames_in_batch == 2


def test_a_copy_of_a_batch_is_one_of_its_own(batch_meta: Any) -> None:
    copy = pyds.nvds_batch_meta_copy_func(batch_meta, None)
    held = objects(frames(copy)[0])
    assert [o.obj_label for o in held] == [f"l{i}" for i in range(6)]
    pyds.nvds_batch_meta_release_func(copy, None)
    assert held[0].is_stale
    assert len(objects(frames(batch_meta)[0])) == 6


def test_the_lock_is_recursive_and_a_thread_that_waits_for_it_stops_nobody(
    batch_meta: Any,
) -> None:
    pyds.nvds_acquire_meta_lock(batch_meta)
    pyds.nvds_acquire_meta_lock(batch_meta)
    pyds.nvds_release_meta_lock(batch_meta)
    order: list[str] = []

    def other() -> None:
        order.append("waits")
        pyds.nvds_acquire_meta_lock(batch_meta)
        order.append("has it")
        pyds.nvds_release_meta_lock(batch_meta)

    thread = threading.Thread(target=other)
    thread.start()
    while not order:  # with the GIL held by the waiting thread this would never end
        pass
    order.append("main goes on")
    pyds.nvds_release_meta_lock(batch_meta)
    thread.join(20)
    assert order == ["waits", "main goes on", "has it"]
    with pytest.raises(MetadataValueError, match="does not hold"):
        pyds.nvds_release_meta_lock(batch_meta)


def test_reading_while_buffers_end_in_another_thread_never_reads_freed_memory() -> None:
    """Each read gives the value or says that the buffer is gone."""
    stop = threading.Event()
    current: list[Any] = []
    seen = {"value": 0, "stale": 0}
    wrong: list[object] = []

    def reader() -> None:
        while not stop.is_set():
            for obj in current:
                try:
                    if obj.obj_label != "l0" or obj.rect_params.width != 20:
                        wrong.append(obj.obj_label)
                    seen["value"] += 1
                except StaleMetadataError:
                    seen["stale"] += 1

    thread = threading.Thread(target=reader)
    thread.start()
    for _ in range(300):
        buffer = with_foreign_batch()
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(buffer))
        current[:] = [objects(frames(batch_meta)[0])[0]]
        del buffer, batch_meta
    stop.set()
    thread.join(20)
    assert wrong == []
    assert seen["value"] + seen["stale"] > 0


def test_dropping_handles_leaves_nothing_behind() -> None:
    import sys

    buffer = with_batch()
    obj = objects(frames(pyds.gst_buffer_get_nvds_batch_meta(hash(buffer)))[0])[0]
    before = sys.getrefcount(obj)
    gc.collect()
    gc.disable()
    try:
        count = len(gc.get_objects())
        for _ in range(50):
            for frame in frames(pyds.gst_buffer_get_nvds_batch_meta(hash(buffer))):
                assert len([o.rect_params.left for o in objects(frame)]) == 6
            del frame
        assert len(gc.get_objects()) - count < 40  # no cycles that wait for the collector
    finally:
        gc.enable()
    assert sys.getrefcount(obj) == before
