"""Fixtures of all tests: the library, the leak check, and what needs a GPU or the demo's files."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dselements._core import LibraryInfo, _native, load

ROOT = Path(__file__).parents[1]
SETTLE_S = 3.0

# Streaming threads and registries of other runs must not be in the way.
os.environ.setdefault("DSELEMENTS_CACHE", str(ROOT / ".cache"))
os.environ["GST_REGISTRY"] = str(Path(tempfile.mkdtemp(prefix="dselements-test-")) / "registry.bin")
sys.path.insert(0, str(ROOT / "tests" / "elements"))  # pipelines.py
sys.path.insert(0, str(ROOT / "tests" / "cli"))  # plugin_sources.py


def pytest_unconfigure() -> None:
    shutil.rmtree(Path(os.environ["GST_REGISTRY"]).parent, ignore_errors=True)


@pytest.fixture(scope="session")
def nvds() -> LibraryInfo:
    """NVIDIA's metadata library, loaded."""
    return load()


def counters() -> dict[str, int]:
    """What must be the same before and after a test."""
    return {
        "live batches": _native.live_batches(),
        "live payloads": _native.live_payloads(),
        "unbalanced batches": _native.unbalanced_batches(),
    }


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every batch made in a test is gone at its end, with all its pools full again."""
    before = counters()
    yield
    if request.node.get_closest_marker("leaks_on_purpose"):
        return
    deadline = time.monotonic() + SETTLE_S
    while (after := counters()) != before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)  # the last buffer may be released by a streaming thread
    assert after == before


def _has_gpu() -> bool:
    if not Path("/dev/nvidiactl").exists():
        return False
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "GPU" in done.stdout


def _has_model() -> bool:
    cache = Path(os.environ["DSELEMENTS_CACHE"])
    return (cache / "coco-ssd" / "config.txt").is_file() and (cache / "vtest.avi").is_file()


NEEDS = {
    "gpu": (_has_gpu, "no CUDA GPU", "DSELEMENTS_REQUIRE_GPU"),
    "model": (_has_model, "run: python -m dselements.assets", "DSELEMENTS_REQUIRE_MODEL"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # They count the process's threads, and GLib keeps those of pipelines for a while.
    items.sort(key=lambda item: "test_core_threads" not in item.nodeid)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (present, reason, required) in NEEDS.items():
        if item.get_closest_marker(marker) and not present():
            if os.environ.get(required) == "1":
                pytest.fail(f"{required}=1, but {reason}")
            pytest.skip(reason)
