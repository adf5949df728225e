"""Checks of values before they reach a column: shape, range, finiteness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import MetadataValueError, NonFiniteValueError
from .fields import Column

__all__ = ["MAX_LABEL_BYTES", "checked_text", "checked_texts", "checked_values"]

MAX_LABEL_BYTES = 127
"""MAX_LABEL_SIZE of nvdsmeta.h, less the NUL."""

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def checked_values(column: Column, value: Any, n: int | None, where: Callable[[int], str]) -> Any:
    """A value for n rows of a column (for one row if n is None), in the column's dtype.

    :param value: one value of the column, or n of them.
    :param where: names row i for messages.
    :returns: something that numpy broadcasts to the rows.
    :raises MetadataValueError: for another shape, text, a fraction in an integer column, a
        number outside its range, or a negative size in ``rect``.
    :raises NonFiniteValueError: for NaN, infinity and what overflows to it; names the row.
    """
    kind = type(value)
    limits = column.low_high
    if column.width == 1 and (kind is int or (kind is float and limits is None)):
        # The quick way for plain numbers.
        if limits is not None:
            if limits[0] <= value <= limits[1]:
                return value
        elif -_FLOAT32_MAX <= value <= _FLOAT32_MAX:
            return value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise MetadataValueError(f"{column.name} of {where(0)} cannot be set: {error}") from None
    if array.dtype.kind not in "biuf":
        raise MetadataValueError(
            f"{column.name} of {where(0)} cannot be {value!r}: it holds numbers"
        )
    one = column.shape
    if array.shape != one and (n is None or array.shape != (n, *one)):
        wanted = f"{one}" if n is None else f"{one} or {(n, *one)}"
        raise MetadataValueError(
            f"{column.name} of {where(0)} cannot have shape {array.shape}: needed {wanted}"
        )
    if limits is None:
        with np.errstate(over="ignore"):
            cast = array.astype(column.dtype)
        _check_finite(column, array, cast, one, where)
        if column.name == "rect":
            bad = (cast[..., 2:] < 0).any(axis=-1)
            if bad.any():
                row, shown = _first(bad, array, one)
                raise MetadataValueError(f"rect of {where(row)} has a negative size: {shown}")
        return cast
    wrong = np.zeros(array.shape, bool)
    if array.dtype.kind == "f":
        wrong = ~np.isfinite(array) | (array != np.floor(array))
        # Compared as floats: 2**64 - 1 rounds up to 2**64, which is outside.
        wrong |= (array < limits[0]) | (array >= float(limits[1]) + 1)
    elif array.size and (int(array.min()) < limits[0] or int(array.max()) > limits[1]):
        wrong = np.frompyfunc(lambda x: not limits[0] <= int(x) <= limits[1], 1, 1)(array)
        wrong = np.asarray(wrong, bool)
    if wrong.any():
        row, shown = _first(wrong if not one else wrong.any(axis=-1), array, one)
        raise MetadataValueError(
            f"{column.name} of {where(row)} cannot be {shown}: "
            f"it holds integers from {limits[0]} to {limits[1]}"
        )
    return array.astype(column.dtype)


def _check_finite(
    column: Column,
    given: npt.NDArray[Any],
    cast: npt.NDArray[Any],
    one: tuple[int, ...],
    where: Callable[[int], str],
) -> None:
    bad = ~np.isfinite(cast)
    if bad.any():
        row, shown = _first(bad.any(axis=-1) if one else bad, given, one)
        raise NonFiniteValueError(f"{column.name} of {where(row)} cannot be {shown}")


def _first(bad: Any, given: npt.NDArray[Any], one: tuple[int, ...]) -> tuple[int, Any]:
    """Row and value of the first bad row."""
    row = int(np.flatnonzero(np.atleast_1d(bad))[0])
    shown = given if given.ndim == len(one) else given[row]
    return row, shown.tolist()


def checked_text(name: str, value: Any, where: str = "") -> str | None:
    """A text field's value. None is good for all but labels.

    :raises MetadataValueError: for other types, NUL characters and lone surrogates.
    """
    of = f"{name} of {where}" if where else name
    if value is None and name != "label":
        return None
    if not isinstance(value, str):
        raise MetadataValueError(f"{of} is a str, not {type(value).__name__}")
    if "\0" in value:
        raise MetadataValueError(f"{of} {value!r} holds a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise MetadataValueError(f"{of} {value!r} is no valid text: {error}") from None
    return value


def checked_texts(name: str, value: Any, n: int) -> Any:
    """One text, or an object array of n. :raises MetadataValueError: if they do not fit."""
    if value is None or isinstance(value, str):
        return checked_text(name, value)
    try:
        items = list(value)
    except TypeError:
        raise MetadataValueError(f"{name} is a str, not {type(value).__name__}") from None
    if len(items) != n:
        raise MetadataValueError(f"{len(items)} values of {name} for {n} objects")
    done: set[Any] = set()
    for item in items:
        if not (isinstance(item, str) and item in done):
            checked_text(name, item)
            done.add(item)
    out = np.empty(n, object)
    out[:] = items
    return out
