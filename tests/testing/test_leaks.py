"""assert_no_leaks and assert_flat_memory find what is planted, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
from gi.repository import Gst

import dselements as ds
from dselements._core import _native
from dselements.errors import HarnessError
from dselements.testing import (
    ElementHarness,
    assert_flat_memory,
    assert_no_leaks,
    make_buffer,
)


def passing(batch: ds.Batch) -> None:
    assert len(batch.objects) == 1


def use() -> None:
    with ElementHarness(passing) as h:
        for _ in range(3):
            h.push_frame([{"bbox": (0, 0, 5, 5)}])
        assert len(h.pull_all()) == 3


def test_a_clean_block_passes() -> None:
    with assert_no_leaks():
        use()


def test_a_buffer_that_is_kept_is_found() -> None:
    kept = []
    with (
        pytest.raises(HarnessError, match=r"NvDsBatchMeta alive: \+1"),
        assert_no_leaks(settle_s=0.1),
    ):
        kept.append(make_buffer([{"objects": [{"bbox": (0, 0, 5, 5)}]}], [b"x"]))
    _native.buffer_unref(kept[0])


def test_a_batch_that_is_not_closed_is_found() -> None:
    kept = []
    with (
        pytest.raises(HarnessError, match=r"NvDsBatchMeta alive: \+1.*payloads alive: \+1"),
        assert_no_leaks(settle_s=0.1),
    ):
        kept.append(ds.Batch.synthetic([{"payloads": {"a": 1}}]))
    kept[0].close()


def test_an_element_that_is_kept_is_found() -> None:
    kept = []
    with (
        pytest.raises(HarnessError, match=r"GstFakeSrc planted|FakeSrc planted|planted"),
        assert_no_leaks(settle_s=0.1),
    ):
        kept.append(Gst.ElementFactory.make("fakesrc", "planted"))


def test_a_pad_that_is_kept_is_found() -> None:
    kept: list[Any] = []
    with pytest.raises(HarnessError, match="Pad lonely"), assert_no_leaks(settle_s=0.1):
        kept.append(Gst.Pad.new("lonely", Gst.PadDirection.SRC))


def test_memory_that_grows_is_found() -> None:
    kept: list[bytes] = []

    def grow() -> None:
        kept.append(b"x" * 64 * 1024)  # zeros would not be in memory

    with pytest.raises(HarnessError, match=r"memory grew by \d+ kB in 300 calls"):
        assert_flat_memory(grow, repeat=100)


def test_memory_of_an_element_that_keeps_something_for_each_buffer() -> None:
    kept: list[bytes] = []

    def hoard(batch: ds.Batch) -> None:
        kept.append(b"x" * 32 * 1024)

    with ElementHarness(hoard) as h:

        def one() -> None:
            h.push_frame()
            h.pull()

        with pytest.raises(HarnessError, match="memory grew"):
            assert_flat_memory(one, repeat=100)


def test_memory_that_is_flat_passes() -> None:
    assert assert_flat_memory(lambda: bytes(1024), repeat=100) < 1024


def test_pools_that_were_not_full_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dselements.testing import leaks

    numbers = iter([0, *[1] * 1000])
    monkeypatch.setattr(leaks._native, "unbalanced_batches", lambda: next(numbers), raising=False)
    with (
        pytest.raises(HarnessError, match=r"pools were not full at their end: \+1"),
        assert_no_leaks(settle_s=0.05),
    ):
        pass
