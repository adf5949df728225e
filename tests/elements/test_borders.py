"""Nothing leaves Python for C: not SystemExit either; odd results and uses are refused."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, texts

import dselements as ds
from dselements._core import _native
from dselements.errors import RegistrationError

RAISED: dict[str, BaseException | None] = dict.fromkeys(("start", "stop", "configure", "caps"))


@ds.element("testborder", description="Raises where it is told to")
class Border(ds.MetaTransform):
    __gtype_name__ = "DsTestBorder"

    def start(self) -> None:
        self._raise("start")

    def stop(self) -> None:
        self._raise("stop")

    def configure(self) -> None:
        self._raise("configure")

    def on_caps(self, caps: Any) -> None:
        self._raise("caps")

    def process(self, batch: ds.Batch) -> object:
        return None

    @staticmethod
    def _raise(where: str) -> None:
        error = RAISED[where]
        if error is not None:
            raise error


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("where", ["start", "configure", "caps", "stop"])
def test_whatever_a_hook_raises_is_posted(
    where: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RAISED, where, kind("told to"))
    pipeline = launch("videotestsrc num-buffers=3 ! dssynth ! testborder ! fakesink")
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    kinds = Gst.MessageType.ERROR | Gst.MessageType.EOS
    first = bus.timed_pop_filtered(5 * Gst.SECOND, kinds)
    pipeline.set_state(Gst.State.NULL)
    assert first is not None
    if where == "stop":
        assert first.type == Gst.MessageType.EOS
        return  # a warning, but the bus is flushed by the state change
    assert kind.__name__ in texts([first])[0]


@pytest.mark.parametrize("value", ["drop", 0, 1, Gst.FlowReturn.EOS, [], object()])
def test_odd_results_of_process_are_errors(value: Any) -> None:
    pipeline = launch(
        "videotestsrc num-buffers=3 ! dssynth ! testlook name=look ! fakesink",
        look=lambda batch: value,
    )
    (text,) = texts(play(pipeline))
    assert text.startswith("error: ")
    assert "ProcessResultError" in text
    assert "ds.DROP" in text


def test_a_coroutine_is_refused_when_the_class_is_made() -> None:
    class Later(ds.MetaTransform):
        async def process(self, batch: ds.Batch) -> None:  # type: ignore[override]
            batch.remove([])

    with pytest.raises(RegistrationError, match="coroutine or generator"):
        ds.element("testlater", description="Never runs")(Later)


def samples(n: int) -> list[Any]:
    pipeline = launch(
        f"videotestsrc num-buffers={n} ! video/x-raw,format=RGBA,width=640,height=360 "
        "! dssynth num-objects=5 ! appsink name=sink sync=false"
    )
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    found = []
    while (sample := sink.emit("pull-sample")) is not None:
        found.append(sample)
    pipeline.set_state(Gst.State.NULL)
    return found


def test_a_batch_keeps_the_buffer_it_came_from() -> None:
    batches = [ds.Batch.from_buffer(sample.get_buffer()) for sample in samples(5)]
    gc.collect()
    junk = [bytearray(b"\xff" * n) for n in range(200, 6000, 8)]
    assert _native.live_batches() == 5
    assert [len(batch.objects) for batch in batches] == [5] * 5
    assert {batch.objects.label[0] for batch in batches} <= {"person", "car", "bicycle"}
    for batch in batches:
        batch.close()
    gc.collect()
    assert _native.live_batches() == 0
    assert junk


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_pixels_kept_beyond_their_buffer_are_freed_with_the_last_view() -> None:
    kept: list[Any] = []

    def keep(batch: ds.Batch) -> None:
        kept.append(batch.frames[0].surface().array)

    sizes = []
    for _ in range(6):
        pipeline = launch(
            "videotestsrc num-buffers=20 ! video/x-raw,format=RGBA,width=1280,height=720 "
            "! dssynth ! testlook name=look ! fakesink",
            look=keep,
        )
        assert play(pipeline) == []
        del pipeline
        gc.collect()
        assert int(kept[0][0, 0, 3]) == 255  # still there
        kept.clear()
        sizes.append(resident_mb())
    # 20 frames of 3.7 MB a run would be 74 MB more each time.
    assert sizes[-1] - sizes[-3] < 74


def test_two_batches_on_one_metadata_the_later_commit_is_refused() -> None:
    objects = [{"rect": (0, 0, 9, 9), "label": f"old{i}"} for i in range(3)]
    with ds.Batch.synthetic([{"objects": objects}]) as own:
        a, b = ds.Batch(own.address), ds.Batch(own.address)
        b.objects.label[0] = "meant for old0"
        a.objects[0].remove()
        a.commit()
        a.frames[0].add_object((5, 5, 5, 5), label="new")  # gets old0's memory and place
        a.commit()
        with pytest.raises(ds.errors.ConcurrentEditError):
            b.commit()
        assert own.objects.label.tolist() == ["new", "old1", "old2"]


def test_run_can_be_interrupted() -> None:
    code = (
        "import dselements as ds\n"
        "print('up', flush=True)\n"
        "try:\n"
        "    ds.run('videotestsrc is-live=true ! dssynth ! fakesink')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert out == "interrupted\n", err


def test_a_bad_message_name_is_refused() -> None:
    ds.register("dssynth")
    element = Gst.ElementFactory.make("dssynth", None)
    with pytest.raises(ds.errors.PropertyValueError, match="cannot name a message"):
        element.post_element_message("1 bad name")


@ds.element("testhalfmade", description="Its __init__ raises after its base's")
class HalfMade(ds.MetaTransform):
    __gtype_name__ = "DsTestHalfMade"

    def __init__(self) -> None:
        super().__init__()
        raise LookupError("no such weights")

    def process(self, batch: ds.Batch) -> None:
        raise AssertionError("never called")


def test_an_element_whose_init_raised_does_not_start(capfd: pytest.CaptureFixture[str]) -> None:
    ds.register(HalfMade)
    pipeline = launch("videotestsrc num-buffers=1 ! dssynth ! testhalfmade ! fakesink")
    (text,) = texts(play(pipeline))
    assert "HalfMade.__init__ failed: LookupError: no such weights" in text
    assert "LookupError: no such weights" in capfd.readouterr().err  # PyGObject's own


@pytest.mark.parametrize("wrong", [None, 5, "abc", 0, -1, True])
def test_from_buffer_refuses_what_is_no_buffer(wrong: Any) -> None:
    with pytest.raises(ds.errors.MetadataValueError, match=r"takes a Gst\.Buffer"):
        ds.Batch.from_buffer(wrong)


def test_from_buffer_refuses_other_gstreamer_objects() -> None:
    sample = samples(1)[0]
    for wrong in (sample, sample.get_caps(), Gst.Pipeline.new("x"), Gst.BufferList.new()):
        with pytest.raises(ds.errors.MetadataValueError, match=r"takes a Gst\.Buffer"):
            ds.Batch.from_buffer(wrong)


def test_from_buffer_refuses_a_probes_info() -> None:
    told: list[str] = []

    def probe(_pad: Any, info: Any) -> Any:
        try:
            ds.Batch.from_buffer(info)
        except ds.errors.MetadataValueError as error:
            told.append(str(error))
        return Gst.PadProbeReturn.OK

    pipeline = launch("videotestsrc num-buffers=1 ! dssynth name=s ! fakesink")
    pad = pipeline.get_by_name("s").get_static_pad("src")
    pad.add_probe(Gst.PadProbeType.BUFFER, probe)
    assert play(pipeline) == []
    assert len(told) == 1
    assert "info.get_buffer()" in told[0]
