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
from .policy import post_warning
from .properties import Property

__all__ = ["DeclaredProperties"]

_ATTRIBUTE = re.compile(r"^[A-Za-z][A-Za-z0-9_]*$")


class DeclaredProperties:
    """Mixin, before a GObject class: declared properties work from both sides.

    A value that is refused while running is a warning on the bus, and the old value stays. One
    that is refused earlier makes the start fail: gst-launch sets properties before there is a bus.
    """

    caps: ClassVar[str]
    _ds_properties: ClassVar[dict[str, Property[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {p.name: p for p in vars(cls).values() if isinstance(p, Property)}
        for declared in own.values():
            _check_name(cls, declared)
        cls._ds_properties = {**cls._ds_properties, **own}
        # PyGObject's metaclass reads these right after this hook, when it registers the type.
        theirs = dict(vars(cls).get("__gproperties__", {}))
        setattr(  # noqa: B010 -- the attribute is PyGObject's, not this class's
            cls, "__gproperties__", {**theirs, **{n: p.g_property() for n, p in own.items()}}
        )
        if "caps" in vars(cls) and "__gsttemplates__" not in vars(cls):
            setattr(cls, "__gsttemplates__", templates(cls.caps, cls.caps))  # noqa: B010

        if "__init__" in vars(cls):
            setattr(cls, "__init__", _noting(vars(cls)["__init__"]))  # noqa: B010

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        float_for_c(self)

    def do_get_property(self, pspec: Any) -> Any:
        declared = self._ds_properties.get(pspec.name)
        if declared is None:
            raise AttributeError(f"unknown property {pspec.name}")
        return getattr(self, declared.attribute)

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
        self.__dict__[declared.slot] = checked
        self._property_changed(declared)

    def check_refused(self) -> None:
        """Called at the start. :raises PropertyValueError: for a value that was refused before."""
        refused: dict[str, PropertyValueError] = self.__dict__.get("_refused", {})
        for name in list(refused):
            raise refused.pop(name)

    def _property_changed(self, declared: Property[Any]) -> None:
        """Called after a property was set."""


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
            if there.kind is not declared.kind:
                raise RegistrationError(
                    f"{where} is a {declared.kind.__name__}, but a {there.kind.__name__} in "
                    f"{base.__name__}"
                )
            return
    if declared.name in _RESERVED or any(hasattr(base, attribute) for base in cls.__bases__):
        raise RegistrationError(
            f"{where} cannot be a property: {declared.name!r} has a meaning already",
            hint="take another name",
        )


# GObject's own attributes of these do not show as attributes of the class.
_RESERVED = frozenset({"name", "parent", "qos", "stats"})
