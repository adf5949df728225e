"""Kinds of properties: what a value may be, and which GObject property shows it."""

from __future__ import annotations

import enum
import fractions
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ..errors import PropertyValueError, RegistrationError
from .gtypes import enum_type, fraction_of

__all__ = ["KINDS", "Kind", "kind_of"]

_BIG = 1.7976931348623157e308
_BIG32 = 3.4028234663852886e38


@dataclass(frozen=True)
class Kind:
    """One kind of value."""

    name: str
    python: type[Any]
    """Type of the value that the element sees."""
    g_type: Any = None
    """GObject type; None for one that the value decides."""
    limits: tuple[float, float] | None = None
    """Of numbers."""
    to_python: Callable[[str, Any], Any] | None = None
    """Label and value from outside to the value; raises PropertyValueError."""
    to_gobject: Callable[[Any], Any] | None = None
    """Value to what GObject gets; itself when None."""

    @property
    def is_number(self) -> bool:
        """True for kinds that have a range."""
        return self.limits is not None

    @property
    def is_whole(self) -> bool:
        """True for integers."""
        return self.python is int and self.limits is not None


def _path(label: str, value: Any) -> Path:
    if value is None:
        value = ""
    if not isinstance(value, (str, os.PathLike)):
        raise PropertyValueError(f"{label} is a path, not {value!r}")
    return Path(value).expanduser()


def _json(label: str, value: Any) -> Any:
    if isinstance(value, str):
        if value[:1] == value[-1:] == "'":
            value = value[1:-1]  # as in a shell; Gst.parse_launch leaves them there
        if not value.strip():
            return None
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            raise PropertyValueError(
                f"{label} is no JSON: {error.msg} at character {error.pos + 1}: "
                f"{value[max(error.pos - 10, 0) : error.pos + 10]!r}",
                hint="in a shell, put the JSON in single quotes",
            ) from None
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise PropertyValueError(f"{label} cannot be written as JSON: {error}") from None


def _caps(label: str, value: Any) -> Any:
    if isinstance(value, Gst.Caps):
        return value
    if isinstance(value, str):
        caps = Gst.Caps.from_string(value)
        if caps is not None:
            return caps
    raise PropertyValueError(f"{label} is caps, not {value!r}")


def _structure(label: str, value: Any) -> Any:
    if isinstance(value, Gst.Structure):
        return value.copy()
    if isinstance(value, str):
        try:
            parsed = Gst.Structure.from_string(value)
        except TypeError:  # what PyGObject makes of NULL
            parsed = None
        found = parsed[0] if isinstance(parsed, tuple) else parsed
        if found is not None:
            return found
    raise PropertyValueError(f"{label} is a structure, not {value!r}")


def _fraction(label: str, value: Any) -> Any:
    found = fraction_of(value)
    if found is None:
        raise PropertyValueError(f"{label} is a fraction, not {value!r}", hint="such as 30/1")
    return found


def _bool(label: str, value: Any) -> bool:
    return bool(value)


def _text(label: str, value: Any) -> str:
    value = "" if value is None else value
    if not isinstance(value, str):
        raise PropertyValueError(f"{label} is a string, not {value!r}")
    return value


KINDS = {
    kind.name: kind
    for kind in (
        Kind("bool", bool, GObject.TYPE_BOOLEAN, to_python=_bool),
        Kind("int", int, GObject.TYPE_INT, (-(2**31), 2**31 - 1)),
        Kind("uint", int, GObject.TYPE_UINT, (0, 2**32 - 1)),
        Kind("int64", int, GObject.TYPE_INT64, (-(2**63), 2**63 - 1)),
        Kind("uint64", int, GObject.TYPE_UINT64, (0, 2**64 - 1)),
        Kind("float", float, GObject.TYPE_DOUBLE, (-_BIG, _BIG)),
        Kind("float32", float, GObject.TYPE_FLOAT, (-_BIG32, _BIG32)),
        Kind("str", str, GObject.TYPE_STRING, to_python=_text),
        Kind("path", Path, GObject.TYPE_STRING, to_python=_path,
             to_gobject=lambda path: "" if path == Path() else str(path)),
        Kind("json", object, GObject.TYPE_STRING, to_python=_json,
             to_gobject=lambda value: "" if value is None else json.dumps(value)),
        Kind("caps", Gst.Caps, Gst.Caps, to_python=_caps),
        Kind("structure", Gst.Structure, Gst.Structure, to_python=_structure),
        Kind("fraction", fractions.Fraction, to_python=_fraction,
             to_gobject=lambda value: Gst.Fraction(value.numerator, value.denominator)),
    )
}  # fmt: skip
"""By name, as ``Property(kind=…)`` takes it; enums are made by :func:`kind_of`."""


def kind_of(default: Any, name: str | None = None) -> Kind:
    """The kind of a property by its default.

    :raises RegistrationError: for a type that no property has.
    """
    if name is not None:
        if name not in KINDS:
            raise RegistrationError(f"there is no kind {name!r}", hint=f"one of {', '.join(KINDS)}")
        return KINDS[name]
    if isinstance(default, enum.Enum):
        return _enum_kind(type(default))
    for python, found in (
        (bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (Path, "path"),
        ((dict, list), "json"), (Gst.Caps, "caps"), (Gst.Structure, "structure"),
        ((Gst.Fraction, fractions.Fraction), "fraction"),
    ):  # fmt: skip
        if isinstance(default, python):
            return KINDS[found]
    raise RegistrationError(
        f"no property has a {type(default).__name__} as its default",
        hint="bool, int, float, str, pathlib.Path, dict or list (JSON), an enum, Gst.Caps, "
        "Gst.Structure or Gst.Fraction; or name a kind",
    )


def _enum_kind(python: type[enum.Enum]) -> Kind:
    made = enum_type(python)

    def convert(label: str, value: Any) -> enum.Enum:
        member = made.member(value)
        if member is None:
            raise PropertyValueError(
                f"{label} cannot be {value!r}", hint=f"one of {', '.join(made.nicks)}"
            )
        return member

    kind = "flags" if made.is_flags else "enum"
    return Kind(f"{kind} {python.__name__}", python, made.g_type, to_python=convert,
                to_gobject=made.number)  # fmt: skip


def check_number(label: str, value: Any, kind: Kind, low: float, high: float) -> Any:
    """A number in the property's type and range. :raises PropertyValueError: if it is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PropertyValueError(f"{label} is a number, not {value!r}")
    if kind.is_whole:
        if isinstance(value, float) and not value.is_integer():
            raise PropertyValueError(f"{label} is a whole number, not {value!r}")
        value = int(value)
    else:
        value = float(value)
        if math.isnan(value):
            raise PropertyValueError(f"{label} cannot be NaN")
    if not low <= value <= high:
        raise PropertyValueError(f"{label} {value} is outside {low} to {high}")
    return value
