"""The demo's recorder: no line is lost without a word, and a full disk stops nobody for ever."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dselements as ds
from dselements.cli.demo.recorder import QUEUE_SIZE, Recorder
from dselements.errors import AssetError, PayloadError


def batch(nvds: Any, **payload: Any) -> ds.Batch:
    made = ds.Batch.synthetic([{"frame_num": 3, "objects": [{"rect": (1, 2, 3, 4), "label": "x"}]}])
    for name, value in payload.items():
        made.objects[0].payloads.put(name, value, "msgpack")
    made.commit()
    return made


def test_lines_arrive(nvds: Any, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "o.jsonl")
    recorder.start()
    with batch(nvds) as one:
        recorder.take(one)
        recorder.take(one)
    recorder.close()
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [line["frame"] for line in lines] == [3, 3]
    assert (recorder.frames, recorder.objects) == (2, 2)


def test_a_full_disk_is_told(nvds: Any) -> None:
    recorder = Recorder(Path("/dev/full"))
    recorder.start()
    with batch(nvds) as one:
        recorder.take(one)
    with pytest.raises(AssetError, match="No space left"):
        recorder.close()


def test_a_full_disk_does_not_stop_the_streaming_thread(nvds: Any) -> None:
    recorder = Recorder(Path("/dev/full"))
    recorder.start()
    told: list[BaseException] = []

    def stream() -> None:
        try:
            with batch(nvds) as one:
                for _ in range(QUEUE_SIZE * 3):
                    recorder.take(one)
        except AssetError as error:
            told.append(error)

    thread = threading.Thread(target=stream, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert len(told) == 1
    with pytest.raises(AssetError):
        recorder.close()


def test_what_json_cannot_hold_fails_its_own_frame(nvds: Any, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "o.jsonl")
    recorder.start()
    with batch(nvds, odd=msgspec.msgpack.Ext(3, b"x")) as odd, pytest.raises(PayloadError):
        recorder.take(odd)
    with batch(nvds) as one:
        recorder.take(one)
    recorder.close()
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 1
