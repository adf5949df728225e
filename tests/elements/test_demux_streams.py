"""dsdemux: what each pad is told of its own stream, and flow results of several pads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds
from dselements._core import _native
from dselements.element.caps import structure_of

MS = Gst.MSECOND


def source(number: int, n: int, rate: int = 30, more: str = "") -> str:
    return (
        f"videotestsrc name=s{number} num-buffers={n} {more} "
        f"! video/x-raw,width=16,height=16,framerate={rate}/1 ! m.sink_{number} "
    )


class Pad:
    """What comes out of one pad, in order."""

    def __init__(self, element: Any) -> None:
        self.log: list[Any] = []
        kinds = Gst.PadProbeType.EVENT_DOWNSTREAM | Gst.PadProbeType.BUFFER
        element.get_static_pad("sink").add_probe(kinds, self._note)

    def _note(self, _pad: Any, info: Any) -> Any:
        if info.type & Gst.PadProbeType.BUFFER:
            buffer = info.get_buffer()
            self.log.append(("buffer", buffer.pts, buffer.duration))
            return Gst.PadProbeReturn.OK
        event = info.get_event()
        kind = event.type.value_nick
        if event.type == Gst.EventType.STREAM_START:
            self.log.append((kind, event.parse_stream_start()))
        elif event.type == Gst.EventType.CAPS:
            structure = structure_of(event.parse_caps(), 0)
            self.log.append((kind, structure.get_fraction("framerate")[1:]))
        elif event.type == Gst.EventType.SEGMENT:
            segment = event.parse_segment()
            self.log.append((kind, segment.start, segment.time, segment.base))
        else:
            self.log.append((kind,))
        return Gst.PadProbeReturn.OK

    def only(self, kind: str) -> list[Any]:
        return [entry for entry in self.log if entry[0] == kind]

    def kinds(self) -> list[str]:
        """Kinds in order, runs of buffers as one."""
        out: list[str] = []
        for entry in self.log:
            if entry[0] != "buffer" or not out or out[-1] != "buffer":
                out.append(entry[0])
        return out


def wait_for(test: Callable[[], object], what: str, timeout_s: float = 15) -> None:
    deadline = time.monotonic() + timeout_s
    while not test():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def two(mux: str, *sources: str, tail: str = "fakesink") -> tuple[Any, Pad, Pad]:
    pipeline = launch(
        f"dsmux name=m {mux} ! dsdemux name=d d.src_0 ! queue name=q0 ! {tail} "
        f"d.src_1 ! queue name=q1 ! {tail} " + " ".join(sources)
    )
    return pipeline, Pad(pipeline.get_by_name("q0")), Pad(pipeline.get_by_name("q1"))


def test_each_pad_has_the_rate_the_times_and_the_end_of_its_stream() -> None:
    pipeline, first, second = two("", source(0, 6, 30), source(1, 2, 10))
    assert play(pipeline) == []
    for pad, rate, n in ((first, 30, 6), (second, 10, 2)):
        assert pad.kinds() == ["stream-start", "caps", "segment", "buffer", "eos"]
        assert pad.only("caps") == [("caps", (rate, 1))]
        length = Gst.SECOND // rate
        assert pad.only("buffer") == [("buffer", k * Gst.SECOND // rate, length) for k in range(n)]
    ids = {pad.only("stream-start")[0][1] for pad in (first, second)}
    assert len(ids) == 2


def test_a_stream_ends_when_it_ends_not_when_all_do() -> None:
    order: list[tuple[int, int]] = []
    pipeline, first, second = two("", source(0, 3), source(1, 30))
    sink = pipeline.get_by_name("q0").get_static_pad("sink")

    def note(_pad: Any, info: Any) -> Any:
        if info.get_event().type == Gst.EventType.EOS:
            order.append((len(first.only("buffer")), len(second.only("buffer"))))
        return Gst.PadProbeReturn.OK

    sink.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, note)
    assert play(pipeline) == []
    assert order == [(3, 3)]
    assert len(second.only("buffer")) == 30
    assert [len(p.only("eos")) for p in (first, second)] == [1, 1]


def test_a_seek_gives_each_pad_its_own_segment_and_goes_upstream_once() -> None:
    pipeline, first, second = two(
        "", source(0, 3000, 30), source(1, 3000, 10), tail="fakesink sync=true"
    )
    seeks: list[int] = []

    def note(_pad: Any, info: Any) -> Any:
        if info.get_event().type == Gst.EventType.SEEK:
            seeks.append(info.get_event().get_seqnum())
        return Gst.PadProbeReturn.OK

    pipeline.get_by_name("s0").get_static_pad("src").add_probe(
        Gst.PadProbeType.EVENT_UPSTREAM, note
    )
    pipeline.set_state(Gst.State.PLAYING)
    pipeline.get_state(5 * Gst.SECOND)
    # Both sinks send it: it must not flush the sources twice.
    assert pipeline.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH, 7 * Gst.SECOND)
    for pad in (first, second):
        wait_for(
            lambda p=pad: any(b[1] >= 7 * Gst.SECOND for b in p.only("buffer")),
            "no frame after the seek",
        )
    pipeline.set_state(Gst.State.NULL)
    assert len(seeks) == 1
    for pad in (first, second):
        assert pad.only("segment")[-1] == ("segment", 7 * Gst.SECOND, 7 * Gst.SECOND, 0)
        after = pad.log[pad.log.index(pad.only("segment")[-1]) :]
        assert next(e for e in after if e[0] == "buffer")[1] == 7 * Gst.SECOND


def test_a_released_input_ends_its_stream_and_another_one_begins_it_anew() -> None:
    pipeline, first, second = two("", source(0, -1, 30, "is-live=true"))
    pipeline.set_state(Gst.State.PLAYING)
    mux = pipeline.get_by_name("m")
    for turn in (1, 2):
        extra = Gst.parse_bin_from_description(
            "videotestsrc is-live=true "
            "! capsfilter caps=video/x-raw,width=16,height=16,framerate=30/1",
            True,
        )
        extra.set_locked_state(True)
        pipeline.add(extra)
        pad = mux.request_pad_simple("sink_1")
        extra.get_static_pad("src").link(pad)
        extra.set_locked_state(False)
        extra.sync_state_with_parent()
        wait_for(
            lambda n=turn: len(second.only("stream-start")) == n and second.log[-1][0] == "buffer",
            f"the stream does not begin: {second.kinds()}",
        )
        extra.set_state(Gst.State.NULL)
        pipeline.remove(extra)
        mux.release_request_pad(pad)
        wait_for(lambda n=turn: len(second.only("eos")) == n, "the stream does not end")
    going = len(first.only("buffer"))
    wait_for(lambda: len(first.only("buffer")) > going + 2, "the other stream stops")
    pipeline.set_state(Gst.State.NULL)
    whole = ["stream-start", "segment", "buffer", "eos"]
    assert [k for k in second.kinds() if k != "caps"] == whole * 2
    assert first.only("eos") == []


def test_a_pad_requested_after_its_stream_ended_ends_at_once() -> None:
    pipeline, first, _ = two("", source(0, 3), source(1, -1, 30, "is-live=true"))
    pipeline.set_state(Gst.State.PLAYING)
    wait_for(lambda: first.only("eos"), "the short stream does not end")
    demux = pipeline.get_by_name("d")
    old = demux.get_static_pad("src_0")
    queue = pipeline.get_by_name("q0")
    old.unlink(queue.get_static_pad("sink"))
    demux.release_request_pad(old)
    tail = Gst.ElementFactory.make("fakesink", "late")
    tail.set_property("async", False)
    late = Pad(tail)
    pipeline.add(tail)
    tail.sync_state_with_parent()
    pad = demux.request_pad_simple("src_0")
    assert pad.link(tail.get_static_pad("sink")) == Gst.PadLinkReturn.OK
    kept = [
        event.type.value_nick
        for kind in (Gst.EventType.STREAM_START, Gst.EventType.CAPS, Gst.EventType.EOS)
        if (event := pad.get_sticky_event(kind, 0)) is not None
    ]
    pipeline.set_state(Gst.State.NULL)
    assert kept == ["stream-start", "caps", "eos"]
    assert late.only("buffer") == []


def test_pixels_are_not_copied_and_may_be_written() -> None:
    before: dict[tuple[int, int], int] = {}
    after: dict[tuple[int, int], tuple[int, int]] = {}

    def address(batch: ds.Batch, row: int, write: bool) -> int:
        view = _native.MemoryMap(batch.buffer, row, write)
        found = view.address
        view.close()
        return found

    def muxed(batch: ds.Batch) -> None:
        assert _native.buffer_refcount(batch.buffer) == 1
        for row, frame in enumerate(batch.frames):
            before[frame.pad_index, frame.frame_num] = address(batch, row, False)

    def parted(batch: ds.Batch) -> None:
        (frame,) = batch.frames
        assert frame.batch_id == 0
        after[frame.pad_index, frame.frame_num] = (
            address(batch, 0, True),
            _native.buffer_refcount(batch.buffer),
        )

    pipeline = launch(
        "dsmux name=m ! testlook name=a ! dsdemux name=d d.src_0 ! queue ! testlook name=b "
        "! fakesink d.src_1 ! queue ! testlook name=c ! fakesink " + source(0, 5) + source(1, 5),
        a=muxed,
        b=parted,
        c=parted,
    )
    assert play(pipeline) == []
    assert len(before) == 10
    assert after == {key: (value, 1) for key, value in before.items()}


def test_no_linked_pad_at_all_is_told_upstream() -> None:
    pipeline = launch("dsmux name=m ! dsdemux name=d " + source(0, 50))
    pipeline.get_by_name("d").request_pad_simple("src_0")
    (text,) = texts(play(pipeline))
    assert "not-linked" in text
    dropped = stats(pipeline.get_by_name("d"))["dropped"]
    assert 0 < dropped < 50


def test_one_unlinked_pad_drops_its_frames_only() -> None:
    pipeline = launch(
        "dsmux name=m ! dsdemux name=d d.src_1 ! fakesink name=out " + source(0, 5) + source(1, 5)
    )
    pipeline.get_by_name("d").request_pad_simple("src_0")
    out = Pad(pipeline.get_by_name("out"))
    assert play(pipeline) == []
    assert len(out.only("buffer")) == 5
    assert stats(pipeline.get_by_name("d"))["dropped"] == 5


def test_an_error_in_one_branch_stops_the_stream() -> None:
    def fail(batch: ds.Batch) -> None:
        raise ZeroDivisionError("on purpose")

    pipeline = launch(
        "dsmux name=m ! dsdemux name=d d.src_0 ! testlook name=a ! fakesink "
        "d.src_1 ! queue ! fakesink " + source(0, -1) + source(1, -1),
        a=fail,
    )
    assert any("on purpose" in text for text in texts(play(pipeline)))


def test_all_branches_ended_is_the_end() -> None:
    # Sources without end: only the branches' answers can stop them.
    pipeline = launch(
        "dsmux name=m ! dsdemux name=d d.src_0 ! identity eos-after=3 ! fakesink async=false "
        "d.src_1 ! identity eos-after=5 ! fakesink async=false " + source(0, -1) + source(1, -1)
    )
    assert play(pipeline) == []


def test_states_can_cycle() -> None:
    pipeline, first, second = two("", source(0, 3, 30), source(1, 2, 10))
    for turn in range(1, 5):
        assert play(pipeline) == []
        assert len(first.only("buffer")) == 3 * turn
        assert len(second.only("buffer")) == 2 * turn
        assert [len(p.only("eos")) for p in (first, second)] == [turn, turn]


def test_a_name_taken_twice_is_refused() -> None:
    pipeline = launch("dsmux ! dsdemux name=d")
    demux = pipeline.get_by_name("d")
    assert demux.request_pad_simple("src_2").get_name() == "src_2"
    assert demux.request_pad_simple("src_%u").get_name() == "src_0"
    assert demux.request_pad_simple("src_2") is None
    message = pipeline.get_bus().timed_pop_filtered(0, Gst.MessageType.ERROR)
    assert "has a pad src_2 already" in texts([message])[0]


def test_batches_of_other_muxers_keep_the_batches_own_events() -> None:
    # dssynth makes batches without telling of streams.
    pipeline = launch(
        "videotestsrc num-buffers=3 ! video/x-raw,framerate=25/1 ! dssynth ! dsdemux name=d "
        "d.src_0 ! fakesink name=out"
    )
    out = Pad(pipeline.get_by_name("out"))
    assert play(pipeline) == []
    assert out.only("caps") == [("caps", (25, 1))]
    assert [b[1:] for b in out.only("buffer")] == [(k * 40 * MS, 40 * MS) for k in range(3)]


class Churn:
    """Adds and removes whole branches: source, muxer pad, demuxer pad, sink."""

    def __init__(self) -> None:
        self.pipeline = launch(
            "dsmux name=m width=16 height=16 ! dsdemux name=d d.src_0 ! queue name=q0 ! fakesink "
            + source(0, -1, 100, "is-live=true")
        )
        self.first = Pad(self.pipeline.get_by_name("q0"))
        self.pipeline.set_state(Gst.State.PLAYING)
        wait_for(lambda: self.first.only("buffer"), "no buffer of the first stream")

    def add(self, number: int) -> tuple[Any, ...]:
        pipeline = self.pipeline
        extra = Gst.parse_bin_from_description(
            "videotestsrc is-live=true "
            "! capsfilter caps=video/x-raw,width=16,height=16,framerate=100/1",
            True,
        )
        sink = Gst.ElementFactory.make("fakesink", None)
        sink.set_property("async", False)
        seen = Pad(sink)
        # A pipeline that is still on its way to PLAYING would start it before it is linked.
        extra.set_locked_state(True)
        pipeline.add(extra)
        pipeline.add(sink)
        sink.sync_state_with_parent()
        into = pipeline.get_by_name("m").request_pad_simple(f"sink_{number}")
        out = pipeline.get_by_name("d").request_pad_simple(f"src_{number}")
        assert out.link(sink.get_static_pad("sink")) == Gst.PadLinkReturn.OK
        assert extra.get_static_pad("src").link(into) == Gst.PadLinkReturn.OK
        extra.set_locked_state(False)
        extra.sync_state_with_parent()
        return extra, into, out, sink, seen

    def remove_input(self, branch: tuple[Any, ...]) -> None:
        extra, into, *_ = branch
        extra.set_state(Gst.State.NULL)
        self.pipeline.get_by_name("m").release_request_pad(into)
        self.pipeline.remove(extra)

    def remove_output(self, branch: tuple[Any, ...]) -> None:
        _, _, out, sink, _ = branch
        out.unlink(sink.get_static_pad("sink"))
        self.pipeline.get_by_name("d").release_request_pad(out)
        sink.set_state(Gst.State.NULL)
        self.pipeline.remove(sink)

    def goes_on(self) -> None:
        seen = len(self.first.only("buffer"))
        wait_for(lambda: len(self.first.only("buffer")) > seen + 3, "the first stream stops")

    def __enter__(self) -> Churn:
        return self

    def __exit__(self, *error: Any) -> None:
        self.pipeline.set_state(Gst.State.NULL)


def test_a_number_that_comes_back_is_another_stream() -> None:
    with Churn() as churn:
        for _ in range(5):
            branch = churn.add(1)
            seen = branch[-1]
            wait_for(lambda s=seen: s.only("buffer"), "no frame of the new stream")
            churn.remove_input(branch)
            churn.remove_output(branch)
            assert seen.kinds()[:4] == ["stream-start", "caps", "segment", "buffer"]
        churn.goes_on()
        assert stats(churn.pipeline.get_by_name("d"))["errors"] == 0


def test_a_sink_that_had_its_end_takes_no_other_stream_and_stops_nobody() -> None:
    with Churn() as churn:
        branch = churn.add(1)
        seen = branch[-1]
        wait_for(lambda: seen.only("buffer"), "no frame")
        churn.remove_input(branch)
        wait_for(lambda: seen.only("eos"), "no end")
        # The same number again, into the same pad and sink.
        extra = Gst.parse_bin_from_description(
            "videotestsrc is-live=true "
            "! capsfilter caps=video/x-raw,width=16,height=16,framerate=100/1",
            True,
        )
        extra.set_locked_state(True)
        churn.pipeline.add(extra)
        into = churn.pipeline.get_by_name("m").request_pad_simple("sink_1")
        extra.get_static_pad("src").link(into)
        extra.set_locked_state(False)
        extra.sync_state_with_parent()
        churn.goes_on()
        # GStreamer 1.22's sink refuses it, and the frames count as dropped; 1.26's takes it.
        dropped = stats(churn.pipeline.get_by_name("d"))["dropped"]
        taken = len(seen.only("buffer"))
        wait_for(
            lambda: (
                stats(churn.pipeline.get_by_name("d"))["dropped"] > dropped
                or len(seen.only("buffer")) > taken
            ),
            "frames vanish",
        )
        churn.goes_on()
        bus = churn.pipeline.get_bus()
        assert bus.pop_filtered(Gst.MessageType.ERROR) is None


def test_branches_come_and_go_from_several_threads() -> None:
    with Churn() as churn:

        def work(number: int) -> None:
            for turn in range(8):
                branch = churn.add(number)
                time.sleep(0.005 * (turn % 3))
                churn.remove_input(branch)
                churn.remove_output(branch)

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads), "it hangs"
        churn.goes_on()
        for name in ("m", "d"):
            assert stats(churn.pipeline.get_by_name(name))["errors"] == 0
        left = {child.get_name() for child in churn.pipeline.get_by_name("m").children}
        assert len(left) == 4  # the aggregator and the three of the first input
