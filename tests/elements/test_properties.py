"""ds.Property from Python, from GObject and from gst-launch."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play, shell, texts

import dselements as ds
from dselements.errors import PropertyValueError, RegistrationError


@ds.element("testprops", description="Has a property of each kind")
class Props(ds.MetaTransform):
    __gtype_name__ = "DsTestProps"
    ratio = ds.Property(0.5, min=0.0, max=1.0, help="A share")
    count = ds.Property(3, min=1, max=9, help="A number")
    big = ds.Property(0, min=0, max=2**40, help="More than 32 bits")
    flag = ds.Property(True, help="A switch")
    name_of = ds.Property("x", help="A text", mutable=False)
    mode = ds.Property("fast", choices=("fast", "exact"), help="A choice")

    def process(self, batch: ds.Batch) -> None:
        return None


@ds.element("testpropschild", description="Overrides a default")
class Child(Props):
    __gtype_name__ = "DsTestPropsChild"
    count = ds.Property(5, min=1, max=90, help="A number")
    extra = ds.Property("new", help="Only here")


@pytest.fixture
def element() -> Any:
    ds.register(Props, Child)
    return Gst.ElementFactory.make("testprops", None)


def test_defaults_types_and_ranges_are_gobjects(element: Any) -> None:
    assert element.get_property("ratio") == 0.5
    spec = element.find_property("count")
    assert (spec.minimum, spec.maximum, spec.default_value) == (1, 9, 3)
    assert spec.blurb == "A number"
    assert element.find_property("big").value_type.name == "gint64"
    assert element.find_property("mode").blurb == "A choice (fast, exact)"
    playing = Gst.PARAM_MUTABLE_PLAYING
    assert element.find_property("flag").flags & playing
    assert not element.find_property("name-of").flags & playing


def test_set_from_either_side(element: Any) -> None:
    element.set_property("count", 7)
    assert element.count == 7
    element.ratio = 0.25
    assert element.get_property("ratio") == 0.25
    element.big = 2**40
    assert element.get_property("big") == 2**40


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ratio", 1.5, "ratio 1.5 is outside 0.0 to 1.0"),
        ("ratio", float("nan"), "NaN"),
        ("ratio", "x", "is a number"),
        ("count", 2.5, "whole number"),
        ("count", True, "is a number"),
        ("mode", "slow", "cannot be 'slow'"),
        ("name_of", 3, "is a string"),
    ],
)
def test_wrong_values_raise_and_change_nothing(
    element: Any, name: str, value: Any, told: str
) -> None:
    before = getattr(element, name)
    with pytest.raises(PropertyValueError, match=told):
        setattr(element, name, value)
    assert getattr(element, name) == before


@pytest.mark.parametrize(
    ("before", "told"),
    [("mode=slow", "PropertyValueError: mode cannot be 'slow'"), ("mode=slow mode=exact", None)],
)
def test_a_wrong_choice_before_the_start_refuses_the_start(before: str, told: str | None) -> None:
    pipeline = launch(f"videotestsrc num-buffers=1 ! dssynth ! testprops {before} ! fakesink")
    messages = texts(play(pipeline))
    if told is None:
        assert messages == []
    else:
        assert messages[0].startswith(f"error: starting: {told}\nhint: one of fast, exact\n")
        assert texts(play(pipeline)) == []  # told once; the old value is in force


def test_a_wrong_choice_while_playing_is_a_warning_and_changes_nothing() -> None:
    modes: list[str] = []
    pipeline = launch(
        "videotestsrc num-buffers=3 ! dssynth ! testlook name=l ! testprops name=p ! fakesink"
    )
    props = pipeline.get_by_name("p")

    def change(batch: ds.Batch) -> None:
        props.set_property("mode", "slow" if batch.frames[0].frame_num == 1 else "exact")
        modes.append(props.mode)

    pipeline.get_by_name("l").call = change
    (warning,) = texts(play(pipeline))
    assert warning.startswith("warning: setting mode: PropertyValueError: mode cannot be 'slow'")
    assert "one of fast, exact" in warning
    assert modes == ["exact"] * 3


def test_inheritance(element: Any) -> None:
    child = Gst.ElementFactory.make("testpropschild", None)
    assert child.count == 5
    assert child.get_property("count") == 5
    spec = child.find_property("count")
    assert (spec.minimum, spec.maximum, spec.default_value) == (1, 90, 5)
    child.set_property("count", 77)
    assert child.count == 77
    assert child.get_property("ratio") == 0.5
    assert child.get_property("extra") == "new"
    assert element.get_property("count") == 3
    assert element.find_property("count").maximum == 9
    assert element.find_property("extra") is None


@pytest.mark.parametrize(
    ("attribute", "default", "told"),
    [
        ("_hidden", 1, "cannot be a property"),
        ("größe", 1, "cannot be a property"),
        ("name", "x", "has a meaning already"),
        ("qos", True, "has a meaning already"),
        ("stats", 1, "has a meaning already"),
        ("process", 1, "has a meaning already"),
        ("log", 1, "has a meaning already"),
        ("on_error", 1, "is a int, but a str in MetaTransform"),
    ],
)
def test_names_that_are_taken_or_impossible_are_refused(
    attribute: str, default: Any, told: str
) -> None:
    with pytest.raises(RegistrationError, match=told):
        type("Bad", (ds.MetaTransform,), {attribute: ds.Property(default)})


def test_an_attribute_set_by_the_element_is_notified(element: Any) -> None:
    told: list[tuple[str, float]] = []
    element.connect("notify::ratio", lambda e, spec: told.append((spec.name, e.ratio)))
    element.ratio = 0.75
    element.set_property("ratio", 0.25)
    assert told == [("ratio", 0.75), ("ratio", 0.25)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"default": None}, "no property has a NoneType"),
        ({"default": "a", "min": 0}, "need a number"),
        ({"default": 1, "choices": ("a",)}, "need a str"),
        ({"default": 5, "max": 4}, "outside"),
        ({"default": "c", "choices": ("a", "b")}, "cannot be 'c'"),
    ],
)
def test_contradicting_declarations_are_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(RegistrationError, match=told):
        ds.Property(**arguments)


def test_configure_runs_between_buffers_and_a_refusal_keeps_the_old() -> None:
    applied: list[tuple[int, int]] = []
    streaming: set[int] = set()

    @ds.element("testconfig", description="Applies its property between buffers")
    class Config(ds.MetaTransform):
        __gtype_name__ = "DsTestConfig"
        level = ds.Property(1, min=0, max=100, help="Refused when 13")

        def configure(self) -> None:
            if self.level == 13:
                raise ValueError("13 brings bad luck")
            self.used = self.level

        def process(self, batch: ds.Batch) -> None:
            streaming.add(threading.get_ident())
            applied.append((batch.frames[0].frame_num, self.used))

    pipeline = launch(
        "videotestsrc num-buffers=9 ! video/x-raw,width=8,height=8 ! dssynth ! testlook name=l ! "
        "testconfig name=c ! fakesink"
    )
    config = pipeline.get_by_name("c")

    def change(batch: ds.Batch) -> None:
        number = batch.frames[0].frame_num
        if number == 3:
            config.level = 7
        if number == 6:
            config.level = 13

    pipeline.get_by_name("l").call = change
    messages = texts(play(pipeline))
    assert [used for _, used in applied] == [1, 1, 1, 7, 7, 7, 7, 7, 7]
    assert len(messages) == 1
    assert "13 brings bad luck" in messages[0]


def test_gst_inspect_and_launch_know_them(tmp_path: Path) -> None:
    shown = shell(["gst-inspect-1.0", "dspythonfilter"], tmp_path)
    assert shown.returncode == 0
    assert "min-confidence      : Objects below are removed" in shown.stdout
    assert (
        "Double. Range:               0 -               1 Default:               0" in shown.stdout
    )
    done = shell(
        ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=2", "!", "dssynth", "!",
         "dspythonfilter", "rule=confidence >", "!", "fakesink"],
        tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    assert "confidence >\n" in done.stderr + done.stdout
    assert "            ^" in done.stderr + done.stdout
