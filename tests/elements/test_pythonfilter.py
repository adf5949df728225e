"""dspythonfilter in pipelines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, shell, stats, texts

import dselements as ds
from dselements.testing import ElementHarness

SOURCE = (
    "videotestsrc num-buffers=8 ! video/x-raw,width=320,height=240 ! dssynth num-objects=40 seed=1"
)


def filtered(settings: dict[str, Any]) -> tuple[list[list[Any]], list[list[Any]], Any]:
    before: list[list[Any]] = []
    after: list[list[Any]] = []

    def note(rows: list[list[Any]]) -> Any:
        return lambda batch: rows.append(
            [(o.object_id, o.label, o.confidence, o.rect, o.class_id) for o in batch.objects]
        )

    pipeline = launch(
        f"{SOURCE} ! testlook name=before ! dspythonfilter name=f ! testlook name=after ! fakesink",
        before=note(before),
        after=note(after),
    )
    for name, value in settings.items():
        pipeline.get_by_name("f").set_property(name, value)
    assert play(pipeline) == []
    return before, after, pipeline.get_by_name("f")


def test_exactly_the_wanted_objects_pass() -> None:
    before, after, element = filtered(
        {"min-confidence": 0.5, "rule": 'label in ("person", "car") and bottom > 100'}
    )
    wanted = [
        [o for o in rows if o[2] >= 0.5 and o[1] in ("person", "car") and o[3][1] + o[3][3] > 100]
        for rows in before
    ]
    assert after == wanted
    assert 0 < len(after[0]) < 40
    counts = json.loads(element.get_property("class-stats"))
    for label in ("person", "car", "bicycle"):
        found = sum(o[1] == label for rows in before for o in rows)
        kept = sum(o[1] == label for rows in after for o in rows)
        assert counts[label] == {"found": found, "kept": kept, "removed": found - kept}
    assert stats(element)["objects-removed"] == sum(map(len, before)) - sum(map(len, after))


def test_without_properties_everything_passes() -> None:
    before, after, _ = filtered({})
    assert after == before


def test_relabel_after_the_filters() -> None:
    before, after, _ = filtered({"keep-classes": "car", "relabel": "car:vehicle=77"})
    assert after == [
        [(o[0], "vehicle", o[2], o[3], 77) for o in rows if o[1] == "car"] for rows in before
    ]


def test_a_region_in_percent_uses_the_frames_size() -> None:
    before, after, _ = filtered({"region": "% 0,0,50,50", "anchor": "center"})
    wanted = [
        [o for o in rows if o[3][0] + o[3][2] / 2 < 160 and o[3][1] + o[3][3] / 2 < 120]
        for rows in before
    ]
    assert [len(rows) for rows in after] == [len(rows) for rows in wanted]
    assert 0 < len(after[0]) < 40


def test_properties_change_while_playing_and_bad_ones_change_nothing() -> None:
    seen: list[int] = []
    pipeline = launch(
        f"{SOURCE} ! testlook name=before ! dspythonfilter name=f ! testlook name=after ! fakesink",
        after=lambda batch: seen.append(len(batch.objects)),
    )
    element = pipeline.get_by_name("f")

    def change(batch: ds.Batch) -> None:
        number = batch.frames[0].frame_num
        if number == 2:
            element.set_property("rule", "confidence > 2")
        elif number == 4:
            element.set_property("rule", "confidence > > 1")
        elif number == 6:
            element.set_property("rule", "")

    pipeline.get_by_name("before").call = change
    messages = texts(play(pipeline))
    assert seen == [40, 40, 0, 0, 0, 0, 40, 40]
    (warning,) = messages
    assert "the old ones stay in force" in warning
    assert "confidence > > 1\n               ^" in warning


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("rule", "confidnce > 0.5", "unknown name 'confidnce'\n  confidnce > 0.5\n  ^"),
        ("class-thresholds", "person=1", "class-thresholds: 'person=1' is not CLASS:VALUE"),
        ("region", "1,2,3", "region '1,2,3' has 3 numbers"),
    ],
)
def test_a_bad_value_at_the_start_is_an_error(name: str, value: str, told: str) -> None:
    pipeline = launch(f"{SOURCE} ! dspythonfilter name=f ! fakesink")
    pipeline.get_by_name("f").set_property(name, value)
    bus = pipeline.get_bus()
    assert pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE
    message = bus.timed_pop_filtered(Gst.SECOND, Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert told in texts([message])[0]


def test_one_bad_value_does_not_keep_good_ones_from_applying() -> None:
    with ElementHarness("dspythonfilter") as h:

        def left() -> int:
            h.push_frame([{"bbox": (0, 0, 5, 5), "confidence": c} for c in (0.2, 0.5, 0.8)])
            return len(h.pull().objects)

        assert left() == 3
        h.set(rule="confidence >", min_confidence=0.4)
        assert left() == 2
        assert "rule" in h.warnings[0]
        h.set(min_confidence=0.6)
        assert left() == 1
        h.set(rule="confidence < 0.7", min_confidence=0.4)
        assert left() == 1
        h.set(rule="")
        assert left() == 2


def test_gst_launch(tmp_path: Path) -> None:
    done = shell(
        ["gst-launch-1.0", "-v", "videotestsrc", "num-buffers=5", "!", "dssynth", "!",
         "dspythonfilter", 'rule=confidence > 0.6 and label in ("person", "car")', "!", "fakesink"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
