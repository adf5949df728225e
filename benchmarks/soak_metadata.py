"""Soak: many batches through add, edit, remove and copy; memory stays flat, pools fill up again.

    python benchmarks/soak_metadata.py [--batches 200000] [--json]

Each batch is made, gets objects with labels, texts, fonts, masks, parents, classifiers, display
shapes and payloads, is edited, copied as at a ``tee``, loses objects and is released. Checked:

- the resident set grows by no more than ``LIMIT_KB`` between a quarter of the run and its end;
- no batch and no payload of ours stays alive;
- no batch was released with an element missing from its pools.

Exits with 1 if one of these fails.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import struct
import sys
import time

from dselements._core import _native, load
from dselements.meta import Batch

LIMIT_KB = 2048
FONTS = ("Serif", "Sans", "Mono")
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


def resident_kb() -> int:
    """Resident set of this process now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * PAGE_KB


def payload(name: bytes, value: bytes) -> bytes:
    """A payload block as meta/payloads.py describes it, encoded as JSON."""
    head = struct.pack("<4sHBBII", b"DSEP", 1, 1, 0, len(name), len(value))
    return head + name + b"\0" + value


def fill(batch: int, rng: random.Random, k: int) -> None:
    """Add frames and objects with everything that can hang on them, through the native core."""
    t = _native.Transaction(_native.Snapshot(batch))
    frames, objects = rng.randint(1, 4), rng.randint(0, 30)
    t.add_frames(frames)
    t.add_objects(struct.pack(f"{objects}i", *(rng.randrange(frames) for _ in range(objects))))
    conf = struct.pack(f"{objects}f", *(rng.random() for _ in range(objects)))
    t.scatter(_native.OBJECT, "confidence", conf)
    for row in range(objects):
        t.set_label(row, f"label {k % 97} é{'x' * rng.randrange(200)}".encode())
        if row % 3 == 0:
            t.set_text(_native.OBJECT, row, "display_text", b"text %d" % k)
            t.set_text(_native.OBJECT, row, "font_name", FONTS[row % len(FONTS)].encode())
        if row % 5 == 0:
            t.set_mask(row, bytes(4 * 12), 4, 3, 0.5)
            t.add_classifier(row, 3, b"colour", [(1, 2, 3, 0.5, b"red"), (2, 3, 4, 0.4, b"blue")])
        if row % 4 == 1:
            t.set_parent(row, row - 1)
        if row % 7 == 0:
            t.add_payload(_native.OBJECT, row, payload(b"o", b"[%d]" % k))
    color = (1.0, 0.0, 0.0, 1.0)
    t.add_display(0, {"texts": [("hello", 1, 2, "Serif", 11, color, 1, color)]})
    t.add_payload(_native.BATCH, 0, payload(b"b", b"{}"))
    t.add_payload(_native.FRAME, 0, payload(b"f", b"{}"))
    t.commit()


def edit(batch: int) -> None:
    """Change, add and remove through the public API."""
    with Batch(batch) as b:
        o = b.objects
        o.class_id[:] = 5
        o.label[o.confidence > 0.8] = "sure"
        b.remove(o.confidence < 0.4)
        b.frames[0].add_object((1, 2, 3, 4), label="added")
        b.payloads["b2"] = {"k": 1}


def read(batch: int) -> int:
    """Gather everything; returns the number of objects."""
    s = _native.Snapshot(batch)
    s.gather_labels()
    s.gather_parents()
    s.gather_text(_native.OBJECT, "display_text")
    s.gather_classifiers()
    s.gather_display()
    for level in (_native.BATCH, _native.FRAME, _native.OBJECT):
        for _row, address, *_ in s.gather_user(level):
            _native.read_payload(address)
    return s.n_objects


def one(rng: random.Random, k: int) -> int:
    batch = _native.create_batch(4)
    fill(batch, rng, k)
    edit(batch)
    copy = _native.copy_batch(batch)
    objects = read(copy)
    if objects != _native.Snapshot(batch).n_objects:
        raise SystemExit(f"batch {k}: the copy has {objects} objects, not those of its source")
    t = _native.Transaction(_native.Snapshot(copy))
    t.remove_objects(bytes([1]) * objects)
    t.remove_frame(0)
    t.commit()
    _native.destroy_batch(batch)
    _native.destroy_batch(copy)
    return objects


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.batches < 100:
        parser.error("fewer than 100 batches tell nothing")
    load()
    rng = random.Random(options.seed)
    batches, payloads = _native.live_batches(), _native.live_payloads()
    unbalanced = _native.unbalanced_batches()
    objects, settled = 0, 0
    start = time.monotonic()
    for k in range(options.batches):
        objects += one(rng, k)
        if k == options.batches // 4:
            gc.collect()
            settled = resident_kb()
        if k % 1000 == 0 and sys.stderr.isatty():
            print(f"\r{k} of {options.batches}, {resident_kb()} kB", end="", file=sys.stderr)
    gc.collect()
    result = {
        "batches": options.batches,
        "objects": objects,
        "seconds": round(time.monotonic() - start, 1),
        "resident_kb": resident_kb(),
        "growth_kb": resident_kb() - settled,
        "batches_alive": _native.live_batches() - batches,
        "payloads_alive": _native.live_payloads() - payloads,
        "unbalanced": _native.unbalanced_batches() - unbalanced,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    leaked = result["batches_alive"] or result["payloads_alive"] or result["unbalanced"]
    return 1 if leaked or result["growth_kb"] > LIMIT_KB else 0


if __name__ == "__main__":
    sys.exit(main())
