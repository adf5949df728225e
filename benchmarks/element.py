"""Cost of a no-op MetaTransform a buffer, beside GStreamer's own identity.

Ten in a row of each, so that their cost stands out from the pipeline's own; processes of their
own, alternating; the figures are the medians of the processes' means, for one element. Metadata is
there (dssynth without objects makes it), so that each call does all that an element does: look it
up, make a Batch, call process(), commit, close.

    python benchmarks/element.py [--buffers 20000] [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

PIPELINE = (
    "videotestsrc num-buffers={n} pattern=black ! video/x-raw,width=64,height=64 "
    "! dssynth num-objects=0 {x} ! fakesink"
)
IN_A_ROW = 10
VARIANTS = {
    "nothing": "",
    "identity": "! identity " * IN_A_ROW,
    "no-op MetaTransform": "! benchnoop " * IN_A_ROW,
    "no-op that reads confidence": "! benchread " * IN_A_ROW,
}


def run_one(elements: str, buffers: int) -> float:
    """Microseconds a buffer of the whole pipeline, in this process."""
    import dselements as ds

    @ds.element("benchnoop", description="Does nothing")
    class NoOp(ds.MetaTransform):
        def process(self, batch: ds.Batch) -> None:
            return None

    @ds.element("benchread", description="Reads one column")
    class Read(ds.MetaTransform):
        def process(self, batch: ds.Batch) -> None:
            batch.objects.confidence.sum()

    ds.register("dssynth")
    ds.register(NoOp, Read)
    from gi.repository import Gst

    pipeline = Gst.parse_launch(PIPELINE.format(n=buffers, x=elements))
    began = time.perf_counter()
    ds.run(pipeline)
    return (time.perf_counter() - began) / buffers * 1e6


def main() -> None:
    """Run all variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--buffers", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        print(run_one(args.one, args.buffers))
        return
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(args.runs):
        for name, elements in VARIANTS.items():
            done = subprocess.run(
                [sys.executable, __file__, "--one", elements, "--buffers", str(args.buffers)],
                capture_output=True,
                text=True,
                check=True,
            )
            times[name].append(float(done.stdout.split()[-1]))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians.pop("nothing")
    costs = {name: (value - base) / IN_A_ROW for name, value in medians.items()}
    print(f"{'one element':30} {'µs a buffer':>12} {'over identity':>14}")
    for name, cost in costs.items():
        print(f"{name:30} {cost:12.2f} {cost - costs['identity']:14.2f}")


if __name__ == "__main__":
    main()
