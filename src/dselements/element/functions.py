"""A plain function as an element."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from ..errors import RegistrationError
from .properties import Property
from .transform import MetaTransform

__all__ = ["class_of"]


def class_of(function: Callable[..., Any], name: str) -> type[MetaTransform]:
    """An element class whose ``process`` is the function.

    :param function: takes the batch; keyword-only parameters with defaults become properties.
        A default may be a :class:`Property`.
    :param name: of the element.
    :raises RegistrationError: for other parameters, or defaults that no property has.
    """
    parameters = list(inspect.signature(function).parameters.values())
    where = f"{function.__module__}.{function.__qualname__}"
    first = parameters[0] if parameters else None
    if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        raise RegistrationError(f"{where} needs a parameter for the batch", hint="def f(batch): …")
    body: dict[str, Any] = {
        "__module__": function.__module__,
        "__doc__": function.__doc__,
        "__qualname__": function.__qualname__,
        "function": staticmethod(function),
    }
    names = []
    for parameter in parameters[1:]:
        if parameter.kind != parameter.KEYWORD_ONLY or parameter.default is parameter.empty:
            raise RegistrationError(
                f"{where}: parameter {parameter.name} cannot be a property",
                hint="properties are keyword-only with a default: def f(batch, *, min_area=100)",
            )
        default = parameter.default
        body[parameter.name] = default if isinstance(default, Property) else Property(default)
        names.append(parameter.name)

    def process(self: Any, batch: Any) -> object:
        return function(batch, **{name: getattr(self, name) for name in names})

    # What is told of a slow or failing process() is the function's.
    process.__wrapped__ = function  # type: ignore[attr-defined]
    body["process"] = process
    title = "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name))
    return type(title, (MetaTransform,), body)
