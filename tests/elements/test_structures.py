"""Structures of caps and events, as GStreamer before 1.26 and since gives them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst

from dselements.element.caps import structure_of, video_format

CAPS = "video/x-raw,format=RGBA,width=64,height=48"


class Lent:
    """What GStreamer 1.26 returns."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get_structure(self, *index: int) -> Lent:
        self.structure = Gst.Structure.from_string("name,value=7")[0]
        self.index = index
        return self

    def __enter__(self) -> Any:
        return self.structure

    def __exit__(self, *error: object) -> None:
        raise AssertionError("the structure is not given back while it is read")


def test_a_structure_is_read_either_way() -> None:
    Gst.init(None)
    caps = Gst.Caps.from_string(CAPS)
    assert structure_of(caps, 0).get_name() == "video/x-raw"
    lent = Lent(caps)
    assert structure_of(lent, 3).get_value("value") == 7
    assert lent.index == (3,)
    assert structure_of(Gst.Event.new_eos()) is None
    found = video_format(caps)
    assert found is not None
    assert (found.format, found.width, found.height) == ("RGBA", 64, 48)
