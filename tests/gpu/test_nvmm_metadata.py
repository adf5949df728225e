"""Metadata on frames in NVMM, between NVIDIA's own elements; needs a GPU host.

``DSELEMENTS_GPU_CLIP`` names an H.264 MP4 (4:2:0) of at least 100 frames.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("gi")
pytestmark = pytest.mark.gpu

import dselements as ds
from dselements._core import _native

CLIP = os.environ.get("DSELEMENTS_GPU_CLIP", "")
DECODE = f"filesrc location={CLIP} ! qtdemux ! h264parse ! nvv4l2decoder"


def run(text: str, **calls: Any) -> None:
    from pipelines import launch, play, texts

    messages = play(launch(text, **calls), 60)
    assert texts(messages) == []


def test_decoded_frames_carry_and_keep_our_metadata() -> None:
    """dssynth puts it on NVMM frames, dspythonfilter edits it, nvvideoconvert copies it."""
    before: list[list[Any]] = []
    after: list[list[Any]] = []

    def note(rows: list[list[Any]]) -> Any:
        return lambda batch: rows.append(
            [
                (o.object_id, o.label, o.rect, o.parent is None, dict(o.payloads))
                for o in batch.objects
            ]
        )

    def decorate(batch: ds.Batch) -> None:
        objects = batch.frames[0].objects
        objects[0].payloads["seen"] = {"at": batch.frames[0].frame_num}
        objects[1].parent = objects[0]

    run(
        f"{DECODE} ! dssynth num-objects=9 min-confidence=0.5 ! testlook name=decorate "
        "! dspythonfilter min-confidence=0.6 relabel=car:vehicle ! testlook name=before ! queue "
        "! nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA ! testlook name=after "
        "! nvvideoconvert ! video/x-raw,format=RGBA ! fakesink",
        decorate=decorate,
        before=note(before),
        after=note(after),
    )
    assert len(before) >= 100
    assert after == before
    assert "vehicle" in {row[1] for row in before[0]}
    assert {row[1] for row in before[0]} <= {"person", "vehicle", "bicycle"}


def test_branches_of_a_tee_edit_their_own_copy() -> None:
    counts: dict[str, list[int]] = {"a": [], "b": []}
    run(
        f"{DECODE} ! dssynth num-objects=6 ! tee name=t "
        "t. ! queue ! dspythonfilter min-confidence=1 ! testlook name=a ! fakesink "
        "t. ! queue ! testlook name=b ! fakesink",
        a=lambda batch: counts["a"].append(len(batch.objects)),
        b=lambda batch: counts["b"].append(len(batch.objects)),
    )
    assert set(counts["a"]) == {0}
    assert set(counts["b"]) == {6}


def test_dsosd_draws_behind_nvvideoconvert() -> None:
    pytest.importorskip("cairo")
    run(f"{DECODE} ! dssynth ! nvvideoconvert ! video/x-raw,format=RGBA ! dsosd ! fakesink")


def test_our_metadata_is_gone_when_the_pipeline_is() -> None:
    made = _native.made_batches()
    run(f"{DECODE} ! dssynth ! nvvideoconvert ! video/x-raw(memory:NVMM),format=RGBA ! fakesink")
    assert _native.made_batches() - made >= 200  # made, and copied by nvvideoconvert
