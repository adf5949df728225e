"""dsmux: time, live inputs, limits, what downstream is told, and nothing left behind."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, shell, stats, texts

import dselements as ds
from dselements._core import _native

MS = Gst.MSECOND
TAIL = "dsmux name=m {} ! testlook name=look ! fakesink name=out "


class Rows:
    """Pad, number, own time and own size of every frame, by batch."""

    def __init__(self) -> None:
        self.pads: list[list[int]] = []
        self.numbers: list[list[int]] = []
        self.own: list[list[int]] = []
        self.sizes: list[list[tuple[int, int]]] = []
        self.pts: list[int] = []
        self.most: set[int] = set()

    def __call__(self, batch: ds.Batch) -> None:
        frames = batch.frames
        self.pads.append(frames.pad_index.tolist())
        self.numbers.append(frames.frame_num.tolist())
        self.own.append(frames.buf_pts.tolist())
        self.sizes.append([(f.source_frame_width, f.source_frame_height) for f in frames])
        self.pts.append(_native.buffer_info(batch.buffer)[0])
        snapshot = _native.Snapshot(_native.buffer_batch_meta(batch.buffer))
        for field in ("num_frames_in_batch", "max_frames_in_batch"):
            value = int.from_bytes(snapshot.gather(_native.BATCH, field), "little")
            if field == "max_frames_in_batch":
                self.most.add(value)
            else:
                assert value == len(frames)


def camera(number: int, rate: int = 30, n: int = -1, more: str = "") -> str:
    return (
        f"videotestsrc name=s{number} is-live=true num-buffers={n} "
        f"! video/x-raw,width=16,height=16,framerate={rate}/1 {more} ! m.sink_{number} "
    )


def clip(number: int, n: int, rate: int = 30, more: str = "") -> str:
    return (
        f"videotestsrc name=s{number} num-buffers={n} "
        f"! video/x-raw,width=16,height=16,framerate={rate}/1 {more} ! m.sink_{number} "
    )


def wait_for(test: Callable[[], object], what: str, timeout_s: float = 15) -> None:
    deadline = time.monotonic() + timeout_s
    while not test():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def started(text: str) -> tuple[Any, Rows]:
    rows = Rows()
    pipeline = launch(text, look=rows)
    pipeline.set_state(Gst.State.PLAYING)
    return pipeline, rows


# -- how many ------------------------------------------------------------------
def test_a_batch_may_hold_more_frames_than_a_buffer_holds_memories() -> None:
    rows = Rows()
    pipeline = launch(TAIL.format("") + " ".join(clip(i, 4) for i in range(18)), look=rows)
    assert play(pipeline) == []
    assert [len(pads) for pads in rows.pads] == [18] * 4


def test_batch_size_is_the_most_frames_and_the_meta_says_so() -> None:
    rows = Rows()
    assert play(launch(TAIL.format("batch-size=7") + clip(0, 3) + clip(4, 3), look=rows)) == []
    assert rows.pads == [[0, 4]] * 3
    assert rows.most == {7}


# -- time ------------------------------------------------------------------------
def test_the_batch_has_the_latest_running_time_and_never_goes_back() -> None:
    rows = Rows()
    pipeline = launch(TAIL.format("") + clip(0, 6, 30) + clip(1, 3, 10), look=rows)
    assert play(pipeline) == []
    assert rows.pads == [[0, 1]] * 3 + [[0]] * 3
    assert [own[0] for own in rows.own] == [n * Gst.SECOND // 30 for n in range(6)]
    # The slow clip is at 0, 100 and 200 ms; the fast one alone would go back to 100 ms.
    assert rows.pts == [0, 100 * MS, 200 * MS, 200 * MS, 200 * MS, 200 * MS]


def test_frames_of_one_moment_only_if_asked() -> None:
    rows = Rows()
    text = TAIL.format("sync-inputs=true") + clip(0, 6, 30) + clip(1, 2, 10)
    assert play(launch(text, look=rows)) == []
    assert rows.pads == [[0, 1], [0], [0], [0, 1], [0], [0]]
    assert rows.pts == [n * Gst.SECOND // 30 for n in range(6)]


def test_a_stream_that_changes_size_says_so_for_the_right_frame() -> None:
    rows = Rows()
    pipeline = launch(
        TAIL.format("width=16 height=16")
        + "concat name=c ! m.sink_0 "
        + "videotestsrc num-buffers=5 ! video/x-raw,width=64,height=48,framerate=10/1 ! c. "
        + "videotestsrc num-buffers=5 ! video/x-raw,width=32,height=24,framerate=10/1 ! c. "
        + clip(1, 10, 10),
        look=rows,
    )
    assert play(pipeline) == []
    assert [sizes[0] for sizes in rows.sizes] == [(64, 48)] * 5 + [(32, 24)] * 5
    assert [sizes[1] for sizes in rows.sizes] == [(16, 16)] * 10
    # The second clip has its own time stamps again; running time goes on.
    assert [own[0] for own in rows.own] == [n * 100 * MS for n in (0, 1, 2, 3, 4) * 2]
    assert rows.pts == [n * 100 * MS for n in range(10)]


def test_flushing_seeks_again_and_again() -> None:
    pipeline, rows = started(
        TAIL.format("").replace("name=out", "name=out sync=true") + clip(0, 3000) + clip(1, 3000)
    )
    segments: list[tuple[int, int]] = []

    def note(_pad: Any, info: Any) -> Any:
        event = info.get_event()
        if event.type == Gst.EventType.SEGMENT:
            segment = event.parse_segment()
            segments.append((segment.start, segment.time))
        return Gst.PadProbeReturn.OK

    out = pipeline.get_by_name("out")
    out.get_static_pad("sink").add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, note)
    for seconds in (20, 5, 40, 0, 10):
        assert pipeline.get_state(5 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
        before = len(rows.pads)
        start = seconds * Gst.SECOND
        assert pipeline.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH, start)
        wait_for(
            lambda n=before, at=start: any(
                own == [at, at] for own in rows.own[n:] if len(own) == 2
            ),
            f"no batch of both inputs at {seconds} s: {rows.own[before:][:9]}",
        )
        assert segments[-1] == (start, start)
        first = next(i for i in range(before, len(rows.own)) if rows.own[i] == [start, start])
        assert rows.pts[first] == start  # the output's time follows the seek
    known, position = pipeline.query_position(Gst.Format.TIME)
    pipeline.set_state(Gst.State.NULL)
    assert known
    assert 10 * Gst.SECOND <= position < 15 * Gst.SECOND


# -- live ------------------------------------------------------------------------
def test_without_a_time_out_a_live_batch_waits_for_every_input() -> None:
    pipeline, rows = started(
        TAIL.format("") + camera(0) + camera(1, more="! valve name=v drop=true")
    )
    time.sleep(0.3)
    assert rows.pads == []
    pipeline.get_by_name("v").set_property("drop", False)
    wait_for(lambda: len(rows.pads) > 3, "no batch after the second input came")
    pipeline.set_state(Gst.State.NULL)
    assert all(pads == [0, 1] for pads in rows.pads)
    assert stats(pipeline.get_by_name("m"))["late"] == 0


def test_with_a_time_out_what_is_there_is_pushed_in_time() -> None:
    pipeline, rows = started(
        TAIL.format("batched-push-timeout=20000")
        + camera(0, 20)
        + camera(1, 20, more="! valve name=v drop=true")
    )
    inner = pipeline.get_by_name("m")._aggregator
    calls: list[int] = []
    inner._aggregate, original = lambda *a: (calls.append(1), original(*a))[1], inner._aggregate
    wait_for(lambda: len(rows.pads) >= 10, "a stalled input holds the batch")
    turns = len(calls)
    assert rows.pads[:10] == [[0]] * 10
    assert rows.numbers[:10] == [[n] for n in range(10)]
    assert stats(pipeline.get_by_name("m"))["late"] >= 10
    assert 5 <= turns < 200, "waiting burns the processor"
    # The sources' own latency (a frame) and the time-out on top of it.
    query = Gst.Query.new_latency()
    assert pipeline.get_by_name("m").get_static_pad("src").query(query)
    live, least, _ = query.parse_latency()
    assert live
    assert least == 50 * MS + 20 * MS
    pipeline.get_by_name("v").set_property("drop", False)
    wait_for(lambda: rows.pads[-1] == [0, 1], "the input does not come back")
    pipeline.set_state(Gst.State.NULL)


def test_with_a_time_out_an_input_that_has_not_started_holds_nobody_up() -> None:
    # Its latency query fails, by which GstAggregator takes all of them as not live.
    rows = Rows()
    text = TAIL.format("batched-push-timeout=20000") + camera(0, 20) + camera(1, 10)
    pipeline = launch(text, look=rows)
    late = pipeline.get_by_name("s1")
    late.set_locked_state(True)
    pipeline.set_state(Gst.State.PLAYING)
    wait_for(lambda: len(rows.pads) >= 5, "the input that has not started holds the batch")
    assert all(pads == [0] for pads in rows.pads)
    pipeline.get_bus().set_flushing(True)
    pipeline.get_bus().set_flushing(False)
    late.set_locked_state(False)
    late.sync_state_with_parent()
    wait_for(lambda: [0, 1] in rows.pads, "the input does not come")
    # Its latency counts from then on: a frame of the slower camera, and the time-out.
    news = pipeline.get_bus().timed_pop_filtered(Gst.SECOND, Gst.MessageType.LATENCY)
    assert news is not None
    query = Gst.Query.new_latency()
    assert pipeline.get_by_name("m").get_static_pad("src").query(query)
    assert query.parse_latency()[:2] == (True, 100 * MS + 20 * MS)
    pipeline.set_state(Gst.State.NULL)


def test_an_empty_stretch_of_one_input_leaves_its_place_empty() -> None:
    rows = Rows()
    pipeline = launch(
        TAIL.format("")
        + clip(0, 4, 10)
        + "appsrc name=a format=time caps=video/x-raw,format=RGBA,width=16,height=16,"
        "framerate=10/1,pixel-aspect-ratio=1/1 ! m.sink_1",
        look=rows,
    )
    source = pipeline.get_by_name("a")

    def frame(n: int) -> Any:
        buffer = Gst.Buffer.new_wrapped(bytes(16 * 16 * 4))
        buffer.pts, buffer.duration = n * 100 * MS, 100 * MS
        return buffer

    def swap(_pad: Any, info: Any) -> Any:
        # The second frame becomes a gap.
        if info.get_buffer().pts == 100 * MS:
            pad = pipeline.get_by_name("a").get_static_pad("src")
            pad.get_peer().send_event(Gst.Event.new_gap(100 * MS, 100 * MS))
            return Gst.PadProbeReturn.DROP
        return Gst.PadProbeReturn.OK

    source.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, swap)
    for n in range(4):
        source.emit("push-buffer", frame(n))
    source.emit("end-of-stream")
    assert play(pipeline) == []
    assert rows.pads == [[0, 1], [0], [0, 1], [0, 1]]
    assert rows.own[2] == [200 * MS, 200 * MS]


# -- pads that go ------------------------------------------------------------------
def test_an_input_that_waits_for_others_can_be_released() -> None:
    # The first source is stuck in the muxer, as the second one never delivers.
    pipeline, rows = started(TAIL.format("") + clip(0, -1) + camera(1, more="! valve drop=true"))
    mux = pipeline.get_by_name("m")
    time.sleep(0.2)
    assert rows.pads == []
    pad = mux.get_static_pad("sink_0")
    pad.get_peer().unlink(pad)
    done = threading.Event()
    threading.Thread(target=lambda: (mux.release_request_pad(pad), done.set()), daemon=True).start()
    assert done.wait(5), "releasing hangs"
    assert mux.get_static_pad("sink_0") is None
    pipeline.set_state(Gst.State.NULL)
    left = {child.get_name() for child in mux.children}
    assert {"convert_1", "scale_1", "fit_1"} <= left
    assert not left & {"convert_0", "scale_0", "fit_0"}


def test_releasing_the_input_that_holds_the_batch_lets_the_others_go_on() -> None:
    pipeline, rows = started(
        TAIL.format("") + camera(0) + camera(1, more="! valve name=v drop=true")
    )
    time.sleep(0.15)
    assert rows.pads == []
    mux = pipeline.get_by_name("m")
    pad = mux.get_static_pad("sink_1")
    pad.get_peer().unlink(pad)
    mux.release_request_pad(pad)
    wait_for(lambda: len(rows.pads) > 3, "the other input still waits")
    pipeline.set_state(Gst.State.NULL)
    assert set(map(tuple, rows.pads)) == {(0,)}


# -- errors ------------------------------------------------------------------------
def test_caps_that_downstream_does_not_take_are_named() -> None:
    pipeline = launch(
        "dsmux name=m width=32 height=32 ! video/x-raw,width=64 ! fakesink " + clip(0, 2)
    )
    found = [t for t in texts(play(pipeline)) if "PipelineError" in t]
    assert len(found) == 1
    assert "downstream does not take video/x-raw" in found[0]
    assert "width=(int)64" in found[0]
    assert "set width, height and format of dsmux" in found[0]


def test_frames_that_lie_otherwise_in_memory_are_refused() -> None:
    gi.require_version("GstVideo", "1.0")
    from gi.repository import GstVideo

    pipeline = launch(
        TAIL.format("")
        + "appsrc name=a format=time caps=video/x-raw,format=RGBA,width=16,height=16,"
        "framerate=10/1,pixel-aspect-ratio=1/1 ! m.sink_0"
    )
    buffer = Gst.Buffer.new_wrapped(bytes(80 * 16))
    buffer.pts = 0
    GstVideo.buffer_add_video_meta_full(
        buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.RGBA, 16, 16, 1,
        [0, 0, 0, 0], [80, 0, 0, 0],
    )  # fmt: skip
    pipeline.get_by_name("a").emit("push-buffer", buffer)
    del buffer
    (text,) = [t for t in texts(play(pipeline)) if "SurfaceError" in t]
    assert "input 0 has frames of 1280 bytes, offsets (0,), strides (80,)" in text
    assert "RGBA 16x16 needs 1024 bytes, offsets (0,), strides (64,)" in text
    assert stats(pipeline.get_by_name("m"))["errors"] == 1


def test_late_frame_reports_go_no_further() -> None:
    seen: list[str] = []
    pipeline, rows = started(TAIL.format("") + camera(0))

    def note(_pad: Any, info: Any) -> Any:
        seen.append(info.get_event().type.value_nick)
        return Gst.PadProbeReturn.OK

    source = pipeline.get_by_name("s0").get_static_pad("src")
    source.add_probe(Gst.PadProbeType.EVENT_UPSTREAM, note)
    wait_for(lambda: rows.pads, "no batch")
    sink = pipeline.get_by_name("out").get_static_pad("sink")
    assert sink.push_event(Gst.Event.new_qos(Gst.QOSType.UNDERFLOW, 2.0, 5, 7))
    custom = Gst.Structure.new_empty("any")
    sink.push_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, custom))
    pipeline.set_state(Gst.State.NULL)
    assert "qos" not in seen
    assert "custom-upstream" in seen


# -- nothing left behind -----------------------------------------------------------
@pytest.mark.parametrize("kind", ["dsmux", "dsdemux"])
def test_the_elements_are_freed(kind: str) -> None:
    gone: list[int] = []
    for turn in range(3):
        pipeline = launch(
            "dsmux name=m width=16 height=16 ! dsdemux name=d d.src_0 ! fakesink " + clip(0, 2)
        )
        pipeline.get_by_name("m" if kind == "dsmux" else "d").weak_ref(gone.append, turn)
        assert play(pipeline) == []
        del pipeline
        gc.collect()
    assert gone == [0, 1, 2]


def resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def test_memory_stays_flat() -> None:
    made = _native.made_batches()

    def once() -> None:
        pipeline = launch(
            "dsmux name=m width=160 height=120 ! tee name=t "
            "! queue ! dsdemux name=d d.src_0 ! queue ! fakesink d.src_3 ! queue ! fakesink "
            "t. ! queue ! fakesink " + " ".join(clip(i, 200) for i in range(4))
        )
        assert play(pipeline) == []
        assert stats(pipeline.get_by_name("m"))["buffers"] == 200

    once()
    gc.collect()
    before = resident_kb()
    for _ in range(4):
        once()
    gc.collect()
    # 3200 frames of 77 kB went through; one left behind per run would be 300 kB.
    assert resident_kb() - before < 12_000
    assert _native.made_batches() - made >= 1000


def test_behind_a_tee_each_branch_has_every_frame() -> None:
    seen: dict[str, list[Any]] = {"left": [], "right": []}

    def look(name: str) -> Callable[[ds.Batch], None]:
        def note(batch: ds.Batch) -> None:
            for frame in batch.frames:
                with frame.surface(write=True) as surface:
                    pixel = surface.array[3, 3].tolist()
                    surface.array[:] = 9  # the other branch must not see it
                seen[name].append((frame.pad_index, frame.batch_id, pixel))

        return note

    pipeline = launch(
        "dsmux name=m width=16 height=16 ! tee name=t "
        "t. ! queue ! testlook name=left ! fakesink t. ! queue ! testlook name=right ! fakesink "
        "videotestsrc num-buffers=3 pattern=red ! m.sink_0 "
        "videotestsrc num-buffers=3 pattern=blue ! m.sink_1",
        left=look("left"),
        right=look("right"),
    )
    assert play(pipeline) == []
    want = [(0, 0, [255, 0, 0, 255]), (1, 1, [0, 0, 255, 255])] * 3
    assert seen == {"left": want, "right": want}


def test_from_gst_launch(tmp_path: Path) -> None:
    text = (
        "videotestsrc num-buffers=20 ! m.sink_0 "
        "videotestsrc num-buffers=20 pattern=ball ! m.sink_1 "
        "dsmux name=m batch-size=2 width=320 height=240 ! dssynth ! dsdemux name=d "
        "d.src_0 ! queue ! videoconvert ! fakesink d.src_1 ! queue ! videoconvert ! fakesink"
    )
    done = shell(["gst-launch-1.0", "-q", *text.split()], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
