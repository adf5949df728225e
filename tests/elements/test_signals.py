"""ds.Signal and ds.action: GObject signals from both sides."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play

import dselements as ds
from dselements.errors import RegistrationError


@ds.element("testsignals", description="Tells and is told")
class Signals(ds.MetaTransform):
    __gtype_name__ = "DsTestSignals"
    arrived = ds.Signal(int, str, float, bool, help="Somebody came")
    details = ds.Signal(object, Gst.Structure)
    count = 0

    def process(self, batch: ds.Batch) -> None:
        self.arrived.emit(2**40, "person", 0.5, True)

    @ds.action
    def reset(self, to: int, why: str) -> int:
        before, self.count = self.count, to
        if why == "wrong":
            raise ValueError("cannot reset")
        return before

    @ds.action
    def forget_all(self) -> None:
        self.count = -1


@pytest.fixture
def element() -> Any:
    ds.register(Signals)
    return Gst.ElementFactory.make("testsignals", None)


def test_listeners_get_the_values_by_either_way() -> None:
    pipeline = launch("videotestsrc num-buffers=3 ! dssynth ! testsignals name=s ! fakesink")
    element = pipeline.get_by_name("s")
    one: list[Any] = []
    two: list[Any] = []
    element.connect("arrived", lambda *values: one.append(values))
    handler = element.arrived.connect(lambda *values: two.append(values[1:]))
    assert play(pipeline) == []
    assert one == [(element, 2**40, "person", 0.5, True)] * 3
    assert two == [(2**40, "person", 0.5, True)] * 3
    element.arrived.disconnect(handler)
    element.arrived.emit(1, "car", 0, False)
    assert len(two) == 3
    assert len(one) == 4
    del one[:]


def test_objects_and_structures(element: Any) -> None:
    seen: list[Any] = []
    element.connect(
        "details", lambda _, thing, structure: seen.append((thing, structure.get_name()))
    )
    element.details.emit({"a": [1]}, Gst.Structure.new_from_string("x, n=(int)3"))
    ((thing, structure),) = seen
    assert thing == {"a": [1]}
    assert structure == "x"
    with pytest.raises(TypeError, match="has 2 values, not 1"):
        element.details.emit(1)


def test_actions_are_called_like_any_elements(element: Any) -> None:
    assert element.emit("reset", 5, "test") == 0
    assert element.emit("reset", 7, "test") == 5
    assert element.reset(1, "as a method") == 7
    element.emit("forget-all")
    assert element.count == -1


def test_an_action_that_raises_is_told_and_answers_with_zero(element: Any) -> None:
    bus = Gst.Bus.new()
    element.set_bus(bus)
    element.count = 4
    assert element.emit("reset", 5, "wrong") == 0
    message = bus.pop_filtered(Gst.MessageType.WARNING)
    problem, details = message.parse_warning()
    assert "action reset: ValueError: cannot reset" in problem.message
    assert "raise ValueError" in details


def test_declarations_that_cannot_be() -> None:
    with pytest.raises(RegistrationError, match="cannot carry"):
        ds.Signal(complex)
    with pytest.raises(RegistrationError, match="parameter x needs an annotation"):

        @ds.action
        def bare(self: Any, x) -> None:  # type: ignore[no-untyped-def]
            pass
