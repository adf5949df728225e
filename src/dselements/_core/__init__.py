"""Native core: the one compiled module, NVIDIA's library behind it, layouts as data.

Private: users write against :mod:`dselements.meta`.
"""

from __future__ import annotations

from .loader import LibraryInfo, library_info, load

__all__ = ["LibraryInfo", "library_info", "load"]
