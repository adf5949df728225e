"""dssynth in pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds
from dselements.meta.jsonl import frame_record, read_records


def records(description: str, n: int = 5, size: str = "width=160,height=120") -> list[Any]:
    seen: list[Any] = []
    pipeline = launch(
        f"videotestsrc num-buffers={n} ! video/x-raw,{size} ! {description} ! testlook name=look "
        "! fakesink",
        look=lambda batch: seen.extend(frame_record(frame) for frame in batch.frames),
    )
    assert play(pipeline) == []
    return seen


def test_objects_as_asked() -> None:
    seen = records("dssynth num-objects=7 classes=cat,dog min-size=10 max-size=20 unique-id=9")
    assert [r.frame for r in seen] == [0, 1, 2, 3, 4]
    for record in seen:
        assert (record.width, record.height) == (160, 120)
        assert len(record.objects) == 7
        assert record.pts == record.frame * Gst.SECOND // 30
        for obj in record.objects:
            assert obj.label == ("cat", "dog")[obj.class_id]
            assert 10 <= obj.width <= 20
            assert 10 <= obj.height <= 20
            assert obj.left >= 0
            assert obj.left + obj.width <= 160.001
            assert obj.top + obj.height <= 120.001
            assert obj.unique_component_id == 9
            assert 0.3 <= obj.confidence <= 1
        assert [obj.object_id for obj in record.objects] == [str(i) for i in range(1, 8)]
    assert seen[0].objects[0].left != seen[1].objects[0].left


def test_the_same_seed_gives_the_same_run() -> None:
    assert records("dssynth seed=3 jitter=2") == records("dssynth seed=3 jitter=2")
    assert records("dssynth seed=3") != records("dssynth seed=4")


def test_untracked() -> None:
    assert {o.object_id for r in records("dssynth tracked=false") for o in r.objects} == {None}


def test_several_frames_in_one_buffers_metadata() -> None:
    seen = records("dssynth batch-size=3 source-id=10", n=2)
    assert [(r.source_id, r.pad_index, r.frame) for r in seen] == [
        (10, 0, 0), (11, 1, 0), (12, 2, 0), (10, 0, 1), (11, 1, 1), (12, 2, 1)
    ]  # fmt: skip


def test_adds_to_the_metadata_that_is_there() -> None:
    seen = records("dssynth num-objects=2 classes=a ! dssynth num-objects=3 classes=b")
    for record in seen:
        assert sorted(o.label for o in record.objects) == ["a", "a", "b", "b", "b"]


def test_objects_from_a_file_arrive_as_they_were(tmp_path: Path) -> None:
    original = records("dssynth num-objects=4 seed=2")
    path = tmp_path / "objects.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(r) + b"\n" for r in original))
    assert list(read_records(path)) == original
    again = records(f"dssynth location={path}", n=7)
    assert [r.objects for r in again[:5]] == [r.objects for r in original]
    assert [r.objects for r in again[5:]] == [[], []]
    looped = records(f"dssynth loop=true location={path}", n=7)
    assert [r.objects for r in looped[5:]] == [r.objects for r in original[:2]]


def test_a_file_is_scaled_to_the_frame(tmp_path: Path) -> None:
    path = tmp_path / "objects.jsonl"
    path.write_bytes(msgspec.json.encode(records("dssynth num-objects=1", n=1)[0]))
    (whole,) = records(f"dssynth location={path}", n=1)
    (half,) = records(f"dssynth location={path}", n=1, size="width=80,height=60")
    assert half.objects[0].left == pytest.approx(whole.objects[0].left / 2, rel=1e-5)
    assert half.objects[0].height == pytest.approx(whole.objects[0].height / 2, rel=1e-5)


def test_details_survive_the_file(tmp_path: Path) -> None:
    def decorate(batch: ds.Batch) -> None:
        first, second = batch.frames[0].objects[:2]
        second.parent = first
        first.classifiers.add([("red", 0.5)])
        first.classifiers.add([("big", 0.25), "old"])
        second.payloads["zone"] = {"name": "gate", "since": 1.5}

    seen: list[Any] = []
    pipeline = launch(
        "videotestsrc num-buffers=1 ! video/x-raw,width=64,height=48 ! dssynth num-objects=2 ! "
        "testlook name=decorate ! testlook name=look ! fakesink",
        decorate=decorate,
        look=lambda batch: seen.append(frame_record(batch.frames[0])),
    )
    assert play(pipeline) == []
    assert seen[0].objects[1].parent == 0
    assert [[x.label for x in labels] for labels in seen[0].objects[0].classifiers] == [
        ["big", "old"], ["red"]
    ]  # fmt: skip
    path = tmp_path / "objects.jsonl"
    path.write_bytes(msgspec.json.encode(seen[0]))
    (again,) = records(f"dssynth location={path}", n=1, size="width=64,height=48")
    assert again.objects == seen[0].objects


@pytest.mark.parametrize(
    ("content", "told"), [("{}\n", ":1: "), ("not json\n", ":1: "), (None, "cannot be read")]
)
def test_a_bad_file_is_an_error_at_the_start(
    tmp_path: Path, content: str | None, told: str
) -> None:
    path = tmp_path / "objects.jsonl"
    if content is not None:
        path.write_text(content)
    pipeline = launch(f"videotestsrc num-buffers=1 ! dssynth location={path} ! fakesink")
    bus = pipeline.get_bus()
    assert pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE
    message = bus.timed_pop_filtered(Gst.SECOND, Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    text = texts([message])[0]
    assert "ConfigError" in text
    assert f"{path}{told}" in text or told in text


def test_other_memory_is_not_touched() -> None:
    factory = Gst.ElementFactory.find("dssynth")
    caps = "video/x-raw(memory:NVMM),format=NV12,width=8,height=8,framerate=1/1"
    assert factory.can_sink_all_caps(Gst.Caps.from_string(caps))


def test_statistics() -> None:
    pipeline = launch("videotestsrc num-buffers=3 ! dssynth num-objects=6 name=s ! fakesink")
    assert play(pipeline) == []
    found = stats(pipeline.get_by_name("s"))
    assert (found["objects-added"], found["objects-in"], found["objects-out"]) == (18, 0, 18)
