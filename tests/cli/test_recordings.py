"""``dselements record`` and ``dselements export``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dselements import UNTRACKED, Batch, assets
from dselements.errors import RecordingError, RecordingFormatError
from dselements.recording import Reader, capture
from dselements.recording.output import RecordingOutput
from dselements.recording.parquet import export_parquet


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dselements", *arguments],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    output = RecordingOutput(str(path), "")
    objects = [
        {"rect": (1.5, 2, 3, 4), "label": "人", "object_id": 2**64 - 2, "parent": 1,
         "classifiers": [[("red", 0.5)]], "payloads": {"k": {"v": [1]}}},
        {"rect": (0, 0, 1, 1), "tracker_bbox": (1, 2, 3, 4)},
    ]  # fmt: skip
    for n in range(2):
        frames = [{"source_id": 3, "frame_num": n, "objects": objects}, {"source_id": 4}]
        with Batch.synthetic(frames) as batch:
            output.batch(capture(batch.address))
    output.end(0)
    output.close()
    return path


def test_export_of_objects(recording: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    done = command("export", str(recording), str(tmp_path / "a.parquet"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 4
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    first = rows[0]
    assert (first["left"], first["label"], first["object_id"]) == (1.5, "人", 2**64 - 2)
    assert (first["source_id"], first["frame_num"], first["parent"]) == (3, 0, 1)
    assert first["classifiers"][0]["labels"][0]["result_label"] == "red"
    assert first["payloads"] == [("k", '{"v":[1]}')]
    assert rows[3]["tracker_bbox"] == [1, 2, 3, 4]
    assert (rows[3]["object_id"], rows[3]["parent"], rows[3]["frame_num"]) == (UNTRACKED, None, 1)


def test_export_of_frames(recording: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export_parquet(recording, tmp_path / "f.parquet", "frames") == 4
    rows = parquet.read_table(tmp_path / "f.parquet").to_pylist()
    assert [(r["source_id"], r["objects"]) for r in rows] == [(3, 2), (4, 0), (3, 2), (4, 0)]


def test_export_that_cannot_be(recording: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(RecordingError, match="cannot write"):
        export_parquet(recording, tmp_path / "no" / "x.parquet")
    with pytest.raises(RecordingFormatError, match="no table"):
        export_parquet(recording, tmp_path / "x.parquet", "cats")
    done = command("export", str(tmp_path / "none.jsonl"), str(tmp_path / "x.parquet"))
    assert done.returncode == 1
    assert "cannot read" in done.stderr


@pytest.mark.model
def test_record_a_video(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    clip = str(assets.clip("vtest"))
    done = command("record", clip, "-o", str(path), "--frames", "10", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["written"] >= 10
    batches = list(Reader(path).batches())
    assert [b.frames[0].frame_num for b in batches[:10]] == list(range(10))
    assert sum(f.count for b in batches for f in b.frames) > 10
    done = command("record", "/nonexistent.mp4", "-o", str(path))
    assert done.returncode == 1
