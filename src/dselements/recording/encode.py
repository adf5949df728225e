"""A captured batch as a line of JSON."""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from .._core.layouts import META_TYPES
from ..meta.fields import FRAME_COLUMNS, NO_TIME, OBJECT_COLUMNS
from ..meta.payloads import HEADER, MAGIC, VERSION, name_of
from .capture import Capture, User
from .schema import (
    BatchLine,
    ClassifierLine,
    ForeignLine,
    FrameLine,
    Line,
    MaskLine,
    PayloadLine,
    number_of,
)

__all__ = ["batch_line", "encode_batch", "encode_line"]

Array = npt.NDArray[Any]
_ENCODE = msgspec.json.Encoder().encode
_KEYS = ("source_id", "frame_num", "buf_pts")
_FRAME_FIELDS = [n for n, c in FRAME_COLUMNS.items() if c.writable and n not in _KEYS]


def encode_line(line: Line) -> bytes:
    """A line with its newline."""
    return _ENCODE(line) + b"\n"


def encode_batch(captured: Capture, n: int = 0) -> bytes:
    """The line of a batch, with its newline. :param n: its number in the recording."""
    return encode_line(batch_line(captured, n))


def text_of(value: bytes | None) -> Any:
    """Text of the metadata; bytes that are no UTF-8 are kept as base64."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _numbers(values: Array) -> list[Any]:
    if values.dtype.kind != "f" or np.isfinite(values).all():
        found: list[Any] = values.tolist()
        return found
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    # From the bits: a cast to float64 would quieten a signalling NaN.
    size = values.dtype.itemsize
    return [
        value if np.isfinite(value) else f"0x{int(bits):0{2 * size}x}"
        for value, bits in zip(values.tolist(), _bits(values), strict=True)
    ]


def batch_line(captured: Capture, n: int) -> BatchLine:
    """A batch as plain values."""
    names = META_TYPES.get(captured.family, {})
    known = {number: name for name, number in names.items()}
    batch_users, frame_users, object_users = captured.users
    blank = {
        name
        for name, values in captured.objects.items()
        if not (_bits(values) != OBJECT_COLUMNS[name].default).any()
    }
    columns = {name: v for name, v in captured.objects.items() if name not in blank}
    lines = []
    for row in range(captured.n_frames):
        first, end = int(captured.bounds[row]), int(captured.bounds[row + 1])
        pts = int(captured.frames["buf_pts"][row])
        line = FrameLine(
            source_id=int(captured.frames["source_id"][row]),
            frame_num=int(captured.frames["frame_num"][row]),
            buf_pts=None if pts == NO_TIME else pts,
            count=end - first,
        )
        for name in _FRAME_FIELDS:
            value = captured.frames[name][row]
            if np.any(value):
                line.fields[name] = value.tolist()
        users = [u for u in frame_users if u.row == row]
        line.payloads = [_payload(u.block) for u in users if u.block is not None]
        line.foreign = _foreign(users, known, "frame")
        line.display = [
            {kind: [_shape(s) for s in shapes] for kind, shapes in kinds.items() if shapes}
            for at, _, kinds in captured.displays
            if at == row
        ]
        if end > first:
            _objects(line, captured, columns, first, end)
            users = [u for u in object_users if first <= u.row < end]
            line.payloads += [
                _payload(u.block, u.row - first) for u in users if u.block is not None
            ]
            line.foreign += _foreign(users, known, "object")
        lines.append(line)
    return BatchLine(
        n=n,
        max_frames=captured.max_frames,
        frames=lines,
        pts=None if captured.pts == NO_TIME else captured.pts,
        misc_batch_info=captured.misc.tolist() if captured.misc.any() else [],
        payloads=[_payload(u.block) for u in batch_users if u.block is not None],
        foreign=_foreign(batch_users, known, "batch"),
    )


def _objects(
    line: FrameLine, captured: Capture, columns: dict[str, Array], first: int, end: int
) -> None:
    objects = line.objects
    for name, values in columns.items():
        objects[name] = _numbers(values[first:end])
    codes, labels = captured.labels
    if any(labels):
        objects["label"] = [text_of(labels[code]) for code in codes[first:end].tolist()]
    for name, texts in (("display_text", captured.texts), ("font_name", captured.fonts)):
        mine = texts[first:end]
        if any(text is not None for text in mine):
            objects[name] = [text_of(text) for text in mine]
    parents = captured.parents[first:end]
    if (parents != -1).any():
        inside = (parents >= first) & (parents < end)
        objects["parent"] = np.where(
            inside, parents - first, np.where(parents == -1, -1, -2)
        ).tolist()
    line.masks = [
        MaskLine(row - first, width, height, number_of(limit, "f"), base64.b64encode(data).decode())
        for row, (data, width, height, limit) in captured.masks.items()
        if first <= row < end
    ]
    line.classifiers = [
        ClassifierLine(
            row - first,
            component,
            text_of(kind),
            [
                (label_id, class_id, classes, number_of(prob, "f"), text_of(text))
                for _, label_id, class_id, classes, prob, text in found
            ],
        )
        for row, _, component, kind, found in captured.classifiers
        if first <= row < end
    ]


def _shape(values: tuple[Any, ...]) -> list[Any]:
    return [
        text_of(v)
        if isinstance(v, bytes)
        else [number_of(x) for x in v]
        if isinstance(v, tuple)
        else number_of(v, "f")
        if isinstance(v, float)
        else v
        for v in values
    ]


def _payload(block: bytes, at: int | None = None) -> PayloadLine:
    name = name_of(block)
    magic, version, code, flags, name_length, _ = HEADER.unpack_from(block)
    if (magic, version, code, flags) == (MAGIC, VERSION, 1, 0):
        try:
            block[HEADER.size : HEADER.size + name_length].decode()
            return PayloadLine(
                name, json=block[HEADER.size + name_length + 1 :].decode(), object=at
            )
        except UnicodeDecodeError:
            pass
    return PayloadLine(name, block=base64.b64encode(block).decode(), object=at)


def _foreign(users: list[User], known: dict[int, str], level: str) -> list[ForeignLine]:
    counts = Counter(u.meta_type for u in users if u.block is None)
    return [ForeignLine(kind, known.get(kind), n, level) for kind, n in sorted(counts.items())]
