"""Declared properties: one line in the class, a GObject property everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast, overload

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ..errors import PropertyValueError, RegistrationError

__all__ = ["Property"]

T = TypeVar("T")

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_G_TYPES = {bool: GObject.TYPE_BOOLEAN, float: GObject.TYPE_DOUBLE, str: GObject.TYPE_STRING}


class Property(Generic[T]):
    """A property of an element: ``min_confidence = Property(0.5, min=0, max=1, help="…")``.

    In the class it reads and writes as an attribute; to GStreamer it is the GObject property
    ``min-confidence``, with type, range, default and help shown by ``gst-inspect-1.0``.

    :param default: default value; its type (bool, int, float or str) is the property's.
    :param min: smallest value of a number.
    :param max: largest value of a number.
    :param choices: the strings that are allowed.
    :param help: one sentence for ``gst-inspect-1.0``.
    :param nick: short name; made from the attribute's name when omitted.
    :param mutable: may be changed while playing; otherwise only before PAUSED.
    :param writable: False for values that only the element sets.
    :raises RegistrationError: for a declaration that contradicts itself.
    """

    def __init__(
        self,
        default: T,
        *,
        min: float | None = None,
        max: float | None = None,
        choices: Sequence[str] | None = None,
        help: str = "",
        nick: str | None = None,
        mutable: bool = True,
        writable: bool = True,
    ) -> None:
        self.default = default
        """Value before it is set."""
        self.kind = type(default)
        """bool, int, float or str."""
        if self.kind not in (bool, int, float, str):
            raise RegistrationError(
                f"a property's default is a bool, int, float or str, not {self.kind.__name__}"
            )
        numeric = self.kind in (int, float)
        if (min is not None or max is not None) and not numeric:
            raise RegistrationError(f"min and max need a number, the default is {default!r}")
        if choices is not None and self.kind is not str:
            raise RegistrationError(f"choices need a str, the default is {default!r}")
        self.min, self.max = min, max
        self.choices = tuple(choices) if choices is not None else None
        """Strings that are allowed; None for any."""
        self.help = help
        """Sentence for ``gst-inspect-1.0``."""
        self.nick = nick
        """Short name; None to make one."""
        self.mutable = mutable
        """True if it may be changed while playing."""
        self.writable = writable
        """False if only the element sets it."""
        self.attribute = ""
        """Name in Python: ``min_confidence``."""
        self.name = ""
        """Name in GStreamer: ``min-confidence``."""
        try:
            self.check(default)
        except PropertyValueError as error:
            raise RegistrationError(f"the default is not allowed: {error.message}") from None

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name
        self.name = name.replace("_", "-")
        self.slot = f"_property_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> Property[T] | T:
        if instance is None:
            return self
        return cast(T, instance.__dict__.get(self.slot, self.default))

    def __set__(self, instance: Any, value: T) -> None:
        instance.__dict__[self.slot] = self.check(value)
        instance._property_changed(self)
        instance.notify(self.name)

    def check(self, value: Any) -> T:
        """The value in the property's type. :raises PropertyValueError: if it is not allowed."""
        label = self.name or "property"
        if self.kind is str:
            value = "" if value is None else value
            if not isinstance(value, str):
                raise PropertyValueError(f"{label} is a string, not {value!r}")
            if self.choices is not None and value not in self.choices:
                raise PropertyValueError(
                    f"{label} cannot be {value!r}", hint=f"one of {', '.join(self.choices)}"
                )
            return cast(T, value)
        if self.kind is bool:
            return cast(T, bool(value))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise PropertyValueError(f"{label} is a number, not {value!r}")
        if self.kind is int:
            if isinstance(value, float) and not value.is_integer():
                raise PropertyValueError(f"{label} is a whole number, not {value!r}")
            value = int(value)
        else:
            value = float(value)
            if math.isnan(value):
                raise PropertyValueError(f"{label} cannot be NaN")
        low, high = self.limits()
        if not low <= value <= high:
            raise PropertyValueError(f"{label} {value} is outside {low} to {high}")
        return cast(T, value)

    def limits(self) -> tuple[float, float]:
        """Smallest and largest number allowed."""
        if self.kind is float:
            big = 1.7976931348623157e308
            return (-big if self.min is None else self.min, big if self.max is None else self.max)
        low = _INT_MIN if self.min is None else int(self.min)
        high = _INT_MAX if self.max is None else int(self.max)
        return low, high

    def g_property(self) -> tuple[Any, ...]:
        """The tuple that PyGObject's ``__gproperties__`` takes."""
        flags = GObject.ParamFlags.READABLE
        if self.writable:
            flags |= GObject.ParamFlags.WRITABLE
            flags |= Gst.PARAM_MUTABLE_PLAYING if self.mutable else Gst.PARAM_MUTABLE_READY
        nick = self.nick or self.attribute.replace("_", " ")
        blurb = self.help
        if self.choices is not None:
            blurb = f"{blurb} ({', '.join(self.choices)})".strip()
        head: tuple[Any, ...]
        if self.kind is int:
            low, high = self.limits()
            wide = low < _INT_MIN or high > _INT_MAX
            if wide and (low < _LONG_MIN or high > _LONG_MAX):
                raise RegistrationError(f"the range of {self.name} does not fit 64 bits")
            kind = GObject.TYPE_INT64 if wide else GObject.TYPE_INT
            head = (kind, nick, blurb, low, high, self.default)
        elif self.kind is float:
            low, high = self.limits()
            head = (GObject.TYPE_DOUBLE, nick, blurb, low, high, self.default)
        else:
            head = (_G_TYPES[self.kind], nick, blurb, self.default)
        return (*head, flags)
