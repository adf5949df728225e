"""What goes wrong around process(): nothing escapes into C, nothing is swallowed."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds

SOURCE = "videotestsrc num-buffers={n} ! video/x-raw,width=64,height=48"


class TextFails(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@ds.element("testmaker", description="Gives buffers a batch, and may raise in process()")
class Maker(ds.MetaTransform):
    __gtype_name__ = "DsTestMaker"
    create_meta = True
    fail_at = ds.Property(-1, min=-1, help="Frame number at which process() raises")

    def process(self, batch: ds.Batch) -> None:
        frame = batch.frames[0]
        frame.add_object((1, 2, 3, 4), label="made")
        if frame.frame_num == self.fail_at:
            raise KeyError("not made")


@ds.element("testcaps", description="Refuses one width")
class Picky(ds.MetaTransform):
    __gtype_name__ = "DsTestPicky"

    def on_caps(self, caps: Any) -> None:
        assert self.video_info is not None
        if self.video_info.width == 32:
            raise ValueError("32 is too narrow")

    def process(self, batch: ds.Batch) -> None:
        return None


@ds.element("teststops", description="Fails to stop, and warns")
class Stops(ds.MetaTransform):
    __gtype_name__ = "DsTestStops"
    refuse = ds.Property(True, help="stop() raises")

    def stop(self) -> None:
        if self.refuse:
            raise OSError("the file is full")

    def process(self, batch: ds.Batch) -> None:
        self.post_warning("look at this")


def raising(error: BaseException) -> Callable[[ds.Batch], object]:
    def process(batch: ds.Batch) -> object:
        raise error

    return process


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt("stop"), "KeyboardInterrupt: stop"),
        (TextFails(), "TextFails: (its text cannot be had: ValueError)"),
        (ValueError("a\0b\udc80c"), "ValueError: a?b?c"),
        (MemoryError(), "MemoryError: "),
    ],
)
@pytest.mark.parametrize(("policy", "arrive"), [("fail", 0), ("drop", 0), ("pass", 3)])
def test_whatever_is_raised_goes_by_the_policy(
    error: BaseException, told: str, policy: str, arrive: int
) -> None:
    seen: list[int] = []
    pipeline = launch(
        f"{SOURCE.format(n=3)} ! dssynth num-objects=2 ! testlook name=bad on-error={policy} "
        "! testlook name=after ! fakesink",
        bad=raising(error),
        after=lambda batch: seen.append(len(batch.objects)),
    )
    first = texts(play(pipeline))[0]
    kind = "error" if policy == "fail" else "warning"
    assert first.startswith(f"{kind}: Look.process: {told}\n")
    assert seen == [2] * arrive
    assert stats(pipeline.get_by_name("bad"))["errors"] == (1 if policy == "fail" else 3)


def test_warnings_kept_back_are_told_at_the_stop() -> None:
    pipeline = launch(
        f"{SOURCE.format(n=7)} ! dssynth ! testlook name=bad on-error=pass ! fakesink",
        bad=raising(ValueError("each time")),
    )
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    assert bus.timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.EOS) is not None
    pipeline.set_state(Gst.State.READY)
    found = []
    while (message := bus.pop_filtered(Gst.MessageType.WARNING)) is not None:
        found.append(message)
    pipeline.set_state(Gst.State.NULL)
    # The first one was taken off the bus with what came before the end of stream.
    last = texts(found)[-1]
    assert last.startswith("warning: warnings at the stop: UserWarning: 6 more")


@pytest.mark.parametrize(
    ("verdict", "arrive"),
    [(None, 4), (True, 4), (np.True_, 4), (False, 0), (ds.DROP, 0), (np.False_, 0)],
)
def test_only_false_drops(verdict: object, arrive: int) -> None:
    seen: list[int] = []
    pipeline = launch(
        f"{SOURCE.format(n=4)} ! dssynth ! testlook name=v ! testlook name=after ! fakesink",
        v=lambda batch: verdict,
        after=lambda batch: seen.append(1),
    )
    assert play(pipeline) == []
    assert len(seen) == arrive
    assert stats(pipeline.get_by_name("v"))["dropped"] == 4 - arrive


def test_a_batch_that_could_not_be_filled_passes_with_its_frame() -> None:
    ds.register(Maker)
    seen: list[Any] = []
    pipeline = launch(
        f"{SOURCE.format(n=4)} ! testmaker fail-at=1 on-error=pass ! testlook name=after "
        "! fakesink",
        after=lambda batch: seen.append(
            [(f.frame_num, f.source_frame_width, len(f.objects)) for f in batch.frames]
        ),
    )
    (warning,) = texts(play(pipeline))
    assert "KeyError: 'not made'" in warning
    assert seen == [[(0, 64, 1)], [(1, 64, 0)], [(2, 64, 1)], [(3, 64, 1)]]


def test_an_init_that_forgets_its_base_is_told_at_the_start() -> None:
    @ds.element("testnoinit", description="Forgets super().__init__()")
    class NoInit(ds.MetaTransform):
        __gtype_name__ = "DsTestNoInit"

        def __init__(self) -> None:
            pass

        def process(self, batch: ds.Batch) -> None:
            return None

    ds.register(NoInit)
    (error,) = texts(play(launch(f"{SOURCE.format(n=1)} ! testnoinit ! fakesink")))
    assert error.startswith("error: starting: RegistrationError: NoInit.__init__ failed or did not")


def test_refused_caps_are_an_element_error() -> None:
    pipeline = launch(
        "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=32,height=48 ! testcaps "
        "! fakesink"
    )
    messages = texts(play(pipeline))
    assert messages[0].startswith("error: taking caps video/x-raw")
    assert "ValueError: 32 is too narrow" in messages[0]


def test_a_stop_that_raises_is_a_warning_and_the_state_changes() -> None:
    pipeline = launch(f"{SOURCE.format(n=1)} ! teststops name=s ! fakesink")
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    assert bus.timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.EOS) is not None
    assert pipeline.set_state(Gst.State.READY) == Gst.StateChangeReturn.SUCCESS
    message = bus.pop_filtered(Gst.MessageType.WARNING)
    pipeline.set_state(Gst.State.NULL)
    assert message.parse_warning()[0].message == "stopping: OSError: the file is full"


def test_an_elements_own_warnings_are_limited() -> None:
    pipeline = launch(f"{SOURCE.format(n=30)} ! dssynth ! teststops name=s refuse=false ! fakesink")
    messages = texts(play(pipeline))
    assert messages[0].startswith("warning: s: UserWarning: look at this\n")
    assert len(messages) < 5


@pytest.mark.parametrize("how", ["wrapped", "no code"])
def test_a_slow_process_of_any_kind_is_named(how: str) -> None:
    import time

    def process(self: Any, batch: ds.Batch) -> None:
        time.sleep(0.02)

    if how == "wrapped":

        @functools.wraps(process)
        def outer(self: Any, batch: ds.Batch) -> None:
            process(self, batch)

        method: Any = outer
    else:

        class Compiled:  # as a function of a C extension: no __code__
            def __get__(self, instance: Any, owner: type) -> Any:
                return self if instance is None else functools.partial(process, instance)

        method = Compiled()
    name = f"testslow{how.replace(' ', '')}"
    cls = type("Slow", (ds.MetaTransform,), {"process": method, "__gtype_name__": f"Ds{name}"})
    ds.register(ds.element(name, description="Sleeps")(cls))
    pipeline = launch(f"{SOURCE.format(n=1)} ! dssynth ! {name} max-latency-ms=5 ! fakesink")
    (warning,) = texts(play(pipeline))
    named = f"{process.__qualname__} ({__file__}:" if how == "wrapped" else "Slow.process took "
    assert warning.startswith(f"warning: max-latency-ms: TimeoutError: {named}")


def test_statistics_balance() -> None:
    pipeline = launch(
        f"{SOURCE.format(n=6)} ! testlook name=none ! dssynth num-objects=3 ! testlook name=add "
        "! testlook name=remove ! fakesink",
        add=lambda batch: batch.frames[0].add_object((1, 1, 2, 2)) and None,
        remove=lambda batch: batch.remove([0, 1]) and None,
    )
    (warning,) = texts(play(pipeline))
    assert "told once" in warning
    found = {n: stats(pipeline.get_by_name(n)) for n in ("none", "add", "remove")}
    keys = ("buffers", "batches", "no-meta", "objects-in", "objects-added", "objects-removed",
            "objects-out", "errors", "dropped")  # fmt: skip
    assert [found["none"][k] for k in keys] == [6, 0, 6, 0, 0, 0, 0, 0, 0]
    assert [found["add"][k] for k in keys] == [6, 6, 0, 18, 6, 0, 24, 0, 0]
    assert [found["remove"][k] for k in keys] == [6, 6, 0, 24, 0, 12, 12, 0, 0]


def test_a_seek_flushes_and_goes_on() -> None:
    numbers: list[int] = []
    pipeline = launch(
        "videotestsrc num-buffers=40 ! video/x-raw,width=16,height=16,framerate=20/1 ! dssynth "
        "! testlook name=look ! fakesink name=out sync=false",
        look=lambda batch: numbers.append(batch.frames[0].buf_pts // (Gst.SECOND // 20)),
    )
    pipeline.set_state(Gst.State.PAUSED)
    assert pipeline.get_state(10 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
    flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
    assert pipeline.seek_simple(Gst.Format.TIME, flags, Gst.SECOND)
    assert pipeline.get_state(10 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
    assert numbers[0] == 0
    assert numbers[-1] == 20  # the frame at one second
    assert play(pipeline) == []


def test_log_lines_have_the_elements_category(tmp_path: Any) -> None:
    code = """
import dselements as ds

@ds.element("testlog", description="Logs")
class Logs(ds.MetaTransform):
    def process(self, batch):
        self.log.info("100% of a\\0b")
        self.log.debug("too fine")

ds.register(Logs)
ds.run("videotestsrc num-buffers=1 ! dssynth ! testlog name=chatty ! fakesink")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**__import__("os").environ, "GST_DEBUG": "testlog:4", "GST_DEBUG_NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = [line for line in done.stderr.splitlines() if " testlog " in line]
    assert len(lines) == 1
    assert "INFO" in lines[0]
    assert "<chatty>" in lines[0]
    assert lines[0].endswith("100% of a?b")


def test_run_logs_warnings_of_the_bus(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "dselements.element"):
        ds.run("videotestsrc num-buffers=3 ! dspythonfilter name=lonely ! fakesink")
    assert "lonely" in caplog.text
    assert "without NvDsBatchMeta pass unchanged" in caplog.text
