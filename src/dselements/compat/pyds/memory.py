"""Memory and pointers, as pyds's users handle them."""

from __future__ import annotations

from typing import Any

from ..._core import _native
from ...errors import MetadataValueError

__all__ = [
    "alloc_buffer",
    "alloc_char_buffer",
    "free_buffer",
    "free_gbuffer",
    "get_ptr",
    "get_string",
    "memdup",
    "strdup",
    "strdup2str",
]

MAX_BUFFER = 1 << 30


def alloc_buffer(size: int) -> int:
    """Address of ``size`` zeroed bytes; free_buffer() or the structure it is given to frees them.

    :raises MetadataValueError: for sizes that make no sense.
    """
    if not 0 < size <= MAX_BUFFER:
        raise MetadataValueError(f"a buffer has 1 to {MAX_BUFFER} bytes, not {size}")
    return _native.block_new(size)


alloc_char_buffer = alloc_buffer


def _address(pointer: Any) -> int:
    if pointer is None:
        return 0
    return int(pointer) if isinstance(pointer, int) else int(pointer.native_address)


def free_buffer(buffer: Any) -> None:
    """Free memory of alloc_buffer(), strdup() or memdup().

    :raises MetadataValueError: for an address that none of them gave, or that was freed already.
    """
    address = _address(buffer)
    if address and not _native.block_free(address):
        raise MetadataValueError(
            f"{address:#x} is no memory of alloc_buffer(), strdup() or memdup(), or was freed",
            hint="what was assigned to a field is freed with it",
        )


free_gbuffer = free_buffer


def get_string(ptr: Any) -> str | None:
    """The text at an address; None for address 0.

    :raises MetadataValueError: if the memory cannot be read.
    """
    if isinstance(ptr, str):
        return ptr
    if isinstance(ptr, _native.TextPointer):
        return ptr.text
    address = _address(ptr)
    if not address:
        return None
    size = _native.block_size(address)
    raw = _native.read_text(address) if size < 0 else _native.read_text(address, size)
    return raw.decode("utf-8", "replace")


def get_ptr(ptr: Any) -> int:
    """The address that a pointer or structure stands for.

    :raises StaleMetadataError: if it is gone.
    """
    return _address(ptr)


def strdup(ptr: Any) -> int:
    """Address of a copy of a text; free_buffer() frees it. 0 for address 0."""
    text = get_string(ptr)
    if text is None:
        return 0
    raw = text.encode()
    copy = _native.block_new(len(raw) + 1)
    _native.block_write(copy, raw)
    return copy


def strdup2str(ptr: Any) -> str:
    """The text at an address; empty for address 0."""
    return get_string(ptr) or ""


def memdup(ptr: Any, size: int) -> int:
    """Address of a copy of memory; 0 for address 0.

    A structure made by an alloc function is copied whole, with what it owns, whatever ``size``
    says: ``sys.getsizeof`` of a class, which samples pass, is not the size of the structure.

    :raises MetadataValueError: if the memory cannot be read.
    """
    address = _address(ptr)
    if not address:
        return 0
    copy = _native.block_copy(address)
    if copy:
        return copy
    if size < 1 or not _native.is_readable(address, size):
        raise MetadataValueError(f"{size} bytes at {address:#x} cannot be read")
    copy = _native.block_new(size)
    _native.block_write(copy, _native.read_memory(address, size))
    return copy
