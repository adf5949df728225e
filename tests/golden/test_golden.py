"""The elements' public surface changes only on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gi")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tool", ["golden_elements.py", "element_pages.py", "error_table.py"])
def test_snapshot_is_up_to_date(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / tool), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"{done.stderr}\nRun tools/golden_elements.py and tools/element_pages.py, "
        "read the diff, commit it."
    )
