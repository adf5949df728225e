"""The benchmark's variants do the same work."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dselements._core import _native

FILE = Path(__file__).parents[2] / "benchmarks" / "pyds.py"


@pytest.fixture(scope="module")
def benchmark_module() -> Any:
    spec = importlib.util.spec_from_file_location("benchmark_of_pyds", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_variants_read_and_remove_the_same(benchmark_module: Any) -> None:
    left = {}
    sums = {}
    for name, (read, remove) in benchmark_module.variants().items():
        address = benchmark_module.make(3, 20)
        sums[name] = read(address)
        remove(address)
        snapshot = _native.Snapshot(address)
        left[name] = (bytes(snapshot.frame_index), bytes(snapshot.confidence))
        _native.destroy_batch(address)
    assert {"columns", "compat.pyds"} <= set(sums)
    assert sums["compat.pyds"] == pytest.approx(sums["columns"], rel=1e-5)
    assert left["compat.pyds"] == left["columns"]
    assert 0 < len(left["columns"][1]) < 4 * 60


def test_the_table_has_every_size_and_task() -> None:
    done = subprocess.run(
        [sys.executable, str(FILE), "--repeats", "2", "--json"],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) == {"1x10", "4x25", "16x50"}
    for rows in result.values():
        assert {"read columns", "read compat.pyds", "remove columns", "remove compat.pyds"} <= set(
            rows
        )
        assert all(row["us"] > 0 for row in rows.values())
        assert rows["read columns"]["ratio"] == rows["remove columns"]["ratio"] == 1
