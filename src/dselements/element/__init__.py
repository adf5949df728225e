"""Base classes of elements: needs gi and GStreamer."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .policy import DROP
from .probes import MetaProbe
from .properties import Property
from .registry import element, register
from .running import run
from .signals import Signal, action
from .streams import StreamInfo
from .transform import MetaTransform

__all__ = [
    "DROP",
    "MetaProbe",
    "MetaTransform",
    "Property",
    "Signal",
    "StreamInfo",
    "action",
    "element",
    "register",
    "run",
]


class _Callable(ModuleType):
    """Lets ``dselements.element`` be this package and the decorator of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return element(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
