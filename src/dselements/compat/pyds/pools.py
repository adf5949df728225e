"""Taking metas from pools, adding and removing them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._core import _native, load
from ...errors import MetadataValueError
from .metas import (
    NvDsBatchMeta,
    NvDsClassifierMeta,
    NvDsDisplayMeta,
    NvDsFrameMeta,
    NvDsLabelInfo,
    NvDsObjectMeta,
    NvDsUserMeta,
)

FRAME, OBJECT, CLASSIFIER, DISPLAY, USER, LABEL = range(6)

CLASSES: dict[int, Any] = {
    FRAME: NvDsFrameMeta,
    OBJECT: NvDsObjectMeta,
    CLASSIFIER: NvDsClassifierMeta,
    DISPLAY: NvDsDisplayMeta,
    USER: NvDsUserMeta,
    LABEL: NvDsLabelInfo,
}


def _live(batch_meta: Any) -> Any:
    meta = NvDsBatchMeta.cast(batch_meta)
    if meta is None:
        raise MetadataValueError("the batch meta is None: the buffer has none")
    return _native.struct_live(meta)


def nvds_acquire_meta_lock(batch_meta: Any) -> None:
    """Take the metadata lock of a batch; waits without blocking other Python threads."""
    _native.batch_lock(_live(batch_meta), True)


def nvds_release_meta_lock(batch_meta: Any) -> None:
    """Give the lock back. :raises MetadataValueError: if this thread does not hold it."""
    _native.batch_lock(_live(batch_meta), False)


def _acquire(name: str, pool: int) -> Callable[[Any], Any]:
    cls = CLASSES[pool]

    def acquire(batch_meta: Any) -> Any:
        return _native.pool_acquire(cls, _live(batch_meta), pool)

    acquire.__name__ = acquire.__qualname__ = name
    acquire.__doc__ = f"A {cls.__name__} from the batch's pool, not added yet."
    return acquire


def _add(name: str, pool: int, owner: Any) -> Callable[[Any, Any], None]:
    cls = CLASSES[pool]

    def add(holder: Any, meta: Any) -> None:
        _native.meta_add(pool, owner.cast(holder), cls.cast(meta))

    add.__name__ = add.__qualname__ = name
    add.__doc__ = (
        f"Add a {cls.__name__} that was acquired to a {owner.__name__}; once.\n\n"
        ":raises MetadataValueError: if it was added already, or is of another batch."
    )
    return add


def _remove(name: str, pool: int, owner: Any) -> Callable[[Any, Any], None]:
    cls = CLASSES[pool]

    def remove(holder: Any, meta: Any) -> None:
        _native.meta_remove(pool, owner.cast(holder), cls.cast(meta))

    remove.__name__ = remove.__qualname__ = name
    remove.__doc__ = (
        f"Remove a {cls.__name__} from a {owner.__name__}, with all that hangs on it.\n\n"
        ":raises StaleMetadataError: if it was removed already.\n"
        ":raises MetadataValueError: if it hangs on another."
    )
    return remove


def _clear(name: str, pool: int, owner: Any) -> Callable[[Any, Any], None]:
    cls = CLASSES[pool]

    def clear(holder: Any, meta_list: Any) -> None:
        held = owner.cast(holder)
        for address in _native.list_addresses(meta_list):
            _native.meta_remove(pool, held, _native.meta_at(cls, held, address))

    clear.__name__ = clear.__qualname__ = name
    clear.__doc__ = f"Remove every {cls.__name__} of a list from its {owner.__name__}."
    return clear


def nvds_add_obj_meta_to_frame(frame_meta: Any, obj_meta: Any, obj_parent: Any = None) -> None:
    """Add an object that was acquired to a frame; it comes first in the frame's list.

    :param obj_parent: another object of the batch, or None.
    :raises MetadataValueError: if it was added already, or is of another batch.
    """
    parent = None if obj_parent is None else NvDsObjectMeta.cast(obj_parent)
    _native.meta_add(OBJECT, NvDsFrameMeta.cast(frame_meta), NvDsObjectMeta.cast(obj_meta), parent)


def nvds_get_nth_frame_meta(frame_meta_list: Any, index: int) -> Any:
    """Frame ``index`` of a list, or None."""
    node = frame_meta_list
    for _ in range(index):
        if node is None:
            return None
        node = node.next
    return None if node is None else NvDsFrameMeta.cast(node.data)


def nvds_create_batch_meta(max_batch_size: int) -> Any:
    """A batch without a buffer; free it with nvds_destroy_batch_meta()."""
    load()
    live = _native.live_batch(_native.create_batch(max_batch_size))
    return _native.batch_struct(NvDsBatchMeta, live)


def nvds_destroy_batch_meta(batch_meta: Any) -> bool:
    """Free a batch of nvds_create_batch_meta().

    :raises MetadataValueError: for the batch of a buffer, which the buffer frees.
    """
    _native.destroy_batch(NvDsBatchMeta.cast(batch_meta).native_address)
    return True


def nvds_batch_meta_copy_func(data: Any, user_meta: Any = None) -> Any:
    """A deep copy of a batch, with order and parents; free it with nvds_destroy_batch_meta()."""
    address = _native.copy_batch(NvDsBatchMeta.cast(data).native_address)
    return _native.batch_struct(NvDsBatchMeta, _native.live_batch(address))


def nvds_batch_meta_release_func(data: Any, user_data: Any = None) -> None:
    """The same as nvds_destroy_batch_meta()."""
    nvds_destroy_batch_meta(data)


def nvds_get_current_metadata_info(batch_meta: Any) -> bool:
    """Print how many metas of each kind are in use. Always True."""
    counters = _native.pool_counters(_live(batch_meta).address)
    for name, (elements, unused, used) in counters.items():
        print(f"{name}: {used} in use, {unused} unused, {elements} in all")
    return True


def nvds_destroy_obj_meta(*_objects: Any) -> None:
    """Does nothing: a removed object is back in its pool, and its memory is the batch's."""
    warnings.warn(
        "nvds_destroy_obj_meta exists in no DeepStream SDK and is not needed: "
        "nvds_remove_obj_meta_from_frame() has given the object back to its pool, with all that "
        "hung on it; delete the call",
        UserWarning,
        stacklevel=2,
    )


nvds_acquire_frame_meta_from_pool = _acquire("nvds_acquire_frame_meta_from_pool", FRAME)
nvds_acquire_obj_meta_from_pool = _acquire("nvds_acquire_obj_meta_from_pool", OBJECT)
nvds_acquire_classifier_meta_from_pool = _acquire(
    "nvds_acquire_classifier_meta_from_pool", CLASSIFIER
)
nvds_acquire_display_meta_from_pool = _acquire("nvds_acquire_display_meta_from_pool", DISPLAY)
nvds_acquire_user_meta_from_pool = _acquire("nvds_acquire_user_meta_from_pool", USER)
nvds_acquire_label_info_meta_from_pool = _acquire("nvds_acquire_label_info_meta_from_pool", LABEL)

nvds_add_frame_meta_to_batch = _add("nvds_add_frame_meta_to_batch", FRAME, NvDsBatchMeta)
nvds_add_classifier_meta_to_object = _add(
    "nvds_add_classifier_meta_to_object", CLASSIFIER, NvDsObjectMeta
)
nvds_add_display_meta_to_frame = _add("nvds_add_display_meta_to_frame", DISPLAY, NvDsFrameMeta)
nvds_add_label_info_meta_to_classifier = _add(
    "nvds_add_label_info_meta_to_classifier", LABEL, NvDsClassifierMeta
)
nvds_add_user_meta_to_batch = _add("nvds_add_user_meta_to_batch", USER, NvDsBatchMeta)
nvds_add_user_meta_to_frame = _add("nvds_add_user_meta_to_frame", USER, NvDsFrameMeta)
nvds_add_user_meta_to_obj = _add("nvds_add_user_meta_to_obj", USER, NvDsObjectMeta)

nvds_remove_frame_meta_from_batch = _remove(
    "nvds_remove_frame_meta_from_batch", FRAME, NvDsBatchMeta
)
nvds_remove_obj_meta_from_frame = _remove("nvds_remove_obj_meta_from_frame", OBJECT, NvDsFrameMeta)
nvds_remove_classifier_meta_from_obj = _remove(
    "nvds_remove_classifier_meta_from_obj", CLASSIFIER, NvDsObjectMeta
)
nvds_remove_display_meta_from_frame = _remove(
    "nvds_remove_display_meta_from_frame", DISPLAY, NvDsFrameMeta
)
nvds_remove_label_info_meta_from_classifier = _remove(
    "nvds_remove_label_info_meta_from_classifier", LABEL, NvDsClassifierMeta
)
nvds_remove_user_meta_from_batch = _remove("nvds_remove_user_meta_from_batch", USER, NvDsBatchMeta)
nvds_remove_user_meta_from_frame = _remove("nvds_remove_user_meta_from_frame", USER, NvDsFrameMeta)
nvds_remove_user_meta_from_object = _remove(
    "nvds_remove_user_meta_from_object", USER, NvDsObjectMeta
)

nvds_clear_frame_meta_list = _clear("nvds_clear_frame_meta_list", FRAME, NvDsBatchMeta)
nvds_clear_obj_meta_list = _clear("nvds_clear_obj_meta_list", OBJECT, NvDsFrameMeta)
nvds_clear_display_meta_list = _clear("nvds_clear_display_meta_list", DISPLAY, NvDsFrameMeta)
nvds_clear_batch_user_meta_list = _clear("nvds_clear_batch_user_meta_list", USER, NvDsBatchMeta)
nvds_clear_frame_user_meta_list = _clear("nvds_clear_frame_user_meta_list", USER, NvDsFrameMeta)
nvds_clear_obj_user_meta_list = _clear("nvds_clear_obj_user_meta_list", USER, NvDsObjectMeta)

__all__ = sorted(name for name in globals() if name.startswith("nvds_"))
