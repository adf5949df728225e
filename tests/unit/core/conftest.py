"""The tests of the native core call the library directly as well."""

from __future__ import annotations

import ctypes

import pytest
from core_tools import functions

from dselements._core import LibraryInfo


@pytest.fixture(scope="session")
def lib(nvds: LibraryInfo) -> ctypes.CDLL:
    """The library, GStreamer and GLib, for direct calls."""
    found = functions()
    found.gst_init(None, None)
    return found


@pytest.fixture(autouse=True)
def _library(nvds: LibraryInfo) -> None:
    """Loaded before each test."""
