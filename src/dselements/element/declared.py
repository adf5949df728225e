"""Makes GObject properties of the Property lines in a class."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ..errors import PropertyValueError, RegistrationError
from .caps import templates
from .floating import float_for_c
from .gtypes import install_fraction
from .policy import post_warning
from .properties import Property
from .signals import signals_of

__all__ = ["DeclaredProperties", "install_late"]

_ATTRIBUTE = re.compile(r"^[A-Za-z][A-Za-z0-9_]*$")


class DeclaredProperties:
    """Mixin, before a GObject class: declared properties work from both sides.

    A value that is refused while running is a warning on the bus, and the old value stays. One
    that is refused earlier makes the start fail: gst-launch sets properties before there is a bus.
    """

    caps: ClassVar[str]
    _ds_properties: ClassVar[dict[str, Property[Any]]] = {}
    _ds_fractions: ClassVar[tuple[Property[Any], ...]] = ()
    """Own properties that are still to be installed in the GObject class."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {p.name: p for p in vars(cls).values() if isinstance(p, Property)}
        for declared in own.values():
            _check_name(cls, declared)
        cls._ds_properties = {**cls._ds_properties, **own}
        # PyGObject's metaclass reads these right after this hook, when it registers the type.
        theirs = dict(vars(cls).get("__gproperties__", {}))
        made = {n: entry for n, p in own.items() if (entry := p.g_property()) is not None}
        cls._ds_fractions = tuple(p for n, p in own.items() if n not in made)
        setattr(cls, "__gproperties__", {**theirs, **made})  # noqa: B010 -- PyGObject's attribute
        signals, methods = signals_of(dict(vars(cls)))
        if signals:
            theirs = dict(vars(cls).get("__gsignals__", {}))
            setattr(cls, "__gsignals__", {**theirs, **signals})  # noqa: B010
            for name, method in methods.items():
                setattr(cls, name, method)
        if "caps" in vars(cls) and "__gsttemplates__" not in vars(cls):
            setattr(cls, "__gsttemplates__", templates(cls.caps, cls.caps))  # noqa: B010

        if "__init__" in vars(cls):
            setattr(cls, "__init__", _noting(vars(cls)["__init__"]))  # noqa: B010

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        install_late(type(self))
        super().__init__(*args, **kwargs)
        float_for_c(self)

    def do_get_property(self, pspec: Any) -> Any:
        declared = self._ds_properties.get(pspec.name)
        if declared is None:
            raise AttributeError(f"unknown property {pspec.name}")
        return declared.to_gobject(self._latest(declared))

    def do_set_property(self, pspec: Any, value: Any) -> None:
        declared = self._ds_properties.get(pspec.name)
        if declared is None or not declared.writable:
            raise AttributeError(f"unknown property {pspec.name}")
        try:
            checked = declared.check(value)
        except PropertyValueError as error:
            # Raising here would only be printed.
            if self.current_state < Gst.State.PAUSED:  # type: ignore[attr-defined]
                self.__dict__.setdefault("_refused", {})[declared.name] = error
            else:
                post_warning(self, error, f"setting {pspec.name}")
            return
        self.__dict__.get("_refused", {}).pop(declared.name, None)
        self._store(declared, checked)

    def check_refused(self) -> None:
        """Called at the start. :raises PropertyValueError: for a value that was refused before."""
        refused: dict[str, PropertyValueError] = self.__dict__.get("_refused", {})
        for name in list(refused):
            raise refused.pop(name)

    def _latest(self, declared: Property[Any]) -> Any:
        """The value that was set last."""
        return getattr(self, declared.attribute)

    def _store(self, declared: Property[Any], value: Any) -> None:
        """Keep a checked value."""
        self.__dict__[declared.slot] = value
        self._property_changed(declared)

    def _property_changed(self, declared: Property[Any]) -> None:
        """Called after a property was set."""


def install_late(cls: type[Any]) -> None:
    """Install properties that PyGObject could not; before the first instance of the class."""
    for base in reversed(cls.__mro__):
        waiting: tuple[Property[Any], ...] = vars(base).get("_ds_fractions", ())
        g_type = vars(base).get("__gtype__")
        if waiting and g_type is not None:
            setattr(base, "_ds_fractions", ())  # noqa: B010 -- its own, not the inherited one
            for declared in waiting:
                nick, blurb = declared.texts
                install_fraction(
                    g_type.name, declared.name, nick, blurb, declared.fraction(), declared.flags
                )


def _noting(original: Callable[..., None]) -> Callable[..., None]:
    """An ``__init__`` that leaves word of its failure in the instance.

    Where C code makes the element, PyGObject prints the exception and the half-made element lives.
    """

    @wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(self, *args, **kwargs)
        except BaseException as error:
            self.__dict__["_init_error"] = f"{type(error).__name__}: {error!s:.500}"
            raise

    return __init__


def _check_name(cls: type[Any], declared: Property[Any]) -> None:
    """Refuse names that GObject does not take, and those that would replace something else."""
    attribute, where = declared.attribute, f"{cls.__name__}.{declared.attribute}"
    if not _ATTRIBUTE.match(attribute):
        raise RegistrationError(
            f"{where} cannot be a property",
            hint="ASCII letters, digits and _, beginning with a letter",
        )
    for base in cls.__mro__[1:]:
        there = vars(base).get(attribute)
        if isinstance(there, Property):
            if there.kind.name != declared.kind.name:
                raise RegistrationError(
                    f"{where} is a {declared.kind.name}, but a {there.kind.name} in {base.__name__}"
                )
            return
    if declared.name in _RESERVED or any(hasattr(base, attribute) for base in cls.__bases__):
        raise RegistrationError(
            f"{where} cannot be a property: {declared.name!r} has a meaning already",
            hint="take another name",
        )


# GObject's own attributes of these do not show as attributes of the class.
_RESERVED = frozenset({"name", "parent", "qos", "stats"})
