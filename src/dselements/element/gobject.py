"""The few functions of libgobject that are called past PyGObject."""

from __future__ import annotations

import ctypes
from functools import lru_cache

__all__ = ["class_address", "libgobject"]


@lru_cache(maxsize=1)
def libgobject() -> ctypes.CDLL:
    """The library that PyGObject has loaded. An object's address is its wrapper's ``hash``."""
    library = ctypes.CDLL("libgobject-2.0.so.0")
    for name in ("is_floating", "ref", "ref_sink", "unref", "force_floating"):
        getattr(library, f"g_object_{name}").argtypes = [ctypes.c_void_p]
    library.g_object_ref.restype = ctypes.c_void_p
    library.g_object_ref_sink.restype = ctypes.c_void_p
    library.g_type_from_name.argtypes = [ctypes.c_char_p]
    library.g_type_from_name.restype = ctypes.c_size_t
    library.g_type_class_ref.argtypes = [ctypes.c_size_t]
    library.g_type_class_ref.restype = ctypes.c_void_p
    for register in (library.g_enum_register_static, library.g_flags_register_static):
        register.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        register.restype = ctypes.c_size_t
    for name in ("unref", "force_floating", "set"):
        getattr(library, f"g_object_{name}").restype = None
    return library


def class_address(type_name: str) -> int:
    """Address of a GObject type's class struct; it lives as long as the process."""
    library = libgobject()
    kind = library.g_type_from_name(type_name.encode())
    return int(library.g_type_class_ref(kind) or 0) if kind else 0
