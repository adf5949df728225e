"""The classic pyds filter element, unchanged, on synthetic and on real detections."""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import launch, play

import dselements as ds
from dselements import assets
from dselements._core import _native
from dselements.compat import install, uninstall

ROOT = Path(__file__).parents[2]
FRAMES = 40


@pytest.fixture(autouse=True)
def classic() -> Iterator[Any]:
    """The element's module, for which ``import pyds`` is ours."""
    install(replace=True)
    yield importlib.import_module("classic")
    uninstall()


Rows = list[tuple[Any, ...]]


def rows(batch: ds.Batch) -> Rows:
    """Everything that tells objects apart, in the order of the frames' lists."""
    o = batch.objects
    return [
        (int(f), int(c), str(label), round(float(conf), 6), tuple(rect), int(i))
        for f, c, label, conf, rect, i in zip(
            o.frame_index, o.class_id, o.label, o.confidence, o.rect.tolist(), o.object_id,
            strict=True,
        )
    ]  # fmt: skip


def run(source: str) -> tuple[list[Rows], list[Rows], int]:
    """Objects of each buffer before and after the filter, and how many it removed."""
    before: list[Rows] = []
    after: list[Rows] = []
    pipeline = launch(
        f"{source} ! testlook name=a ! pydsclassicfilter name=f ! testlook name=b ! fakesink",
        a=lambda batch: before.append(rows(batch)),
        b=lambda batch: after.append(rows(batch)),
    )
    assert play(pipeline, 100) == []
    return before, after, pipeline.get_by_name("f").removed


def sure(found: Rows) -> Rows:
    return [row for row in found if row[3] >= 0.5]


def test_exactly_the_unsure_synthetic_objects_go() -> None:
    before, after, removed = run(
        "videotestsrc num-buffers=100 ! video/x-raw,width=64,height=48 ! dssynth num-objects=30"
    )
    assert len(before) == len(after) == 100
    assert {len(x) for x in before} == {30}
    assert sorted(map(len, after))[0] > 0
    assert [sorted(x) for x in after] == [sorted(sure(x)) for x in before]
    assert removed == sum(map(len, before)) - sum(map(len, after)) > 0


def test_exactly_the_unsure_objects_of_a_batch_of_streams_go() -> None:
    one = "videotestsrc num-buffers=20 ! video/x-raw,format=RGBA,width=64,height=48 ! m.sink_{}"
    before, after, removed = run(
        f"{one.format(0)} {one.format(1)} dsmux name=m batch-size=2 width=64 height=48 "
        "! dssynth num-objects=12"
    )
    assert {row[0] for x in before for row in x} == {0, 1}
    assert [sorted(x) for x in after] == [sorted(sure(x)) for x in before]
    assert removed > 0


@pytest.mark.model
@pytest.mark.timeout(240)
def test_exactly_the_unsure_real_detections_go() -> None:
    clip, config = assets.clip("vtest"), assets.detector()
    before, after, removed = run(
        f"filesrc location={clip} ! decodebin ! videoconvert ! video/x-raw,format=RGB "
        f"! identity eos-after={FRAMES} ! dsmux batch-size=1 ! dsinfer config-file-path={config}"
    )
    assert len(before) == len(after) >= FRAMES - 1
    assert sum(map(len, before)) > FRAMES  # people are found in every frame
    assert [sorted(x) for x in after] == [sorted(sure(x)) for x in before]
    assert removed == sum(map(len, before)) - sum(map(len, after)) > 0


def test_two_thousand_buffers_leave_nothing_behind() -> None:
    """script/soak pyds does the same over 100,000 and watches the resident set."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "soak_pyds.py"), "--buffers", "2000", "--json"],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["objects"], result["exact"], result["error"]) == (20_000, True, "")
    assert 0 < result["removed"] < 20_000
    assert result["batches_alive"] == result["blocks_alive"] == result["unbalanced"] == 0


def test_the_soak_notices_a_lost_removal() -> None:
    """A filter that keeps one object too many is found."""
    code = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests" / "compat")!r})
sys.path.insert(1, {str(ROOT / "benchmarks")!r})
import dselements.compat
dselements.compat.install(replace=True)
import classic, soak_pyds
real, count = classic.pyds.nvds_remove_obj_meta_from_frame, [0]
def forget(frame, obj):
    count[0] += 1
    if count[0] != 500:
        real(frame, obj)
classic.pyds.nvds_remove_obj_meta_from_frame = forget
sys.argv = ["soak_pyds.py", "--buffers", "1000"]
sys.exit(soak_pyds.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "exact: False" in done.stdout


def test_a_probe_edits_a_shared_buffer_as_pyds_does(classic: Any) -> None:
    """A PyGObject probe holds a second reference: GStreamer calls the buffer not writable."""
    Gst, pyds = classic.Gst, classic.pyds
    seen: list[list[str]] = []
    writable: list[bool] = []

    def probe(pad: Any, info: Any) -> Any:
        buffer = info.get_buffer()
        writable.append(_native.buffer_is_writable(hash(buffer)))
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(buffer))
        frame = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data)
        node = frame.obj_meta_list
        while node is not None:
            obj = pyds.NvDsObjectMeta.cast(node.data)
            obj.obj_label = f"n{obj.object_id}"
            obj.rect_params.left = 3
            node = node.next
        return Gst.PadProbeReturn.OK

    pipeline = launch(
        "videotestsrc num-buffers=5 ! video/x-raw,width=64,height=48 ! dssynth num-objects=3 "
        "! identity name=i ! testlook name=look ! fakesink",
        look=lambda batch: seen.append(
            [str(x) for x in batch.objects.label] + [str(x) for x in batch.objects.rect[:, 0]]
        ),
    )
    pipeline.get_by_name("i").get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, probe)
    assert play(pipeline) == []
    assert writable == [False] * 5
    assert len(seen) == 5
    assert all(x[3:] == ["3.0"] * 3 for x in seen)
    assert all(label.startswith("n") for x in seen for label in x[:3])
    del pipeline
    gc.collect()
