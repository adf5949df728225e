"""MetaTransform.as_probe: process() on a pad of a pipeline that stays as it is."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, texts

import dselements as ds
from dselements._core import _native
from dselements.errors import HarnessError, PipelineError, PropertyValueError
from dselements.testing import ElementHarness


class Gate(ds.MetaTransform):
    __gtype_name__ = "DsTestProbeGate"
    limit = ds.Property(0.5, min=0.0, max=1.0)
    wrong = ds.Property(-1)

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def process(self, batch: ds.Batch) -> object:
        if batch.frames[0].frame_num == self.wrong:
            raise ValueError("cannot decide")
        batch.remove(batch.objects.confidence < self.limit)
        return None

    def on_source_added(self, source_id: int, info: Any) -> None:
        self.told.append(("added", source_id))

    def on_source_eos(self, source_id: int) -> None:
        self.told.append(("eos", source_id))

    def on_caps(self, caps: Any) -> None:
        self.told.append("caps")


SOURCE = (
    "videotestsrc num-buffers={n} ! video/x-raw,format=RGBA,width=64,height=48 ! "
    "dssynth num-objects=8 min-confidence=0.2 max-confidence=0.9 seed=3 ! "
)


def pipeline_with(n: int = 6, **calls: Any) -> tuple[Any, Any]:
    pipeline = launch(
        SOURCE.format(n=n) + "identity name=i ! testlook name=look ! fakesink", **calls
    )
    return pipeline, pipeline.get_by_name("i").get_static_pad("src")


@pytest.mark.parametrize("where", ["src", "sink"])
def test_it_edits_what_passes(where: str) -> None:
    low: list[float] = []
    pipeline, _ = pipeline_with(look=lambda batch: low.extend(batch.objects.confidence.tolist()))
    probe = Gate.as_probe(pipeline.get_by_name("i").get_static_pad(where), limit=0.6)
    assert play(pipeline) == []
    assert low
    assert min(low) >= 0.6
    assert probe.stats["buffers"] == 6
    assert probe.stats["objects-removed"] > 0
    assert probe.element.told == ["caps", ("added", 0), ("eos", 0)]


def test_properties_can_be_changed_and_the_probe_ended() -> None:
    counts: list[int] = []
    pipeline, pad = pipeline_with(look=lambda batch: counts.append(len(batch.objects)))
    probe = Gate.as_probe(pad, limit=1.0)
    probe.element.limit = 0.0
    assert play(pipeline) == []
    assert counts == [8] * 6
    probe.remove()
    probe.remove()
    counts.clear()
    assert play(pipeline) == []
    assert probe.stats["buffers"] == 6
    assert counts == [8] * 6


@pytest.mark.parametrize(
    ("policy", "came", "kind"),
    [("fail", 2, "error"), ("drop", 5, "warning"), ("pass", 6, "warning")],
)
def test_a_raising_process_follows_the_policy(policy: str, came: int, kind: str) -> None:
    seen: list[int] = []
    pipeline, pad = pipeline_with(look=lambda batch: seen.append(batch.frames[0].frame_num))
    Gate.as_probe(pad, wrong=2, on_error=policy)
    messages = play(pipeline)
    found = texts(messages)
    assert found[0].startswith(f"{kind}: Gate.process: ValueError: cannot decide")
    assert 'raise ValueError("cannot decide")' in found[0]
    assert messages[0].src is pipeline.get_by_name("i"), "the pad's element speaks"
    assert len(seen) == came
    assert seen == [n for n in range(6) if policy == "pass" or n != 2][:came]


def test_a_failure_is_the_flow_that_upstream_gets() -> None:
    """Not only a message: whoever pushed the buffer is told."""
    with ElementHarness("identity") as h:
        Gate.as_probe(h.element.get_static_pad("src"), wrong=1)
        assert h.push_frame() == Gst.FlowReturn.OK
        with pytest.raises(HarnessError, match="answered a buffer with error"):
            h.push_frame()
        assert h.flow == Gst.FlowReturn.ERROR


def test_drop_drops() -> None:
    class Half(ds.MetaTransform):
        __gtype_name__ = "DsTestProbeHalf"

        def process(self, batch: ds.Batch) -> object:
            return batch.frames[0].frame_num % 2 == 0

    seen: list[int] = []
    pipeline, pad = pipeline_with(look=lambda batch: seen.append(batch.frames[0].frame_num))
    probe = Half.as_probe(pad)
    assert play(pipeline) == []
    assert seen == [0, 2, 4]
    assert probe.stats["dropped"] == 3


def test_branches_of_a_tee_do_not_see_the_edits_of_one() -> None:
    class Paint(ds.MetaTransform):
        __gtype_name__ = "DsTestProbePaint"

        def process(self, batch: ds.Batch) -> None:
            batch.remove(batch.objects.confidence >= 0)
            with batch.frames[0].surface(write=True) as surface:
                surface.array[:] = 7

    pixels: dict[str, set[int]] = {"a": set(), "b": set()}
    counts: dict[str, list[int]] = {"a": [], "b": []}

    def look(name: str) -> Any:
        def call(batch: ds.Batch) -> None:
            counts[name].append(len(batch.objects))
            with batch.frames[0].surface() as surface:
                pixels[name].add(int(surface.array[0, 0, 0]))

        return call

    pipeline = launch(
        SOURCE.format(n=10) + "tee name=t t. ! queue ! identity name=i ! testlook name=a "
        "! fakesink t. ! queue ! testlook name=b ! fakesink",
        a=look("a"), b=look("b"),
    )  # fmt: skip
    Paint.as_probe(pipeline.get_by_name("i").get_static_pad("sink"))
    assert play(pipeline) == []
    assert counts == {"a": [0] * 10, "b": [8] * 10}
    assert pixels["a"] == {7}
    assert 7 not in pixels["b"]


def test_a_buffer_that_is_alone_is_not_copied() -> None:
    addresses: list[int] = []

    class Note(ds.MetaTransform):
        __gtype_name__ = "DsTestProbeNote"

        def process(self, batch: ds.Batch) -> None:
            assert _native.buffer_is_writable(batch.buffer)
            addresses.append(batch.buffer)

    after: list[int] = []
    pipeline, pad = pipeline_with(look=lambda batch: after.append(batch.buffer))
    Note.as_probe(pad)
    made = _native.made_batches()
    assert play(pipeline) == []
    assert addresses == after
    assert _native.made_batches() - made == 6


def test_nothing_is_kept_when_the_pipeline_is_gone() -> None:
    pipeline, pad = pipeline_with()
    element = weakref.ref(Gate.as_probe(pad).element)
    assert play(pipeline) == []
    assert element() is not None, "the pad holds it"
    gone = weakref.ref(pipeline)
    del pipeline, pad
    gc.collect()
    assert gone() is None
    assert element() is None


def test_what_cannot_be_is_told_at_once() -> None:
    _, pad = pipeline_with()
    with pytest.raises(PipelineError, match=r"needs a Gst\.Pad"):
        Gate.as_probe("src")
    with pytest.raises(PropertyValueError, match=r"no property 'limits'.*limit"):
        Gate.as_probe(pad, limits=1)
    with pytest.raises(PropertyValueError, match="limit 2"):
        Gate.as_probe(pad, limit=2)

    class Refuses(ds.MetaTransform):
        __gtype_name__ = "DsTestProbeRefuses"

        def start(self) -> None:
            raise OSError("no model")

        def process(self, batch: ds.Batch) -> None:
            return None

    with pytest.raises(PipelineError, match="OSError: no model"):
        Refuses.as_probe(pad)


def test_caps_that_the_class_does_not_take_stop_the_stream() -> None:
    class Gray(ds.MetaTransform):
        __gtype_name__ = "DsTestProbeGray"
        caps = "video/x-raw,format=GRAY8"

        def process(self, batch: ds.Batch) -> None:
            return None

    pipeline, pad = pipeline_with()
    Gray.as_probe(pad)
    messages = texts(play(pipeline))
    assert "Gray takes video/x-raw,format=GRAY8, not video/x-raw" in messages[0]
    assert messages[0].startswith("error")
