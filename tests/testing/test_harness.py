"""ElementHarness: what it shows of an element, and the faults it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
from gi.repository import Gst

import dselements as ds
from dselements.errors import HarnessError
from dselements.meta import UNTRACKED
from dselements.testing import (
    ElementHarness,
    TestClock,
    frames_from_columns,
    frames_from_json,
    make_buffer,
)

MS = 1_000_000


@ds.element("harnessgate", description="Drops unsure objects")
class Gate(ds.MetaTransform):
    __gtype_name__ = "DsHarnessGate"
    min_confidence = ds.Property(0.5, min=0.0, max=1.0, help="Objects below go")
    mode = ds.Property("", help="What to do wrong")

    def process(self, batch: ds.Batch) -> object:
        if self.mode == "raise":
            raise KeyError("no such camera")
        if self.mode == "drop" and batch.frames[0].frame_num == 2:
            return ds.DROP
        batch.remove(batch.objects.confidence < self.min_confidence)
        return None


def objects(*confidences: float) -> list[dict[str, Any]]:
    return [
        {"class_id": i, "label": f"thing {i}", "confidence": c, "bbox": (1 + i, 2, 10, 20)}
        for i, c in enumerate(confidences)
    ]


# -- what it shows ------------------------------------------------------------------
@pytest.mark.parametrize("element", [Gate, "harnessgate", Gate()])
def test_a_class_a_name_and_an_element(element: Any) -> None:
    with ElementHarness(element, min_confidence=0.6) as h:
        h.push_frame(objects(0.5, 0.9))
        (obj,) = h.pull().objects
        assert (obj.class_id, obj.label, obj.bbox) == (1, "thing 1", (2.0, 2.0, 10.0, 20.0))
        assert obj.object_id is None


def test_text_of_several_elements() -> None:
    with ElementHarness("harnessgate min-confidence=0.45 ! identity") as h:
        h.push_frame(objects(0.5, 0.4))
        assert [obj.class_id for obj in h.pull().objects] == [0]


def test_a_function_is_an_element() -> None:
    def rename(batch: ds.Batch) -> None:
        for obj in batch.objects:
            obj.label = "seen"

    with ElementHarness(rename) as h:
        h.push_frame(objects(0.5, 0.9))
        assert [obj.label for obj in h.pull().objects] == ["seen", "seen"]


def test_records_hold_all_that_was_pushed() -> None:
    full = {
        "class_id": 3,
        "label": "person",
        "confidence": 0.75,
        "object_id": 2**63 + 5,
        "bbox": (1.5, 2.5, 3.5, 4.5),
        "unique_component_id": 7,
        "tracker_confidence": 0.25,
        "classifiers": [["red", ("large", 0.5)]],
        "payloads": {"speed": {"kmh": 51}},
        "mask": np.eye(3, dtype=np.float32),
    }
    child = {"bbox": (0, 0, 1, 1), "label": "face", "parent": 0}

    def draw(batch: ds.Batch) -> None:
        batch.frames[0].display.add_line(1, 2, 3, 4)
        batch.payloads["all"] = [1, 2]

    with ElementHarness(draw) as h:
        h.push_frame([full, child], source_id=4, payloads={"zone": "a"}, pts=40 * MS)
        record = h.pull()
    assert record.pts == 40 * MS
    assert record.payloads == {"all": [1, 2]}
    (frame,) = record.frames or []
    assert (frame.source_id, frame.pts, frame.size, frame.payloads) == (
        4, 40 * MS, (64, 48), {"zone": "a"},
    )  # fmt: skip
    assert frame.display[0]["kind"] == "Line"
    assert (frame.display[0]["x1"], frame.display[0]["y2"]) == (1, 4)
    person, face = record.objects
    assert (person.object_id, person.bbox, person.confidence) == (
        2**63 + 5, (1.5, 2.5, 3.5, 4.5), 0.75,
    )  # fmt: skip
    assert person.classifiers == [[("red", 1.0), ("large", 0.5)]]
    assert person.payloads == {"speed": {"kmh": 51}}
    assert person.mask is not None
    np.testing.assert_array_equal(person.mask, np.eye(3))
    assert (face.parent, person.parent) == (0, None)
    np.testing.assert_array_equal(record.columns["class_id"], [3, 0])
    assert record.columns["object_id"].tolist() == [2**63 + 5, UNTRACKED]


def test_several_frames_make_a_batch_with_a_memory_each() -> None:
    def paint(batch: ds.Batch) -> None:
        for frame in batch.frames:
            with frame.surface(write=True) as surface:
                surface.array[0, 0] = frame.source_id + 1

    with ElementHarness(paint) as h:
        h.push([{"source_id": i, "objects": objects(0.1 * i)} for i in range(3)])
        record = h.pull()
        assert [frame.source_id for frame in record.frames or []] == [0, 1, 2]
        assert [pixels[:4].tolist() for pixels in record.pixels] == [[i + 1] * 4 for i in range(3)]


def test_pixels_go_in_and_come_out() -> None:
    picture = np.arange(64 * 48 * 4).astype(np.uint8).reshape(48, 64, 4)
    with ElementHarness(Gate) as h:
        h.push_frame(pixels=picture)
        np.testing.assert_array_equal(h.pull().pixels[0].reshape(48, 64, 4), picture)


def test_properties_events_queries_and_messages() -> None:
    with ElementHarness(Gate, min_confidence="0.25") as h:
        assert h.get("min_confidence") == 0.25
        h.set(min_confidence=0.75)
        h.push_frame(objects(0.5))
        assert h.pull().objects == []
        assert h.stats["buffers"] == 1
        h.element.post_warning("look here")
        (warning,) = h.warnings
        assert "look here" in warning
        assert h.warnings == []
        kinds = [event.type for event in h.events]
        assert kinds == [Gst.EventType.STREAM_START, Gst.EventType.CAPS, Gst.EventType.SEGMENT]
        h.flush()
        h.eos()
        assert [event.type for event in h.events[3:]] == [
            Gst.EventType.FLUSH_START, Gst.EventType.FLUSH_STOP, Gst.EventType.SEGMENT,
            Gst.EventType.EOS,
        ]  # fmt: skip
        assert h.send_upstream(Gst.Event.new_qos(Gst.QOSType.UNDERFLOW, 1.0, 0, 0))
        assert h.upstream_events[-1].type == Gst.EventType.QOS
        query = Gst.Query.new_caps(Gst.Caps.new_any())
        assert h.query(query)


def test_caps_change_in_mid_stream() -> None:
    sizes = []

    def look(batch: ds.Batch) -> None:
        sizes.append((batch.frames[0].width, batch.frames[0].height))

    with ElementHarness(look) as h:
        h.push_frame()
        h.set_caps("video/x-raw,format=RGBA,width=32,height=16,framerate=30/1")
        h.push_frame()
        assert [record.pixels[0].size for record in h.pull_all()] == [64 * 48 * 4, 32 * 16 * 4]
    assert sizes == [(64, 48), (32, 16)]


def test_an_element_can_be_started_again() -> None:
    with ElementHarness(Gate) as h:
        for _ in range(3):
            h.push_frame(objects(0.9))
            assert len(h.pull().objects) == 1
            h.restart()


def test_a_buffer_without_metadata() -> None:
    with ElementHarness(Gate) as h:
        h.push(None)
        assert h.pull().frames is None
        assert "NvDsBatchMeta" in h.warnings[0]


def test_a_buffer_of_ones_own() -> None:
    from dselements._core import _native

    address = make_buffer([{"objects": objects(0.9)}], [b"\0" * 64 * 48 * 4], pts=7)
    with ElementHarness(Gate) as h:
        # A Gst.Buffer as an application has it: held while it is pushed.
        buffer = Gst.Buffer.new_wrapped(b"\1" * 64 * 48 * 4)
        buffer.pts = 9
        h.push_buffer(buffer)
        assert h.pull().pts == 9
    _native.buffer_unref(address)


def test_an_element_with_threads_of_its_own_is_waited_for() -> None:
    with ElementHarness("queue") as h:
        for _ in range(5):
            h.push_frame(objects(0.9))
        assert [len(h.pull().objects) for _ in range(5)] == [1] * 5
        h.assert_all_passed()


def test_request_pads_and_a_clock_that_the_test_moves() -> None:
    clock = TestClock()
    with ElementHarness(
        "dsmux", pads=["sink_0", "sink_1"], clock=clock.clock, live_source=True,
        batched_push_timeout=40_000,
    ) as h:  # fmt: skip
        assert clock.time == 0
        h.push(None, pad="sink_0", pts=0)
        clock.wait_for_waiters()
        assert h.try_pull() is None, "the time-out has not come"
        clock.set(100 * MS)
        record = h.pull()
        assert [frame.source_id for frame in record.frames or []] == [0]
        with pytest.raises(HarnessError, match="cannot go back"):
            clock.set(0)


def test_builders_from_columns_and_json() -> None:
    frames = frames_from_columns(
        [[0, 0, 5, 5], [1, 1, 6, 6]], [1, 0], label=["a", "b"], confidence=0.5
    )
    with ElementHarness(Gate, min_confidence=0.0) as h:
        h.push(frames)
        record = h.pull()
        assert [[o.label for o in f.objects] for f in record.frames or []] == [["b"], ["a"]]
        line = {
            "v": 1, "frame": 5, "source_id": 2, "pad_index": 2, "pts": 3, "width": 64,
            "height": 48, "objects": [{"class_id": 1, "label": "car", "confidence": 0.5,
            "object_id": "12", "left": 1, "top": 2, "width": 3, "height": 4,
            "classifiers": [[{"label": "red"}]], "payloads": {"a": 1}}],
        }  # fmt: skip
        h.push(frames_from_json([line]))
        (frame,) = h.pull().frames or []
        assert (frame.source_id, frame.frame_num, frame.pts) == (2, 5, 3)
        assert (frame.objects[0].object_id, frame.objects[0].classifiers) == (12, [[("red", 1.0)]])
    with pytest.raises(ValueError, match="3 values for 2 boxes"):
        frames_from_columns([[0, 0, 1, 1]] * 2, class_id=[1, 2, 3])


# -- the faults it finds ----------------------------------------------------------------
def test_a_dropped_buffer_is_named() -> None:
    with ElementHarness(Gate, mode="drop") as h:
        for _ in range(4):
            h.push_frame(objects(0.9))
        assert len(h.pull_all()) == 3
        assert h.dropped == [2 * 1_000_000_000 // 30]
        with pytest.raises(HarnessError, match="harnessgate dropped buffers: 66666666 ns"):
            h.assert_all_passed()
        with pytest.raises(HarnessError, match="pushed and not seen: 66666666 ns"):
            h.pull()


def test_a_wrong_order_and_a_doubled_buffer_are_named() -> None:
    with ElementHarness("identity") as h:
        h.push_frame(pts=0)
        h.push_frame(pts=5)
        h._order.reverse()
        with pytest.raises(HarnessError, match=r"changed the order: out came \[5, 0\]"):
            h.assert_all_passed()
        h._n_out += 1
        with pytest.raises(HarnessError, match="made 3 buffers of 2"):
            h.assert_all_passed()


def test_an_exception_comes_with_its_traceback() -> None:
    want = pytest.raises(HarnessError, match=r"(?s)no such camera.*test_harness.py.*KeyError")
    with ElementHarness(Gate, mode="raise") as h, want:
        h.push_frame(objects(0.9))
    with ElementHarness(Gate, mode="raise", on_error="pass") as h:
        h.push_frame(objects(0.1))
        assert len(h.pull().objects) == 1
        assert "no such camera" in h.warnings[0]


def test_a_handle_that_is_kept_is_found_stale() -> None:
    kept: list[Any] = []

    def keep(batch: ds.Batch) -> None:
        if kept:
            kept[0].label = "changed later"
        kept.append(batch.objects[0])

    with ElementHarness(keep) as h:
        h.push_frame(objects(0.9))
        with pytest.raises(HarnessError, match="StaleMetadataError"):
            h.push_frame(objects(0.9))


def test_what_is_wrong_with_the_call_is_named() -> None:
    with pytest.raises(HarnessError, match="no element named 'nosuchelement'"):
        ElementHarness("nosuchelement")
    with pytest.raises(HarnessError, match=r"cannot be built"):
        ElementHarness("identity ! nosuchelement")
    with pytest.raises(HarnessError, match=r"no property 'colour'.*min-confidence"):
        ElementHarness(Gate, colour=1)
    with pytest.raises(HarnessError, match="not started"):
        ElementHarness(Gate).push_frame()
    with ElementHarness(Gate) as closed:
        assert closed.element is not None
    with pytest.raises(HarnessError, match="harness is closed"):
        _ = closed.stats
    with pytest.raises(HarnessError, match="is no element"):
        ElementHarness(3)
    with ElementHarness(Gate) as h:
        with pytest.raises(HarnessError, match="no pad 'sink_7'"):
            h.push_frame(pad="sink_7")
        with pytest.raises(HarnessError, match="cannot be parsed"):
            h.set_caps("video/x-raw,format=")
        with pytest.raises(ValueError, match="bbox and a rect"):
            h.push_frame([{"bbox": (0, 0, 1, 1), "rect": (0, 0, 1, 1)}])
    with pytest.raises(HarnessError, match="does not start"), ElementHarness("dsinfer"):
        pass
