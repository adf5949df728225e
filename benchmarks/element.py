"""Cost of a no-op MetaTransform a buffer, beside GStreamer's own identity.

Each variant runs in processes of its own, in turns, on the same pipeline with a row of equal
elements; the difference of two variants, divided by their number, is the difference of one element.
Metadata is there (dssynth without objects makes it), so that each call does all that an element
does: look it up, make a Batch, call process(), commit, close.

    python benchmarks/element.py [--buffers 5000] [--runs 7] [--elements 10] [--limit-us 6]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

PIPELINE = (
    "videotestsrc num-buffers={n} pattern=black ! video/x-raw,width=64,height=64 "
    "! dssynth num-objects=0 {row} ! fakesink"
)
VARIANTS = {
    "identity": "identity",
    "no-op MetaTransform": "benchnoop",
    "no-op that reads confidence": "benchread",
}


def run_one(element: str, elements: int, buffers: int) -> float:
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

    row = f"! {element} " * elements
    pipeline = Gst.parse_launch(PIPELINE.format(n=buffers, row=row))
    began = time.perf_counter()
    ds.run(pipeline)
    return (time.perf_counter() - began) / buffers * 1e6


def in_process(element: str, elements: int, buffers: int) -> float:
    """Microseconds a buffer of the whole pipeline, in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", element, "--elements", str(elements),
         "--buffers", str(buffers)],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> None:
    """Run all variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--buffers", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--elements", type=int, default=10, help="in a row")
    parser.add_argument("--limit-us", type=float, help="fail if a no-op costs more over identity")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        print(run_one(args.one, args.elements, args.buffers))
        return
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    base: list[float] = []
    for _ in range(args.runs):
        base.append(in_process("identity", 0, args.buffers))
        for name, element in VARIANTS.items():
            times[name].append(in_process(element, args.elements, args.buffers))
    # Neighbours in time share the machine's mood, so differences are taken within a run.
    over_nothing = {
        name: statistics.median(t - b for t, b in zip(values, base, strict=True)) / args.elements
        for name, values in times.items()
    }
    over_identity = {
        name: sorted(
            (t - i) / args.elements for t, i in zip(values, times["identity"], strict=True)
        )
        for name, values in times.items()
    }
    print(f"{args.elements} elements in a row, {args.runs} runs of {args.buffers} buffers; µs a")
    print("buffer and element: median (smallest to largest difference within a run)")
    print(f"{'variant':30} {'over nothing':>13} {'over identity':>30} {'ratio':>6}")
    for name, differences in over_identity.items():
        middle = statistics.median(differences)
        spread = f"{middle:.2f} ({differences[0]:.2f} to {differences[-1]:.2f})"
        ratio = over_nothing[name] / over_nothing["identity"]
        print(f"{name:30} {over_nothing[name]:13.2f} {spread:>30} {ratio:6.1f}")
    cost = statistics.median(over_identity["no-op MetaTransform"])
    if args.limit_us is not None and cost > args.limit_us:
        sys.exit(f"a no-op costs {cost:.2f} µs over identity, more than {args.limit_us}")


if __name__ == "__main__":
    main()
