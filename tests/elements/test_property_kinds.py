"""ds.Property of every kind: from Python, from GObject and from gst-launch; while playing."""

from __future__ import annotations

import enum
import fractions
import threading
from pathlib import Path
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, texts

import dselements as ds
from dselements.errors import PropertyValueError, RegistrationError


class Mode(enum.Enum):
    FAST = "f"
    NO_DROP = "n"


class Level(enum.IntEnum):
    LOW = 3
    HIGH = 70


class Parts(enum.Flag):
    BOX = 1
    LABEL = 2
    MASK = 8


HERE = Path(__file__)


@ds.element("testkinds", description="Has a property of every kind")
class Kinds(ds.MetaTransform):
    __gtype_name__ = "DsTestKinds"
    mode = ds.Property(Mode.FAST, help="An enum")
    level = ds.Property(Level.LOW, help="An enum with numbers")
    parts = ds.Property(Parts.BOX | Parts.MASK, help="Flags")
    only = ds.Property(Gst.Caps.from_string("video/x-raw"), help="Caps")
    extra = ds.Property(Gst.Structure.new_empty("empty"), help="A structure")
    rate = ds.Property(fractions.Fraction(30, 1), help="A fraction")
    model = ds.Property(Path(), exists=True, help="A file")
    zones: ds.Property[Any] = ds.Property({"a": [1, 2]}, help="JSON")
    many = ds.Property(5, kind="uint64", help="64 bits")
    small = ds.Property(0.5, kind="float32", min=0, help="32 bits")
    class_ = ds.Property("", help="A word that Python has for itself")

    def process(self, batch: ds.Batch) -> None:
        return None


@pytest.fixture
def element() -> Any:
    ds.register(Kinds)
    return Gst.ElementFactory.make("testkinds", None)


CASES = [
    # name, text as in gst-launch, what Python sees, what GObject shows as text
    ("mode", "no-drop", Mode.NO_DROP, ""),
    ("level", "high", Level.HIGH, ""),
    ("parts", "label+mask", Parts.LABEL | Parts.MASK, ""),
    ("rate", "25/2", fractions.Fraction(25, 2), "25/2"),
    ("model", str(HERE), HERE, str(HERE)),
    ("zones", '{"b": {"c": null}}', {"b": {"c": None}}, '{"b": {"c": null}}'),
    ("many", str(2**64 - 1), 2**64 - 1, str(2**64 - 1)),
    ("small", "0.25", 0.25, "0.25"),
    ("class", "Person", "Person", "Person"),
]


@pytest.mark.parametrize(("name", "text", "value", "shown"), CASES, ids=[c[0] for c in CASES])
def test_text_as_in_gst_launch(element: Any, name: str, text: str, value: Any, shown: str) -> None:
    attribute = "class_" if name == "class" else name
    before = getattr(element, attribute)
    assert before != value
    Gst.util_set_object_arg(element, name, text)
    assert getattr(element, attribute) == value
    got = element.get_property(name)
    if isinstance(value, enum.Enum):
        numbers = {"mode": 1, "level": 70, "parts": 10}  # as GObject holds them
        assert int(got) == numbers[name]
    else:
        assert str(got) == shown
    setattr(element, attribute, before)
    assert getattr(element, attribute) == before
    setattr(element, attribute, value)
    assert getattr(element, attribute) == value


def test_caps_and_structures(element: Any) -> None:
    Gst.util_set_object_arg(element, "only", "video/x-raw,format=NV12")
    assert element.only.to_string() == "video/x-raw, format=(string)NV12"
    assert element.get_property("only").is_equal(element.only)
    element.only = "audio/x-raw"
    assert element.only.to_string() == "audio/x-raw"
    element.extra = "setup, a=(int)5"
    assert element.extra.get_name() == "setup"
    assert element.get_property("extra").get_int("a") == (True, 5)


def test_types_and_defaults_are_gobjects(element: Any) -> None:
    mode = element.find_property("mode")
    assert mode.value_type.is_a(gi.repository.GObject.TYPE_ENUM)
    assert mode.default_value.value_nick == "fast"
    assert element.find_property("parts").value_type.is_a(gi.repository.GObject.TYPE_FLAGS)
    assert int(element.find_property("level").default_value) == 3
    assert element.find_property("rate").value_type.name == "GstFraction"
    assert element.find_property("only").value_type.name == "GstCaps"
    assert element.find_property("many").value_type.name == "guint64"
    assert element.find_property("small").value_type.name == "gfloat"
    assert element.get_property("rate").num == 30
    assert element.get_property("zones") == '{"a": [1, 2]}'


REFUSED = [
    ("mode", "quick", "one of fast, no-drop"),
    ("level", 4, "one of low, high"),
    ("parts", 16, "one of box, label, mask"),
    ("parts", "box+lid", "one of box, label, mask"),
    ("only", "no caps!", "is caps"),
    ("rate", "1/0", "is a fraction"),
    ("rate", -1, "is a fraction"),
    ("rate", "a/b", "such as 30/1"),
    ("model", "/no/such/file", "/no/such/file does not exist"),
    ("model", 3, "is a path"),
    ("zones", "{'a': 1}", "no JSON.*character 2.*single quotes"),
    ("zones", {"a": {1, 2}}, "cannot be written as JSON"),
    ("zones", [float("nan")], "cannot be written as JSON"),
    ("many", -1, "outside 0 to"),
    ("small", float("nan"), "cannot be NaN"),
    ("extra", "x, a=(int", "is a structure"),
]


@pytest.mark.parametrize(("name", "value", "told"), REFUSED)
def test_what_does_not_fit_is_refused(element: Any, name: str, value: Any, told: str) -> None:
    before = getattr(element, name)
    with pytest.raises(PropertyValueError, match=told):
        setattr(element, name, value)
    assert getattr(element, name) == before


def test_a_file_that_is_not_there_fails_the_start_and_names_it() -> None:
    (problem,) = texts(play(launch("videotestsrc ! testkinds model=/no/such ! fakesink")))
    assert "model: /no/such does not exist" in problem


def test_json_of_one_element_is_its_own(element: Any) -> None:
    element.zones["a"].append(3)
    other = Gst.ElementFactory.make("testkinds", None)
    assert other.zones == {"a": [1, 2]}
    assert element.zones == {"a": [1, 2, 3]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"default": 1, "kind": "complex"}, "no kind 'complex'"),
        ({"default": Mode.FAST, "min": 1}, "need a number"),
        ({"default": "a", "exists": True}, "needs a path"),
        ({"default": Path("/no/such"), "exists": True}, "default is not allowed"),
        ({"default": 1j}, "no property has a complex"),
        ({"default": 0, "max": 2**65}, "does not fit 64 bits"),
        ({"default": -1, "kind": "uint"}, "default is not allowed"),
    ],
)
def test_declarations_that_cannot_be(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(RegistrationError, match=told):
        ds.Property(**arguments)


def test_numbers_of_an_enum_must_fit() -> None:
    class Wide(enum.IntEnum):
        ALL = 2**40

    class Empty(enum.Enum):
        pass

    with pytest.raises(RegistrationError, match="does not fit 32 bits"):
        ds.Property(Wide.ALL)
    assert list(Empty) == []


# -- while playing -------------------------------------------------------------------
def test_values_do_not_change_in_the_middle_of_process() -> None:
    """Set from another thread while process() runs: the old one until it returns."""
    inside, go = threading.Event(), threading.Event()
    seen: list[tuple[int, int, int]] = []

    @ds.element("testsettle", description="x")
    class Settle(ds.MetaTransform):
        __gtype_name__ = "DsTestSettle"
        limit = ds.Property(1)
        own = ds.Property(0)
        applied: tuple[int, ...] = ()

        def configure(self) -> None:
            self.applied = (*self.applied, self.limit)

        def process(self, batch: ds.Batch) -> None:
            before = self.limit
            self.own = self.own + 1  # its own takes effect at once
            mine = self.own
            if not seen:
                inside.set()
                assert go.wait(10)
            seen.append((before, self.limit, mine))

    pipeline = launch("videotestsrc num-buffers=3 ! dssynth ! testsettle name=s ! fakesink")
    element = pipeline.get_by_name("s")
    pipeline.set_state(Gst.State.PLAYING)
    assert inside.wait(10)
    element.set_property("limit", 7)
    assert element.get_property("limit") == 7, "who has set it reads it back"
    assert element.limit == 7
    element.limit = 8
    go.set()
    message = pipeline.get_bus().timed_pop_filtered(
        10 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR
    )
    pipeline.set_state(Gst.State.NULL)
    assert message.type == Gst.MessageType.EOS
    assert seen == [(1, 1, 1), (8, 8, 2), (8, 8, 3)]
    assert element.applied == (1, 8), "configure() runs once, between the buffers"
    assert element.limit == 8
