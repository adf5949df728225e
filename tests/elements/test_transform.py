"""MetaTransform in real pipelines: edits, error policies, statistics, state changes."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds
from dselements.errors import DselementsError

SOURCE = "videotestsrc num-buffers={n} ! video/x-raw,width=64,height=48"


@ds.element("testgate", description="Removes unsure objects, renames, fails when told")
class Gate(ds.MetaTransform):
    __gtype_name__ = "DsTestGate"
    min_confidence = ds.Property(0.5, min=0.0, max=1.0, help="Objects below are removed")
    fail_at = ds.Property(-1, min=-1, help="Frame number at which process() raises")
    nan_at = ds.Property(-1, min=-1, help="Frame number at which a NaN is written")
    sleep_ms = ds.Property(0, min=0, help="Sleep in process()")

    def process(self, batch: ds.Batch) -> None:
        number = batch.frames[0].frame_num
        batch.remove(batch.objects.confidence < self.min_confidence)
        if number == self.fail_at:
            raise KeyError("user code went wrong")
        if number == self.nan_at:
            batch.objects.rect[0, 1] = math.nan
        if self.sleep_ms:
            time.sleep(self.sleep_ms / 1000)


def counted(description: str, n: int = 20) -> tuple[Any, list[int], list[Any]]:
    """Run synthetic objects through ``description``; objects that arrive on each buffer."""
    seen: list[int] = []
    pipeline = launch(
        f"{SOURCE.format(n=n)} ! dssynth num-objects=10 ! {description} ! testlook name=look "
        "! fakesink",
        look=lambda batch: seen.append(len(batch.objects)),
    )
    return pipeline, seen, play(pipeline)


def test_edits_reach_the_next_element() -> None:
    pipeline, seen, messages = counted("testgate min-confidence=0.6 name=gate")
    assert messages == []
    assert len(seen) == 20
    assert len(set(seen)) == 1  # confidences do not change from frame to frame
    assert 0 < seen[0] < 10
    found = stats(pipeline.get_by_name("gate"))
    assert found["buffers"] == 20
    assert found["objects-in"] == 200
    assert found["objects-out"] == 20 * seen[0]
    assert found["objects-removed"] == 200 - 20 * seen[0]
    assert found["process-ns"] >= found["process-ns-max"] > 0


def test_fail_stops_with_the_users_traceback() -> None:
    pipeline, seen, messages = counted("testgate fail-at=5 name=gate")
    assert len(seen) == 5
    (text,) = texts(messages)
    assert text.startswith("error: Gate.process: KeyError: 'user code went wrong'")
    assert 'raise KeyError("user code went wrong")' in text
    assert stats(pipeline.get_by_name("gate"))["errors"] == 1


def test_drop_loses_that_buffer_only() -> None:
    pipeline, seen, messages = counted("testgate fail-at=5 on-error=drop name=gate")
    assert len(seen) == 19
    assert [t.split("\n")[0] for t in texts(messages)] == [
        "warning: Gate.process: KeyError: 'user code went wrong'"
    ]
    found = stats(pipeline.get_by_name("gate"))
    assert (found["errors"], found["dropped"]) == (1, 1)


def test_pass_leaves_the_metadata_as_it_was() -> None:
    pipeline, seen, messages = counted("testgate fail-at=5 min-confidence=1 on-error=pass name=g")
    assert seen == [0] * 5 + [10] + [0] * 14
    assert len(messages) == 1
    assert stats(pipeline.get_by_name("g"))["errors"] == 1


@pytest.mark.parametrize(
    ("policy", "arrive", "kind"),
    [("fail", 3, "error"), ("drop", 19, "warning"), ("pass", 20, "warning")],
)
def test_a_nan_is_refused_at_commit_under_each_policy(policy: str, arrive: int, kind: str) -> None:
    _, seen, messages = counted(f"testgate nan-at=3 min-confidence=0 on-error={policy}")
    assert seen == [10] * arrive
    (text,) = texts(messages)
    assert text.startswith(f"{kind}: Gate.process: NonFiniteValueError: rect of object 0")
    assert "hint:" in text


def test_warnings_are_limited_and_counted() -> None:
    @ds.element("testalwaysfails", description="Raises")
    class AlwaysFails(ds.MetaTransform):
        __gtype_name__ = "DsTestAlwaysFails"

        def process(self, batch: ds.Batch) -> None:
            raise ValueError("every time")

    pipeline, seen, messages = counted("testalwaysfails on-error=pass name=bad", n=200)
    assert len(seen) == 200
    assert 1 <= len(messages) < 20
    assert stats(pipeline.get_by_name("bad"))["errors"] == 200


def test_dropping_by_return_value() -> None:
    pipeline = launch(
        f"{SOURCE.format(n=10)} ! dssynth ! testlook name=odd ! testlook name=rest ! fakesink",
        odd=lambda batch: ds.DROP if batch.frames[0].frame_num % 2 else None,
    )
    seen: list[int] = []
    pipeline.get_by_name("rest").call = lambda batch: seen.append(batch.frames[0].frame_num)
    assert play(pipeline) == []
    assert seen == [0, 2, 4, 6, 8]
    assert stats(pipeline.get_by_name("odd"))["dropped"] == 5


def test_a_slow_process_is_named() -> None:
    pipeline, seen, messages = counted("testgate sleep-ms=30 max-latency-ms=10 name=gate", n=3)
    assert len(seen) == 3
    first = texts(messages)[0]
    assert first.startswith("warning: max-latency-ms: TimeoutError: Gate.process (")
    assert "test_transform.py" in first
    assert stats(pipeline.get_by_name("gate"))["late"] == 3


def test_buffers_without_metadata_pass_and_are_counted() -> None:
    pipeline = launch(f"{SOURCE.format(n=4)} ! testgate name=gate ! fakesink")
    (warning,) = texts(play(pipeline))
    assert "buffers without NvDsBatchMeta pass unchanged" in warning
    assert "convert before it is made" in warning
    found = stats(pipeline.get_by_name("gate"))
    assert (found["buffers"], found["no-meta"]) == (4, 4)


def test_branches_of_a_tee_do_not_see_each_others_edits() -> None:
    left: list[int] = []
    right: list[list[str]] = []
    pipeline = launch(
        f"{SOURCE.format(n=10)} ! dssynth num-objects=6 classes=car ! tee name=t "
        "t. ! queue ! testgate min-confidence=1 ! testlook name=left ! fakesink "
        "t. ! queue ! dspythonfilter relabel=car:bus ! testlook name=right ! fakesink",
        left=lambda batch: left.append(len(batch.objects)),
        right=lambda batch: right.append(batch.objects.label.tolist()),
    )
    assert play(pipeline) == []
    assert left == [0] * 10
    assert right == [["bus"] * 6] * 10


def test_copies_behind_a_tee_keep_order_and_parents() -> None:
    def link(batch: ds.Batch) -> None:
        objects = batch.frames[0].objects
        objects[0].parent = objects[3]

    seen: dict[str, list[Any]] = {"a": [], "b": []}

    def note(name: str) -> Any:
        return lambda batch: seen[name].append(
            (batch.objects.object_id.tolist(), batch.objects.parent.tolist())
        )

    pipeline = launch(
        f"{SOURCE.format(n=5)} ! dssynth num-objects=5 ! testlook name=link ! tee name=t "
        "t. ! queue ! testlook name=a ! fakesink t. ! queue ! testlook name=b ! fakesink",
        link=link,
        a=note("a"),
        b=note("b"),
    )
    assert play(pipeline) == []
    expected = [([1, 2, 3, 4, 5], [3, -1, -1, -1, -1])] * 5
    assert seen == {"a": expected, "b": expected}


def test_states_can_cycle() -> None:
    pipeline = launch(
        "videotestsrc ! video/x-raw,width=16,height=16 ! dssynth ! testgate ! fakesink"
    )
    for _ in range(20):
        pipeline.set_state(Gst.State.PLAYING)
        assert pipeline.get_state(5 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
        pipeline.set_state(Gst.State.READY)
        assert pipeline.get_state(5 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
    pipeline.set_state(Gst.State.NULL)


def test_start_that_raises_is_an_element_error() -> None:
    @ds.element("testbadstart", description="Refuses to start")
    class BadStart(ds.MetaTransform):
        __gtype_name__ = "DsTestBadStart"

        def start(self) -> None:
            raise OSError("no such thing")

        def process(self, batch: ds.Batch) -> None:
            raise AssertionError("never called")

    pipeline = launch(f"{SOURCE.format(n=1)} ! testbadstart ! fakesink")
    bus = pipeline.get_bus()
    assert pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE
    message = bus.timed_pop_filtered(Gst.SECOND, Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message.parse_error()[0].message == "starting: OSError: no such thing"


def test_handles_kept_beyond_process_are_stale() -> None:
    kept: list[Any] = []

    def keep(batch: ds.Batch) -> None:
        kept.extend([batch, batch.objects, batch.objects[0], batch.frames[0]])

    pipeline = launch(f"{SOURCE.format(n=1)} ! dssynth ! testlook name=k ! fakesink", k=keep)
    assert play(pipeline) == []
    for use in (
        lambda: kept[0].objects,
        lambda: kept[1].confidence,
        lambda: kept[2].label,
        lambda: kept[3].source_id,
    ):
        with pytest.raises(DselementsError) as caught:
            use()
        assert type(caught.value).__name__ == "StaleMetadataError"


def test_any_memory_and_format_is_accepted() -> None:
    factory = Gst.ElementFactory.find("testgate") or (
        launch("testgate") and Gst.ElementFactory.find("testgate")
    )
    for text in (
        "video/x-raw,format=NV12,width=8,height=8,framerate=1/1",
        "video/x-raw(memory:NVMM),format=RGBA,width=8,height=8,framerate=1/1",
        "video/x-raw(memory:CUDAMemory),format=P010_10LE,width=8,height=8,framerate=1/1",
    ):
        assert factory.can_sink_all_caps(Gst.Caps.from_string(text)), text


def test_renegotiation_in_mid_stream() -> None:
    sizes: list[tuple[int, int]] = []
    pipeline = launch(
        "videotestsrc num-buffers=10 ! capsfilter name=size caps=video/x-raw,width=64,height=48 ! "
        "dssynth ! testlook name=look ! fakesink"
    )

    def look(batch: ds.Batch) -> None:
        sizes.append((batch.frames[0].width, batch.frames[0].height))
        if len(sizes) == 5:
            caps = Gst.Caps.from_string("video/x-raw,width=32,height=24")
            pipeline.get_by_name("size").set_property("caps", caps)

    pipeline.get_by_name("look").call = look
    assert play(pipeline) == []
    assert sizes[:5] == [(64, 48)] * 5
    assert sizes[-1] == (32, 24)
    assert len(sizes) == 10
