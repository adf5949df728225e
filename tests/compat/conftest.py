"""Batches for the tests of pyds's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from walking import fill

import dselements.compat.pyds as pyds
from dselements._core import LibraryInfo, _native


@pytest.fixture(autouse=True)
def _library(nvds: LibraryInfo) -> Iterator[None]:
    """Loaded before each test; no block of user data is left after it."""
    before = _native.live_blocks()
    yield
    import gc

    gc.collect()
    assert _native.live_blocks() == before


@pytest.fixture
def address() -> Iterator[int]:
    """A batch of two frames with six objects each, confidences 0.05 to 0.55."""
    made = _native.create_batch(4)
    fill(made)
    yield made
    _native.destroy_batch(made)


@pytest.fixture
def batch_meta(address: int) -> Any:
    return pyds.NvDsBatchMeta.cast(address)
