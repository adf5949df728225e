"""Values of a recording's lines, checked and turned into the metadata's own types."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingFormatError
from ..meta.fields import Column
from ..meta.payloads import ENCODINGS, HEADER, MAGIC, VERSION
from .schema import FrameLine, MaskLine, PayloadLine, float_of

__all__ = ["bytes_of", "column_of", "mask_of", "parents_of", "payload_of", "shapes_of", "text_of"]

Array = npt.NDArray[Any]
SHAPE_FIELDS = {"rects": 8, "texts": 8, "lines": 6, "arrows": 7, "circles": 7}
SHAPES_A_META = 16


def bytes_of(data: str, what: str) -> bytes:
    """Bytes of base64 text. :raises RecordingFormatError: if it is none."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordingFormatError(f"{what} is no base64: {error}") from None


def text_of(value: Any, what: str) -> bytes | None:
    """Bytes of a text. :raises RecordingFormatError: if it is none."""
    if value is None:
        return None
    if isinstance(value, dict) and isinstance(value.get("base64"), str):
        data = bytes_of(value["base64"], what)
    elif isinstance(value, str):
        data = value.encode()
    else:
        raise RecordingFormatError(f"{what} is no text: {value!r:.80}")
    if b"\0" in data:
        raise RecordingFormatError(f"{what} holds a NUL character")
    return data


def _flat(values: list[Any], width: int, what: str) -> list[Any]:
    if width == 1:
        return values
    if not all(isinstance(v, list) and len(v) == width for v in values):
        raise RecordingFormatError(f"{what}: each value is a list of {width} numbers")
    return [x for v in values for x in v]


def column_of(column: Column, values: Any, n: int) -> Array:
    """n values of a column, bit by bit. :raises RecordingFormatError: if they do not fit."""
    what = f"column {column.name}"
    if not isinstance(values, list) or len(values) != n:
        raise RecordingFormatError(f"{what} does not have {n} values")
    flat = _flat(values, column.width, what)
    shape = (n,) if column.width == 1 else (n, column.width)
    limits = column.low_high
    if limits is not None:
        for x in flat:
            if type(x) is not int or not limits[0] <= x <= limits[1]:
                raise RecordingFormatError(
                    f"{what} holds integers from {limits[0]} to {limits[1]}, not {x!r:.40}"
                )
        return np.array(flat, column.dtype).reshape(shape)
    bits = [x for x in flat if isinstance(x, str)]
    if not bits:
        try:
            with np.errstate(over="raise"):
                return np.array([float(x) for x in flat]).astype(column.dtype).reshape(shape)
        except (TypeError, ValueError, FloatingPointError) as error:
            raise RecordingFormatError(f"{what}: {error}") from None
    size = column.dtype.itemsize
    out = np.empty(len(flat), column.dtype)
    raw = out.view(f"u{size}")
    for i, x in enumerate(flat):
        try:
            if isinstance(x, str) and len(x) == 2 + 2 * size and x.startswith("0x"):
                raw[i] = int(x, 16)
            else:
                out[i] = float_of(x)
        except ValueError as error:
            raise RecordingFormatError(f"{what}: {error}") from None
    return out.reshape(shape)


def parents_of(line: FrameLine) -> list[int]:
    """Parent of each object within the frame; -1 for none, and for one that was not in it.

    :raises RecordingFormatError: for one that is no other object, and for a ring.
    """
    values = line.objects.get("parent")
    if values is None:
        return []
    n = line.count
    if len(values) != n or not all(type(x) is int and -2 <= x < n for x in values):
        raise RecordingFormatError(f"parent holds {n} rows from -2 to {n - 1}")
    parents = [max(x, -1) for x in values]
    done: set[int] = set()
    for row in range(n):
        path: set[int] = set()
        while row >= 0 and row not in done:
            if row in path:
                raise RecordingFormatError("the parents of objects form a ring")
            path.add(row)
            row = parents[row]
        done |= path
    return parents


def mask_of(line: MaskLine) -> tuple[bytes, int, int, float]:
    """Data, width, height, threshold. :raises RecordingFormatError: if they do not fit."""
    data = bytes_of(line.data, "a mask")
    if line.width < 1 or line.height < 1 or len(data) != 4 * line.width * line.height:
        raise RecordingFormatError(f"a mask of {line.width}x{line.height} has {len(data)} bytes")
    try:
        return data, line.width, line.height, float_of(line.threshold)
    except ValueError as error:
        raise RecordingFormatError(f"threshold of a mask: {error}") from None


def payload_of(line: PayloadLine) -> bytes:
    """All bytes of a payload. :raises RecordingFormatError: if they are none."""
    if line.json is None:
        block = bytes_of(line.block or "", f"payload {line.name!r}")
        head = HEADER.unpack_from(block) if len(block) > HEADER.size else (0,) * 6
        if head[0] != MAGIC or len(block) != HEADER.size + head[4] + 1 + head[5]:
            raise RecordingFormatError(f"payload {line.name!r} is malformed")
        return block
    name, data = line.name.encode(), line.json.encode()
    if b"\0" in name or not name:
        raise RecordingFormatError(f"a payload cannot be called {line.name!r}")
    start: bytes = HEADER.pack(MAGIC, VERSION, ENCODINGS["json"], 0, len(name), len(data))
    return start + name + b"\0" + data


def shapes_of(kinds: dict[str, list[list[Any]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Shapes of one display meta, as the core takes them.

    :raises RecordingFormatError: if they are none.
    """
    out: dict[str, list[tuple[Any, ...]]] = {}
    for kind, shapes in kinds.items():
        if kind not in SHAPE_FIELDS or len(shapes) > SHAPES_A_META:
            raise RecordingFormatError(f"a display meta cannot have {len(shapes)} {kind}")
        out[kind] = [_shape(kind, shape) for shape in shapes]
    return out


def _shape(kind: str, values: list[Any]) -> tuple[Any, ...]:
    if len(values) != SHAPE_FIELDS[kind]:
        raise RecordingFormatError(f"one of {kind} has {len(values)} values")
    out: list[Any] = []
    for at, value in enumerate(values):
        if isinstance(value, list):
            if len(value) != 4:
                raise RecordingFormatError(f"a colour has 4 numbers, not {len(value)}")
            out.append(tuple(_float(x) for x in value))
        elif kind == "texts" and at in (0, 3):
            text = text_of(value, "a display text")
            # The core takes str; what is no UTF-8 cannot be drawn, and becomes U+FFFD.
            out.append(None if text is None else text.decode("utf-8", "replace"))
        elif kind == "rects" and at < 4:
            out.append(_float(value))
        elif type(value) is int and 0 <= value < 2**32:
            out.append(value)
        else:
            raise RecordingFormatError(f"one of {kind} holds {value!r:.40}")
    # Colours must be where the core looks for them.
    for at in {"rects": (5, 7), "texts": (5, 7), "lines": (5,), "arrows": (6,), "circles": (3, 5)}[
        kind
    ]:
        if not isinstance(out[at], tuple):
            raise RecordingFormatError(f"one of {kind} has no colour at place {at}")
    return tuple(out)


def _float(value: Any) -> float:
    try:
        return float_of(value)
    except ValueError as error:
        raise RecordingFormatError(f"a shape: {error}") from None
