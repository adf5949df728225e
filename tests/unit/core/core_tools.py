"""Batches for the tests of the native core, built and looked at without it where that matters."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_int, c_size_t, c_uint, c_void_p
from typing import Any

from dselements._core import _native, library_info

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "nvds_acquire_meta_lock": (None, (c_void_p,)),
    "nvds_release_meta_lock": (None, (c_void_p,)),
    "nvds_acquire_frame_meta_from_pool": (c_void_p, (c_void_p,)),
    "nvds_add_frame_meta_to_batch": (None, (c_void_p, c_void_p)),
    "nvds_acquire_obj_meta_from_pool": (c_void_p, (c_void_p,)),
    "nvds_add_obj_meta_to_frame": (None, (c_void_p, c_void_p, c_void_p)),
    "nvds_remove_obj_meta_from_frame": (None, (c_void_p, c_void_p)),
    "gst_init": (None, (c_void_p, c_void_p)),
    "gst_buffer_new_allocate": (c_void_p, (c_void_p, c_size_t, c_void_p)),
    "gst_buffer_copy_deep": (c_void_p, (c_void_p,)),
    "gst_buffer_peek_memory": (c_void_p, (c_void_p, c_uint)),
    "gst_mini_object_ref": (c_void_p, (c_void_p,)),
    "g_strdup": (c_void_p, (ctypes.c_char_p,)),
    "g_thread_pool_new": (c_void_p, (c_void_p, c_void_p, c_int, c_int, c_void_p)),
    "g_thread_pool_push": (c_int, (c_void_p, c_void_p, c_void_p)),
    "g_thread_pool_free": (None, (c_void_p, c_int, c_int)),
    "g_thread_pool_stop_unused_threads": (None, ()),
}


def functions() -> ctypes.CDLL:
    """The library's functions and, through its dependencies, GStreamer's and GLib's."""
    lib = ctypes.CDLL(library_info().gst_meta_path)
    meta = ctypes.CDLL(library_info().meta_path)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(meta if name.startswith("nvds_") else lib, name)
        function.restype, function.argtypes = result, arguments
        setattr(lib, name, function)
    return lib


def i32(*values: int) -> bytes:
    return struct.pack(f"{len(values)}i", *values)


def ints(column: bytes | bytearray) -> list[int]:
    return list(struct.unpack(f"{len(column) // 4}i", column))


def u64s(column: bytes | bytearray) -> list[int]:
    return list(struct.unpack(f"{len(column) // 8}Q", column))


def floats(column: bytes | bytearray) -> list[float]:
    return list(struct.unpack(f"{len(column) // 4}f", column))


@contextmanager
def batch_of(rows: Sequence[int], frames: int | None = None) -> Iterator[int]:
    """A batch with one object for each frame row, class_id = the object's row."""
    count = max(rows, default=-1) + 1 if frames is None else frames
    address = _native.create_batch(max(count, 1))
    try:
        t = _native.Transaction(_native.Snapshot(address))
        t.add_frames(count)
        t.add_objects(i32(*rows))
        t.scatter(_native.OBJECT, "class_id", i32(*range(len(rows))))
        t.commit()
        yield address
    finally:
        _native.destroy_batch(address)


def natural(lib: ctypes.CDLL, frames: int, objects: int) -> int:
    """A batch filled as an inference element does: acquire, add, frame after frame.

    class_id is the number of the object in the order of adding, counted over the batch.
    """
    batch = _native.create_batch(frames)
    for f in range(frames):
        frame = lib.nvds_acquire_frame_meta_from_pool(batch)
        lib.nvds_add_frame_meta_to_batch(batch, frame)
        for k in range(objects):
            address = lib.nvds_acquire_obj_meta_from_pool(batch)
            ctypes.c_int32.from_address(address + 52).value = f * objects + k
            lib.nvds_add_obj_meta_to_frame(frame, address, None)
    return batch


def classes(batch: int) -> list[int]:
    return ints(_native.Snapshot(batch).class_id)


def parents(batch: int) -> list[int]:
    return ints(_native.Snapshot(batch).gather_parents())


def in_use(batch: int) -> dict[str, int]:
    """Elements that each pool counts as in use."""
    return {name: used for name, (_all, _free, used) in _native.pool_counters(batch).items()}


def payload(name: bytes = b"n", value: bytes = b"1") -> bytes:
    """A payload block: header of 16 bytes, name, NUL, JSON."""
    return struct.pack("<4sHBBII", b"DSEP", 1, 1, 0, len(name), len(value)) + name + b"\0" + value
