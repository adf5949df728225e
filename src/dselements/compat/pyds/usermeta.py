"""Copy and release functions of user metas, and user meta types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core import _native, load
from .metas import NvDsUserMeta

__all__ = [
    "nvds_get_user_meta_type",
    "register_user_copyfunc",
    "register_user_releasefunc",
    "set_user_copyfunc",
    "set_user_releasefunc",
    "unset_callback_funcs",
    "user_copyfunc",
    "user_releasefunc",
]


def user_copyfunc(meta: Any, func: Callable[[Any, Any], Any]) -> None:
    """Have ``func(user_meta, None)`` copy this user meta's data; it returns the new data.

    Each meta keeps its own function. It runs in the thread that copies the buffer.
    """
    _native.user_functions_set(NvDsUserMeta.cast(meta), copy=func)


def user_releasefunc(meta: Any, func: Callable[[Any, Any], Any]) -> None:
    """Have ``func(user_meta, None)`` run before this user meta's data is freed.

    Data of an alloc function is freed after it, so that it need not free anything.
    """
    _native.user_functions_set(NvDsUserMeta.cast(meta), release=func)


set_user_copyfunc = user_copyfunc
set_user_releasefunc = user_releasefunc


def register_user_copyfunc(func: Callable[[Any, Any], Any]) -> None:
    """Does nothing, as in pyds: use user_copyfunc()."""


def register_user_releasefunc(func: Callable[[Any, Any], Any]) -> None:
    """Does nothing, as in pyds: use user_releasefunc()."""


def unset_callback_funcs() -> None:
    """Forget all functions. Not needed: it is done when Python ends."""
    _native.user_functions_clear()


def nvds_get_user_meta_type(meta_descriptor: str) -> int:
    """Number of a user's own meta type; the same for the same name within a process."""
    load()
    return _native.user_meta_type(meta_descriptor.encode())
