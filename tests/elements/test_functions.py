"""Plain functions as elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, stats, texts

import dselements as ds
from dselements.errors import RegistrationError
from dselements.testing import ElementHarness

SEEN: list[int] = []


@ds.element("testfunction", description="Keeps large objects")
def large(
    batch: ds.Batch, *, min_area: int = 100, mode: str = ds.Property("keep", help="How")
) -> Any:
    """Objects below go."""
    SEEN.append(min_area)
    if mode == "drop":
        return ds.DROP
    if mode == "raise":
        raise KeyError("no such thing")
    batch.remove(batch.objects.width * batch.objects.height < min_area)
    return None


def test_its_keywords_are_properties() -> None:
    objects = [{"bbox": (0, 0, 5, 5)}, {"bbox": (0, 0, 20, 20)}]
    with ElementHarness("testfunction", min_area=50) as h:
        assert h.element.find_property("min-area").default_value == 100
        assert h.element.find_property("mode").blurb == "How"
        h.push_frame(objects)
        assert len(h.pull().objects) == 1
        h.set(min_area=1000)
        h.push_frame(objects)
        assert len(h.pull().objects) == 0
        h.set(mode="drop")
        h.push_frame(objects)
        assert h.try_pull() is None


def test_it_is_a_class_that_keeps_the_function() -> None:
    assert issubclass(large, ds.MetaTransform)
    assert large.__doc__ == "Objects below go."
    assert large.__module__ == __name__
    SEEN.clear()
    with ds.Batch.synthetic([{"objects": [{"rect": (0, 0, 1, 1)}]}]) as batch:
        large.function(batch, min_area=7)
        assert len(batch.objects) == 0
    assert SEEN == [7]


def test_in_gst_launch_text_and_its_error_names_it() -> None:
    pipeline = launch("videotestsrc num-buffers=4 ! dssynth ! testfunction name=f ! fakesink")
    assert play(pipeline) == []
    assert stats(pipeline.get_by_name("f"))["buffers"] == 4
    (problem,) = texts(play(launch("videotestsrc ! dssynth ! testfunction mode=raise ! fakesink")))
    assert "no such thing" in problem
    assert f'File "{Path(__file__)}"' in problem
    assert Gst.ElementFactory.find("testfunction").get_metadata("description") == (
        "Keeps large objects"
    )


def test_functions_that_cannot_be_elements() -> None:
    def no_batch() -> None: ...

    def positional(batch: ds.Batch, size: int) -> None: ...

    def without_default(batch: ds.Batch, *, size: int) -> None: ...

    def odd(batch: ds.Batch, *, size: complex = 1j) -> None: ...

    async def later(batch: ds.Batch) -> None: ...

    def stream(batch: ds.Batch) -> Any:
        yield 1

    for function, told in (
        (no_batch, "needs a parameter for the batch"),
        (positional, "parameter size cannot be a property"),
        (without_default, "keyword-only with a default"),
        (odd, "no property has a complex"),
        (later, "coroutine"),
        (stream, "generator"),
    ):
        with pytest.raises(RegistrationError, match=told):
            ds.element("testbadfunction", description="x")(function)
