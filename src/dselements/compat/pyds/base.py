"""What all structures of this package share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..._core import _native, load
from ...errors import MetadataValueError, UnsupportedLayoutError

__all__ = ["Data", "Field", "IntArray", "Meta", "Struct", "family", "longs"]

Field = _native.NativeField


def family() -> str:
    """SDK family of the library in use; loads it if need be."""
    return load().family


class Struct(_native.NativeStruct):
    """A structure in native memory.

    Reads and writes go straight to it, under a look whether it still lives.
    """

    __slots__ = ()
    SIZES: ClassVar[int | dict[str, int]] = 0
    """Bytes, or bytes by SDK family where it changed."""
    OWNED: ClassVar[tuple[int, ...]] = ()
    """Offsets of the pointers that it owns when its memory is its own."""
    _kinds: ClassVar[dict[tuple[int, ...], int]] = {}

    def __init__(self) -> None:
        _native.struct_init(self, self.size_in(family()), self.block_kind())

    @classmethod
    def block_kind(cls) -> int:
        """Number of the block kind with this class's owned pointers."""
        if not cls.OWNED:
            return 0
        if cls.OWNED not in Struct._kinds:
            Struct._kinds[cls.OWNED] = _native.block_kind(cls.OWNED)
        return Struct._kinds[cls.OWNED]

    @classmethod
    def size_in(cls, name: str) -> int:
        """Bytes in an SDK family; in that of the library for ``""``."""
        if isinstance(cls.SIZES, int):
            return cls.SIZES
        name = name or family()
        if name not in cls.SIZES:
            raise UnsupportedLayoutError(
                f"where the fields of {cls.__name__} lie in the {name} family is not known"
            )
        return cls.SIZES[name]

    @classmethod
    def fields(cls) -> dict[str, Any]:
        """The fields by name."""
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            found.update({k: v for k, v in vars(base).items() if isinstance(v, Field)})
        return found

    @classmethod
    def copy_fields(cls, target: Any, source: Any) -> None:
        """Copy every field that can be written from one structure to another."""
        for name, field in cls.fields().items():
            if not field.frozen and field.kind not in ("structs", "ints", "list", "reference"):
                setattr(target, name, getattr(source, name))


class Meta(Struct):
    """A structure that only a pool of its batch makes."""

    __slots__ = ()

    def __init__(self) -> None:
        raise MetadataValueError(
            f"{type(self).__name__} cannot be made outside of a batch",
            hint="acquire it: pyds.nvds_acquire_..._from_pool(batch_meta)",
        )


class Data(Struct):
    """Data that hangs on a user meta, made by an element: read where it lies."""

    __slots__ = ()

    def __init__(self) -> None:
        raise MetadataValueError(f"{type(self).__name__} is made by elements; use its cast()")


class IntArray:
    """An int64 array inside of a structure; items are read and written in place."""

    __slots__ = ("_count", "_offset", "_struct")

    def __init__(self, struct: _native.NativeStruct, offset: int, count: int) -> None:
        self._struct = struct
        self._offset = offset
        self._count = count

    def _values(self) -> npt.NDArray[np.int64]:
        raw = _native.struct_bytes(self._struct, self._offset, 8 * self._count)
        return np.frombuffer(raw, np.int64)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return iter(self._values().tolist())

    def __getitem__(self, index: Any) -> Any:
        return self._values()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        values = self._values().copy()
        values[index] = value
        _native.struct_write(self._struct, self._offset, values.tobytes())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._values(), dtype=dtype)

    def __eq__(self, other: object) -> Any:
        return self._values() == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._values())


def _int_array(struct: _native.NativeStruct, field: Any) -> IntArray:
    return IntArray(struct, field.offset_in(struct), field.count)


def longs(offset: int | dict[str, int], count: int) -> Any:
    """A field that is an int64 array. pyds shows the halves of its first two values instead."""
    return Field("ints", offset, count=count, to_python=_int_array, frozen="set its items")
