"""What dsrecord costs a buffer, next to an element that only looks; and how large its files are.

    python benchmarks/record.py [--json] [--buffers 400] [--objects 10] [--repeat 5]

Each variant is a pipeline of its own, ``dssynth ! VARIANT ! fakesink``, run interleaved; times are
medians of the mean time in process(), which is all that the streaming thread does. "identity" is
the same pipeline with an element whose process() does nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

import dselements as ds
from dselements.recording.parquet import export_parquet


@ds.element("benchnothing", description="Does nothing")
class Nothing(ds.MetaTransform):
    """The cost of being an element."""

    __gtype_name__ = "DsBenchNothing"

    def process(self, batch: ds.Batch) -> None: ...


def measure(text: str, buffers: int, objects: int) -> float:
    """Mean µs in process() of the element ``x``."""
    pipeline = Gst.parse_launch(
        f"videotestsrc num-buffers={buffers} ! video/x-raw,width=64,height=64 ! "
        f"dssynth num-objects={objects} min-size=1 max-size=9 ! {text} ! fakesink"
    )
    ds.run(pipeline)
    stats = pipeline.get_by_name("x").get_property("stats")
    taken: int = stats.get_value("process-ns")
    return taken / 1000 / buffers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--buffers", type=int, default=400)
    parser.add_argument("--objects", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    Gst.init(None)
    ds.register()
    with tempfile.TemporaryDirectory() as folder:
        suffixes = ("jsonl", "jsonl.gz", "jsonl.zst", "txt")
        names = {suffix: Path(folder) / f"a.{suffix}" for suffix in suffixes}
        variants = {"identity": "benchnothing name=x"} | {
            f"dsrecord {suffix}": f"dsrecord name=x queue-size=100000 location={path}"
            for suffix, path in names.items()
        }
        taken: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(arguments.repeat):
            for name, text in variants.items():
                taken[name].append(measure(text, arguments.buffers, arguments.objects))
        parquet = Path(folder) / "a.parquet"
        export_parquet(names["jsonl"], parquet)
        sizes = {f"dsrecord {s}": path.stat().st_size for s, path in names.items()}
        sizes["export to parquet"] = parquet.stat().st_size
    base = median(taken["identity"])
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys([*variants, *sizes]):
        us = median(taken[name]) if name in taken else None
        rows.append(
            {
                "variant": name,
                "us": None if us is None else round(us, 1),
                "ratio": None if us is None else round(us / base, 2),
                "bytes_a_buffer": round(sizes[name] / arguments.buffers) if name in sizes else None,
            }
        )
    if arguments.json:
        print(json.dumps(rows))
        return 0
    print(
        f"{arguments.buffers} buffers of {arguments.objects} objects, median of {arguments.repeat}"
    )
    print(f"{'variant':<20}{'µs a buffer':>12}{'/ identity':>12}{'bytes a buffer':>16}")
    for row in rows:
        shown = ["" if row[k] is None else row[k] for k in ("us", "ratio", "bytes_a_buffer")]
        print(f"{row['variant']:<20}{shown[0]:>12}{shown[1]:>12}{shown[2]:>16}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
