"""Array libraries that are used if they are there."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import SurfaceError

__all__ = ["library"]

_PACKAGES = {"cupy": "cupy-cuda13x (or the one of your CUDA version)"}


def library(name: str) -> Any:
    """The module of this name. :raises SurfaceError: if it cannot be imported."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SurfaceError(
            f"{name} cannot be imported: {error}", hint=f"pip install {_PACKAGES.get(name, name)}"
        ) from error
