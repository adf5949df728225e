"""The pytest plugin in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gi")

USER_TESTS = """
import dselements as ds
import pytest
from dselements.testing import assert_matches_golden, make_buffer


def rename(batch: ds.Batch) -> None:
    batch.objects[0].label = "seen"


def test_fixture(ds_no_leaks, ds_harness):
    h = ds_harness(rename)
    h.push_frame([{"bbox": (0, 0, 5, 5)}])
    record = h.pull()
    assert record.objects[0].label == "seen"
    assert_matches_golden(record, "golden/rename.json")


def test_leak(ds_no_leaks):
    make_buffer([{"objects": []}], [b"x"])


def test_clock(ds_clock):
    ds_clock.advance(5)
    assert ds_clock.time == 5
"""


def run(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder, capture_output=True, text=True, check=False, timeout=100,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return done.stdout + done.stderr


def test_fixtures_leaks_and_golden_files(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(USER_TESTS)
    first = run(tmp_path)
    assert "1 failed, 2 passed, 1 error" in first, first
    assert "there is no golden file golden/rename.json" in first
    assert "NvDsBatchMeta alive: +1" in first
    assert "3 passed, 1 error" in run(tmp_path, "--ds-update-golden")
    again = run(tmp_path)
    assert "3 passed, 1 error" in again  # the leak


def test_it_costs_others_nothing(tmp_path: Path) -> None:
    """Whoever has it installed and does not use it loads neither GStreamer nor numpy."""
    (tmp_path / "test_other.py").write_text(
        "import sys\ndef test_other():\n"
        "    assert 'dselements.testing.plugin' in sys.modules\n"
        "    assert not {'gi', 'numpy', 'dselements._core'} & set(sys.modules)\n"
    )
    out = run(tmp_path)
    assert "1 passed" in out, out
