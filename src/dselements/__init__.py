"""GStreamer elements in Python that own DeepStream metadata.

    import dselements as ds

Importing this loads neither GStreamer nor NVIDIA's library; using a name does.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Batch": "meta",
    "Frame": "meta",
    "Label": "meta",
    "Object": "meta",
    "UNTRACKED": "meta",
    "DROP": "element",
    "MetaTransform": "element",
    "Property": "element",
    "Signal": "element",
    "action": "element",
    "element": "element",
    "register": "element",
    "run": "element",
}

__all__ = [  # noqa: RUF022 -- in the order a reader meets them
    "MetaTransform",
    "Property",
    "Signal",
    "action",
    "element",
    "register",
    "run",
    "DROP",
    "Batch",
    "Frame",
    "Label",
    "Object",
    "UNTRACKED",
    "__version__",
    "errors",
]

if TYPE_CHECKING:
    from . import errors
    from .element import DROP, MetaTransform, Property, Signal, action, element, register, run
    from .meta import UNTRACKED, Batch, Frame, Label, Object


def _prefer_libgcc() -> None:
    """Make libgcc's stack unwinder the process's first.

    GStreamer brings libunwind, whose functions have the same names. A C++ library that was
    loaded before GStreamer and one that is loaded after it would use one each, and an
    exception between the two (OpenCV, then GStreamer, then ONNX Runtime) ends the process.
    """
    try:
        ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return  # no libgcc: then no C++ library either


_prefer_libgcc()


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module(".errors", __name__)
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dselements' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    # Also where importing the sub-package of the same name has put the package itself.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
