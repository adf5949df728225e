"""Declared properties: one line in the class, a GObject property everywhere."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast, overload

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ..errors import PropertyValueError, RegistrationError
from .kinds import KINDS, check_number, kind_of

__all__ = ["Property"]

T = TypeVar("T")


class Property(Generic[T]):
    """A property of an element: ``min_confidence = Property(0.5, min=0, max=1, help="…")``.

    In the class it reads and writes as an attribute; to GStreamer it is the GObject property
    ``min-confidence``, with type, range, default and help shown by ``gst-inspect-1.0``. An
    attribute may end with ``_`` where Python has the word for itself (``class_``).

    :param default: default value; its type decides the kind: bool, int, float, str,
        ``pathlib.Path`` (a file; ``~`` is the home), dict or list (JSON, a string in gst-launch),
        an ``enum.Enum`` member (GEnum, by nick in gst-launch), an ``enum.Flag`` member (GFlags,
        ``a+b``), Gst.Caps, Gst.Structure, or ``fractions.Fraction`` (GstFraction).
    :param min: smallest value of a number.
    :param max: largest value of a number.
    :param choices: the strings that are allowed.
    :param kind: names the kind where the default does not: ``uint``, ``int64``, ``uint64``,
        ``float32``, ``json``, ``path`` …
    :param exists: a path must name something that is there and readable; an empty one is allowed.
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
        kind: str | None = None,
        exists: bool = False,
        help: str = "",
        nick: str | None = None,
        mutable: bool = True,
        writable: bool = True,
    ) -> None:
        self.kind = kind_of(default, kind)
        """Kind of its values."""
        if (min is not None or max is not None) and not self.kind.is_number:
            raise RegistrationError(f"min and max need a number, the default is {default!r}")
        if choices is not None and self.kind.name != "str":
            raise RegistrationError(f"choices need a str, the default is {default!r}")
        if exists and self.kind.name != "path":
            raise RegistrationError(f"exists needs a path, the default is {default!r}")
        self.min = min
        """Smallest number, or None."""
        self.max = max
        """Largest number, or None."""
        if self.kind.name == "int" and kind is None:
            self._widen()
        self.choices = tuple(choices) if choices is not None else None
        """Strings that are allowed, or None for all."""
        self.exists = exists
        """True if a path must name something readable."""
        self.help = help
        """One sentence."""
        self.nick = nick
        """Short name, or None for the attribute's."""
        self.mutable = mutable
        """True if it may be changed while playing."""
        self.writable = writable
        """False if only the element sets it."""
        self.attribute = ""
        """Name in Python."""
        self.name = ""
        """Name in GObject."""
        try:
            self.default: T = self.check(default)
            """Value at the start."""
        except PropertyValueError as error:
            raise RegistrationError(f"the default is not allowed: {error.message}") from None

    def _widen(self) -> None:
        """More than 32 bits where the range says so."""
        low, high = self.limits()
        if low < KINDS["int"].limits[0] or high > KINDS["int"].limits[1]:  # type: ignore[index]
            wide = "uint64" if low >= 0 and high >= 2**63 else "int64"
            limits = KINDS[wide].limits
            assert limits is not None
            if low < limits[0] or high > limits[1]:
                raise RegistrationError(f"the range {low} to {high} does not fit 64 bits")
            self.kind = KINDS[wide]

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name
        self.name = name.rstrip("_").replace("_", "-")
        self.slot = f"_property_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> Property[T] | T:
        if instance is None:
            return self
        values = instance.__dict__
        if values.get("_coming"):
            return cast(T, instance._coming_value(self))
        found = values.get(self.slot, self)
        return cast(T, self.default_value(instance) if found is self else found)

    def default_value(self, instance: Any) -> T:
        """The default; of a kind that can be changed in place, one of the instance's own."""
        if self.kind.name == "json":
            return cast(T, instance.__dict__.setdefault(self.slot, copy.deepcopy(self.default)))
        return self.default

    def __set__(self, instance: Any, value: T) -> None:
        instance._store(self, self.check(value))
        instance.notify(self.name)

    def check(self, value: Any) -> T:
        """The value in the property's type. :raises PropertyValueError: if it is not allowed."""
        label = self.name or "property"
        if self.kind.is_number:
            return cast(T, check_number(label, value, self.kind, *self.limits()))
        assert self.kind.to_python is not None
        found = self.kind.to_python(label, value)
        if self.choices is not None and found not in self.choices:
            raise PropertyValueError(
                f"{label} cannot be {found!r}", hint=f"one of {', '.join(self.choices)}"
            )
        if self.exists and found != Path() and not os.access(found, os.R_OK):
            there = "cannot be read" if found.exists() else "does not exist"
            raise PropertyValueError(f"{label}: {found} {there}")
        return cast(T, found)

    def to_gobject(self, value: T) -> Any:
        """A value as GObject gets it."""
        return value if self.kind.to_gobject is None else self.kind.to_gobject(value)

    def limits(self) -> tuple[float, float]:
        """Smallest and largest number allowed."""
        assert self.kind.limits is not None
        low, high = self.kind.limits
        if self.kind.is_whole:
            low = low if self.min is None else int(self.min)
            return low, high if self.max is None else int(self.max)
        return (low if self.min is None else self.min, high if self.max is None else self.max)

    @property
    def flags(self) -> Any:
        """GParamFlags."""
        flags = GObject.ParamFlags.READABLE
        if self.writable:
            flags |= GObject.ParamFlags.WRITABLE
            flags |= Gst.PARAM_MUTABLE_PLAYING if self.mutable else Gst.PARAM_MUTABLE_READY
        return flags

    @property
    def texts(self) -> tuple[str, str]:
        """Nick and blurb."""
        blurb = self.help
        if self.choices is not None:
            blurb = f"{blurb} ({', '.join(self.choices)})".strip()
        return self.nick or self.attribute.rstrip("_").replace("_", " "), blurb

    def g_property(self) -> tuple[Any, ...] | None:
        """The tuple that PyGObject's ``__gproperties__`` takes; None for a fraction."""
        kind, head = self.kind, self.texts
        if kind.g_type is None:
            return None
        if kind.is_number:
            return (kind.g_type, *head, *self.limits(), self.default, self.flags)
        if kind.name in ("caps", "structure"):
            return (kind.g_type, *head, self.flags)  # boxed: GObject knows no default
        return (kind.g_type, *head, self.to_gobject(self.default), self.flags)

    def fraction(self) -> tuple[int, int]:
        """Numerator and denominator of a fraction's default."""
        value: Any = self.default
        return value.numerator, value.denominator
