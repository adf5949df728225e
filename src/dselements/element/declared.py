"""Makes GObject properties of the Property lines in a class."""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import PropertyValueError
from .caps import templates
from .policy import post_warning
from .properties import Property

__all__ = ["DeclaredProperties"]


class DeclaredProperties:
    """Mixin, before a GObject class: declared properties work from both sides.

    A value that is refused is a warning on the bus, and the old value stays.
    """

    caps: ClassVar[str]
    _ds_properties: ClassVar[dict[str, Property[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {p.name: p for p in vars(cls).values() if isinstance(p, Property)}
        # A name that a base class has stays its GObject property; only the default is new.
        fresh = {n: p for n, p in own.items() if n not in cls._ds_properties}
        cls._ds_properties = {**cls._ds_properties, **own}
        # PyGObject's metaclass reads these right after this hook, when it registers the type.
        declared = dict(vars(cls).get("__gproperties__", {}))
        setattr(  # noqa: B010 -- the attribute is PyGObject's, not this class's
            cls, "__gproperties__", {**declared, **{n: p.g_property() for n, p in fresh.items()}}
        )
        if "caps" in vars(cls) and "__gsttemplates__" not in vars(cls):
            setattr(cls, "__gsttemplates__", templates(cls.caps, cls.caps))  # noqa: B010

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
            post_warning(self, error, f"setting {pspec.name}")
            return
        self.__dict__[declared.slot] = checked
        self._property_changed(declared)

    def _property_changed(self, declared: Property[Any]) -> None:
        """Called after a property was set."""
