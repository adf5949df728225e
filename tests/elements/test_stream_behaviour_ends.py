"""Latency, QoS, flags, errors in each state, two pipelines at once, pipelines that are dropped."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import play, stats, texts
from stream_tools import (
    Gst,
    change,
    clip,
    launch,
    message,
    no_message,
    passed,
    stop_all,
    wait_for,
)

import dselements as ds
from dselements._core import _native

MS = Gst.MSECOND
ERROR, EOS = Gst.MessageType.ERROR, Gst.MessageType.EOS
RGBA = "video/x-raw,format=RGBA,width=16,height=16,framerate=10/1,pixel-aspect-ratio=1/1"
CHAIN = "dssynth name=synth ! dspythonfilter name=filter ! dsosd name=osd"


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    stop_all()


# -- flags -------------------------------------------------------------------------
FLAGS = {
    "gap": Gst.BufferFlags.GAP,
    "discont": Gst.BufferFlags.DISCONT,
    "corrupted": Gst.BufferFlags.CORRUPTED,
    "droppable": Gst.BufferFlags.DROPPABLE,
}


def flags_of(text: str, flag: Any, *names: str) -> dict[str, list[bool]]:
    """Whether each of four buffers has the flag at these elements; the third one has it."""
    pipeline = launch(text)
    pads = passed(pipeline, *names)
    for name in ("a0", "a1"):
        source = pipeline.get_by_name(name)
        if source is None:
            continue
        source.set_property("caps", Gst.Caps.from_string(RGBA))
        source.set_property("format", Gst.Format.TIME)
        for n in range(4):
            buffer = Gst.Buffer.new_wrapped(bytes(1024))
            buffer.pts, buffer.duration = n * 100 * MS, 100 * MS
            if n == 2 and name == "a0":
                buffer.set_flags(flag)
            source.emit("push-buffer", buffer)
            del buffer
        source.emit("end-of-stream")
    assert play(pipeline) == []
    return {
        name: [bool(entry[2] & flag) for entry in pad.only("buffer")]
        for name, pad in zip(names, pads, strict=True)
    }


@pytest.mark.parametrize("kind", FLAGS)
def test_flags_pass_every_element(kind: str) -> None:
    first = kind == "discont"  # the first buffer of a stream is one
    seen = flags_of(
        f"dsmux name=m ! {CHAIN} ! dsdemux name=d d.src_0 ! fakesink name=out appsrc name=a0 "
        "! m.sink_0",
        FLAGS[kind],
        "synth",
        "osd",
        "d",
        "out",
    )
    assert seen == {name: [first, False, True, False] for name in ("synth", "osd", "d", "out")}


@pytest.mark.parametrize("kind", FLAGS)
def test_flags_of_one_of_two_streams(kind: str) -> None:
    seen = flags_of(
        "dsmux name=m ! dsdemux name=d d.src_0 ! queue ! fakesink name=o0 d.src_1 ! queue "
        "! fakesink name=o1 appsrc name=a0 ! m.sink_0 appsrc name=a1 ! m.sink_1",
        FLAGS[kind],
        "d",
    )
    warns = kind in ("discont", "corrupted")  # the others mean the whole buffer
    assert seen["d"] == [kind == "discont", False, warns, False]


def test_what_follows_a_dropped_buffer_is_discont() -> None:
    pipeline = launch(
        "dsmux name=m ! testlook name=look ! dsdemux name=d d.src_0 ! fakesink name=out "
        + clip(0, 6),
        look=lambda batch: batch.frames[0].frame_num != 2,
    )
    (out,) = passed(pipeline, "out")
    assert play(pipeline) == []
    broken = [bool(entry[2] & Gst.BufferFlags.DISCONT) for entry in out.only("buffer")]
    assert broken == [True, False, True, False, False]


# -- queries and reports -------------------------------------------------------------
def test_latency_is_that_of_the_slowest_live_input_and_the_time_out() -> None:
    pipeline = launch(
        f"dsmux name=m batched-push-timeout=15000 ! {CHAIN} ! dsdemux name=d "
        "d.src_0 ! queue ! fakesink name=o0 d.src_1 ! queue ! fakesink name=o1 "
        + clip(0, -1, "is-live=true", "video/x-raw,width=16,height=16,framerate=20/1")
        + clip(1, -1, "is-live=true", "video/x-raw,width=16,height=16,framerate=10/1")
    )
    pads = passed(pipeline, "o0", "o1")
    change(pipeline, Gst.State.PLAYING)
    wait_for(lambda: all(pad.only("buffer") for pad in pads), "no buffer")
    for name in ("osd", "filter", "o0", "o1"):
        query = Gst.Query.new_latency()
        assert pipeline.get_by_name(name).get_static_pad("sink").peer_query(query)
        assert query.parse_latency()[:2] == (True, 100 * MS + 15 * MS), name
    pipeline.set_latency(Gst.CLOCK_TIME_NONE)
    assert pipeline.recalculate_latency()


def test_reports_of_late_frames_pass_elements_that_change_in_place_only() -> None:
    seen: dict[str, list[str]] = {"before": [], "source": []}

    def note(name: str) -> Any:
        def probe(_pad: Any, info: Any) -> Any:
            seen[name].append(info.get_event().type.value_nick)
            return Gst.PadProbeReturn.OK

        return probe

    pipeline = launch(
        f"dsmux name=m ! identity name=id ! {CHAIN} ! fakesink name=out "
        + clip(0, -1, "is-live=true")
    )
    for element, pad, name in (("id", "sink", "before"), ("s0", "src", "source")):
        pipeline.get_by_name(element).get_static_pad(pad).add_probe(
            Gst.PadProbeType.EVENT_UPSTREAM, note(name)
        )
    (out,) = passed(pipeline, "out")
    change(pipeline, Gst.State.PLAYING)
    wait_for(lambda: out.only("buffer"), "no buffer")
    sink = pipeline.get_by_name("out").get_static_pad("sink")
    assert sink.push_event(Gst.Event.new_qos(Gst.QOSType.UNDERFLOW, 2.0, 5, 7))
    assert "qos" in seen["before"]
    assert "qos" not in seen["source"]


# -- several pipelines, and their end ---------------------------------------------------
def test_two_pipelines_at_once_do_not_touch_one_another() -> None:
    found: dict[str, list[Any]] = {"one": [], "two": []}

    def look(name: str) -> Any:
        return lambda batch: found[name].append(batch.objects.label.tolist())

    made = [
        launch(
            f"dsmux name=m ! dssynth num-objects={n} classes={label} ! dspythonfilter name=filter "
            f"relabel={label}:{name} ! dsosd ! testlook name=look ! fakesink "
            + clip(0, 40)
            + clip(1, 40),
            look=look(name),
        )
        for name, n, label in (("one", 2, "car"), ("two", 3, "bus"))
    ]
    for pipeline in made:
        pipeline.set_state(Gst.State.PLAYING)
    for pipeline in made:
        assert message(pipeline, EOS | ERROR).type == EOS
        change(pipeline, Gst.State.NULL)
    assert found == {"one": [["one"] * 4] * 40, "two": [["two"] * 6] * 40}
    assert [stats(p.get_by_name("filter"))["objects-in"] for p in made] == [160, 240]


@pytest.mark.parametrize("after_s", [0.0, 0.002, 0.02])
def test_pipelines_dropped_with_buffers_in_flight(after_s: float) -> None:
    gone: list[int] = []
    for turn in range(8):
        pipeline = launch(
            f"dsmux name=m width=64 height=48 ! queue ! {CHAIN} ! queue ! dsdemux name=d "
            "d.src_0 ! queue ! fakesink sync=true d.src_1 ! queue ! dsosd ! fakesink sync=true "
            + clip(0, -1)
            + clip(1, -1, "is-live=true")
        )
        pipeline.get_by_name("m").weak_ref(gone.append, turn)
        pipeline.set_state(Gst.State.PLAYING)
        time.sleep(after_s)
        no_message(pipeline, ERROR)
        assert pipeline.set_state(Gst.State.NULL) == Gst.StateChangeReturn.SUCCESS
        del pipeline
        stop_all()
        gc.collect()
    assert gone == list(range(8))
    assert _native.live_batches() == 0


# -- errors ------------------------------------------------------------------------
@ds.element("testfailsat", description="Fails where it is told to")
class FailsAt(ds.MetaTransform):
    """``where``: start, configure, caps, first, later or nowhere."""

    __gtype_name__ = "DsTestFailsAt"
    where = ds.Property("nowhere", help="Where it fails")

    def start(self) -> None:
        self.seen = 0
        self._fail("start")

    def configure(self) -> None:
        self._fail("configure")

    def on_caps(self, caps: Any) -> None:
        self._fail("caps")

    def process(self, batch: ds.Batch) -> None:
        self.seen += 1
        self._fail("first" if self.seen == 1 else "later")

    def _fail(self, here: str) -> None:
        if self.where == here:
            raise ZeroDivisionError(f"on purpose at {here}")


@pytest.mark.parametrize("where", ["start", "configure", "caps", "first", "later"])
@pytest.mark.parametrize("state", [Gst.State.PAUSED, Gst.State.PLAYING])
def test_an_error_in_each_state_leaves_a_pipeline_that_can_play_again(
    where: str, state: Any
) -> None:
    ds.register(FailsAt)
    pipeline = launch(
        f"dsmux name=m ! queue ! {CHAIN} ! testfailsat name=f where={where} ! dsdemux name=d "
        "d.src_0 ! queue ! fakesink d.src_1 ! queue ! fakesink " + clip(0, 5) + clip(1, 5)
    )
    for _ in range(3):
        pipeline.set_state(state)
        if where == "later" and state == Gst.State.PAUSED:
            pipeline.get_state(Gst.SECOND)  # the pre-roll may end before the second buffer
            pipeline.set_state(Gst.State.PLAYING)
        found = message(pipeline, ERROR)
        assert found.src.get_name() == "f"
        assert f"ZeroDivisionError: on purpose at {where}" in texts([found])[0]
        change(pipeline, Gst.State.NULL)
        pipeline.get_bus().set_flushing(True)
        pipeline.get_bus().set_flushing(False)
    pipeline.get_by_name("f").set_property("where", "nowhere")
    assert play(pipeline) == []
    assert stats(pipeline.get_by_name("f"))["batches"] == 5
