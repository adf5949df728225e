"""Branches of a tee never see one another's edits, of metadata or of pixels; leaky queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gi")
pytest.importorskip("cairo")
from pipelines import play, stats, texts
from stream_tools import Gst, change, clip, launch, passed, stop_all, wait_for

import dselements as ds
from dselements._core import _native

FRAMES = 8
ONE = "videotestsrc pattern=black num-buffers={n} ! video/x-raw,format={format},width=64,height=48"
TWO = (
    "dsmux name=m width=64 height=48 format={format} "
    + clip(0, FRAMES, "pattern=black")
    + clip(1, FRAMES, "pattern=black")
    + "m. "
)


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    stop_all()


class Snapshots:
    """Labels, confidences, boxes and pixels of every frame that passes."""

    def __init__(self) -> None:
        self.labels: list[list[str]] = []
        self.boxes: list[list[list[float]]] = []
        self.payloads: list[list[Any]] = []
        self.pixels: list[Any] = []
        self.addresses: list[int] = []

    def __call__(self, batch: ds.Batch) -> None:
        self.addresses.append(_native.buffer_batch_meta(batch.buffer))
        for frame in batch.frames:
            objects = list(frame.objects)
            self.labels.append([obj.label for obj in objects])
            self.boxes.append([list(obj.rect) for obj in objects])
            self.payloads.append([obj.payloads.get("seen") for obj in objects])
            with frame.surface() as surface:
                self.pixels.append(surface.rgb().copy())


def edit(name: str) -> Callable[[ds.Batch], None]:
    """Changes all that there is to change, in place."""

    def change_all(batch: ds.Batch) -> None:
        for frame in batch.frames:
            for number, obj in enumerate(list(frame.objects)):
                obj.label = f"{name}{number}"
                obj.payloads["seen"] = name
                if number == 0:
                    obj.remove()
            frame.add_object((1, 2, 10, 11), label=f"{name} new", class_id=9)

    return change_all


@pytest.mark.parametrize("before", ["queue", ""])
@pytest.mark.parametrize("form", ["RGBA", "NV12", "I420"])
@pytest.mark.parametrize("head", ["one", "two"])
def test_two_editing_branches_and_one_that_looks(before: str, form: str, head: str) -> None:
    if head == "two" and form == "I420":
        pytest.skip("dsmux makes RGBA and NV12")
    text = (ONE if head == "one" else TWO).format(format=form, n=FRAMES)
    seen = {name: Snapshots() for name in ("first", "left", "right", "after", "plain")}
    queue = f"{before} !" if before else ""
    pipeline = launch(
        f"{text} ! dssynth num-objects=3 classes=car ! testlook name=first ! tee name=t "
        f"t. ! {queue} testlook name=el ! dsosd ! testlook name=left ! fakesink async=false "
        f"t. ! {queue} testlook name=er ! dsosd display-text=false ! testlook name=right "
        "! fakesink async=false "
        f"t. ! {queue} testlook name=plain ! fakesink async=false "
        f"t. ! {queue} dspythonfilter drop-classes=car ! dsosd ! testlook name=after "
        "! fakesink async=false",
        el=edit("left"),
        er=edit("right"),
        **seen,
    )
    assert play(pipeline) == []
    n = FRAMES * (1 if head == "one" else 2)
    assert [len(one.labels) for one in seen.values()] == [n] * 5
    assert seen["first"].labels == seen["plain"].labels == [["car"] * 3] * n
    assert seen["first"].boxes == seen["plain"].boxes
    assert seen["plain"].payloads == [[None] * 3] * n
    for name in ("left", "right"):
        assert seen[name].labels == [[f"{name} new", f"{name}1", f"{name}2"]] * n
        assert seen[name].payloads == [[None, name, name]] * n
        want = [[[1, 2, 10, 11], *boxes[1:]] for boxes in seen["first"].boxes]
        assert seen[name].boxes == want
    assert seen["after"].labels == [[]] * n
    # Nothing drawn in one branch shows in another: left has texts, right has not, two have nothing.
    for place in range(n):
        black = seen["first"].pixels[place]
        assert black.max() < 20
        for name in ("plain", "after"):
            np.testing.assert_array_equal(seen[name].pixels[place], black)
        for name in ("left", "right"):
            assert seen[name].pixels[place][..., 0].max() > 150, "its own boxes are drawn"
        assert (seen["left"].pixels[place] != seen["right"].pixels[place]).any()
    # Each branch that edits had metadata of its own.
    for place in range(FRAMES):
        mine = {seen[name].addresses[place] for name in ("left", "right", "after")}
        assert len(mine) == 3


def test_a_buffer_that_is_shared_is_never_edited_in_place() -> None:
    # An element asks GStreamer for a buffer of its own before process(); it may write then.
    kept: list[Any] = []
    pipeline = launch(
        ONE.format(n=3, format="RGBA") + " ! dssynth num-objects=2 classes=car "
        "! identity name=keep ! testlook name=edit ! testlook name=look ! fakesink",
        edit=edit("other"),
    )

    def keep(_pad: Any, info: Any) -> Any:
        kept.append(info.get_buffer())
        return Gst.PadProbeReturn.OK

    pipeline.get_by_name("keep").get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, keep)
    after = Snapshots()
    pipeline.get_by_name("look").call = after
    assert play(pipeline) == []
    labels = []
    for buffer in kept:
        with ds.Batch.from_buffer(buffer) as batch:
            labels.append(batch.objects.label.tolist())
    batch = buffer = None
    kept.clear()
    assert labels == [["car", "car"]] * 3
    assert after.labels == [["other new", "other1"]] * 3


def test_unlinked_branches_are_allowed_if_the_tee_allows_them() -> None:
    pipeline = launch(
        ONE.format(n=5, format="RGBA") + " ! dssynth ! tee name=t allow-not-linked=true"
    )
    assert play_without_sinks(pipeline) == 5
    pipeline = launch(ONE.format(n=5, format="RGBA") + " ! dssynth ! tee name=t")
    (text,) = texts(play(pipeline))
    assert "not-linked" in text


def play_without_sinks(pipeline: Any) -> int:
    """The pipeline has no sink that would tell of the end: looks at the event."""
    (pad,) = passed(pipeline, "t")
    pipeline.set_state(Gst.State.PLAYING)
    wait_for(lambda: pad.only("eos"), "no end")
    pipeline.set_state(Gst.State.NULL)
    return len(pad.only("buffer"))


def test_a_branch_comes_and_goes_while_playing() -> None:
    counts: list[int] = []
    pipeline = launch(
        "videotestsrc is-live=true ! video/x-raw,format=RGBA,width=32,height=16,framerate=100/1 "
        "! dssynth ! tee name=t allow-not-linked=true ! queue ! dspythonfilter "
        "! fakesink name=out sync=false"
    )
    (out,) = passed(pipeline, "out")
    change(pipeline, Gst.State.PLAYING)
    tee = pipeline.get_by_name("t")
    for _ in range(5):
        branch = Gst.parse_bin_from_description(
            "queue ! dspythonfilter relabel=0:x ! dsosd ! testlook name=extra "
            "! fakesink async=false sync=false",
            True,
        )
        branch.get_by_name("extra").call = lambda batch: counts.append(len(batch.objects))
        pipeline.add(branch)
        branch.sync_state_with_parent()
        pad = tee.request_pad_simple("src_%u")
        seen = len(counts)
        assert pad.link(branch.get_static_pad("sink")) == Gst.PadLinkReturn.OK
        wait_for(lambda n=seen: len(counts) > n + 2, "the branch gets nothing")
        pad.unlink(branch.get_static_pad("sink"))
        tee.release_request_pad(pad)
        branch.set_state(Gst.State.NULL)
        pipeline.remove(branch)
        branch = None
    seen = len(out.only("buffer"))
    wait_for(lambda: len(out.only("buffer")) > seen + 3, "the first branch stops")
    change(pipeline, Gst.State.NULL)
    assert set(counts) == {5}


@pytest.mark.parametrize("leaky", ["upstream", "downstream"])
def test_a_leaky_queue_loses_whole_batches_only(leaky: str) -> None:
    rows: list[list[int]] = []
    objects: list[int] = []
    gate = pipeline = launch(
        "dsmux name=m width=32 height=16 ! dssynth num-objects=4 ! testlook name=before "
        f"! queue name=q leaky={leaky} max-size-buffers=2 max-size-time=0 max-size-bytes=0 "
        "! testlook name=slow ! dsdemux name=d d.src_0 ! fakesink async=false "
        "d.src_1 ! fakesink async=false " + clip(0, 40) + clip(1, 40)
    )

    def slow(batch: ds.Batch) -> None:
        rows.append(batch.frames.frame_num.tolist())
        objects.append(len(batch.objects))
        if len(rows) == 1:
            # Hold the stream until all batches have come to the queue.
            wait_for(lambda: stats(gate.get_by_name("before"))["buffers"] == 40, "not all came")

    pipeline.get_by_name("slow").call = slow
    assert play(pipeline) == []
    assert 1 < len(rows) < 40
    assert all(a == b for a, b in rows)
    numbers = [a for a, _ in rows]
    assert numbers == sorted(set(numbers))
    if leaky == "downstream":  # the old ones go
        assert numbers[-1] == 39
    assert set(objects) == {8}
