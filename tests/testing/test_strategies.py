"""The hypothesis strategies make what the library takes, and reach its edges."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("gi")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings

import dselements as ds
from dselements.testing import ElementHarness, batches, frames, objects
from dselements.testing.strategies import labels

FAST = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(batches())
def test_every_batch_can_be_made_and_reads_back(specs: list[dict[str, Any]]) -> None:
    with ds.Batch.synthetic(specs) as batch:
        assert len(batch.frames) == len(specs)
        for frame, spec in zip(batch.frames, specs, strict=True):
            assert [o.label for o in frame.objects] == [o["label"] for o in spec["objects"]]
            assert [o.object_id for o in frame.objects] == [o["object_id"] for o in spec["objects"]]
            assert dict(frame.payloads) == spec["payloads"]
            handles = list(frame.objects)
            for obj, want in zip(handles, spec["objects"], strict=True):
                parent = want.get("parent")
                assert (obj.parent is None) == (parent is None)
                if parent is not None:
                    assert obj.parent is not None
                    assert obj.parent.row == handles[parent].row


@FAST
@given(frames())
def test_a_harness_takes_them(spec: dict[str, Any]) -> None:
    with ElementHarness(lambda batch: None) as h:
        h.push([spec])
        assert [o.label for o in h.pull().objects] == [o["label"] for o in spec["objects"]]


def test_they_reach_the_edges() -> None:
    for wanted in (lambda t: len(t.encode()) == 127, lambda t: t == "", lambda t: "人" in t):
        hypothesis.find(labels(), wanted)
    hypothesis.find(objects(), lambda o: o["object_id"] == 0xFFFFFFFFFFFFFFFF)
    hypothesis.find(frames(), lambda f: any(o.get("parent") is not None for o in f["objects"]))
    assert hypothesis.find(objects(label="car"), lambda o: True)["label"] == "car"
