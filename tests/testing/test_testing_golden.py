"""Golden files: written, compared, and what is said when they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("gi")

import dselements as ds
from dselements.errors import HarnessError
from dselements.testing import BatchRecord, ElementHarness, assert_matches_golden, differences
from dselements.testing.golden import UPDATE_VARIABLE


def record(label: str = "car", left: float = 1.0) -> BatchRecord:
    def process(batch: ds.Batch) -> None:
        batch.objects[0].label = label

    with ElementHarness(process) as h:
        h.push_frame([{"bbox": (left, 2, 3, 4), "object_id": 2**60, "payloads": {"n": 1}}])
        return h.pull()


def test_written_once_and_compared_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "golden.json"
    with pytest.raises(HarnessError, match=r"no golden file.*--ds-update-golden"):
        assert_matches_golden(record(), path)
    monkeypatch.setenv(UPDATE_VARIABLE, "1")
    assert_matches_golden([record()], path)
    monkeypatch.delenv(UPDATE_VARIABLE)
    written = msgspec.json.decode(path.read_bytes())
    (obj,) = written["batches"][0]["frames"][0]["objects"]
    assert (obj["label"], obj["object_id"], obj["bbox"]) == ("car", str(2**60), [1, 2, 3, 4])
    assert_matches_golden(record(), path)
    assert_matches_golden(record(left=1.5), path, tolerances={"bbox": 0.6})
    assert_matches_golden(record(label="bus"), path, ignore=["label"])
    with pytest.raises(HarnessError) as caught:
        assert_matches_golden([record("bus", 2.0)], path)
    place = r"batches[0].frames[0].objects[0]"
    assert f"{place}.label: 'bus' instead of 'car'" in str(caught.value)
    assert f"{place}.bbox[0]: 2.0 instead of 1" in str(caught.value)
    with pytest.raises(HarnessError, match="2 instead of 1"):
        assert_matches_golden([record(), record()], path)
    for text in ("{", "[]", '{"version": 9}'):
        path.write_text(text)
        with pytest.raises(HarnessError, match="no golden file"):
            assert_matches_golden(record(), path)


@pytest.mark.parametrize(
    ("found", "wanted", "lines"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"a": 1}, ["b: 2 is not wanted"]),
        ({}, {"a": 1}, ["a: missing, wanted 1"]),
        ([1, 2], [1, 3], ["[1]: 2 instead of 3"]),
        (1, True, [": 1 instead of True"]),
        (float("nan"), float("nan"), []),
        (float("nan"), 1.0, [": nan instead of 1.0"]),
        (float("inf"), float("inf"), []),
        ("a", None, [": 'a' instead of None"]),
    ],
)
def test_differences_name_the_place(found: Any, wanted: Any, lines: list[str]) -> None:
    got = differences(found, wanted)
    assert got == lines or (found == 1 and wanted is True and got == [])
