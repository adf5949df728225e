"""A loop through dselements.compat.pyds beside columns, and NVIDIA's pyds if it is there.

The same batch, the same task: read class, confidence and box of every object; then remove half of
the objects of a fresh batch. Variants take turns within each repetition; shown are medians and
the ratio to columns.

    python benchmarks/pyds.py [--repeats 30] [--json]
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dselements.compat.pyds as compat
from dselements._core import _native, load
from dselements.compat import find_pyds
from dselements.meta import Batch

SIZES = ((1, 10), (4, 25), (16, 50))


def make(frames: int, objects: int) -> int:
    """A batch of ``frames`` frames with ``objects`` objects each; half are below 0.5."""
    rng = np.random.default_rng(1)
    address = _native.create_batch(frames)
    with Batch(address) as batch:
        for k in range(frames):
            frame = batch.add_frame(source_id=k, batch_id=k)
            for i in range(objects):
                frame.add_object((i, 1, 20, 30), class_id=i % 4, confidence=float(rng.random()))
    return address


def read_loop(pyds: Any, batch_meta: Any) -> float:
    """The loop of the tutorials: class, confidence and four numbers of the box."""
    total = 0.0
    l_frame = batch_meta.frame_meta_list
    while l_frame is not None:
        frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
        l_obj = frame_meta.obj_meta_list
        while l_obj is not None:
            obj = pyds.NvDsObjectMeta.cast(l_obj.data)
            rect = obj.rect_params
            total += obj.class_id + obj.confidence
            total += rect.left + rect.top + rect.width + rect.height
            l_obj = l_obj.next
        l_frame = l_frame.next
    return total


def remove_loop(pyds: Any, batch_meta: Any) -> None:
    """Remove objects below 0.5; ``next`` is read first, so that NVIDIA's pyds does it right too."""
    l_frame = batch_meta.frame_meta_list
    while l_frame is not None:
        frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
        l_obj = frame_meta.obj_meta_list
        while l_obj is not None:
            obj = pyds.NvDsObjectMeta.cast(l_obj.data)
            l_obj = l_obj.next
            if obj.confidence < 0.5:
                pyds.nvds_remove_obj_meta_from_frame(frame_meta, obj)
        l_frame = l_frame.next


def read_columns(address: int) -> float:
    """The same numbers by columns."""
    with Batch(address) as batch:
        o = batch.objects
        return float(o.class_id.sum() + o.confidence.sum() + o.rect.sum())


def remove_columns(address: int) -> None:
    """The same removal by columns."""
    with Batch(address) as batch:
        batch.remove(batch.objects.confidence < 0.5)


def nvidia() -> Any:
    """NVIDIA's pyds, or None. This file has its name: its folder must not be searched for it."""
    here = Path(__file__).parent.resolve()
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != here]
    return importlib.import_module("pyds") if find_pyds()[0] == "nvidia" else None


def variants() -> dict[str, tuple[Callable[[int], object], Callable[[int], object]]]:
    """Name: reading and removing, each a function of the batch's address."""
    found: dict[str, tuple[Callable[[int], object], Callable[[int], object]]] = {
        "columns": (read_columns, remove_columns),
        "compat.pyds": (
            lambda b: read_loop(compat, compat.NvDsBatchMeta.cast(b)),
            lambda b: remove_loop(compat, compat.NvDsBatchMeta.cast(b)),
        ),
    }
    theirs = nvidia()
    if theirs is not None:
        found["NVIDIA's pyds"] = (
            lambda b: read_loop(theirs, theirs.NvDsBatchMeta.cast(b)),
            lambda b: remove_loop(theirs, theirs.NvDsBatchMeta.cast(b)),
        )
    return found


def timed(function: Callable[[int], object], address: int) -> float:
    """Microseconds of one call."""
    start = time.perf_counter()
    function(address)
    return (time.perf_counter() - start) * 1e6


def measure(frames: int, objects: int, repeats: int) -> dict[str, dict[str, float]]:
    """Medians in microseconds and ratios to columns, by task and variant."""
    kinds = variants()
    times: dict[str, dict[str, list[float]]] = {
        "read": {n: [] for n in kinds},
        "remove": {n: [] for n in kinds},
    }
    shared = make(frames, objects)
    for _ in range(repeats):
        for name, (read, remove) in kinds.items():
            times["read"][name].append(timed(read, shared))
            own = make(frames, objects)
            times["remove"][name].append(timed(remove, own))
            _native.destroy_batch(own)
    _native.destroy_batch(shared)
    out: dict[str, dict[str, float]] = {}
    for task, by_name in times.items():
        base = by_name["columns"]
        for name, values in by_name.items():
            ratio = statistics.median(v / b for v, b in zip(values, base, strict=True))
            out[f"{task} {name}"] = {"us": statistics.median(values), "ratio": ratio}
    return out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    load()
    result = {f"{f}x{o}": measure(f, o, options.repeats) for f, o in SIZES}
    if options.json:
        print(json.dumps(result))
        return
    if nvidia() is None:
        print("NVIDIA's pyds is not installed here and is not measured")
    for size, rows in result.items():
        for name, row in rows.items():
            print(f"{size:6} {name:24} {row['us']:9.1f} us  {row['ratio']:6.1f} x columns")


if __name__ == "__main__":
    main()
