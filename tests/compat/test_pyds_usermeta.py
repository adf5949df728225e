"""User metas: event messages, custom structures, functions in Python, in C, in other threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from typing import Any

import pytest
from walking import frames, objects

import dselements.compat.pyds as pyds
from dselements._core import _native
from dselements.errors import MetadataValueError, StaleMetadataError


def custom(batch_meta: Any, frame: Any, number: int = 5, text: str = "hello") -> Any:
    """A frame user meta with a CustomDataStruct, as user-metadata samples make it."""
    user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
    data = pyds.alloc_custom_struct(user_meta)
    data.structId, data.message, data.sampleInt = number, text, number * 2
    user_meta.user_meta_data = data
    user_meta.base_meta.meta_type = pyds.NvDsMetaType.NVDS_USER_META
    pyds.nvds_add_user_meta_to_frame(frame, user_meta)
    return user_meta


def read_custom(frame: Any) -> list[tuple[int, str | None, int]]:
    found, node = [], frame.frame_user_meta_list
    while node is not None:
        user_meta = pyds.NvDsUserMeta.cast(node.data)
        if user_meta.base_meta.meta_type == pyds.NvDsMetaType.NVDS_USER_META:
            data = pyds.CustomDataStruct.cast(user_meta.user_meta_data)
            found.append((data.structId, pyds.get_string(data.message), data.sampleInt))
        node = node.next
    return found


def test_a_custom_structure_is_read_copied_and_freed(batch_meta: Any, address: int) -> None:
    before = _native.live_blocks()
    frame = frames(batch_meta)[0]
    user_meta = custom(batch_meta, frame)
    assert read_custom(frame) == [(5, "hello", 10)]
    copy = pyds.nvds_batch_meta_copy_func(batch_meta, None)
    pyds.nvds_remove_user_meta_from_frame(frame, user_meta)
    assert read_custom(frame) == []
    assert read_custom(frames(copy)[0]) == [(5, "hello", 10)]
    pyds.nvds_destroy_batch_meta(copy)
    assert _native.live_blocks() == before


def test_a_structure_that_was_given_away_is_stale_after_its_meta(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
    data = pyds.alloc_custom_struct(user_meta)
    user_meta.user_meta_data = data
    pyds.nvds_add_user_meta_to_frame(frame, user_meta)
    data.sampleInt = 7
    assert read_custom(frame) == [(0, None, 7)]
    pyds.nvds_remove_user_meta_from_frame(frame, user_meta)
    with pytest.raises(StaleMetadataError):
        _ = data.sampleInt


def test_a_structure_that_is_never_given_away_is_freed() -> None:
    before = _native.live_blocks()
    message = pyds.alloc_nvds_event_msg_meta()
    message.objectId = "x"
    vehicle = pyds.alloc_nvds_vehicle_object()
    vehicle.type = "sedan"
    message.extMsg = vehicle
    assert _native.live_blocks() == before + 4
    del message, vehicle
    gc.collect()
    assert _native.live_blocks() == before


def test_each_meta_keeps_its_own_functions(batch_meta: Any) -> None:
    """In NVIDIA's pyds the functions that were set last serve all metas."""
    calls: list[str] = []
    frame = frames(batch_meta)[0]

    def functions(name: str) -> tuple[Any, Any]:
        def copy(data: Any, user_data: Any) -> Any:
            calls.append(f"copy {name}")
            source = pyds.CustomDataStruct.cast(pyds.NvDsUserMeta.cast(data).user_meta_data)
            new = pyds.CustomDataStruct.cast(pyds.memdup(pyds.get_ptr(source), 10_000))
            new.sampleInt = source.sampleInt + 1
            return new

        def release(data: Any, user_data: Any) -> None:
            assert user_data is None
            number = pyds.CustomDataStruct.cast(pyds.NvDsUserMeta.cast(data).user_meta_data)
            calls.append(f"free {name} {number.sampleInt}")

        return copy, release

    for k, name in enumerate("ab"):
        user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
        data = pyds.alloc_custom_struct()
        data.sampleInt = 10 * k
        data.message = name
        user_meta.user_meta_data = data
        copy, release = functions(name)
        pyds.user_copyfunc(user_meta, copy)
        pyds.user_releasefunc(user_meta, release)
        user_meta.base_meta.meta_type = pyds.NVDS_USER_META
        pyds.nvds_add_user_meta_to_frame(frame, user_meta)
    assert sorted(x[1:] for x in read_custom(frame)) == [("a", 0), ("b", 10)]
    first = pyds.nvds_batch_meta_copy_func(batch_meta)
    second = pyds.nvds_batch_meta_copy_func(first)  # a copy of the copy has them too
    assert sorted(x[1:] for x in read_custom(frames(second)[0])) == [("a", 2), ("b", 12)]
    assert sorted(calls) == ["copy a", "copy a", "copy b", "copy b"]
    calls.clear()
    pyds.nvds_destroy_batch_meta(first)
    thread = threading.Thread(target=pyds.nvds_destroy_batch_meta, args=(second,))
    thread.start()
    thread.join(20)
    assert sorted(calls) == ["free a 1", "free a 2", "free b 11", "free b 12"]
    pyds.nvds_clear_frame_user_meta_list(frame, frame.frame_user_meta_list)
    assert sorted(calls)[0] == "free a 0"
    assert len(calls) == 6


def test_a_release_function_that_frees_by_itself_as_samples_do(batch_meta: Any) -> None:
    before = _native.live_blocks()
    frame = frames(batch_meta)[0]
    freed: list[str | None] = []

    def release(data: Any, user_data: Any) -> None:
        message = pyds.NvDsEventMsgMeta.cast(pyds.NvDsUserMeta.cast(data).user_meta_data)
        freed.append(pyds.get_string(message.sensorStr))
        pyds.free_buffer(message.ts)
        pyds.free_buffer(message.sensorStr)
        pyds.free_gbuffer(message.extMsg)

    user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
    message = pyds.alloc_nvds_event_msg_meta()
    message.sensorStr = "camera"
    message.ts = pyds.alloc_buffer(33)
    message.extMsg = pyds.alloc_nvds_person_object()
    user_meta.user_meta_data = message
    pyds.set_user_releasefunc(user_meta, release)
    pyds.nvds_add_user_meta_to_frame(frame, user_meta)
    pyds.nvds_remove_user_meta_from_frame(frame, user_meta)
    assert freed == ["camera"]
    assert _native.live_blocks() == before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_function_that_raises_harms_nothing(batch_meta: Any) -> None:
    frame = frames(batch_meta)[0]
    caught: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
    try:
        user_meta = custom(batch_meta, frame)
        pyds.user_releasefunc(user_meta, lambda data, _: 1 / 0)
        pyds.nvds_remove_user_meta_from_frame(frame, user_meta)
    finally:
        sys.unraisablehook = hook
    assert [type(error) for error in caught] == [ZeroDivisionError]
    assert frame.frame_user_meta_list is None


def test_the_pointer_of_a_function_ends_with_it(batch_meta: Any) -> None:
    kept: list[Any] = []
    frame = frames(batch_meta)[0]
    user_meta = custom(batch_meta, frame)
    pyds.user_releasefunc(user_meta, lambda data, _: kept.append(pyds.NvDsUserMeta.cast(data)))
    pyds.nvds_remove_user_meta_from_frame(frame, user_meta)
    with pytest.raises(StaleMetadataError):
        _ = kept[0].base_meta.meta_type


def test_functions_at_the_end_of_the_process() -> None:
    """NVIDIA's pyds hangs there unless unset_callback_funcs() was called."""
    code = """
import dselements.compat.pyds as pyds
from dselements._core import load
load()
batch_meta = pyds.nvds_create_batch_meta(1)
frame = pyds.nvds_acquire_frame_meta_from_pool(batch_meta)
pyds.nvds_add_frame_meta_to_batch(batch_meta, frame)
user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
user_meta.user_meta_data = pyds.alloc_custom_struct()
pyds.user_releasefunc(user_meta, lambda data, _: print("freed"))
pyds.nvds_add_user_meta_to_frame(frame, user_meta)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_own_types_are_stable_numbers() -> None:
    number = pyds.nvds_get_user_meta_type("TESTS.PYDS.A")
    assert number == pyds.nvds_get_user_meta_type("TESTS.PYDS.A")
    assert number > int(pyds.NvDsMetaType.NVDS_START_USER_META)
    assert number != pyds.nvds_get_user_meta_type("TESTS.PYDS.B")


def test_user_metas_on_batches_and_objects(batch_meta: Any) -> None:
    obj = objects(frames(batch_meta)[0])[0]
    for add, clear, holder, name in (
        (pyds.nvds_add_user_meta_to_batch, pyds.nvds_clear_batch_user_meta_list, batch_meta,
         "batch_user_meta_list"),
        (pyds.nvds_add_user_meta_to_obj, pyds.nvds_clear_obj_user_meta_list, obj,
         "obj_user_meta_list"),
    ):  # fmt: skip
        for _ in range(3):
            user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
            user_meta.user_meta_data = pyds.alloc_custom_struct(user_meta)
            add(holder, user_meta)
        assert getattr(holder, name).next.next.next is None
        clear(holder, getattr(holder, name))
        assert getattr(holder, name) is None


def test_memory_functions() -> None:
    address = pyds.alloc_buffer(8)
    assert pyds.get_string(address) == ""
    copy = pyds.memdup(address, 8)
    pyds.generate_ts_rfc3339(address, 8)
    assert len(pyds.strdup2str(address)) == 7
    twin = pyds.strdup(address)
    assert pyds.get_string(twin) == pyds.get_string(address)
    for one in (address, copy, twin):
        pyds.free_buffer(one)
    for use, words in (
        (lambda: pyds.free_buffer(address), "or was freed"),
        (lambda: pyds.free_buffer(77), "or was freed"),
        (lambda: pyds.get_string(77), "cannot be read"),
        (lambda: pyds.memdup(77, 5), "cannot be read"),
        (lambda: pyds.alloc_buffer(0), "1 to"),
        (lambda: pyds.generate_ts_rfc3339(77, 32), "alloc_buffer"),
        (lambda: pyds.NvDsEventMsgMeta.cast(77), "no 140"),
    ):
        with pytest.raises(MetadataValueError, match=words):
            use()
    assert pyds.get_ptr(None) == pyds.strdup(0) == pyds.memdup(0, 4) == 0
    assert pyds.strdup2str(0) == ""
