"""Hooks of MetaTransform: streams, events, queries and caps."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, texts

import dselements as ds
from dselements.element.caps import structure_of
from dselements.errors import HarnessError
from dselements.testing import ElementHarness


@ds.element("testhooks", description="Notes what it is told")
class Hooks(ds.MetaTransform):
    __gtype_name__ = "DsTestHooks"
    wrong = ds.Property("", help="Hook that raises")

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[Any, ...]] = []
        self.threads: set[int] = set()

    def process(self, batch: ds.Batch) -> None:
        self.told.append(("batch", batch.frames.source_id.tolist()))
        self.threads.add(threading.get_ident())

    def note(self, *what: Any) -> None:
        self.told.append(what)
        if what[0] == self.wrong:
            raise ValueError(f"{what[0]} is wrong")

    def on_source_added(self, source_id: int, info: Any) -> None:
        self.note("added", source_id, info is not None)

    def on_source_eos(self, source_id: int) -> None:
        self.note("eos", source_id)

    def on_source_removed(self, source_id: int) -> None:
        self.note("removed", source_id)

    def on_caps(self, caps: Any) -> None:
        self.note("caps", structure_of(caps, 0).get_int("width")[1])

    def of_sources(self) -> list[tuple[Any, ...]]:
        return [one for one in self.told if one[0] in ("added", "eos", "removed")]


def nv_event(number: int, name: str, source: int) -> Any:
    """An event as nvstreammux sends it (gst-nvevent.h)."""
    gst = ctypes.CDLL("libgstreamer-1.0.so.0")
    gst.gst_structure_from_string.restype = ctypes.c_void_p
    gst.gst_event_new_custom.restype = ctypes.c_void_p
    gst.gst_event_new_custom.argtypes = [ctypes.c_int, ctypes.c_void_p]
    text = f"nv-{name}-{source}-0, source-id=(uint){source}"
    structure = gst.gst_structure_from_string(text.encode(), None)
    return gst.gst_event_new_custom(number << 8 | 2 | 4 | 8, structure)


def send(harness: ElementHarness, event: int) -> None:
    gst = ctypes.CDLL("libgstreamer-1.0.so.0")
    gst.gst_pad_push_event.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    gst.gst_pad_push_event(hash(harness._sources["sink"]), event)


def test_streams_are_known_by_their_frames_and_the_end() -> None:
    with ElementHarness(Hooks) as h:
        h.push([{"source_id": 4, "pad_index": 0}, {"source_id": 9, "pad_index": 1}])
        h.push([{"source_id": 9, "pad_index": 1}])
        h.eos()
        assert h.element.of_sources() == [
            ("added", 4, False), ("added", 9, False), ("eos", 4), ("eos", 9),
        ]  # fmt: skip
        assert h.element.told.index(("added", 9, False)) < h.element.told.index(("batch", [4, 9]))


def test_nvstreammux_events_count_once_each() -> None:
    with ElementHarness(Hooks) as h:
        send(h, nv_event(400, "pad-added", 3))
        h.push([{"source_id": 3, "pad_index": 3}])
        send(h, nv_event(402, "stream-eos", 3))
        send(h, nv_event(402, "stream-eos", 3))
        send(h, nv_event(401, "pad-deleted", 3))
        send(h, nv_event(401, "pad-deleted", 8))
        h.push([{"source_id": 3, "pad_index": 3}])
        assert h.element.of_sources() == [
            ("added", 3, False), ("eos", 3), ("removed", 3), ("added", 3, False),
        ]  # fmt: skip


def test_a_pad_whose_source_has_another_number() -> None:
    """nvmultiurisrcbin gives source ids of its own; the events name the pad."""
    with ElementHarness(Hooks) as h:
        h.push([{"source_id": 70, "pad_index": 2}])
        send(h, nv_event(402, "stream-eos", 2))
        assert h.element.of_sources() == [("added", 70, False), ("eos", 70)]


def test_dsmux_tells_of_inputs_that_come_and_go() -> None:
    pipeline = launch(
        "dsmux name=m live-source=true batched-push-timeout=20000 ! testhooks name=h ! fakesink "
        "videotestsrc is-live=true ! video/x-raw,width=16,height=16,framerate=100/1 ! m.sink_0 "
        "videotestsrc is-live=true num-buffers=5 ! "
        "video/x-raw,width=16,height=16,framerate=100/1 ! m.sink_1"
    )
    element = pipeline.get_by_name("h")
    pipeline.set_state(Gst.State.PLAYING)

    def wait(entry: tuple[Any, ...]) -> None:
        end = time.monotonic() + 10
        while entry not in element.told:
            assert time.monotonic() < end, f"{entry} is not in {element.of_sources()}"
            time.sleep(0.01)

    wait(("eos", 1))
    mux = pipeline.get_by_name("m")
    mux.release_request_pad(mux.get_static_pad("sink_1"))
    wait(("removed", 1))
    pipeline.set_state(Gst.State.NULL)
    assert [one for one in element.of_sources() if one[1] == 1] == [
        ("added", 1, True), ("eos", 1), ("removed", 1),
    ]  # fmt: skip
    assert element.of_sources().count(("added", 0, True)) == 1
    assert len(element.threads) == 1


def test_a_new_start_knows_nothing() -> None:
    with ElementHarness(Hooks) as h:
        h.push([{"source_id": 1}])
        h.restart()
        h.push([{"source_id": 1}])
        assert h.element.of_sources() == [("added", 1, False)] * 2


@pytest.mark.parametrize(("policy", "goes_on"), [("fail", False), ("pass", True)])
def test_a_hook_that_raises_follows_the_policy(policy: str, goes_on: bool) -> None:
    pipeline = launch(
        f"videotestsrc num-buffers=5 ! dssynth ! testhooks name=h wrong=added on-error={policy} "
        "! fakesink"
    )
    problems = texts(play(pipeline))
    assert "ValueError: added is wrong" in problems[0]
    assert problems[0].startswith("warning" if goes_on else "error")
    element = pipeline.get_by_name("h")
    assert any(one[0] == "batch" for one in element.told) == goes_on


def test_an_end_that_raises_refuses_what_comes_after_it() -> None:
    with ElementHarness(Hooks, wrong="eos") as h:
        h.push([{"source_id": 1}])
        send(h, nv_event(402, "stream-eos", 1))
        (error,) = h.errors
        assert "handling the event nv-stream-eos-1-0: ValueError: eos is wrong" in error
        with pytest.raises(HarnessError, match="answered a buffer with error"):
            h.push([{"source_id": 1}])


# -- events and queries ----------------------------------------------------------------
class Events(ds.MetaTransform):
    __gtype_name__ = "DsTestEventHooks"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, bool]] = []

    def process(self, batch: ds.Batch) -> None:
        self.seen.append(("buffer", False))

    def on_event(self, event: Any, upstream: bool) -> object:
        self.seen.append((event.type.value_nick, upstream))
        return not (event.type == Gst.EventType.TAG or event.type == Gst.EventType.QOS)

    def on_query(self, query: Any) -> object:
        if query.type == Gst.QueryType.POSITION:
            query.set_position(Gst.Format.TIME, 42)
            return True
        if query.type == Gst.QueryType.DURATION:
            raise ValueError("no duration")
        return None


def test_events_come_in_order_and_can_be_dropped() -> None:
    with ElementHarness(Events) as h:
        h.push_frame()
        h.push_event(Gst.Event.new_tag(Gst.TagList.new_empty()))
        h.flush()
        h.send_upstream(Gst.Event.new_qos(Gst.QOSType.UNDERFLOW, 1.0, 0, 0))
        h.send_upstream(Gst.Event.new_reconfigure())
        names = [name for name, _ in h.element.seen]
        assert names == ["stream-start", "caps", "segment", "buffer", "tag", "flush-start",
                         "flush-stop", "segment", "qos", "reconfigure"]  # fmt: skip
        assert [up for name, up in h.element.seen if name in ("qos", "reconfigure")] == [True] * 2
        assert Gst.EventType.TAG not in [event.type for event in h.events]
        assert [event.type for event in h.upstream_events] == [Gst.EventType.RECONFIGURE]


def test_queries_can_be_answered() -> None:
    with ElementHarness(Events) as h:
        query = Gst.Query.new_position(Gst.Format.TIME)
        assert h.query(query)
        assert query.parse_position()[1] == 42
        assert h.query(Gst.Query.new_caps(Gst.Caps.new_any()))
        h.query(Gst.Query.new_duration(Gst.Format.TIME))
        assert "no duration" in h.errors[0]


def test_a_class_without_hooks_has_no_probes() -> None:
    class Plain(ds.MetaTransform):
        __gtype_name__ = "DsTestNoHooks"

        def process(self, batch: ds.Batch) -> None:
            return None

    assert Plain()._hooks == frozenset()
