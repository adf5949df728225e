"""Declared signals: one line in the class, a GObject signal everywhere."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from functools import wraps
from typing import Any, overload

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst

from ..errors import RegistrationError
from .policy import post_warning

__all__ = ["BoundSignal", "Signal", "action", "signals_of"]

_TYPES: dict[Any, Any] = {
    bool: GObject.TYPE_BOOLEAN,
    int: GObject.TYPE_INT64,
    float: GObject.TYPE_DOUBLE,
    str: GObject.TYPE_STRING,
    object: GObject.TYPE_PYOBJECT,
    dict: GObject.TYPE_PYOBJECT,
    list: GObject.TYPE_PYOBJECT,
    Any: GObject.TYPE_PYOBJECT,
    None: GObject.TYPE_NONE,
    type(None): GObject.TYPE_NONE,
}
_ZEROS: dict[Any, Any] = {bool: False, int: 0, float: 0.0, str: ""}


def g_type_of(kind: Any, where: str) -> Any:
    """GObject type of a Python type. :raises RegistrationError: if it has none."""
    kind = typing.get_origin(kind) or kind
    if kind in _TYPES:
        return _TYPES[kind]
    if isinstance(kind, type) and hasattr(kind, "__gtype__"):
        return kind
    raise RegistrationError(
        f"{where}: a signal cannot carry {kind!r}",
        hint="bool, int (64 bits), float, str, a GObject or boxed type such as Gst.Structure; "
        "object, dict and list are for Python only",
    )


class Signal:
    """A signal of an element: ``arrived = ds.Signal(int, str, help="…")`` in the class.

    ``self.arrived.emit(3, "person")`` sends it; ``element.connect("arrived", function)`` listens,
    from Python and from C, as does ``element.arrived.connect(function)``. Listeners run in the
    thread that emits it, mostly a streaming thread.

    :param types: of its values: bool, int (64 bits), float, str, GObject and boxed types; object,
        dict and list reach listeners in Python only.
    :param help: one sentence for the documentation.
    :raises RegistrationError: for a type that a signal cannot carry.
    """

    def __init__(self, *types: Any, help: str = "") -> None:
        self.types = tuple(g_type_of(kind, "Signal") for kind in types)
        """GObject types of its values."""
        self.help = help
        """One sentence."""
        self.name = ""
        """Name in GObject."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", "-")

    @overload
    def __get__(self, instance: None, owner: type) -> Signal: ...
    @overload
    def __get__(self, instance: object, owner: type) -> BoundSignal: ...
    def __get__(self, instance: Any, owner: type) -> Signal | BoundSignal:
        return self if instance is None else BoundSignal(self, instance)

    def g_signal(self) -> tuple[Any, ...]:
        """The tuple that PyGObject's ``__gsignals__`` takes."""
        return (GObject.SignalFlags.RUN_LAST, None, self.types)


class BoundSignal:
    """A signal of one element."""

    __slots__ = ("_element", "_signal")

    def __init__(self, signal: Signal, element: Any) -> None:
        self._signal = signal
        self._element = element

    def emit(self, *values: Any) -> None:
        """Call all listeners. :raises TypeError: for values that do not fit."""
        if len(values) != len(self._signal.types):
            raise TypeError(
                f"signal {self._signal.name} has {len(self._signal.types)} values, "
                f"not {len(values)}"
            )
        self._element.emit(self._signal.name, *values)

    def connect(self, function: Callable[..., object]) -> int:
        """Call ``function(element, *values)`` from now on; returns the handler's id."""
        return int(self._element.connect(self._signal.name, function))

    def disconnect(self, handler: int) -> None:
        """End what :meth:`connect` began."""
        self._element.disconnect(handler)


def action(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method an action signal: ``element.emit("reset", 3)``, from C and from Python.

    Its annotations give the types. It runs in the caller's thread; if it raises, a warning is
    posted on the bus, and the caller gets 0, False, "" or None.

    :raises RegistrationError: for parameters without annotations, or of types that a signal
        cannot carry.
    """
    try:
        hints = typing.get_type_hints(method)
    except Exception as error:
        raise RegistrationError(f"{method.__qualname__}: {error}") from error
    parameters = list(inspect.signature(method).parameters.values())[1:]
    for parameter in parameters:
        if parameter.name not in hints or parameter.kind != parameter.POSITIONAL_OR_KEYWORD:
            raise RegistrationError(
                f"{method.__qualname__}: parameter {parameter.name} needs an annotation",
                hint="an action's parameters are plain ones with a type",
            )
    where = method.__qualname__
    returns = hints.get("return")
    method._ds_action = (  # type: ignore[attr-defined]
        GObject.SignalFlags.RUN_LAST | GObject.SignalFlags.ACTION,
        g_type_of(returns, where),
        tuple(g_type_of(hints[p.name], where) for p in parameters),
    )
    method._ds_zero = _ZEROS.get(returns)  # type: ignore[attr-defined]
    return method


def signals_of(namespace: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a class body declares: entries of ``__gsignals__``, and methods to add to the class."""
    signals: dict[str, Any] = {}
    methods: dict[str, Any] = {}
    for name, value in namespace.items():
        if isinstance(value, Signal):
            signals[value.name] = value.g_signal()
        elif hasattr(value, "_ds_action"):
            signals[name.replace("_", "-")] = value._ds_action
            methods[f"do_{name}"] = _guarded(name, value)
    return signals, methods


def _guarded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Gst.Element, *values: Any) -> Any:
        try:
            return getattr(self, name)(*values)
        except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_warning(self, error, f"action {name}")
            return method._ds_zero  # type: ignore[attr-defined]

    return call
