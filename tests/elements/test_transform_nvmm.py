"""MetaTransform on NVMM caps, over planted NvBufSurface structs; no GPU is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, texts

import dselements as ds
from dselements._core import _native
from dselements.errors import SurfaceError

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "surface"))
from planted import Planted, packed

RGBA = 19
CAPS = "video/x-raw(memory:NVMM),format=RGBA,width=6,height=4,framerate=30/1"


class Run:
    """Pushes planted buffers into a pipeline that begins with ``appsrc name=in``."""

    def __init__(self, text: str, **calls: Any) -> None:
        self.pipeline = launch(f'appsrc name=in format=time caps="{CAPS}" ! {text}', **calls)
        self.source = self.pipeline.get_by_name("in")
        # Nothing passes until the wrappers are gone: they share the buffers.
        self.pad = self.source.get_static_pad("src")
        self.gate = self.pad.add_probe(
            Gst.PadProbeType.BLOCK | Gst.PadProbeType.BUFFER, lambda *_: Gst.PadProbeReturn.OK
        )
        self.pipeline.set_state(Gst.State.PLAYING)

    def push(self, planted: Planted, pts: int) -> None:
        buffer, planted.buffer = planted.buffer, None
        buffer.pts = pts
        self.source.emit("push-buffer", buffer)

    def end(self) -> list[str]:
        self.pad.remove_probe(self.gate)
        self.source.emit("end-of-stream")
        wanted = Gst.MessageType.EOS | Gst.MessageType.ERROR
        message = self.pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, wanted)
        self.pipeline.set_state(Gst.State.NULL)
        assert message is not None
        return [] if message.type == Gst.MessageType.EOS else texts([message])


def test_process_sees_and_writes_the_pixels() -> None:
    plants = [Planted([packed(RGBA, 6, 4)]) for _ in range(5)]

    def paint(batch: ds.Batch) -> None:
        with batch.frames[0].surface(write=True) as surface:
            assert (batch.frames[0].width, batch.frames[0].height) == (6, 4)
            np.testing.assert_array_equal(surface.numpy().ravel()[:8], range(8))
            np.from_dlpack(surface.array)[0, 0] = (1, 2, 3, 4)

    run = Run("dssynth ! testlook name=look ! fakesink", look=paint)
    for i, planted in enumerate(plants):
        run.push(planted, i)
    assert run.end() == []
    assert all(planted.frames[0][:4].tolist() == [1, 2, 3, 4] for planted in plants)


def test_behind_a_tee_pixels_are_kept_and_not_written() -> None:
    plants = [Planted([packed(RGBA, 6, 4)]) for _ in range(5)]
    told: list[str] = []
    parents: dict[str, list[list[int]]] = {"a": [], "b": []}

    def write(name: str) -> Any:
        def look(batch: ds.Batch) -> None:
            parents[name].append(_native.buffer_parents(batch.buffer))
            try:
                with batch.frames[0].surface(write=True) as surface:
                    np.from_dlpack(surface.array)[:] = 0
            except SurfaceError as error:
                told.append(str(error))

        return look

    # Each branch holds what it got until its end, so that both want the frame at once.
    run = Run(
        "dssynth ! tee name=t t. ! testlook name=a ! queue name=q max-size-buffers=0 "
        "max-size-bytes=0 max-size-time=0 min-threshold-buffers=100 ! fakesink async=false "
        "t. ! testlook name=b ! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0 "
        "min-threshold-buffers=100 ! fakesink async=false",
        a=write("a"), b=write("b"),
    )  # fmt: skip
    for i, planted in enumerate(plants):
        run.push(planted, i)
    assert run.end() == []
    assert len(told) == 10
    assert all("nvvideoconvert" in text for text in told)
    # The first buffer is a copy already: appsrc marks it as discontinuous. Its memory is plain.
    assert parents["a"] == parents["b"]
    assert all(len(found) == 1 for found in parents["a"])
    for planted in plants:
        np.testing.assert_array_equal(planted.frames[0][:8], range(8))
