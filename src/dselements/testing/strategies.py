"""Hypothesis strategies for objects, frames and batches, as :meth:`Batch.synthetic` takes them."""

from __future__ import annotations

from typing import Any

from ..errors import MissingExtraError
from ..meta import UNTRACKED

__all__ = ["batches", "boxes", "frames", "labels", "objects", "payloads"]

MAX_LABEL_BYTES = 127
ALPHABET = "abcxyzAZ019 _-.:;,/\\\"'<>&%éßøяю人車犬🙂🚗\u0301\u200b\t\n"
"""One to four bytes of UTF-8 each. All of Unicode would take seconds to set up."""


def _st() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise MissingExtraError(
            "hypothesis is not installed", hint="pip install 'dselements[testing]'"
        ) from error
    return strategies


def labels() -> Any:
    """Texts of at most 127 bytes of UTF-8: plain, empty, other scripts, and of full length."""
    st = _st()
    free = st.text(ALPHABET, max_size=MAX_LABEL_BYTES // 4)
    common = st.sampled_from(["person", "car", "", "bicycle", "人", "é" * 63, "x" * 127])
    return common | free


def boxes(width: int = 1920, height: int = 1080) -> Any:
    """Boxes (left, top, width, height) in float32 pixels; some reach over the frame's borders."""
    st = _st()

    def edge(low: float, high: float) -> Any:
        return st.floats(low, high, width=32, allow_nan=False)

    return st.tuples(
        edge(-width, width), edge(-height, height), edge(0.0, 2 * width), edge(0.0, 2 * height)
    )


def payloads() -> Any:
    """Named JSON-like values."""
    st = _st()
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(ALPHABET, max_size=20)
    )
    values = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(ALPHABET, max_size=8), inner, max_size=3)
        ),
        max_leaves=6,
    )  # fmt: skip
    names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)
    return st.dictionaries(names, values, max_size=2)


def objects(**fixed: Any) -> Any:
    """One object without a parent. Values given are taken as they are."""
    st = _st()
    probability = st.floats(0, 1, width=32)
    fields = {
        "rect": boxes(),
        "class_id": st.integers(-1, 90),
        "label": labels(),
        "confidence": probability,
        "object_id": st.just(UNTRACKED) | st.integers(0, 2**64 - 2),
        "unique_component_id": st.integers(0, 20),
        "tracker_confidence": probability,
        "classifiers": st.lists(
            st.lists(st.tuples(labels(), probability), min_size=1, max_size=3), max_size=2
        ),
        "payloads": payloads(),
    }
    fields.update({name: st.just(value) for name, value in fixed.items()})
    return st.fixed_dictionaries(fields)


def frames(max_objects: int = 6, **fixed: Any) -> Any:
    """One frame; some objects have a parent in it."""
    st = _st()

    def build(draw: Any) -> dict[str, Any]:
        found = draw(st.lists(objects(), max_size=max_objects))
        for index, obj in enumerate(found):
            other = draw(st.none() | st.integers(0, len(found) - 1))
            if other is not None and other != index and found[other].get("parent") is None:
                obj["parent"] = other
        return {
            "source_id": draw(st.integers(0, 7)),
            "frame_num": draw(st.integers(0, 2**31 - 1)),
            "objects": found,
            "payloads": draw(payloads()),
            **fixed,
        }

    return st.composite(build)()


def batches(max_frames: int = 4, max_objects: int = 6) -> Any:
    """A list of frames with source ids 0, 1 …, for :meth:`Batch.synthetic` and harnesses."""
    st = _st()

    def number(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**one, "source_id": i, "pad_index": i} for i, one in enumerate(found)]

    return st.lists(frames(max_objects), min_size=1, max_size=max_frames).map(number)
