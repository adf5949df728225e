"""Naming elements and registering them with GStreamer."""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ..entry_group import GROUP, installed
from ..errors import RegistrationError
from .declared import install_late

if TYPE_CHECKING:
    from .transform import MetaTransform

__all__ = [
    "GROUP",
    "element",
    "entry_classes",
    "forget_declared",
    "loaders",
    "register",
    "register_hosted",
    "register_plugin",
]

log = logging.getLogger("dselements.element")

_LOADER = "python"
"""The plugin that elements belong to which the gst-python loader found."""
_NAME = re.compile(r"^[a-z][a-z0-9_-]*$")
_declared: dict[str, type[Any]] = {}
_registered: dict[str, type[Any]] = {}
C = TypeVar("C", bound=type[Any])


class _Namer(Protocol):
    """What :func:`element` returns."""

    @overload
    def __call__(self, cls: C, /) -> C: ...
    @overload
    def __call__(self, cls: Callable[..., Any], /) -> type[MetaTransform]: ...


def element(
    name: str,
    *,
    description: str,
    klass: str = "Filter/Effect/Video",
    author: str = "unknown",
    long_name: str | None = None,
    rank: int = 0,
) -> _Namer:
    """Name a class as a GStreamer element: ``@ds.element("speedgate", description="…")``.

    Or a function ``def f(batch, *, min_area: int = 100)``: it becomes the ``process`` of a class,
    its keyword-only parameters become properties, and the name ``f`` then means that class, whose
    ``function`` is the function itself.

    It becomes known to GStreamer by :func:`register`, or through the gst-python loader.

    :param name: the factory's name, as in gst-launch.
    :param klass: GStreamer's classification, such as ``Filter/Analyzer/Video``.
    :raises RegistrationError: for a name that GStreamer does not take, or a class that is none.
    """
    if not _NAME.match(name):
        raise RegistrationError(
            f"{name!r} cannot name an element", hint="lower-case letters, digits, - and _"
        )

    def name_class(cls: Any) -> Any:
        what = getattr(cls, "process", cls) if isinstance(cls, type) else cls
        if inspect.iscoroutinefunction(what) or inspect.isgeneratorfunction(what):
            raise RegistrationError(
                f"{what.__qualname__} is a coroutine or generator function, which nobody runs",
                hint="write a plain def",
            )
        if inspect.isfunction(cls):
            from .functions import class_of

            cls = class_of(cls, name)
        made: Any = cls
        if not (isinstance(cls, type) and issubclass(cls, Gst.Element)):
            raise RegistrationError(
                f"@element({name!r}) needs a subclass of MetaTransform or a function"
            )
        install_late(made)
        made.set_metadata(long_name or name, klass, description, author)
        made._ds_name = name
        made._ds_rank = rank
        _declared[name] = made
        return made

    return name_class


def _load(target: str) -> type[Any]:
    module, _, attribute = target.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except AttributeError as error:
        raise RegistrationError(f"{target}: {error}") from error
    if not (isinstance(found, type) and hasattr(found, "_ds_name")):
        raise RegistrationError(f"{target} is no class made with @element")
    return found


def loaders(entry: EntryPoint) -> list[tuple[str, Callable[[], type[Any]]]]:
    """What an entry point offers: a description and a function that loads the class."""
    value = entry.load()
    table = getattr(value, "ELEMENTS", None)
    where = f"{entry.name} = {entry.value}"
    if table is None:
        if not hasattr(value, "_ds_name"):
            raise RegistrationError(f"entry point {where} is no element")
        return [(where, lambda: value)]
    return [(f"{where}, {target}", partial(_load, target)) for target in table.values()]


def entry_classes(on_error: Callable[[str, Exception], None]) -> Iterator[type[Any]]:
    """Element classes of all installed packages.

    :param on_error: told what could not be loaded and why; the others still come.
    """
    for entry in installed():
        try:
            found = loaders(entry)
        except Exception as error:  # noqa: BLE001 -- reported; others still load
            on_error(f"{entry.name} = {entry.value}", error)
            continue
        for where, load in found:
            try:
                yield load()
            except Exception as error:  # noqa: BLE001 -- reported; others still load
                on_error(where, error)


def register(*what: type[Any] | str) -> None:
    """Make elements known to GStreamer in this process.

    :param what: classes made with :func:`element`, or names of such classes or of installed
        elements. Without arguments: every element declared so far and every installed one; an
        installed one that cannot be loaded or registered is logged as an error, and the others
        come.
    :raises RegistrationError: if one that was named is unknown or cannot be loaded, or GStreamer
        refuses one.
    """
    Gst.init(None)
    if not what:

        def tell(where: str, error: Exception) -> None:
            log.error("entry point %s cannot be loaded: %s", where, error, exc_info=error)

        installed = list(entry_classes(tell))
        for cls in installed:
            try:
                _register(cls, None)
            except RegistrationError as error:
                tell(f"{cls.__module__}:{cls.__qualname__}", error)
        for cls in _declared.values():
            if cls not in installed:
                _register(cls, None)
        return
    for item in what:
        if isinstance(item, str):
            item = _by_name(item)
        if not hasattr(item, "_ds_name"):
            raise RegistrationError(f"{item!r} was not made with @element")
        _register(item, None)


def _by_name(name: str) -> type[Any]:
    if name in _declared:
        return _declared[name]
    broken: list[str] = []
    for cls in entry_classes(lambda where, error: broken.append(f"{where}: {error}")):
        if cls._ds_name == name:
            return cls
    raise RegistrationError(
        f"no element named {name!r} is declared or installed", hint="; ".join(broken)
    )


def _register(cls: type[Any], plugin: Any) -> None:
    name = cls._ds_name
    if _registered.get(name) is cls:
        return
    there = Gst.Registry.get().lookup_feature(name)
    owner = there.get_plugin_name() if there is not None else None
    if owner is not None and owner != _LOADER:
        raise RegistrationError(
            f"{name} is an element of the plugin {owner} already", hint="take another name"
        )
    if not Gst.Element.register(plugin, name, getattr(cls, "_ds_rank", 0), cls):
        raise RegistrationError(f"GStreamer did not register {name}")
    _registered[name] = cls


def register_plugin() -> tuple[str, int, type[Any]] | None:
    """Called by the file that the gst-python loader imports: register all installed elements.

    What cannot be loaded is reported on standard error; the others are registered.

    :returns: an element for the loader to register by itself, or None. Where Python ran before
        the loader came (another plugin booted it), the loader does not say which plugin it is;
        the others are then registered as soon as that element tells.
    """
    Gst.init(None)
    _print_at_once()

    def report(where: str, error: Exception) -> None:
        print(f"dselements: {where} cannot be loaded:", file=sys.stderr)
        traceback.print_exception(type(error), error, error.__traceback__)

    classes = list(entry_classes(report))
    registry = Gst.Registry.get()
    plugin = getattr(Gst, "__plugin__", None) or registry.find_plugin(_LOADER)
    if plugin is not None:
        _register_each(classes, plugin)
        return None
    free = [cls for cls in classes if registry.lookup_feature(cls._ds_name) is None]
    if not free:
        return None
    first = free[0]

    def added(registry: Any, feature: Any) -> None:
        if feature.get_name() == first._ds_name:
            registry.disconnect(handler)
            _registered[first._ds_name] = first
            _register_each([cls for cls in classes if cls is not first], feature.get_plugin())

    handler = registry.connect("feature-added", added)
    return first._ds_name, getattr(first, "_ds_rank", 0), first


def _print_at_once() -> None:
    """Have ``print`` of elements show in a pipe or file, too, where a C program runs Python.

    gst-launch-1.0 never ends the interpreter, with GStreamer 1.26 nothing flushes its buffers,
    and what elements printed would be lost.
    """
    # A Python program has a name here.
    if getattr(sys, "argv", [""])[:1] in ([], [""]) and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)


def _register_each(classes: list[type[Any]], plugin: Any) -> None:
    for cls in classes:
        try:
            _register(cls, plugin)
        except RegistrationError as error:
            print(f"dselements: {error}", file=sys.stderr)


def register_hosted(
    plugin: str, modules: frozenset[str], add: Callable[[str, int, int], bool]
) -> None:
    """Register the elements of a compiled plugin, all or none of them.

    :param plugin: the plugin's name.
    :param modules: names of its modules, imported; classes of others are none of its own.
    :param add: registers a name, rank and GType with the plugin as the owner.
    :raises RegistrationError: if there is no element, or a name is taken.
    """
    found: dict[str, type[Any]] = {}
    for module in sorted(modules):
        for cls in vars(sys.modules[module]).values():
            if getattr(cls, "__module__", None) != module or "_ds_name" not in vars(cls):
                continue
            if found.setdefault(cls._ds_name, cls) is not cls:
                raise RegistrationError(f"the plugin {plugin} has two elements {cls._ds_name!r}")
    if not found:
        raise RegistrationError(
            f"the plugin {plugin} has no element: no class in {', '.join(sorted(modules))} was "
            "made with @element"
        )
    for name in found:
        there = Gst.Registry.get().lookup_feature(name)
        owner = there.get_plugin_name() if there is not None else None
        if there is not None and owner != plugin:
            by = f"of the plugin {owner}" if owner else "that this process registered"
            raise RegistrationError(f"{name} is an element {by} already", hint="take another name")
    for name, cls in found.items():
        # The hash of PyGObject's type wrapper is the GType.
        if not add(name, getattr(cls, "_ds_rank", 0), hash(cls.__gtype__)):
            raise RegistrationError(f"GStreamer did not register {name}")
        _registered[name] = cls


def forget_declared(modules: frozenset[str]) -> None:
    """Undo the declarations of modules whose plugin failed, so that register() leaves them out."""
    for name, cls in list(_declared.items()):
        if cls.__module__ in modules and _registered.get(name) is not cls:
            del _declared[name]
