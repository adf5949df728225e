"""dsmux in pipelines: pixels, metadata, endings, time, pads that come and go."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds
from dselements._core import _native

COLOURS = {"red": [255, 0, 0, 255], "green": [0, 255, 0, 255], "blue": [0, 0, 255, 255]}


def source(number: int, pattern: str, n: int, size: str = "64x48", more: str = "") -> str:
    width, height = size.split("x")
    return (
        f"videotestsrc num-buffers={n} pattern={pattern} {more} "
        f"! video/x-raw,width={width},height={height} ! m.sink_{number} "
    )


class Seen:
    """What passes behind dsmux."""

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self.pts: list[int] = []
        self.refcounts: set[int] = set()

    def __call__(self, batch: ds.Batch) -> None:
        self.refcounts.add(_native.buffer_refcount(batch.buffer))
        self.pts.append(_native.buffer_info(batch.buffer)[0])
        rows = []
        for frame in batch.frames:
            with frame.surface() as surface:
                pixel = surface.array[surface.height // 2, surface.width // 2].tolist()
                size = (surface.width, surface.height)
            rows.append(
                {
                    "source": frame.source_id,
                    "pad": frame.pad_index,
                    "id": frame.batch_id,
                    "number": frame.frame_num,
                    "pts": frame.buf_pts,
                    "from": (frame.source_frame_width, frame.source_frame_height),
                    "size": size,
                    "pixel": pixel,
                }
            )
        self.batches.append(rows)

    def column(self, name: str) -> list[list[Any]]:
        return [[row[name] for row in rows] for rows in self.batches]


def run(mux: str, *sources: str) -> tuple[Seen, Any]:
    seen = Seen()
    pipeline = launch(f"dsmux name=m {mux} ! testlook name=look ! fakesink " + " ".join(sources))
    pipeline.get_by_name("look").call = seen
    assert play(pipeline) == []
    return seen, pipeline


def test_pixels_and_metadata_of_each_input() -> None:
    seen, pipeline = run(
        "batch-size=3 width=80 height=60",
        source(0, "red", 4, "320x240"),
        source(1, "green", 4, "80x60"),
        source(2, "blue", 4, "17x33"),
    )
    assert len(seen.batches) == 4
    for number, rows in enumerate(seen.batches):
        assert [row["pixel"] for row in rows] == list(COLOURS.values())
        assert [row["source"] for row in rows] == [row["pad"] for row in rows] == [0, 1, 2]
        assert [row["id"] for row in rows] == [0, 1, 2]
        assert [row["from"] for row in rows] == [(320, 240), (80, 60), (17, 33)]
        assert {row["size"] for row in rows} == {(80, 60)}
        assert {row["number"] for row in rows} == {number}
        assert {row["pts"] for row in rows} == {number * Gst.SECOND // 30}
    assert seen.pts == [number * Gst.SECOND // 30 for number in range(4)]
    assert seen.refcounts == {1}  # so that nobody downstream has to copy
    assert stats(pipeline.get_by_name("m"))["buffers"] == 4


def test_the_first_input_decides_the_size() -> None:
    seen, _ = run("", source(0, "red", 2, "48x32"))
    assert seen.column("size") == [[(48, 32)]] * 2


def test_an_input_that_ends_does_not_hold_the_others() -> None:
    seen, _ = run("batch-size=2 width=32 height=32", source(0, "red", 2), source(1, "blue", 5))
    assert seen.column("source") == [[0, 1], [0, 1], [1], [1], [1]]
    assert seen.column("number") == [[0, 0], [1, 1], [2], [3], [4]]


def test_more_inputs_than_the_batch_take_turns() -> None:
    seen, _ = run(
        "batch-size=2 width=16 height=16", *(source(i, "red", 4, "16x16") for i in range(3))
    )
    assert all(len(rows) <= 2 for rows in seen.batches)
    arrived: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for rows in seen.batches:
        for row in rows:
            arrived[row["source"]].append(row["number"])
    assert arrived == {0: [0, 1, 2, 3], 1: [0, 1, 2, 3], 2: [0, 1, 2, 3]}
    assert seen.column("source")[:3] == [[0, 1], [0, 2], [1, 2]]


def test_streams_of_different_rates_stay_in_step_when_asked() -> None:
    seen, _ = run(
        "width=16 height=16 sync-inputs=true",
        "videotestsrc num-buffers=4 ! video/x-raw,framerate=10/1 ! m.sink_0 ",
        "videotestsrc num-buffers=8 ! video/x-raw,framerate=20/1 ! m.sink_1 ",
    )
    assert seen.column("source") == [[0, 1], [1]] * 4
    assert seen.column("pts")[3] == [150_000_000]
    assert seen.pts == [n * 50_000_000 for n in range(8)]


def test_padding_keeps_the_aspect_ratio() -> None:
    seen, _ = run("width=100 height=20 enable-padding=true", source(0, "red", 1, "20x20"))
    assert seen.batches[0][0]["pixel"] == [255, 0, 0, 255]
    corners: list[list[int]] = []
    pipeline = launch(
        "dsmux name=m width=100 height=20 enable-padding=true ! testlook name=look ! fakesink "
        + source(0, "red", 1, "20x20")
    )

    def look(batch: ds.Batch) -> None:
        corners.append(batch.frames[0].surface().array[10, 0].tolist())

    pipeline.get_by_name("look").call = look
    assert play(pipeline) == []
    assert corners == [[0, 0, 0, 255]]


def test_nv12_batches() -> None:
    seen: list[tuple[str, int]] = []
    pipeline = launch(
        "dsmux name=m format=NV12 width=32 height=16 ! testlook name=look ! fakesink "
        + source(0, "white", 2)
        + source(1, "black", 2)
    )

    def look(batch: ds.Batch) -> None:
        for frame in batch.frames:
            with frame.surface() as surface:
                seen.append((surface.format.format, int(surface.planes[0][8, 8])))

    pipeline.get_by_name("look").call = look
    assert play(pipeline) == []
    assert seen == [("NV12", 235), ("NV12", 16)] * 2


def test_a_live_batch_does_not_wait_for_a_stalled_input() -> None:
    seen = Seen()
    pipeline = launch(
        "dsmux name=m width=16 height=16 batched-push-timeout=20000 live-source=true "
        "! testlook name=look ! fakesink "
        "videotestsrc is-live=true num-buffers=10 ! video/x-raw,framerate=30/1 ! m.sink_0 "
        "videotestsrc is-live=true num-buffers=1 ! video/x-raw,framerate=30/1 "
        "! identity name=stall ! m.sink_1"
    )
    pipeline.get_by_name("look").call = seen
    # The second stream delivers one frame and then neither frames nor its end.
    stall = pipeline.get_by_name("stall").get_static_pad("src")
    stall.add_probe(
        Gst.PadProbeType.EVENT_DOWNSTREAM,
        lambda _pad, info: (
            Gst.PadProbeReturn.DROP
            if info.get_event().type == Gst.EventType.EOS
            else Gst.PadProbeReturn.OK
        ),
    )
    pipeline.set_state(Gst.State.PLAYING)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and len(seen.batches) < 8:
        time.sleep(0.02)
    pipeline.set_state(Gst.State.NULL)
    assert len(seen.batches) >= 8
    assert [0] in seen.column("source")


def test_inputs_come_and_go_while_playing() -> None:
    seen = Seen()
    pipeline = launch(
        "dsmux name=m width=16 height=16 ! testlook name=look ! fakesink "
        "videotestsrc is-live=true ! video/x-raw,framerate=60/1 ! m.sink_0"
    )
    pipeline.get_by_name("look").call = seen
    mux = pipeline.get_by_name("m")

    def wait_for(test: Any) -> None:
        deadline = time.monotonic() + 15
        while not test():
            assert time.monotonic() < deadline, seen.column("source")[-5:]
            time.sleep(0.01)

    pipeline.set_state(Gst.State.PLAYING)
    wait_for(lambda: len(seen.batches) > 3)
    for _ in range(3):
        extra = Gst.parse_bin_from_description(
            "videotestsrc is-live=true pattern=blue ! capsfilter caps=video/x-raw,framerate=60/1",
            True,
        )
        extra.set_locked_state(True)
        pipeline.add(extra)
        pad = mux.request_pad_simple("sink_7")
        extra.get_static_pad("src").link(pad)
        extra.set_locked_state(False)
        extra.sync_state_with_parent()
        wait_for(lambda: seen.batches and seen.column("source")[-1] == [0, 7])

        released = threading.Event()

        def release(extra: Any = extra, pad: Any = pad, done: threading.Event = released) -> None:
            extra.set_state(Gst.State.NULL)
            pipeline.remove(extra)
            mux.release_request_pad(pad)
            done.set()

        threading.Thread(target=release, daemon=True).start()
        assert released.wait(5), "releasing an input hangs"
        before = len(seen.batches)
        wait_for(lambda n=before: len(seen.batches) > n + 2 and seen.column("source")[-1] == [0])
    pipeline.set_state(Gst.State.NULL)


def test_a_name_taken_twice_is_refused() -> None:
    pipeline = launch("dsmux name=m ! fakesink")
    mux = pipeline.get_by_name("m")
    first = mux.request_pad_simple("sink_3")
    assert first.name == "sink_3"
    assert mux.request_pad_simple("sink_%u").name == "sink_0"
    assert mux.request_pad_simple("sink_3") is None
    message = pipeline.get_bus().timed_pop_filtered(0, Gst.MessageType.ERROR)
    assert "has a pad sink_3 already" in texts([message])[0]


def test_states_can_cycle_and_frames_count_anew() -> None:
    seen = Seen()
    pipeline = launch(
        "dsmux name=m width=16 height=16 ! testlook name=look ! fakesink "
        + source(0, "red", 3)
        + source(1, "blue", 3)
    )
    pipeline.get_by_name("look").call = seen
    for _ in range(5):
        assert play(pipeline) == []
    assert seen.column("number") == [[0, 0], [1, 1], [2, 2]] * 5


def test_a_flushing_seek() -> None:
    seen = Seen()
    pipeline = launch(
        "dsmux name=m width=16 height=16 ! testlook name=look ! fakesink sync=true "
        + source(0, "red", 1000)
        + source(1, "blue", 1000)
    )
    pipeline.get_by_name("look").call = seen
    pipeline.set_state(Gst.State.PLAYING)
    pipeline.get_state(5 * Gst.SECOND)
    assert pipeline.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH, 20 * Gst.SECOND)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if seen.batches and seen.batches[-1][0]["pts"] >= 20 * Gst.SECOND:
            break
        time.sleep(0.02)
    pipeline.set_state(Gst.State.NULL)
    assert seen.batches[-1][0]["pts"] >= 20 * Gst.SECOND
    assert len(seen.batches[-1]) == 2


def test_the_time_out_can_change_while_batches_wait() -> None:
    """PyGObject keeps the GIL in set_property: with the aggregator's lock that was a deadlock."""
    code = (
        "import dselements as ds, time\n"
        "ds.register()\n"
        "from gi.repository import Gst\n"
        "p = Gst.parse_launch('dsmux name=m batched-push-timeout=3000 ! fakesink sync=false '\n"
        "  'videotestsrc is-live=true ! video/x-raw,width=16,framerate=200/1 ! m.sink_0 '\n"
        "  'videotestsrc is-live=true ! video/x-raw,width=16,framerate=150/1 ! m.sink_1')\n"
        "p.set_state(Gst.State.PLAYING)\n"
        "m, end, n = p.get_by_name('m'), time.monotonic() + 2, 0\n"
        "while time.monotonic() < end:\n"
        "    n += 1\n"
        "    m.set_property('batched-push-timeout', 1000 + n % 5000)\n"
        "p.set_state(Gst.State.NULL)\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=40, check=False
    )
    assert done.stdout.strip() == "done", done.stderr


def test_inputs_requested_and_released_from_several_threads() -> None:
    pipeline = launch("dsmux name=m ! fakesink " + source(0, "red", 100000, "16x16"))
    mux = pipeline.get_by_name("m")
    pipeline.set_state(Gst.State.PLAYING)
    refused: list[str] = []

    def churn() -> None:
        for _ in range(60):
            pad = mux.request_pad_simple("sink_%u")
            if pad is None:
                refused.append("no pad")
            else:
                mux.release_request_pad(pad)

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    message = pipeline.get_bus().timed_pop_filtered(0, Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert refused == []
    assert message is None
    assert mux.numsinkpads == 1
    assert mux.numchildren == 4  # the aggregator and the three elements of sink_0
