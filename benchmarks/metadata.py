"""Read, filter and write metadata: dselements beside plain per-object loops, in one run.

    python benchmarks/metadata.py [--json] [--check] [--sizes 1x10,64x100]

For batches of FRAMESxOBJECTS it times, on the same library and in the same process:

=============  ================================================================================
``columns``    the public API: ``Batch``, numpy columns, ``commit()``
``native``     the native calls below it: ``Snapshot`` and ``Transaction``
``ctypes``     (a) a loop over the lists in Python, one ctypes structure an object
``library``    (b) the library's own removal, called from C in the order of the lists
=============  ================================================================================

Reads share one batch. Each repetition of an edit gets a new one, filled as an inference element
fills it: frame after frame, one acquire and one add for each object. Variants take turns; the
medians are shown, in microseconds. About half of the objects have a confidence below 0.5 and are
removed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import struct
import sys
import time
from collections.abc import Callable
from ctypes import Structure, c_char, c_double, c_float, c_int, c_uint, c_void_p
from statistics import median

import numpy as np

from dselements._core import _native, library_info
from dselements.meta import Batch

SIZES = ((1, 10), (4, 25), (16, 50), (64, 100))
REPETITIONS = {10: 400, 100: 200, 800: 60, 6400: 15}
# Upper bounds in microseconds of the variant ``columns``, on one core of a 2020s server.
TARGETS = {("read", 64, 100): 150.0, ("filter", 64, 100): 2000.0, ("filter", 16, 50): 150.0}
UNTRACKED = 0xFFFFFFFFFFFFFFFF


class GList(Structure):
    """GLib's list node. Addresses, not POINTERs: those would stay views of freed nodes."""

    _fields_ = (("data", c_void_p), ("next", c_void_p), ("prev", c_void_p))


class Frame(Structure):
    """The head of NvDsFrameMeta."""

    _fields_ = (("head", c_char * 104), ("objects", c_void_p))


class Object(Structure):
    """The head of NvDsObjectMeta, the same in all SDK families."""

    _fields_ = (
        ("base", c_char * 40), ("parent", c_void_p), ("component", c_int), ("class_id", c_int),
        ("object_id", ctypes.c_uint64), ("detector_bbox", c_float * 4),
        ("tracker_bbox", c_float * 4), ("confidence", c_float), ("tracker_confidence", c_float),
        ("left", c_float), ("top", c_float), ("width", c_float), ("height", c_float),
        ("border_width", c_uint), ("border_color", c_double * 4),
    )  # fmt: skip


class BatchHead(Structure):
    """The head of NvDsBatchMeta."""

    _fields_ = (("head", c_char * 96), ("frames", c_void_p))


def open_functions() -> ctypes.CDLL:
    """The library that dselements uses, with the types of the functions called here."""
    lib = ctypes.CDLL(library_info().meta_path)
    for name, count in (
        ("nvds_acquire_frame_meta_from_pool", 1), ("nvds_add_frame_meta_to_batch", 2),
        ("nvds_acquire_obj_meta_from_pool", 1), ("nvds_add_obj_meta_to_frame", 3),
        ("nvds_remove_obj_meta_from_frame", 2), ("nvds_acquire_meta_lock", 1),
        ("nvds_release_meta_lock", 1),
    ):  # fmt: skip
        function = getattr(lib, name)
        function.argtypes = [c_void_p] * count
        function.restype = c_void_p
    return lib


def build(lib: ctypes.CDLL, frames: int, objects: int, seed: int = 7) -> int:
    """A batch filled as nvinfer does: confidences even over 0 to 1, seeded."""
    rng = random.Random(seed)
    batch = _native.create_batch(frames)
    for f in range(frames):
        frame = lib.nvds_acquire_frame_meta_from_pool(batch)
        lib.nvds_add_frame_meta_to_batch(batch, frame)
        for k in range(objects):
            address = lib.nvds_acquire_obj_meta_from_pool(batch)
            o = Object.from_address(address)
            o.class_id, o.object_id, o.confidence = k % 4, UNTRACKED, rng.random()
            o.left, o.top, o.width, o.height = f, k, 20, 30
            lib.nvds_add_obj_meta_to_frame(frame, address, None)
    return batch


# -- read: class, identity, confidence and rectangle of every object ------------------------
def read_columns(batch: int) -> None:
    with Batch(batch) as b:
        o = b.objects
        o.class_id, o.object_id, o.confidence, o.rect  # noqa: B018 -- the access is the work


def read_native(batch: int) -> None:
    s = _native.Snapshot(batch)
    np.frombuffer(s.class_id, np.int32)
    np.frombuffer(s.object_id, np.uint64)
    np.frombuffer(s.confidence, np.float32)
    np.frombuffer(s.rect, np.float32).reshape(-1, 4)


def read_ctypes(batch: int) -> None:
    rows = []
    f = BatchHead.from_address(batch).frames
    while f:
        f_node = GList.from_address(f)
        o = Frame.from_address(f_node.data).objects
        while o:
            o_node = GList.from_address(o)
            x = Object.from_address(o_node.data)
            rows.append((x.class_id, x.object_id, x.confidence, x.left, x.top, x.width, x.height))
            o = o_node.next
        f = f_node.next


# -- filter: remove objects below a confidence of 0.5 ----------------------------------------
def filter_columns(batch: int) -> None:
    with Batch(batch) as b:
        b.remove(b.objects.confidence < 0.5)


def filter_native(batch: int) -> None:
    s = _native.Snapshot(batch)
    t = _native.Transaction(s)
    t.remove_objects((np.frombuffer(s.confidence, np.float32) < 0.5).tobytes())
    t.commit()


def filter_library(batch: int) -> None:
    before = _native.set_presort_threshold(1 << 30)
    try:
        filter_native(batch)
    finally:
        _native.set_presort_threshold(before)


def filter_ctypes(batch: int) -> None:
    LIB.nvds_acquire_meta_lock(batch)
    f = BatchHead.from_address(batch).frames
    while f:
        f_node = GList.from_address(f)
        frame = f_node.data
        o = Frame.from_address(frame).objects
        while o:
            o_node = GList.from_address(o)
            address = o_node.data
            o = o_node.next  # before the removal, which frees the node
            if Object.from_address(address).confidence < 0.5:
                LIB.nvds_remove_obj_meta_from_frame(frame, address)
        f = f_node.next
    LIB.nvds_release_meta_lock(batch)


# -- write: class and confidence of every object ----------------------------------------------
def write_columns(batch: int) -> None:
    with Batch(batch) as b:
        o = b.objects
        o.class_id[:] = 9
        o.confidence[:] *= 0.5


def write_native(batch: int) -> None:
    s = _native.Snapshot(batch)
    t = _native.Transaction(s)
    t.scatter(_native.OBJECT, "class_id", struct.pack("i", 9) * s.n_objects)
    t.scatter(
        _native.OBJECT, "confidence", (np.frombuffer(s.confidence, np.float32) * 0.5).tobytes()
    )
    t.commit()


def write_ctypes(batch: int) -> None:
    LIB.nvds_acquire_meta_lock(batch)
    f = BatchHead.from_address(batch).frames
    while f:
        f_node = GList.from_address(f)
        o = Frame.from_address(f_node.data).objects
        while o:
            o_node = GList.from_address(o)
            x = Object.from_address(o_node.data)
            x.class_id = 9
            x.confidence = x.confidence * 0.5
            o = o_node.next
        f = f_node.next
    LIB.nvds_release_meta_lock(batch)


WORK: dict[str, dict[str, Callable[[int], None]]] = {
    "read": {"columns": read_columns, "native": read_native, "ctypes": read_ctypes},
    "filter": {
        "columns": filter_columns,
        "native": filter_native,
        "ctypes": filter_ctypes,
        "library": filter_library,
    },
    "write": {"columns": write_columns, "native": write_native, "ctypes": write_ctypes},
}


def state(batch: int) -> tuple[bytes, ...]:
    """What an edit leaves: all variants must agree."""
    s = _native.Snapshot(batch)
    return (
        bytes(s.frame_index), bytes(s.class_id), bytes(s.confidence), bytes(s.rect),
        repr(_native.pool_counters(batch)).encode(),
    )  # fmt: skip


def same_result(frames: int, objects: int) -> None:
    """Refuse to time variants that do different things."""
    for task, variants in WORK.items():
        results = {}
        for name, function in variants.items():
            batch = build(LIB, frames, objects)
            function(batch)
            results[name] = state(batch)
            _native.destroy_batch(batch)
        if len(set(results.values())) != 1:
            raise SystemExit(f"{task} {frames}x{objects}: the variants leave different metadata")


def measure(frames: int, objects: int) -> dict[str, dict[str, float]]:
    """Median microseconds of each variant of each task."""
    repetitions = REPETITIONS.get(frames * objects, 20)
    result = {}
    for task, variants in WORK.items():
        times: dict[str, list[float]] = {name: [] for name in variants}
        shared = build(LIB, frames, objects) if task == "read" else 0
        for k in range(repetitions):
            turn = list(variants.items())
            for name, function in turn if k % 2 else reversed(turn):
                batch = shared or build(LIB, frames, objects)
                start = time.perf_counter_ns()
                function(batch)
                times[name].append((time.perf_counter_ns() - start) / 1000)
                if not shared:
                    _native.destroy_batch(batch)
        if shared:
            _native.destroy_batch(shared)
        result[task] = {name: median(values) for name, values in times.items()}
    return result


def parse(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((int(f), int(o)) for f, o in (size.split("x") for size in text.split(",") if size))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--sizes", type=parse, default=SIZES, help="FRAMESxOBJECTS,…")
    options = parser.parse_args()
    # One 1080p RGBA frame, made and freed, as happens in any process that handles video: from then
    # on glibc keeps freed memory instead of giving it back to the kernel after each call.
    frame = bytearray(1920 * 1080 * 4)
    del frame
    results = {}
    missed = []
    for frames, objects in options.sizes:
        same_result(frames, objects)
        results[f"{frames}x{objects}"] = measured = measure(frames, objects)
        for task, times in measured.items():
            target = TARGETS.get((task, frames, objects))
            if target is not None and times["columns"] > target:
                missed.append(f"{task} {frames}x{objects}: {times['columns']:.0f} > {target:.0f}")
    if options.json:
        info = library_info()
        print(json.dumps({"library": info.source, "family": info.family, "us": results}))
    else:
        show(results)
    for line in missed:
        print("over target, µs:", line, file=sys.stderr)
    return 1 if missed and options.check else 0


def show(results: dict[str, dict[str, dict[str, float]]]) -> None:
    info = library_info()
    print(f"{info.meta_path} ({info.source}, {info.family}); median microseconds")
    names = ("columns", "native", "ctypes", "library")
    ratios = f"{'ctypes/col':>12}{'lib/col':>10}"
    print(f"{'':17}" + "".join(f"{name:>11}" for name in names) + ratios)
    for size, measured in results.items():
        for task, times in measured.items():
            cells = "".join(f"{times[n]:>11.1f}" if n in times else f"{'':>11}" for n in names)
            ratio = f"{times['ctypes'] / times['columns']:>11.1f}x"
            if "library" in times:
                ratio += f"{times['library'] / times['columns']:>9.1f}x"
            print(f"{size:8}{task:9}{cells}{ratio}")


LIB = open_functions()

if __name__ == "__main__":
    sys.exit(main())
