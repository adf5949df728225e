"""Writes tests/golden/elements.json: every element's metadata, pads and properties.

script/snapshots runs it. With --check it compares only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

import dselements as ds
from dselements.elements import ELEMENTS

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "elements.json"
FLAGS = (
    ("readable", GObject.ParamFlags.READABLE),
    ("writable", GObject.ParamFlags.WRITABLE),
    ("construct-only", GObject.ParamFlags.CONSTRUCT_ONLY),
)


def property_of(spec: Any) -> dict[str, Any]:
    """Type, default, range, flags and help of one property."""
    flags = [name for name, flag in FLAGS if spec.flags & flag]
    if spec.flags & GObject.ParamFlags.WRITABLE:
        playing = bool(spec.flags & Gst.PARAM_MUTABLE_PLAYING)
        flags.append("mutable while playing" if playing else "mutable before PAUSED")
    default = getattr(spec, "default_value", None)  # PyGObject 3.50 has none for boxed types
    found: dict[str, Any] = {
        "type": spec.value_type.name,
        "default": default if isinstance(default, (str, int, float, bool)) else None,
        "flags": flags,
        "help": spec.blurb,
    }  # fmt: skip
    for key in ("minimum", "maximum"):
        if hasattr(spec, key):
            found[key] = getattr(spec, key)
    return found


def element_of(name: str) -> dict[str, Any]:
    """What gst-inspect-1.0 shows of an element, as plain values."""
    factory = Gst.ElementFactory.find(name)
    made = factory.make(name, None)
    base = set(dir(Gst.Element.props))
    return {
        "description": factory.get_metadata("description"),
        "klass": factory.get_metadata("klass"),
        "rank": factory.get_rank(),
        "pads": {
            pad.name_template: {
                "direction": pad.direction.value_nick,
                "presence": pad.presence.value_nick,
                "caps": pad.get_caps().to_string().split("; "),
            }
            for pad in sorted(made.get_pad_template_list(), key=lambda p: p.name_template)
        },
        "properties": {
            spec.name: property_of(spec)
            for spec in sorted(made.list_properties(), key=lambda s: s.name)
            if spec.owner_type.name.startswith("Ds") and spec.name not in base
        },
    }


def snapshot() -> dict[str, Any]:
    """All built-in elements."""
    Gst.init(None)
    ds.register(*ELEMENTS)
    return {name: element_of(name) for name in sorted(ELEMENTS)}


def main() -> None:
    """Write the snapshot, or compare it."""
    text = json.dumps(snapshot(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv:
        sys.exit(0 if GOLDEN.read_text() == text else f"{GOLDEN} differs")
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(text)
    print(f"wrote {GOLDEN}")


if __name__ == "__main__":
    main()
