"""dsreplay in pipelines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts
from recordings import SIZE, lines, mux, record, source

from dselements import Batch, assets
from dselements.meta.jsonl import frame_record
from dselements.recording import Reader


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
