"""The lines of a recording. docs/recording.md says the same in words."""

from __future__ import annotations

import math
import struct
from typing import Any, Optional

import msgspec

__all__ = [
    "SCHEMA",
    "VERSION",
    "BatchLine",
    "CapsLine",
    "ClassifierLine",
    "EndLine",
    "FrameLine",
    "HeaderLine",
    "Line",
    "MaskLine",
    "PayloadLine",
    "SourceLine",
    "float_of",
    "number_of",
]

SCHEMA = "dselements.recording"
VERSION = 1

# Evaluated at run time, also on Python 3.10.
_Int = Optional[int]  # noqa: UP045
_Str = Optional[str]  # noqa: UP045
_Text = Any
"""str, None, or {"base64": …} for bytes that are no UTF-8."""


class SourceLine(msgspec.Struct, tag_field="kind", tag="source", omit_defaults=True):
    """A source, told in the header or before its first batch."""

    source_id: int
    pad_index: int = 0
    source_frame_width: int = 0
    source_frame_height: int = 0


class HeaderLine(msgspec.Struct, tag_field="kind", tag="header"):
    """The first line."""

    schema: str
    version: int
    family: str
    """SDK family of the metadata: ds6, ds8 or ds9."""
    writer: str = ""
    caps: str = ""
    sources: list[SourceLine] = []


class CapsLine(msgspec.Struct, tag_field="kind", tag="caps"):
    """The caps changed."""

    caps: str


class EndLine(msgspec.Struct, tag_field="kind", tag="end"):
    """The stream ended here; what a whole file closes with."""

    batches: int = 0
    frames: int = 0
    objects: int = 0
    dropped: int = 0


class PayloadLine(msgspec.Struct, omit_defaults=True):
    """A user payload: its JSON text, or (``block``) all its bytes in base64."""

    name: str
    json: _Str = None
    block: _Str = None
    object: _Int = None


class MaskLine(msgspec.Struct):
    """Mask of an object: float32 little-endian, row by row, in base64."""

    object: int
    width: int
    height: int
    threshold: Any
    data: str


class ClassifierLine(msgspec.Struct, omit_defaults=True):
    """A classifier's result; ``labels``: label_id, result_class_id, num_classes, prob, text."""

    object: int
    unique_component_id: int = 0
    classifier_type: _Text = None
    labels: list[tuple[int, int, int, Any, _Text]] = []


class ForeignLine(msgspec.Struct, omit_defaults=True):
    """User metas of other elements, which a recording only counts."""

    type: int
    name: _Str = None
    count: int = 1
    level: str = "frame"


class FrameLine(msgspec.Struct, omit_defaults=True):
    """A frame. ``objects`` holds columns of ``count`` values; one of zeros is left out."""

    source_id: int
    frame_num: int
    buf_pts: _Int
    fields: dict[str, Any] = {}
    count: int = 0
    objects: dict[str, list[Any]] = {}
    masks: list[MaskLine] = []
    classifiers: list[ClassifierLine] = []
    display: list[dict[str, list[list[Any]]]] = []
    payloads: list[PayloadLine] = []
    foreign: list[ForeignLine] = []


class BatchLine(msgspec.Struct, tag_field="kind", tag="batch", omit_defaults=True):
    """One buffer's NvDsBatchMeta."""

    n: int
    """Counts from 0; gaps are batches that were dropped."""
    max_frames: int
    frames: list[FrameLine]
    pts: _Int = None
    misc_batch_info: list[int] = []
    payloads: list[PayloadLine] = []
    foreign: list[ForeignLine] = []


Line = HeaderLine | SourceLine | CapsLine | BatchLine | EndLine


def number_of(value: float, form: str = "d") -> Any:
    """A float for JSON, which has no NaN and no infinity: those as their bits, ``0x7ff8…``.

    :param form: ``f`` for float32, ``d`` for float64.
    """
    if math.isfinite(value):
        return value
    return "0x" + struct.pack(f">{form}", value).hex()


def float_of(value: Any) -> float:
    """The reverse of :func:`number_of`. :raises ValueError: for anything else."""
    if isinstance(value, str) and value.startswith("0x") and len(value) in (10, 18):
        form = ">f" if len(value) == 10 else ">d"
        return float(struct.unpack(form, bytes.fromhex(value[2:]))[0])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is no number")
    return float(value)
