"""Other APIs over dselements: see :mod:`dselements.compat.pyds`."""

from __future__ import annotations

from .installing import find_pyds, install, uninstall

__all__ = ["find_pyds", "install", "uninstall"]
