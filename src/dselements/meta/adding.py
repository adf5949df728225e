"""Checks of the values that new rows are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import MetadataValueError, NonFiniteValueError
from .fields import FRAME_COLUMNS, OBJECT_COLUMNS, Column

__all__ = ["checked", "checked_frame"]

_TEXTS = frozenset({"label", "display_text", "font_name"})


def _numbers(column: Column, value: Any, n: int) -> npt.NDArray[Any]:
    shape = (n,) if column.width == 1 else (n, column.width)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{array.dtype} is no number")
        wide = np.broadcast_to(array, shape)
    except (TypeError, ValueError) as error:
        raise MetadataValueError(f"{column.name} does not fit {n} new rows: {error}") from None
    limits = column.low_high
    if limits is None:
        with np.errstate(over="ignore"):
            cast = wide.astype(column.dtype)
        if not np.isfinite(cast).all():
            row = int(np.argwhere(~np.isfinite(cast))[0][0])
            raise NonFiniteValueError(f"{column.name} of new row {row} is {wide[row].tolist()}")
        return cast
    if wide.dtype.kind == "f" and not (np.isfinite(wide) & (wide == np.floor(wide))).all():
        raise MetadataValueError(f"{column.name} holds integers, not {value!r}")
    if wide.size and (int(wide.min()) < limits[0] or int(wide.max()) > limits[1]):
        raise MetadataValueError(f"{column.name} holds integers from {limits[0]} to {limits[1]}")
    return wide.astype(column.dtype)


def _texts(name: str, value: Any, n: int) -> npt.NDArray[Any]:
    out = np.empty(n, object)
    if value is None or isinstance(value, str):
        out[:] = value
        texts = {value}
    else:
        items = list(value)
        if len(items) != n:
            raise MetadataValueError(f"{len(items)} values of {name} for {n} new rows")
        out[:] = items
        texts = set(items)
    for text in texts:
        if text is None and name != "label":
            continue
        if not isinstance(text, str):
            raise MetadataValueError(f"{name} is a str, not {type(text).__name__}")
        if "\0" in text:
            raise MetadataValueError(f"{name} {text!r} holds a NUL character")
    return out


def checked(name: str, value: Any, n: int) -> npt.NDArray[Any]:
    """Values of one object column for n new rows. :raises MetadataValueError: if they do not fit."""
    if name in _TEXTS:
        return _texts(name, value, n)
    if name in ("parent", "frame_index"):
        return np.broadcast_to(np.asarray(value, np.int32), (n,))
    column = OBJECT_COLUMNS.get(name)
    if column is None:
        raise MetadataValueError(f"objects have no column {name!r}")
    array = _numbers(column, value, n)
    if name == "rect" and (array[:, 2:] < 0).any():
        row = int(np.argwhere(array[:, 2:] < 0)[0][0])
        raise MetadataValueError(f"rect of new row {row} has a negative size: {array[row].tolist()}")
    return array


def checked_frame(name: str, value: Any) -> npt.NDArray[Any]:
    """Value of one frame column for a new row. :raises MetadataValueError: if it does not fit."""
    column = FRAME_COLUMNS.get(name)
    if column is None or not column.writable:
        raise MetadataValueError(f"frames have no field {name!r} to set")
    return _numbers(column, value, 1)
