"""dsrecord in pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, shell, stats, texts
from recordings import lines, record, source

from dselements.recording import Reader, read_batches


def test_a_recording_cut_short_is_good_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    before = record(path, n=10)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    reader = Reader(path)
    read = list(reader.batches())
    assert 0 < len(read) < 10
    assert reader.cut_short
    seen, _, messages = lines(
        f"{source(10)} ! dsreplay location={path} ! testlook name=look ! fakesink"
    )
    assert messages == []
    assert seen[: len(read)] == before[: len(read)]


def test_a_killed_process_leaves_what_was_flushed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    code = (
        "import sys, dselements as ds\n"
        "ds.register()\n"
        "from gi.repository import Gst\n"
        "p = Gst.parse_launch('videotestsrc is-live=true ! dssynth ! "
        f"dsrecord flush-batches=3 location={path} ! fakesink')\n"
        "p.set_state(Gst.State.PLAYING)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not (path.exists() and path.stat().st_size > 2000) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        child.kill()
        child.communicate()
    found = list(read_batches(path))
    assert len(found) >= 3
    assert [line.n for line in found] == list(range(len(found)))


@pytest.mark.parametrize(
    ("location", "part"),
    [
        ("/nonexistent/a.jsonl", "make the folder first"),
        ("/tmp", "tells no format"),
        ("a.dat", "tells no format"),
        ("/proc/a.jsonl", "cannot write /proc/a.jsonl"),
        ("x%u.jsonl", "only MOT files"),
    ],
)
def test_where_nothing_can_be_written(location: str, part: str) -> None:
    messages = texts(
        play(launch(f"{source(1)} ! dssynth ! dsrecord location={location} ! fakesink"))
    )
    assert part in messages[0]
    assert messages[0].startswith("error: starting: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk(tmp_path: Path) -> None:
    full = tmp_path / "a.jsonl"
    full.symlink_to("/dev/full")
    text = f"{source(40)} ! dssynth ! dsrecord name=r flush-batches=1 location={full}"
    messages = texts(play(launch(f"{text} ! fakesink")))
    assert "RecordingError: cannot write" in messages[0]
    assert "free some space" in messages[0]
    pipeline = launch(f"{text} on-error=pass ! testlook name=look ! fakesink")
    seen: list[int] = []
    pipeline.get_by_name("look").call = lambda batch: seen.append(1)
    messages = texts(play(pipeline))
    assert len(seen) == 40
    assert all(m.startswith("warning") for m in messages)
    assert "No space left" in messages[0]
    pipeline = launch(f"{text} on-error=drop ! testlook name=look ! fakesink")
    passed: list[int] = []
    pipeline.get_by_name("look").call = lambda batch: passed.append(1)
    messages = texts(play(pipeline))
    assert all(m.startswith("warning") for m in messages)
    assert len(passed) == 40 - stats(pipeline.get_by_name("r"))["dropped"] < 40


def test_a_reader_that_does_not_keep_up(tmp_path: Path) -> None:
    """A pipe that nobody reads: the queue fills, and the stream goes on."""
    fifo = tmp_path / "a.jsonl"
    os.mkfifo(fifo)
    for on_full in ("drop-oldest", "drop-newest"):
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        pipeline = launch(
            f"{source(150)} ! dssynth num-objects=40 ! dsrecord name=r queue-size=4 "
            f"on-full={on_full} location={fifo} ! fakesink name=sink"
        )
        bus = pipeline.get_bus()
        pipeline.set_state(Gst.State.PLAYING)
        counts: dict[str, int] = {}
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            counts = stats(pipeline.get_by_name("r"))
            if counts["buffers"] == 150:
                break
            time.sleep(0.01)
        assert counts["buffers"] == 150
        assert counts["records-dropped"] > 0
        # Somebody reads at last: the end comes.
        got: list[bytes] = []

        def drain(reader: int = reader, got: list[bytes] = got) -> None:
            os.set_blocking(reader, True)
            while data := os.read(reader, 1 << 16):
                got.append(data)

        thread = threading.Thread(target=drain)
        thread.start()
        message = bus.timed_pop_filtered(
            20 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
        )
        assert message is not None
        assert message.type == Gst.MessageType.EOS
        pipeline.set_state(Gst.State.NULL)
        thread.join()
        os.close(reader)
        kinds = [json.loads(line) for line in b"".join(got).splitlines()]
        end = kinds[-1]
        counts = stats(pipeline.get_by_name("r"))
        assert end["kind"] == "end"
        assert end["batches"] + end["dropped"] == 150
        assert (counts["written"], counts["records-dropped"]) == (end["batches"], end["dropped"])
        last = max(f["frame_num"] for k in kinds if k["kind"] == "batch" for f in k["frames"])
        assert (last == 149) == (on_full == "drop-oldest")


def test_state_changes_make_a_new_file_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    pipeline = launch(f"{source(5)} ! dssynth ! dsrecord location={path} ! fakesink")
    for _ in range(5):
        assert play(pipeline) == []
        reader = Reader(path)
        assert len(list(reader.batches())) == 5
        assert not reader.cut_short


def test_it_changes_nothing_and_copies_nothing_behind_a_tee(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    addresses: dict[str, list[int]] = {"a": [], "b": []}
    pipeline = launch(
        f"{source(3)} ! dssynth ! tee name=t t. ! dsrecord location={path} "
        "! fakesink async=false name=a t. ! fakesink async=false name=b"
    )

    def note(_pad: Any, info: Any, seen: list[int]) -> Any:
        seen.append(hash(info.get_buffer()))
        return Gst.PadProbeReturn.OK

    for name, seen in addresses.items():
        pad = pipeline.get_by_name(name).get_static_pad("sink")
        pad.add_probe(Gst.PadProbeType.BUFFER, note, seen)
    assert play(pipeline) == []
    assert addresses["a"] == addresses["b"]
    assert len(list(read_batches(path))) == 3


def test_standard_output_of_gst_launch(tmp_path: Path) -> None:
    done = shell(
        ["gst-launch-1.0", "-q", *source(3).split(), "!", "dssynth", "!", "dsrecord", "location=-",
         "!", "fakesink"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds == ["header", "batch", "batch", "batch", "end"]


def test_numbers_that_mot_files_cannot_hold_are_told(tmp_path: Path) -> None:
    import numpy as np

    from dselements._core import _native

    path = tmp_path / "det.txt"

    def spoil(batch: Any) -> None:
        """As a C element could: our own API refuses such values."""
        transaction = _native.Transaction(_native.Snapshot(batch.address))
        values = np.full(2, np.nan, np.float32)
        transaction.scatter(_native.OBJECT, "confidence", values.tobytes())
        transaction.commit()

    pipeline = launch(
        "videotestsrc num-buffers=3 ! dssynth num-objects=2 ! testlook name=spoil ! "
        f"dsrecord location={path} ! fakesink",
        spoil=spoil,
    )
    warnings: list[str] = []
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    wanted = Gst.MessageType.EOS | Gst.MessageType.ERROR
    assert bus.timed_pop_filtered(20 * Gst.SECOND, wanted).type == Gst.MessageType.EOS
    pipeline.set_state(Gst.State.READY)  # NULL would flush the bus
    while (message := bus.pop_filtered(Gst.MessageType.WARNING)) is not None:
        warnings += texts([message])
    pipeline.set_state(Gst.State.NULL)
    assert [line.split(",")[6] for line in path.read_text().splitlines()] == ["0"] * 6
    assert "6 numbers were NaN or infinite" in warnings[0]
