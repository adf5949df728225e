"""Soak: the classic pyds filter, a Gst.Element with a chain function, over many buffers.

    python benchmarks/soak_pyds.py [--buffers 100000] [--json]

Synthetic objects go through tests/compat/classic.py, which is written as against NVIDIA's pyds and
runs on dselements.compat.pyds. Checked:

- exactly the objects below 0.5 are removed from every buffer, and no other;
- the resident set grows by no more than ``LIMIT_KB`` between a quarter of the run and its end;
- no batch stays alive, and none was released with an element missing from its pools.

Exits with 1 if one of these fails.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from pathlib import Path

LIMIT_KB = 2048
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
OBJECTS = 10


def resident_kb() -> int:
    """Resident set of this process now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * PAGE_KB


def main() -> int:
    """Run and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--buffers", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.buffers < 1000:
        parser.error("fewer than 1000 buffers tell nothing")

    import dselements as ds
    import dselements.compat
    from dselements._core import _native

    # benchmarks/pyds.py has the name of what is installed here.
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).parent.resolve()]
    dselements.compat.install()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "compat"))
    import classic

    Gst = classic.Gst
    counts: dict[str, list[int]] = {"in": [], "out": []}

    def counted(where: str, ok: list[bool]):  # type: ignore[no-untyped-def]
        """A probe that counts objects and looks whether all are sure ones."""

        def probe(pad, info):  # type: ignore[no-untyped-def]
            from dselements.meta import Batch

            with Batch(_native.buffer_batch_meta(hash(info.get_buffer()))) as batch:
                confidence = batch.objects.confidence
                totals[where] += len(confidence)
                wanted[where] += int((confidence >= classic.MIN_CONFIDENCE).sum())
                ok[0] = ok[0] and (where == "in" or bool((confidence >= 0.5).all()))
            return Gst.PadProbeReturn.OK

        return probe

    totals, wanted, all_sure = dict.fromkeys(counts, 0), dict.fromkeys(counts, 0), [True]
    ds.register("dssynth")
    pipeline = Gst.parse_launch(
        f"videotestsrc num-buffers={options.buffers} pattern=black ! "
        f"video/x-raw,width=64,height=64 ! dssynth num-objects={OBJECTS} ! "
        "pydsclassicfilter name=f ! fakesink"
    )
    element = pipeline.get_by_name("f")
    for name, where in (("sink", "in"), ("src", "out")):
        element.get_static_pad(name).add_probe(Gst.PadProbeType.BUFFER, counted(where, all_sure))
    start, settled = time.monotonic(), 0
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    error = ""
    while True:
        message = bus.timed_pop_filtered(
            200 * Gst.MSECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
        )
        if not settled and totals["in"] >= options.buffers * OBJECTS // 4:
            settled = resident_kb()
        if message is not None:
            if message.type == Gst.MessageType.ERROR:
                error = message.parse_error()[0].message
            break
    grown = resident_kb() - settled
    pipeline.set_state(Gst.State.NULL)
    removed = element.removed
    del element, pipeline, bus, message
    gc.collect()
    result = {
        "buffers": options.buffers,
        "objects": totals["in"],
        "removed": removed,
        "seconds": round(time.monotonic() - start, 1),
        "growth_kb": grown,
        "batches_alive": _native.live_batches(),
        "blocks_alive": _native.live_blocks(),
        "unbalanced": _native.unbalanced_batches(),
        "exact": all_sure[0] and totals["out"] == wanted["in"] == totals["in"] - removed,
        "error": error,
    }
    print(json.dumps(result) if options.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    lost = result["batches_alive"] or result["blocks_alive"] or result["unbalanced"] or error
    whole = totals["in"] == options.buffers * OBJECTS
    return 1 if lost or not whole or not result["exact"] or grown > LIMIT_KB else 0


if __name__ == "__main__":
    sys.exit(main())
