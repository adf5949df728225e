"""The benchmark and the soak run, compare like with like, and notice a leak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def run(*arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_benchmark_times_each_variant() -> None:
    out = json.loads(run(str(BENCHMARKS / "metadata.py"), "--json", "--sizes", "2x5"))
    assert {task: set(times) for task, times in out["us"]["2x5"].items()} == {
        "read": {"columns", "native", "ctypes"},
        "filter": {"columns", "native", "ctypes", "library"},
        "write": {"columns", "native", "ctypes"},
    }
    assert all(us > 0 for times in out["us"]["2x5"].values() for us in times.values())
    assert out["family"] == "ds9"


SABOTAGE = """
import sys
sys.path.insert(0, {path!r})
import metadata
metadata.WORK["write"]["native"] = lambda batch: None
sys.argv = ["metadata.py", "--sizes", "1x3"]
metadata.main()
"""


def test_the_benchmark_refuses_variants_that_differ() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SABOTAGE.format(path=str(BENCHMARKS))],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "write 1x3: the variants leave different metadata" in done.stderr


LEAK = """
import sys
sys.path.insert(0, {path!r})
import soak_metadata as soak
keep = []
fill = soak.fill
def leaky(batch, rng, k):
    fill(batch, rng, k)
    {leak}
soak.fill = leaky
sys.argv = ["soak", "--batches", "400", "--json"]
sys.exit(soak.main())
"""


def test_the_soak_passes_and_notices_leaks() -> None:
    out = json.loads(run(str(BENCHMARKS / "soak_metadata.py"), "--batches", "400", "--json"))
    assert out["batches"] == 400
    assert out["objects"] > 1000
    assert (out["batches_alive"], out["payloads_alive"], out["unbalanced"]) == (0, 0, 0)
    for leak, key in (
        ("keep.append(soak._native.create_batch(1))", "batches_alive"),
        ("keep.append(bytearray(b'x' * 20_000))", "growth_kb"),
    ):
        code = LEAK.format(path=str(BENCHMARKS), leak=leak)
        assert json.loads(run("-c", code, code=1))[key] > 300
