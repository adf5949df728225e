"""Probes, recordings and stream hooks on NVMM buffers; needs a GPU host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gi")
pytestmark = pytest.mark.gpu

import dselements as ds
from dselements.recording import read_batches

CLIP = os.environ.get("DSELEMENTS_GPU_CLIP", "")
DECODE = f"filesrc location={CLIP} ! qtdemux ! h264parse ! nvv4l2decoder"
RGBA = f"{DECODE} ! nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA"


class Paint(ds.MetaTransform):
    """Red bar with torch; half of the objects go."""

    __gtype_name__ = "DsGpuPaint"

    def process(self, batch: ds.Batch) -> None:
        batch.remove(batch.objects.class_id == 0)
        with batch.frames[0].surface(write=True) as surface:
            surface.torch()[:8] = surface.torch().new_tensor([255, 0, 0, 255])


def test_a_probe_paints_and_edits_what_passes() -> None:
    pytest.importorskip("torch")
    from pipelines import launch, play, texts

    seen: list[tuple[bool, int]] = []

    def look(batch: ds.Batch) -> None:
        with batch.frames[0].surface() as surface:
            red = (np.asarray(surface.array[:8]) == (255, 0, 0, 255)).all()
        seen.append((bool(red), int((batch.objects.class_id == 0).sum())))

    pipeline = launch(
        f"{RGBA} ! dssynth num-objects=6 ! identity name=i ! nvvideoconvert "
        "! video/x-raw,format=RGBA ! testlook name=look ! fakesink",
        look=look,
    )
    probe = Paint.as_probe(pipeline.get_by_name("i").get_static_pad("src"))
    assert texts(play(pipeline, 60)) == []
    assert len(seen) >= 100
    assert set(seen) == {(True, 0)}
    assert probe.stats["buffers"] == len(seen)


def test_what_was_recorded_comes_back_on_decoded_frames(tmp_path: Path) -> None:
    from pipelines import launch, play, texts

    first, second = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    make = f"{DECODE} ! dssynth num-objects=9 seed=4 ! dsrecord location={first} ! fakesink"
    assert texts(play(launch(make), 60)) == []
    again = (
        f"{DECODE} ! dsreplay location={first} ! nvvideoconvert "
        f"! video/x-raw(memory:NVMM),format=RGBA ! dsrecord location={second} ! fakesink"
    )
    assert texts(play(launch(again), 60)) == []
    a, b = list(read_batches(first)), list(read_batches(second))
    assert len(a) == len(b) >= 100
    for one, other in zip(a, b, strict=True):
        assert [f.objects for f in one.frames] == [f.objects for f in other.frames]


def test_streams_are_told_on_nvmm() -> None:
    from pipelines import launch, play, texts

    told: list[Any] = []

    @ds.element("gputold", description="x")
    class Told(ds.MetaTransform):
        __gtype_name__ = "DsGpuTold"

        def process(self, batch: ds.Batch) -> None:
            return None

        def on_source_added(self, source_id: int, info: Any) -> None:
            told.append(("added", source_id))

        def on_source_eos(self, source_id: int) -> None:
            told.append(("eos", source_id))

    assert texts(play(launch(f"{DECODE} ! dssynth ! gputold ! fakesink"), 60)) == []
    assert told == [("added", 0), ("eos", 0)]
