"""Files of recordings: long lines, compressions, what cannot be opened."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dselements import Batch
from dselements.errors import MissingExtraError, RecordingError, RecordingFormatError
from dselements.recording import Reader, capture, read_batches, rebuild
from dselements.recording.output import RecordingOutput


def kinds() -> list[str]:
    known = sys.version_info >= (3, 14) or importlib.util.find_spec("zstandard")
    return ["", "gz", *(["zst"] if known else [])]


@pytest.mark.parametrize("kind", kinds())
def test_lines_longer_than_what_is_read_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / (f"a.jsonl.{kind}" if kind else "a.jsonl")
    output = RecordingOutput(str(path), kind)
    texts = [os.urandom(size // 2).hex() for size in (10, 3_000_000, 20, 700_000)]
    for text in texts:
        with Batch.synthetic([{"payloads": {"text": text}}]) as batch:
            output.batch(capture(batch.address))
        output.end_block()
    output.end(0)
    output.close()
    found = []
    for line in read_batches(path):
        with rebuild(line) as batch:
            found.append(batch.frames[0].payloads["text"])
    assert found == texts


def test_a_suffix_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_text("{}\n" * 100)
    with pytest.raises(RecordingFormatError, match="cannot be decompressed at byte 0"):
        Reader(path)


def test_zstandard_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("Python has it")
    real = importlib.import_module

    def absent(name: str, *more: Any) -> Any:
        if name == "zstandard":
            raise ImportError("not there")
        return real(name, *more)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'dselements\[record\]'"):
        RecordingOutput(str(tmp_path / "a.jsonl.zst"), "zst")


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    fifo = tmp_path / "a.jsonl"
    os.mkfifo(fifo)
    with pytest.raises(RecordingError, match="no regular file"):
        Reader(fifo)
    with pytest.raises(RecordingError, match="no regular file"):
        Reader(tmp_path)
