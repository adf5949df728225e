"""All elements in one pipeline: states, pauses, seeks, ends, formats that change in mid-stream."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from pipelines import play, stats
from stream_tools import (
    NO_FLAGS,
    Gst,
    change,
    clip,
    launch,
    message,
    model,
    no_message,
    passed,
    stop_all,
    wait_for,
)

import dselements as ds
from dselements._core import _native

READY, PAUSED, PLAYING, NULL = (
    Gst.State.READY,
    Gst.State.PAUSED,
    Gst.State.PLAYING,
    Gst.State.NULL,
)
DONE, EOS, ERROR = Gst.MessageType.SEGMENT_DONE, Gst.MessageType.EOS, Gst.MessageType.ERROR
FLUSH, SEGMENT = Gst.SeekFlags.FLUSH, Gst.SeekFlags.SEGMENT
SECOND = Gst.SECOND
ELEMENTS = ("infer", "synth", "filter", "osd", "look")


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    stop_all()


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def every(config: Path) -> Callable[..., Any]:
    """Makes a pipeline with every element, and two streams."""

    def make(*sources: str, sink: str = "fakesink", mux: str = "", **calls: Any) -> Any:
        return launch(
            f"dsmux name=m width=32 height=16 {mux} ! dsinfer name=infer config-file-path={config} "
            "! dssynth name=synth num-objects=2 ! dspythonfilter name=filter min-confidence=0.2 "
            "! testlook name=look ! dsosd name=osd ! dsdemux name=d "
            f"d.src_0 ! queue ! {sink} name=out0 d.src_1 ! queue ! {sink} name=out1 "
            + " ".join(sources),
            **calls,
        )

    return make


def resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def seek(pipeline: Any, flags: Any, start: float, stop: float = -1, rate: float = 1.0) -> None:
    kind = Gst.SeekType.SET if stop >= 0 else Gst.SeekType.NONE
    assert pipeline.seek(
        rate, Gst.Format.TIME, flags, Gst.SeekType.SET, int(start * SECOND), kind,
        int(stop * SECOND) if stop >= 0 else -1,
    )  # fmt: skip


# -- states ----------------------------------------------------------------------
@pytest.mark.parametrize(("low", "turns"), [(READY, 200), (PAUSED, 100), (NULL, 50)])
@pytest.mark.parametrize("live", [False, True])
def test_states_cycle_without_growth(every: Any, low: Any, turns: int, live: bool) -> None:
    if live:
        turns //= 10  # they start by the clock
    more = "is-live=true" if live else ""
    pipeline = every(clip(0, -1, more), clip(1, -1, more), sink="fakesink async=false")
    sizes, threads = [], []
    for turn in range(turns):
        change(pipeline, PLAYING)
        if turn % 10 == 0:
            before = stats(pipeline.get_by_name("osd"))["buffers"]
            wait_for(
                lambda n=before: stats(pipeline.get_by_name("osd"))["buffers"] > n, "no buffer"
            )
        change(pipeline, low)
        no_message(pipeline, ERROR)
        if turn % 10 == 9 and low != PAUSED:
            gc.collect()
            sizes.append(resident_kb())
            threads.append(len(os.listdir("/proc/self/task")))
            assert _native.live_batches() == 0
    change(pipeline, NULL)
    if len(sizes) > 4:
        # One frame of the batch is 2 kB, one element about 20 kB; each turn makes dozens.
        assert sizes[-1] - sizes[len(sizes) // 2] < 1500, sizes
        assert max(threads[len(threads) // 2 :]) <= max(threads[: len(threads) // 2]) + 2, threads


@pytest.mark.parametrize("live", [False, True])
def test_a_pause_loses_and_repeats_nothing(every: Any, live: bool) -> None:
    numbers: list[list[int]] = []
    more = "is-live=true" if live else ""
    caps = "video/x-raw,width=32,height=16,framerate=100/1"
    pipeline = every(
        clip(0, 10_000, more, caps),
        clip(1, 10_000, more, caps),
        sink="fakesink sync=true",
        look=lambda batch: numbers.append(batch.frames.frame_num.tolist()),
    )
    for _ in range(4):
        change(pipeline, PLAYING)
        seen = len(numbers)
        wait_for(lambda n=seen: len(numbers) > n + 5, "it does not go on")
        change(pipeline, PAUSED)
        # Queues may still fill up; then all stands still.
        last = -1
        while last != len(numbers):
            last = len(numbers)
            Gst.util_get_timestamp()
            pipeline.get_bus().timed_pop_filtered(200 * Gst.MSECOND, ERROR)
    change(pipeline, NULL)
    assert numbers == [[n, n] for n in range(len(numbers))]


# -- the end ---------------------------------------------------------------------
def test_the_end_comes_once_to_each_pad(every: Any) -> None:
    pipeline = every(clip(0, 3), clip(1, 7))
    pads = passed(pipeline, *ELEMENTS, "out0", "out1")
    assert play(pipeline) == []
    assert [len(pad.only("eos")) for pad in pads] == [1] * 7
    assert [len(pad.only("buffer")) for pad in pads] == [7] * 5 + [3, 7]
    assert all(pad.log[-1] == ("eos",) for pad in pads)


@pytest.mark.parametrize("state", [PAUSED, PLAYING])
def test_an_end_sent_by_the_application_drains_what_is_there(every: Any, state: Any) -> None:
    pipeline = every(clip(0, -1, "is-live=true"), clip(1, -1, "is-live=true"))
    pads = passed(pipeline, "out0", "out1")
    change(pipeline, PLAYING)
    wait_for(lambda: all(pad.only("buffer") for pad in pads), "no buffer")
    change(pipeline, state)
    assert pipeline.send_event(Gst.Event.new_eos())
    change(pipeline, PLAYING)
    assert message(pipeline, EOS | ERROR).type == EOS
    change(pipeline, NULL)
    counts = [stats(pipeline.get_by_name(name))["buffers"] for name in ("m", "look", "osd", "d")]
    assert len(set(counts)) == 1  # nothing stayed on the way
    assert [pad.log[-1] for pad in pads] == [("eos",)] * 2


# -- seeks -----------------------------------------------------------------------
@pytest.mark.parametrize("state", [PAUSED, PLAYING])
def test_flushing_seeks_in_either_state(every: Any, state: Any) -> None:
    rows: list[list[int]] = []
    pipeline = every(
        clip(0, 3000),
        clip(1, 3000),
        sink="fakesink sync=true",
        look=lambda batch: rows.append(batch.frames.buf_pts.tolist()),
    )
    first, second = passed(pipeline, "out0", "out1")
    change(pipeline, state)
    for start in (20, 5, 40, 0):
        seek(pipeline, FLUSH, start)
        change(pipeline, state)
        for pad in (first, second):
            wait_for(
                lambda p=pad, at=start: (
                    p.only("segment")[-1][1:3] == (at * SECOND, at * SECOND)
                    and p.log[-1][0] == "buffer"
                ),
                f"no frame at {start} s",
            )
            begun = max(i for i, entry in enumerate(pad.log) if entry[0] == "segment")
            assert next(e for e in pad.log[begun:] if e[0] == "buffer")[1] == start * SECOND
        assert [start * SECOND] * 2 in rows
    change(pipeline, NULL)
    assert len(first.only("flush-start")) == len(first.only("flush-stop")) == 4


@pytest.mark.parametrize("flags", [FLUSH, NO_FLAGS])
@pytest.mark.parametrize("rate", [30, 10])
def test_the_end_of_a_segment_is_told_once_when_all_inputs_are_there(
    every: Any, flags: Any, rate: int
) -> None:
    rows: list[list[int]] = []
    pipeline = every(
        clip(0, 3000),
        clip(1, 3000, caps=f"video/x-raw,width=32,height=16,framerate={rate}/1"),
        look=lambda batch: rows.append(batch.frames.pad_index.tolist()),
    )
    pads = passed(pipeline, "look", "out0", "out1")
    change(pipeline, PAUSED)
    seek(pipeline, FLUSH | SEGMENT, 0, 1)
    change(pipeline, PLAYING)
    turns = 3
    for turn in range(1, turns + 1):
        # The message comes from the sources, long before the sinks are there.
        assert message(pipeline, DONE | EOS | ERROR).type == DONE
        wait_for(lambda n=turn: all(len(p.only("segment-done")) >= n for p in pads), "no end")
        assert [len(pad.only("segment-done")) for pad in pads] == [turn] * 3
        seek(pipeline, flags | (SEGMENT if turn < turns else NO_FLAGS), 0, 1)
    assert message(pipeline, DONE | EOS | ERROR).type == EOS
    change(pipeline, NULL)
    played = [[0, 1]] * rate + [[0]] * (30 - rate)  # the second one is done earlier
    assert rows[-30 * (turns + 1) :] == played * (turns + 1)


def test_a_seek_without_a_flush_goes_on_from_there(every: Any) -> None:
    times: list[int] = []
    pipeline = every(clip(0, 3000), clip(1, 3000), sink="fakesink sync=true")
    (pad, out) = passed(pipeline, "look", "out1")
    pipeline.get_by_name("look").call = lambda batch: times.append(
        _native.buffer_info(batch.buffer)[0]
    )
    change(pipeline, PLAYING)
    wait_for(lambda: len(times) > 5, "no batch")
    seek(pipeline, NO_FLAGS, 50, 50.19)
    assert message(pipeline, EOS | ERROR).type == EOS
    known, position = pipeline.query_position(Gst.Format.TIME)
    change(pipeline, NULL)
    for seen in (pad, out):
        (first, second) = seen.only("segment")
        assert first[1:3] == (0, 0)
        assert second[1:3] == (50 * SECOND, 50 * SECOND)
        assert second[3] > 0  # running time goes on
    later = [time for time in times if time >= 50 * SECOND]
    # The source may add the frame that is shown when the segment stops.
    assert later[:6] == [pytest.approx((50 + n / 30) * SECOND, abs=1) for n in range(6)]
    assert len(later) in (6, 7)
    assert times[-len(later) :] == later
    assert known
    assert 50 * SECOND <= position <= 50.25 * SECOND


def test_backwards(every: Any) -> None:
    times: list[list[int]] = []
    pipeline = every(
        clip(0, 3000), clip(1, 3000), look=lambda b: times.append(b.frames.buf_pts.tolist())
    )
    change(pipeline, PAUSED)
    times.clear()
    seek(pipeline, FLUSH, 0, 1, rate=-1.0)
    change(pipeline, PLAYING)
    assert message(pipeline, EOS | ERROR).type == EOS
    change(pipeline, NULL)
    back = [row for row in times if row[0] < SECOND]
    assert back[-30:] == [[n * SECOND // 30] * 2 for n in reversed(range(30))]


# -- formats ----------------------------------------------------------------------
CHANGES = (
    "video/x-raw,format=RGBA,width=64,height=48,framerate=10/1",
    "video/x-raw,format=RGBA,width=32,height=24,framerate=10/1",
    "video/x-raw,format=NV12,width=32,height=24,framerate=10/1",
    "video/x-raw,format=BGRx,width=33,height=25,framerate=20/1",
    "video/x-raw,format=RGBA,width=64,height=48,framerate=10/1",
)


def test_size_format_and_rate_change_through_every_element_in_place(config: Path) -> None:
    seen: list[tuple[Any, ...]] = []
    pipeline = launch(
        f"concat name=c ! dsinfer config-file-path={config} ! dssynth num-objects=1 "
        "! dspythonfilter keep-classes=0 ! dsosd name=osd ! testlook name=look ! fakesink name=out "
        + " ".join(f"videotestsrc pattern=black num-buffers=3 ! {caps} ! c." for caps in CHANGES)
    )

    def look(batch: ds.Batch) -> None:
        (frame,) = batch.frames
        mine = [obj for obj in frame.objects if obj.unique_component_id == 7]
        with frame.surface() as surface:
            form = surface.format
            drawn = int(surface.rgb().max())
        seen.append((form.format, form.width, form.height, [obj.rect for obj in mine], drawn > 50))

    pipeline.get_by_name("look").call = look
    (pad,) = passed(pipeline, "out")
    assert play(pipeline) == []
    want = []
    for text in CHANGES:
        one = Gst.Caps.from_string(text)
        name, width, height = (
            text.split("format=")[1].split(",")[0],
            int(text.split("width=")[1].split(",")[0]),
            int(text.split("height=")[1].split(",")[0]),
        )
        assert one.is_fixed()
        box = (width / 4, height / 4, width / 2, height / 2)
        want += [(name, width, height, [pytest.approx(box, abs=0.51)], True)] * 3
    assert seen == want
    assert [entry[1:] for entry in pad.only("caps")] == [
        (64, 48, (10, 1)),
        (32, 24, (10, 1)),
        (32, 24, (10, 1)),
        (33, 25, (20, 1)),
        (64, 48, (10, 1)),
    ]


def test_an_input_that_changes_does_not_change_the_batch_but_its_rate(every: Any) -> None:
    sizes: list[tuple[int, int]] = []
    pipeline = every(
        "concat name=c ! m.sink_0",
        *[f"videotestsrc num-buffers=3 ! {caps} ! c." for caps in CHANGES],
        clip(1, 15),
        look=lambda b: sizes.append(
            (b.frames[0].source_frame_width, b.frames[0].source_frame_height)
        ),
    )
    (whole, first, second) = passed(pipeline, "look", "out0", "out1")
    assert play(pipeline) == []
    assert sizes == [
        size for size in ((64, 48), (32, 24), (32, 24), (33, 25), (64, 48)) for _ in range(3)
    ]
    assert {entry[1:3] for pad in (whole, first, second) for entry in pad.only("caps")} == {
        (32, 16)
    }
    assert [entry[3] for entry in first.only("caps")] == [(10, 1), (20, 1), (10, 1)]
    assert [entry[3] for entry in second.only("caps")] == [(30, 1)]
