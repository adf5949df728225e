"""What the element base costs a buffer: benchmarks/element.py keeps its limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gi")
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "element.py"


@pytest.mark.parametrize(("limit", "buffers", "runs", "rc"), [(6, 1500, 3, 0), (0.01, 300, 1, 1)])
def test_a_no_op_costs_at_most_so_much_over_identity(
    limit: float, buffers: int, runs: int, rc: int
) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--limit-us", str(limit), "--buffers", str(buffers),
         "--runs", str(runs)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == rc, done.stdout + done.stderr
    assert "no-op MetaTransform" in done.stdout
    if rc:
        assert "µs over identity, more than 0.01" in done.stderr
