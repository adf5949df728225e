"""Inputs of dsmux come and go while playing: any thread, stalled ones, the last one, many times."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import shell, stats
from stream_tools import Gst, change, clip, launch, message, no_message, stop_all, wait_for

import dselements as ds
from dselements._core import _native

FAST = "video/x-raw,width=16,height=16,framerate=100/1"
ERROR, EOS = Gst.MessageType.ERROR, Gst.MessageType.EOS


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    stop_all()


def _drop(_pad: Any, _info: Any) -> Any:
    return Gst.PadProbeReturn.DROP


class Mux:
    """A playing dsmux; adds and removes inputs."""

    def __init__(self, *sources: str, more: str = "") -> None:
        self.rows: list[list[int]] = []
        self.numbers: list[list[int]] = []
        self.pipeline = launch(
            f"dsmux name=m width=16 height=16 {more} ! testlook name=look "
            "! fakesink async=false sync=false " + " ".join(sources),
            look=self._look,
        )
        self.mux = self.pipeline.get_by_name("m")
        change(self.pipeline, Gst.State.PLAYING)

    def _look(self, batch: ds.Batch) -> None:
        self.numbers.append(batch.frames.frame_num.tolist())
        self.rows.append(batch.frames.pad_index.tolist())

    def add(self, number: int | None, text: str = "is-live=true", tail: str = "") -> Any:
        """Add a source; returns what :meth:`remove` takes."""
        source = Gst.parse_bin_from_description(
            f'videotestsrc {text} ! capsfilter caps="{FAST}" {tail}', True
        )
        source.set_locked_state(True)  # not before it is linked
        self.pipeline.add(source)
        pad = self.mux.request_pad_simple("sink_%u" if number is None else f"sink_{number}")
        assert source.get_static_pad("src").link(pad) == Gst.PadLinkReturn.OK
        source.set_locked_state(False)
        assert source.sync_state_with_parent()
        return source, pad

    def remove(self, branch: Any) -> None:
        """As docs/howto/inputs.md has it: works for a source that is stuck in dsmux, too."""
        source, pad = branch
        source.set_locked_state(True)
        source.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, _drop)
        self.mux.release_request_pad(pad)
        source.set_state(Gst.State.NULL)
        self.pipeline.remove(source)

    def goes_on(self, with_pads: list[int]) -> None:
        seen = len(self.rows)
        wait_for(
            lambda: self.rows[seen + 1 :].count(with_pads) > 2,
            f"no batches of {with_pads}: {self.rows[-5:]}",
        )
        no_message(self.pipeline, ERROR | EOS)


@pytest.mark.parametrize("live", [True, False])
def test_one_number_comes_back_again_and_again(live: bool) -> None:
    one = Mux(clip(0, -1, "is-live=true" if live else "", FAST))
    text = "is-live=true" if live else ""
    for _ in range(25):
        branch = one.add(5, text)
        one.goes_on([0, 5])
        one.remove(branch)
        one.goes_on([0])
    # Each time its frames count from 0.
    both = [5 in row for row in one.rows]
    starts = [
        one.numbers[i][1] for i, now in enumerate(both) if now and (i == 0 or not both[i - 1])
    ]
    change(one.pipeline, Gst.State.NULL)
    assert starts == [0] * 25
    assert one.mux.numsinkpads == 1
    assert len(one.mux.children) == 4


def test_the_last_input_goes_and_another_comes() -> None:
    one = Mux()
    for turn in range(8):
        branch = one.add(turn % 2)
        one.goes_on([turn % 2])
        one.remove(branch)
        no_message(one.pipeline, ERROR | EOS)
    assert one.mux.numsinkpads == 0


def test_an_input_that_ended_is_replaced() -> None:
    one = Mux(clip(0, -1, "is-live=true", FAST))
    for turn in range(1, 4):
        branch = one.add(1, "is-live=true num-buffers=3")
        wait_for(
            lambda n=turn: one.rows.count([0, 1]) == 3 * n and one.rows[-4:] == [[0]] * 4,
            "it does not end",
        )
        one.remove(branch)
    one.goes_on([0])
    assert one.rows.count([0, 1]) == 9


def test_a_stalled_input_is_removed_with_its_source_in_mid_push() -> None:
    # Both wait: the first in dsmux for the second, the second in its own valve.
    for _ in range(5):
        one = Mux(clip(0, -1, "", FAST))
        branch = one.add(1, "", "! valve drop=true")
        seen = len(one.rows)
        one.pipeline.get_bus().timed_pop_filtered(50 * Gst.MSECOND, ERROR)
        assert [0, 1] not in one.rows[seen:]
        one.remove(branch)
        one.goes_on([0])
        stop_all()


def test_all_ended_but_one_removed_is_the_end() -> None:
    one = Mux(clip(0, 5, "is-live=true", FAST))
    branch = one.add(1, "is-live=true", "! valve drop=true")
    one.pipeline.get_bus().timed_pop_filtered(100 * Gst.MSECOND, ERROR)
    assert len(one.rows) < 5  # it waits for the second one
    one.remove(branch)
    assert message(one.pipeline, EOS | ERROR).type == EOS
    assert one.rows == [[0]] * 5


def test_from_streaming_threads() -> None:
    # As decodebin's pad-added does, and as an element that replaces its source does.
    one = Mux(clip(0, -1, "is-live=true", FAST))
    made: list[Any] = []
    failed: list[BaseException] = []

    def in_the_stream(_pad: Any, _info: Any) -> Any:
        # Runs in the streaming thread of input 0.
        try:
            if len(made) < 12:
                made.append(one.add(len(made) + 1))
            elif len(made) < 24:
                one.remove(made[len(made) - 12])
                made.append(None)
        except BaseException as error:  # noqa: BLE001 -- told below
            failed.append(error)
        return Gst.PadProbeReturn.OK

    source = one.pipeline.get_by_name("s0").get_static_pad("src")
    source.add_probe(Gst.PadProbeType.BUFFER, in_the_stream)
    wait_for(lambda: len(made) == 24 or failed, "the stream stops")
    assert failed == []
    one.goes_on([0])
    assert one.mux.numsinkpads == 1


def test_pads_of_decodebin_are_linked_as_they_come() -> None:
    rows: list[list[int]] = []
    pipeline = launch(
        "dsmux name=m width=16 height=16 ! testlook name=look ! fakesink",
        look=lambda batch: rows.append(batch.frames.pad_index.tolist()),
    )
    mux = pipeline.get_by_name("m")

    def pad_added(_element: Any, pad: Any) -> None:
        assert pad.link(mux.request_pad_simple("sink_%u")) == Gst.PadLinkReturn.OK

    for _ in range(3):
        source = Gst.parse_bin_from_description(
            "videotestsrc num-buffers=10 ! video/x-raw,width=16,height=16 ! jpegenc "
            "! decodebin name=dec",
            False,
        )
        decoder = source.get_by_name("dec")
        pipeline.add(source)

        def inside(element: Any, pad: Any, source: Any = source) -> None:
            ghost = Gst.GhostPad.new(None, pad)
            ghost.set_active(True)
            source.add_pad(ghost)
            pad_added(element, ghost)

        decoder.connect("pad-added", inside)
    pipeline.set_state(Gst.State.PLAYING)
    assert message(pipeline, EOS | ERROR).type == EOS
    change(pipeline, Gst.State.NULL)
    assert sum(len(row) for row in rows) == 30
    assert {pad for row in rows for pad in row} == {0, 1, 2}


def test_from_many_threads_nothing_grows() -> None:
    one = Mux(clip(0, -1, "is-live=true", FAST), more="batched-push-timeout=20000")
    failed: list[BaseException] = []

    def work(number: int, turns: int) -> None:
        try:
            for _ in range(turns):
                one.remove(one.add(number))
        except BaseException as error:  # noqa: BLE001 -- told below
            failed.append(error)

    def churn(turns: int) -> int:
        threads = [threading.Thread(target=work, args=(n, turns), daemon=True) for n in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "it hangs"
        bus = one.pipeline.get_bus()
        while bus.pop() is not None:
            pass  # or the messages would be what grows
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4

    churn(40)
    before = churn(40)
    after = churn(40)
    assert failed == []
    one.goes_on([0])
    change(one.pipeline, Gst.State.NULL)
    assert stats(one.mux)["errors"] == 0
    assert one.mux.numsinkpads == 1
    assert len(one.mux.children) == 4
    # 120 inputs of four elements: one left behind each time would be several MB.
    assert after - before < 3000
    assert _native.live_batches() == 0


def test_gst_launch_in_a_fresh_process_with_inputs_that_end_apart(tmp_path: Path) -> None:
    text = (
        "videotestsrc num-buffers=3 ! m.sink_0 videotestsrc num-buffers=12 ! m.sink_7 "
        "dsmux name=m width=64 height=48 ! dssynth ! dspythonfilter ! dsosd ! dsdemux name=d "
        "d.src_0 ! queue ! fakesink d.src_7 ! queue ! fakesink"
    )
    done = shell(
        ["gst-launch-1.0", "-m", *text.split()],
        tmp_path,
        GST_TRACERS="leaks",
        GST_DEBUG="GST_TRACER:7",
        GST_DEBUG_NO_COLOR="1",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("(eos)") == 1
    alive = [
        line
        for line in done.stderr.splitlines()
        if "object-alive," in line and "type-name=(string)%s" not in line
    ]
    assert alive == []
