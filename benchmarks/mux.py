"""Cost of dsmux and dsdemux a batch, beside the same sources without them.

Four sources of the batch's own format and size, so that no input is converted. All variants run
in processes of their own, alternating; figures are medians of the processes' means. "fakesinks"
are the four sources alone, each with a queue; "funnel" brings them into one stream as buffers of
one frame each, which is the least a muxer can do. Ratios are to the funnel, in the same run.

    python benchmarks/mux.py [--frames 3000] [--runs 5] [--inputs 4]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

SOURCE = (
    "videotestsrc num-buffers={frames} pattern=black "
    "! video/x-raw,format=RGBA,width=64,height=64,framerate=30/1 ! {to} "
)
SINK = "fakesink sync=false"


def pipeline_text(variant: str, frames: int, inputs: int) -> str:
    """gst-launch text of a variant."""

    def sources(to: str) -> str:
        return " ".join(SOURCE.format(frames=frames, to=to.format(i=i)) for i in range(inputs))

    if variant == "fakesinks":
        return sources(f"queue ! {SINK}")
    if variant == "funnel":
        return f"funnel name=f ! {SINK} " + sources("queue ! f.")
    tails = {
        "dsmux": f"! {SINK} ",
        "dsmux ! dsdemux": "! dsdemux name=d "
        + " ".join(f"d.src_{i} ! {SINK} async=false" for i in range(inputs))
        + " ",
    }
    return "dsmux name=m " + tails[variant] + sources("queue ! m.sink_{i}")


VARIANTS = ("fakesinks", "funnel", "dsmux", "dsmux ! dsdemux")


def run_one(variant: str, frames: int, inputs: int) -> tuple[float, float]:
    """Microseconds a batch: wall time and processor time of the whole pipeline."""
    import dselements as ds

    ds.register("dsmux", "dsdemux")
    from gi.repository import Gst

    pipeline = Gst.parse_launch(pipeline_text(variant, frames, inputs))
    wall, busy = time.perf_counter(), time.process_time()
    ds.run(pipeline)
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    return wall / frames * 1e6, busy / frames * 1e6


def main() -> None:
    """Run all variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--frames", type=int, default=3000, help="of each input")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--inputs", type=int, default=4)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(*run_one(args.one, args.frames, args.inputs))
        return
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
    for turn in range(args.runs):
        for name in VARIANTS if turn % 2 == 0 else VARIANTS[::-1]:
            command = [sys.executable, __file__, "--one", name]
            command += ["--frames", str(args.frames), "--inputs", str(args.inputs)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            wall, busy = done.stdout.split()[-2:]
            taken[name].append((float(wall), float(busy)))
    median = {
        name: tuple(statistics.median(column) for column in zip(*runs, strict=True))
        for name, runs in taken.items()
    }
    base = median["funnel"]
    print(f"{args.inputs} inputs, {args.frames} frames each, {args.runs} runs; µs a batch")
    print(f"{'':18}{'wall':>8}{'x funnel':>10}{'cpu':>8}{'x funnel':>10}")
    for name, (wall, busy) in median.items():
        print(f"{name:18}{wall:8.1f}{wall / base[0]:10.1f}{busy:8.1f}{busy / base[1]:10.1f}")


if __name__ == "__main__":
    main()
