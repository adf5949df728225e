"""``dselements demo`` as a user runs it, on good and on bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")

from dselements import assets
from dselements.element.caps import structure_of
from dselements.meta.jsonl import read_records

pytestmark = pytest.mark.model


def demo(
    *arguments: str, check: bool = True, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "dselements", "demo", "--headless", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        cwd=cwd,
        env={**os.environ, **env},
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def probe(path: Path) -> dict[str, Any]:
    """Codec, size and frames of a video, by GStreamer."""
    from pipelines import Gst, launch, play

    frames: list[int] = []
    pipeline = launch(f"filesrc location={path} ! decodebin ! videoconvert ! fakesink name=sink")
    pad = pipeline.get_by_name("sink").get_static_pad("sink")
    pad.add_probe(Gst.PadProbeType.BUFFER, lambda *_: frames.append(1) or Gst.PadProbeReturn.OK)
    size: list[tuple[int, int]] = []

    def caps(_pad: Any, info: Any) -> Any:
        event = info.get_event()
        if event.type == Gst.EventType.CAPS:
            structure = structure_of(event.parse_caps(), 0)
            size.append((structure.get_int("width")[1], structure.get_int("height")[1]))
        return Gst.PadProbeReturn.OK

    pad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, caps)
    assert play(pipeline) == []
    return {"frames": len(frames), "size": size[-1]}


def test_it_leaves_a_video_records_and_a_report(tmp_path: Path) -> None:
    done = demo(
        "--frames", "40", "--min-confidence", "0.6", "--classes", "person,car", "--json",
        "--output", str(tmp_path / "a" / "b.mp4"),
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["frames"] == 40
    assert report["error"] == ""
    assert report["leaked_batches"] == 0
    assert report["fps"] > 1
    assert [e["name"] for e in report["elements"]] == [
        "dsmux",
        "dsinfer",
        "dspythonfilter",
        "dsosd",
    ]
    assert all(e["buffers"] >= 40 and e["mean_us"] > 0 for e in report["elements"])
    records = list(read_records(tmp_path / "a" / "objects.jsonl"))
    assert [r.frame for r in records] == list(range(40))
    labels = [o.label for r in records for o in r.objects]
    assert set(labels) == {"person", "car"}
    assert min(o.confidence for r in records for o in r.objects) >= 0.6
    for label in ("person", "car"):
        row = report["classes"][label]
        # The filter may have seen a few frames more than were recorded.
        assert row["kept"] >= labels.count(label) > 0
        assert row["found"] == row["kept"] + row["removed"]
    assert probe(tmp_path / "a" / "b.mp4") == {"frames": 40, "size": (768, 576)}


def test_several_inputs_make_a_batch_and_tiles(tmp_path: Path) -> None:
    clips = [str(assets.clip(name)) for name in ("vtest", "bikes")]
    done = demo(
        "--input", clips[0], "--input", Path(clips[1]).as_uri(), "--frames", "60", "--json",
        "--output", str(tmp_path / "two.mp4"),
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert (report["error"], report["leaked_batches"]) == ("", 0)
    assert report["frames"] in (60, 61)  # whole batches
    records = list(read_records(tmp_path / "objects.jsonl"))
    numbers = {source: [r.frame for r in records if r.source_id == source] for source in (0, 1)}
    assert numbers == {source: list(range(len(found))) for source, found in numbers.items()}
    # 10 and 25 frames a second, kept in step.
    assert len(numbers[1]) / len(numbers[0]) == pytest.approx(2.5, abs=0.2)
    assert {(r.width, r.height) for r in records} == {(640, 360)}
    first = [r for r in records if r.source_id == 0]
    assert all(any(o.label == "person" for o in r.objects) for r in first)
    video = probe(tmp_path / "two.mp4")
    assert video["size"] == (1280, 360)


def test_tables_for_people(tmp_path: Path) -> None:
    done = demo("--frames", "10", "--output", str(tmp_path / "x.mp4"), COLUMNS="100")
    for text in ("person", "found", "kept", "removed", "µs a buffer", "dsinfer", "leaks 0", "fps"):
        assert text in done.stdout


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The first third of an MP4's bytes: its index is gone."""
    path = tmp_path / "cut.mp4"
    data = assets.clip("bikes").read_bytes()
    path.write_bytes(data[: len(data) // 3])
    return path


def test_a_clip_cut_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "cut.avi"
    data = assets.clip("vtest").read_bytes()
    path.write_bytes(data[: len(data) // 20])
    done = demo("--input", str(path), "--json", "--output", str(tmp_path / "c.mp4"), check=False)
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    # What is there is detected, drawn and written; the file is whole.
    assert 20 < report["frames"] < 60
    assert report["leaked_batches"] == 0
    assert len(list(read_records(tmp_path / "objects.jsonl"))) == report["frames"]
    assert probe(tmp_path / "c.mp4")["frames"] == report["frames"]


def test_a_clip_without_an_index(cut: Path, tmp_path: Path) -> None:
    done = demo("--input", str(cut), "--output", str(tmp_path / "c.mp4"), check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    told = done.stderr + done.stdout
    assert "input0" in told or "no video frame" in told or "no video stream" in told


def test_an_input_that_shows_nothing_is_given_up(cut: Path, tmp_path: Path) -> None:
    """decodebin can lose the error of a demuxer; the demo would wait for ever."""
    pytest.importorskip("gi")
    from gi.repository import Gst

    from dselements.cli.demo.pipeline import FILE_TIMEOUT_S, URI_TIMEOUT_S, DemoPipeline
    from dselements.cli.demo.recorder import Recorder
    from dselements.cli.demo.settings import DemoSettings

    Gst.init(None)
    settings = DemoSettings(
        inputs=(str(cut), "rtsp://127.0.0.1:1/x"),
        output=tmp_path / "o.mp4",
        objects=tmp_path / "o.jsonl",
        config=assets.detector(),
        min_confidence=0.5,
        classes=(),
        rule="",
        window=False,
        max_frames=0,
    )
    demo = DemoPipeline(settings, Recorder(tmp_path / "o.jsonl"))
    assert demo.silent_input(FILE_TIMEOUT_S - 1) == ""
    assert demo.silent_input(FILE_TIMEOUT_S + 1) == str(cut)
    source = Gst.ElementFactory.make("videotestsrc", None)
    demo.pipeline.add(source)
    source.get_static_pad("src").link(demo.mux_pads[0])
    assert demo.silent_input(URI_TIMEOUT_S - 1) == ""
    assert demo.silent_input(URI_TIMEOUT_S + 1) == "rtsp://127.0.0.1:1/x"
    demo.pipeline.set_state(Gst.State.NULL)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--input", "nothing.avi"], "nothing.avi: no such file"),
        (["--min-confidence", "7"], "outside 0 to 1"),
        (["--output", "x.avi"], "is not an .mp4 file"),
        (["--output", "/proc/x/y.mp4"], "/proc/x"),
        (["--config", "none.txt"], "none.txt"),
        (["--rule", "confidnce > 1"], "did you mean confidence?"),
        (["--input", "file:///nothing.avi"], "nothing.avi"),
        (["--frames", "-1"], "negative"),
    ],
)
def test_wrong_arguments_are_named(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = demo(*arguments, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert told in (done.stderr + done.stdout).replace("\n", " ")
    assert "Traceback (most recent call last)" not in done.stderr


def test_a_text_file_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("no video\n" * 100)
    done = demo("--input", str(path), "--output", str(tmp_path / "x.mp4"), check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_the_leaks_tracer_is_clean(tmp_path: Path) -> None:
    done = demo(
        "--frames", "20", "--output", str(tmp_path / "x.mp4"), GST_TRACERS="leaks",
        GST_DEBUG="GST_TRACER:7", GST_DEBUG_NO_COLOR="1",
    )  # fmt: skip
    lines = [x for x in done.stderr.splitlines() if "object-alive, " in x and "%s" not in x]
    assert lines == []
