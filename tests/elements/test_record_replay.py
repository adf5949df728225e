"""dsrecord and dsreplay in pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, shell, stats, texts

from dselements import Batch, assets
from dselements.meta.jsonl import frame_record
from dselements.recording import Reader, capture, encode_batch, read_batches

SIZE = "video/x-raw,width=160,height=120,framerate=30/1"


def source(n: int = 10) -> str:
    return f"videotestsrc num-buffers={n} ! {SIZE}"


def lines(description: str, **more: Any) -> tuple[list[bytes], Any, list[Any]]:
    """Each batch's line as it is at a testlook, the pipeline, messages."""
    seen: list[bytes] = []

    def look(batch: Batch) -> None:
        seen.append(encode_batch(capture(batch.address)))

    pipeline = launch(description, look=look, **more)
    return seen, pipeline, play(pipeline)


def record(location: Path, text: str = "dssynth", n: int = 10) -> list[bytes]:
    seen, pipeline, messages = lines(
        f"{source(n)} ! {text} ! testlook name=look "
        f"! dsrecord name=r location={location} ! fakesink"
    )
    assert messages == []
    assert stats(pipeline.get_by_name("r"))["written"] == n
    return seen


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_what_comes_back_is_the_same_to_the_bit(tmp_path: Path, suffix: str) -> None:
    if suffix.endswith("zst") and sys.version_info < (3, 14):
        pytest.importorskip("zstandard")
    path = tmp_path / f"a.{suffix}"
    before = record(path, "dssynth num-objects=7 jitter=3")
    after, pipeline, messages = lines(
        f"{source()} ! dsreplay name=r location={path} ! testlook name=look ! fakesink"
    )
    assert messages == []
    assert after == before
    found = stats(pipeline.get_by_name("r"))
    assert (found["matched"], found["missing"], found["unused"]) == (10, 0, 0)
    assert found["objects-added"] == 70
    reader = Reader(path)
    assert reader.header.sources[0].source_id == 0
    assert "video/x-raw" in reader.header.caps
    assert len(list(reader.batches())) == 10
    assert not reader.cut_short


def mux(n: int, sources: int, batch: int, tail: str) -> str:
    inputs = " ".join(f"{source(n)} ! m.sink_{i}" for i in range(sources))
    return f"dsmux name=m batch-size={batch} ! {tail} {inputs}"


def test_several_sources_batched_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    before: dict[tuple[int, int], list[Any]] = {}
    after: dict[tuple[int, int], list[Any]] = {}

    def into(table: dict[tuple[int, int], list[Any]]) -> Any:
        def look(batch: Batch) -> None:
            for frame in batch.frames:
                boxes = [(o.label, o.rect, o.object_id) for o in frame.objects]
                table[frame.source_id, frame.frame_num] = boxes

        return look

    tail = f"dssynth num-objects=3 ! testlook name=look ! dsrecord location={path} ! fakesink"
    assert play(launch(mux(8, 3, 3, tail), look=into(before))) == []
    assert len(before) == 24
    tail = f"dsreplay name=r location={path} match=frame-num ! testlook name=look ! fakesink"
    pipeline = launch(mux(8, 3, 2, tail), look=into(after))
    assert play(pipeline) == []
    assert after == before
    after.clear()
    pipeline = launch(mux(8, 1, 1, tail), look=into(after))
    assert play(pipeline) == []
    assert after == {key: value for key, value in before.items() if key[0] == 0}


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, "dssynth num-objects=2 classes=recorded")
    for mode, expected in (("replace", 2), ("add", 5)):
        counts: list[int] = []
        pipeline = launch(
            f"{source()} ! dssynth num-objects=3 classes=live ! dsreplay mode={mode} "
            f"location={path} ! testlook name=look ! fakesink",
            look=lambda batch, counts=counts: counts.append(len(batch.objects)),
        )
        assert play(pipeline) == []
        assert counts == [expected] * 10


def test_frames_without_a_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, n=4)
    for policy, passed in (("pass", 6), ("drop", 4)):
        seen, pipeline, messages = lines(
            f"{source(6)} ! dsreplay name=r on-missing={policy} location={path} "
            "! testlook name=look ! fakesink"
        )
        assert messages == []
        assert len(seen) == passed
        assert stats(pipeline.get_by_name("r"))["missing"] == 2
    _, _, messages = lines(
        f"{source(6)} ! dsreplay on-missing=fail location={path} ! testlook name=look ! fakesink"
    )
    assert "NoRecordError" in texts(messages)[0]
    assert "source 0, pts 133333333" in texts(messages)[0]


def test_a_recording_longer_than_the_video(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    before = record(path, n=10)
    after, _, messages = lines(
        f"{source(4)} ! dsreplay location={path} queue-size=1 ! testlook name=look ! fakesink"
    )
    assert messages == []
    assert after == before[:4]


def test_tolerance_of_time_stamps(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, n=4)
    text = path.read_text().replace('"buf_pts":33333333,', '"buf_pts":33000000,')
    path.write_text(text)
    for tolerance, missing in ((0, 1), (1_000_000, 0)):
        _, pipeline, _ = lines(
            f"{source(4)} ! dsreplay name=r location={path} pts-tolerance={tolerance} "
            "! testlook name=look ! fakesink"
        )
        assert stats(pipeline.get_by_name("r"))["missing"] == missing


def test_seeking_back_finds_the_records_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    truth: dict[int, list[Any]] = {}

    def note(batch: Batch) -> None:
        truth[batch.frames[0].buf_pts] = [o.rect for o in batch.objects]

    text = f"{source(60)} ! dssynth num-objects=1 ! testlook name=look "
    text += f"! dsrecord flush-batches=5 location={path} ! fakesink"
    assert play(launch(text, look=note)) == []
    boxes: list[Any] = []
    pipeline = launch(
        f"videotestsrc ! {SIZE} ! dsreplay name=r location={path} on-missing=fail "
        "! testlook name=look ! fakesink",
        look=lambda batch: boxes.append((batch.frames[0].buf_pts, [o.rect for o in batch.objects])),
    )
    bus = pipeline.get_bus()
    wanted = Gst.MessageType.EOS | Gst.MessageType.ERROR
    pipeline.set_state(Gst.State.PAUSED)
    try:
        assert pipeline.get_state(20 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
        flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
        for start in (0, Gst.SECOND, 0, 500_000_000):
            assert pipeline.seek(
                1.0, Gst.Format.TIME, flags, Gst.SeekType.SET, start, Gst.SeekType.SET,
                2 * Gst.SECOND - 1,
            )  # fmt: skip
            boxes.clear()
            pipeline.set_state(Gst.State.PLAYING)
            message = bus.timed_pop_filtered(20 * Gst.SECOND, wanted)
            assert message is not None
            assert message.type == Gst.MessageType.EOS
            seen = {pts: rects for pts, rects in boxes if pts >= start}
            assert seen == {pts: rects for pts, rects in truth.items() if pts >= start}
            assert all(truth[pts] == rects for pts, rects in boxes)
    finally:
        pipeline.set_state(Gst.State.NULL)


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


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "holds no whole line"),
        ('{"v": 1, "frame": 0}\n', "dssynth reads the JSON lines of dselements demo"),
        ('{"kind":"header","schema":"dselements.recording","version":99,"family":"ds9"}\n',
         "version 99"),
        ("\x1f\x8bnot gzip\n", ":1:"),
    ],
)  # fmt: skip
def test_files_that_are_no_recordings(tmp_path: Path, content: str, part: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    messages = texts(play(launch(f"{source(1)} ! dsreplay location={path} ! fakesink")))
    assert messages[0].startswith("error: starting: RecordingFormatError")
    assert part in messages[0]


def test_a_broken_line_in_the_middle_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, n=4)
    content = path.read_text().splitlines(keepends=True)
    content[2] = content[2].replace('"frames"', '"flames"')
    path.write_text("".join(content))
    messages = texts(play(launch(f"{source(4)} ! dsreplay location={path} ! fakesink")))
    assert f"{path}:3:" in messages[0]
    messages = texts(play(launch(f"{source(4)} ! dsreplay location={tmp_path}/x.jsonl ! fakesink")))
    assert "cannot read" in messages[0]


def test_mot_challenge_files(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("2,-1,11,21,30.5,40,0.9,-1,-1,-1\n1,7,1,1,5,6,0.5,2,0.8\n# end\n\n")
    seen: list[Any] = []
    pipeline = launch(
        f"{source(3)} ! dsreplay name=r location={path} classes=a,b,c class-id=1 "
        "! testlook name=look ! fakesink",
        look=lambda batch: seen.append(
            [
                (o.rect, o.label, o.class_id, round(o.confidence, 3), o.object_id)
                for o in batch.objects
            ]
        ),
    )
    assert play(pipeline) == []
    assert seen[0] == [((0.0, 0.0, 5.0, 6.0), "c", 2, 0.5, 7)]
    assert seen[1] == [((10.0, 20.0, 30.5, 40.0), "b", 1, 0.9, 2**64 - 1)]
    assert seen[2] == []
    assert stats(pipeline.get_by_name("r"))["missing"] == 1
    scaled = f"{source(1)} ! dsreplay location={path} mot-width=320 mot-height=240"
    boxes: list[Any] = []
    pipeline = launch(
        f"{scaled} ! testlook name=look ! fakesink",
        look=lambda batch: boxes.extend(o.rect for o in batch.objects),
    )
    assert play(pipeline) == []
    assert boxes == [(0.0, 0.0, 2.5, 3.0)]


def test_mot_out_and_in_again_one_file_a_source(tmp_path: Path) -> None:
    pattern = tmp_path / "det_%u.txt"
    boxes: list[list[Any]] = [[], []]

    def look(run: int) -> Any:
        return lambda batch: boxes[run].extend(
            (
                f.source_id,
                f.frame_num,
                [o.rect for o in f.objects],
                [o.object_id for o in f.objects],
            )
            for f in batch.frames
        )

    tail = f"dssynth ! testlook name=look ! dsrecord location={pattern} ! fakesink"
    assert play(launch(mux(4, 2, 2, tail), look=look(0))) == []
    text = (tmp_path / "det_1.txt").read_text().splitlines()
    assert len(text) == 20
    assert text[0].split(",")[0] == "1"
    tail = f"dsreplay location={pattern} ! testlook name=look ! fakesink"
    assert play(launch(mux(4, 2, 2, tail), look=look(1))) == []
    for before, after in zip(sorted(boxes[0]), sorted(boxes[1]), strict=True):
        assert before[:2] == after[:2]
        assert before[3] == after[3]
        for one, other in zip(before[2], after[2], strict=True):
            assert one == pytest.approx(other, abs=1e-4)
    one = tmp_path / "one.txt"
    tail = f"dssynth ! dsrecord location={one} ! fakesink"
    assert "put %u into the location" in texts(play(launch(mux(4, 2, 2, tail))))[0]


@pytest.mark.parametrize(
    "line", ["0,1,1,1,1,1,1", "1,1,1,1", "1,x,1,1,1,1,1", "1,1,1,1,-5,1,1", "1,1,nan,1,1,1,1"]
)
def test_broken_mot_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"1,1,1,1,1,1,1\n{line}\n")
    messages = texts(play(launch(f"{source(1)} ! dsreplay location={path} ! fakesink")))
    assert f"{path}:2:" in messages[0]


def test_standard_output_of_gst_launch(tmp_path: Path) -> None:
    done = shell(
        ["gst-launch-1.0", "-q", *source(3).split(), "!", "dssynth", "!", "dsrecord", "location=-",
         "!", "fakesink"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds == ["header", "batch", "batch", "batch", "end"]


@pytest.mark.model
def test_the_demo_without_its_detector(tmp_path: Path) -> None:
    """Recorded with the detector and replayed without it: the same objects, byte for byte."""
    path = tmp_path / "demo.jsonl.gz"
    clip, config = assets.clip("vtest"), assets.detector()
    head = (
        f"filesrc location={clip} ! decodebin ! m.sink_0 "
        "dsmux name=m batch-size=1 ! testlook name=gate ! "
    )
    tail = " ! dspythonfilter min-confidence=0.5 ! testlook name=look ! dsosd ! fakesink name=out"
    written: list[bytes] = []

    def look(batch: Batch) -> None:
        written.extend(msgspec.json.encode(frame_record(f)) + b"\n" for f in batch.frames)

    def gate(batch: Batch) -> bool:
        return batch.frames[0].frame_num < 100

    infer = f"dsinfer config-file-path={config} ! dsrecord location={path}"
    assert texts(play(launch(head + infer + tail, look=look, gate=gate), 100)) == []
    recorded = b"".join(written)
    written.clear()
    pipeline = launch(
        head + f"dsreplay name=r location={path} on-missing=fail" + tail, look=look, gate=gate
    )
    assert texts(play(pipeline)) == []
    assert b"".join(written) == recorded
    assert recorded.count(b"\n") == 100
    assert recorded.count(b'"label":"person"') > 200
    assert stats(pipeline.get_by_name("r"))["unused"] == 0
