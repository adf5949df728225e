"""A registry cache that the runs of ``dselements doctor`` start from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # planting.py

from planting import base_env


@pytest.fixture(scope="session")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry cache of this machine."""
    registry = tmp_path_factory.mktemp("doctor") / "registry.bin"
    env = base_env(registry)
    subprocess.run(["gst-inspect-1.0", "dsmux"], env=env, check=True, capture_output=True)
    return registry


@pytest.fixture
def env(scanned: Path) -> dict[str, str]:
    """The environment of a shell in which all is well."""
    return base_env(scanned)
