"""GObject enum and flags types, and fraction properties, which PyGObject cannot make by itself."""

from __future__ import annotations

import ctypes
import enum
import fractions
import re
from functools import cache
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ..errors import RegistrationError
from .gobject import class_address, libgobject

__all__ = ["EnumType", "enum_type", "fraction_of", "install_fraction", "nick_of"]

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_MAX_FLAG = 2**32 - 1


class _Value(ctypes.Structure):
    """GEnumValue and GFlagsValue."""

    _fields_ = (("value", ctypes.c_int), ("name", ctypes.c_char_p), ("nick", ctypes.c_char_p))


class EnumType:
    """A Python enum as a GObject type.

    ``enum.Flag`` becomes a GFlags type with the members' own bits; other enums a GEnum type, with
    the members' own numbers where all of them are ints, and their places otherwise.
    """

    def __init__(self, python: type[enum.Enum]) -> None:
        self.python = python
        self.is_flags = issubclass(python, enum.Flag)
        members = [m for m in python if not self.is_flags or m.value]
        own = all(isinstance(m.value, int) and not isinstance(m.value, bool) for m in members)
        if not members:
            raise RegistrationError(f"{python.__name__} has no members")
        self._numbers = {m: (int(m.value) if own else place) for place, m in enumerate(members)}
        low, high = (0, _MAX_FLAG) if self.is_flags else (_INT_MIN, _INT_MAX)
        for member, number in self._numbers.items():
            if not low <= number <= high:
                raise RegistrationError(f"{member} is {number}, which does not fit 32 bits")
        self._members = {number: member for member, number in self._numbers.items()}
        self._nicks = {nick_of(m): m for m in members}
        # Kept for the process's life, as GObject points to them.
        self._table = (_Value * (len(members) + 1))()
        for place, member in enumerate(members):
            number = ctypes.c_int(self._numbers[member] & 0xFFFFFFFF).value
            self._table[place] = _Value(number, member.name.encode(), nick_of(member).encode())
        name = "Ds" + re.sub(r"[^A-Za-z0-9]", "_", f"{python.__module__}_{python.__qualname__}")
        while _known(name):
            name += "_"  # another class of that name, such as one of a reloaded module
        library = libgobject()
        register = (
            library.g_flags_register_static if self.is_flags else library.g_enum_register_static
        )
        if not register(name.encode(), self._table):
            raise RegistrationError(f"GObject did not register {python.__name__}")
        self.g_type: Any = GObject.GType.from_name(name)
        """GType of it."""

    @property
    def nicks(self) -> tuple[str, ...]:
        """How the members are written in gst-launch."""
        return tuple(self._nicks)

    def number(self, member: enum.Enum) -> int:
        """What GObject holds for a member, or for members of a flags type put together."""
        return int(member.value) if self.is_flags else self._numbers[member]

    def member(self, value: Any) -> enum.Enum | None:
        """A member of what GObject or a user gave: a member, number, name or nick; or None."""
        if isinstance(value, self.python):
            return value
        if isinstance(value, str):
            return self._of_text(value)
        if isinstance(value, bool) or not isinstance(value, (int, GObject.GFlags, GObject.GEnum)):
            return None
        number = int(value)
        if not self.is_flags:
            return self._members.get(number)
        number &= _MAX_FLAG
        known = 0
        for bits in self._members:
            known |= bits
        return None if number & ~known else self.python(number)

    def _of_text(self, text: str) -> enum.Enum | None:
        parts = text.split("+") if self.is_flags else [text]
        names = self.python.__members__
        found = [self._nicks.get(part.strip(), names.get(part.strip())) for part in parts]
        if self.is_flags and text.strip() in ("", "0"):
            return self.python(0)
        if None in found:
            return None
        if not self.is_flags:
            return found[0]
        total = 0
        for one in found:
            total |= one.value  # type: ignore[union-attr]
        return self.python(total)


def nick_of(member: enum.Enum) -> str:
    """A member's name as GStreamer writes such: ``NO_DROP`` is ``no-drop``."""
    return str(member.name).lower().replace("_", "-")


def _known(name: str) -> bool:
    return bool(libgobject().g_type_from_name(name.encode()))


@cache
def enum_type(python: type[enum.Enum]) -> EnumType:
    """The GObject type of a Python enum; one for each.

    :raises RegistrationError: for an enum that GObject cannot hold.
    """
    return EnumType(python)


def install_fraction(
    type_name: str, name: str, nick: str, blurb: str, default: tuple[int, int], flags: int
) -> None:
    """Add a GstFraction property to a class of which there is no instance yet."""
    library = ctypes.CDLL("libgstreamer-1.0.so.0")
    make = library.gst_param_spec_fraction
    make.restype = ctypes.c_void_p
    make.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_int] * 7
    spec = make(
        name.encode(), nick.encode(), blurb.encode(), 0, 1, _INT_MAX, 1, *default, int(flags)
    )
    install = libgobject().g_object_class_install_property
    install.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p]
    install.restype = None
    # PyGObject tells properties apart by name; the id has no meaning to it.
    install(class_address(type_name), 1, spec)


def fraction_of(value: Any) -> fractions.Fraction | None:
    """What a user gave (Gst.Fraction, fractions.Fraction, text, int), or None if it is none.

    Gst.Fraction holds floats where PyGObject made it.
    """
    if isinstance(value, Gst.Fraction):
        parts: tuple[Any, Any] = (value.num, value.denom)
    elif isinstance(value, str):
        texts = value.split("/")
        if len(texts) > 2 or not all(text.strip().isdigit() for text in texts):
            return None
        parts = (int(texts[0]), int(texts[1]) if len(texts) == 2 else 1)
    elif isinstance(value, (int, fractions.Fraction)) and not isinstance(value, bool):
        parts = (value.numerator, value.denominator)
    else:
        return None
    num, denom = int(parts[0]), int(parts[1])
    if denom <= 0 or num < 0 or max(num, denom) > _INT_MAX:
        return None
    return fractions.Fraction(num, denom)
