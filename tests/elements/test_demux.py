"""dsdemux: each stream with its pixels and metadata on its own pad."""

from __future__ import annotations

import time
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds
from dselements._core import _native
from dselements.element.caps import structure_of

MUX = (
    "dsmux name=m width=32 height=24 ! dssynth num-objects=3 seed=5 ! testlook name=before "
    "! dsdemux name=d "
    "videotestsrc num-buffers=4 pattern=red ! m.sink_0 "
    "videotestsrc num-buffers=6 pattern=blue ! m.sink_1 "
)


def note(rows: list[Any]) -> Any:
    def look(batch: ds.Batch) -> None:
        for frame in batch.frames:
            with frame.surface(write=True) as surface:
                pixel = surface.array[5, 5].tolist()
                surface.array[:] = 7  # it owns its pixels: no copy, no error
            rows.append(
                (
                    frame.source_id,
                    frame.frame_num,
                    frame.buf_pts,
                    pixel,
                    [(o.object_id, o.label, o.rect) for o in frame.objects],
                )
            )

    return look


def plain(rows: list[Any]) -> Any:
    def look(batch: ds.Batch) -> None:
        for frame in batch.frames:
            with frame.surface() as surface:
                pixel = surface.array[5, 5].tolist()
            objects = [(o.object_id, o.label, o.rect) for o in frame.objects]
            rows.append((frame.source_id, frame.frame_num, frame.buf_pts, pixel, objects))

    return look


def test_each_stream_leaves_by_its_pad_unchanged() -> None:
    before: list[Any] = []
    after: dict[int, list[Any]] = {0: [], 1: []}
    pipeline = launch(
        MUX + "d.src_0 ! queue ! testlook name=a ! fakesink d.src_1 ! queue ! testlook name=b "
        "! fakesink",
        before=plain(before),
        a=note(after[0]),
        b=note(after[1]),
    )
    assert play(pipeline) == []
    assert len(before) == 10
    for stream, rows in after.items():
        assert rows == [row for row in before if row[0] == stream]
    assert [row[3] for row in after[0]] == [[255, 0, 0, 255]] * 4
    assert [row[3] for row in after[1]] == [[0, 0, 255, 255]] * 6
    assert stats(pipeline.get_by_name("d"))["dropped"] == 0


def test_time_stamps_batch_ids_and_reference_counts() -> None:
    seen: list[Any] = []

    def look(batch: ds.Batch) -> None:
        pts = _native.buffer_info(batch.buffer)[0]
        (frame,) = batch.frames
        seen.append((pts == frame.buf_pts, frame.batch_id, _native.buffer_refcount(batch.buffer)))

    pipeline = launch(MUX + "d.src_1 ! testlook name=b ! fakesink", b=look)
    assert play(pipeline) == []
    assert seen == [(True, 0, 1)] * 6


def test_streams_without_a_pad_are_dropped_and_counted() -> None:
    seen: list[Any] = []
    pipeline = launch(MUX + "d.src_1 ! testlook name=b ! fakesink", b=plain(seen))
    assert play(pipeline) == []
    assert len(seen) == 6
    assert stats(pipeline.get_by_name("d"))["dropped"] == 4


def test_parents_classifiers_payloads_and_shapes_come_along() -> None:
    def decorate(batch: ds.Batch) -> None:
        frame = batch.frames[0]
        first, second = frame.objects[0], frame.objects[1]
        first.parent = second
        first.classifiers.add([("red", 0.5)], unique_component_id=4)
        second.payloads["note"] = {"a": [1, 2]}
        frame.payloads["frame"] = "f"
        frame.display.add_line(1, 2, 3, 4)

    seen: list[Any] = []

    def look(batch: ds.Batch) -> None:
        frame = batch.frames[0]
        first, second = frame.objects[0], frame.objects[1]
        seen.append(
            (
                first.parent == second,
                [[label.result_label for label in c.labels] for c in first.classifiers],
                dict(second.payloads),
                dict(frame.payloads),
                [tuple(shape)[:4] for shape in frame.display],
            )
        )

    pipeline = launch(MUX + "d.src_0 ! testlook name=a ! fakesink", before=decorate, a=look)
    assert play(pipeline) == []
    assert seen == [(True, [["red"]], {"note": {"a": [1, 2]}}, {"frame": "f"}, [(1, 2, 3, 4)])] * 4


def test_a_buffer_without_metadata_is_an_error_that_says_what_to_do() -> None:
    pipeline = launch("videotestsrc num-buffers=1 ! dsdemux name=d d.src_0 ! fakesink")
    (text,) = [t for t in texts(play(pipeline)) if "NoBatchMetaError" in t]
    assert "put nvstreammux, dsmux or dssynth upstream" in text


def test_a_pad_requested_while_playing_gets_the_streams_events() -> None:
    pipeline = launch(
        MUX.replace("num-buffers=4", "").replace("num-buffers=6", "")
        + "d.src_0 ! fakesink sync=true"
    )
    seen: list[Any] = []
    pipeline.set_state(Gst.State.PLAYING)
    pipeline.get_state(5 * Gst.SECOND)
    demux = pipeline.get_by_name("d")
    tail = Gst.parse_bin_from_description("queue ! testlook name=late ! fakesink", True)
    tail.get_by_name("late").call = plain(seen)
    pipeline.add(tail)
    tail.sync_state_with_parent()
    assert (
        demux.request_pad_simple("src_1").link(tail.get_static_pad("sink")) == Gst.PadLinkReturn.OK
    )
    deadline = time.monotonic() + 5
    while len(seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    caps = tail.get_static_pad("sink").get_current_caps()
    pipeline.set_state(Gst.State.NULL)
    assert len(seen) >= 3
    assert {row[0] for row in seen} == {1}
    assert structure_of(caps, 0).get_int("width") == (True, 32)


def test_a_branch_that_ends_early_does_not_stop_the_other() -> None:
    seen: list[Any] = []
    pipeline = launch(
        MUX + "d.src_0 ! queue ! identity eos-after=2 ! fakesink "
        "d.src_1 ! queue ! testlook name=b ! fakesink",
        b=plain(seen),
    )
    assert play(pipeline) == []
    assert len(seen) == 6


def test_more_frames_than_a_buffer_has_memories() -> None:
    count = 20  # a GstBuffer has room for 16
    rows: list[Any] = []
    behind: dict[int, list[Any]] = {3: [], 19: []}
    sources = "".join(
        f"videotestsrc num-buffers=3 pattern={'red' if i % 2 else 'blue'} ! m.sink_{i} "
        for i in range(count)
    )
    pipeline = launch(
        f"dsmux name=m batch-size={count} width=32 height=24 ! dssynth num-objects=2 ! dsosd "
        "display-text=false display-bbox=false ! testlook name=before ! dsdemux name=d "
        "d.src_3 ! queue ! testlook name=a ! fakesink "
        "d.src_19 ! queue ! testlook name=b ! fakesink " + sources,
        before=plain(rows),
        a=note(behind[3]),
        b=note(behind[19]),
    )
    assert play(pipeline) == []
    assert [row[0] for row in rows] == list(range(count)) * 3
    for source, _, _, pixel, objects in rows:
        assert pixel == ([255, 0, 0, 255] if source % 2 else [0, 0, 255, 255])
        assert len(objects) == 2
    for source, found in behind.items():
        assert found == [row for row in rows if row[0] == source]
