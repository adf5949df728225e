"""What Frame and Object share: a checked row of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import StaleMetadataError
from .fields import Column
from .tables import Table

if TYPE_CHECKING:
    from .batch import Batch

__all__ = ["Handle", "scalar", "vector"]


class Handle:
    """A row of a table, found again after rows came and went.

    Holds no pointer: a handle that outlived its row raises StaleMetadataError.
    """

    __slots__ = ("_batch", "_generation", "_row", "_table")

    _table: Table

    def __init__(self, batch: Batch, table: Any, row: int, generation: int) -> None:
        self._batch = batch
        self._table = table
        self._row = row
        self._generation = generation

    def _at(self) -> int:
        """Present row. :raises StaleMetadataError: if it was removed or the batch is closed."""
        table = self._table
        if self._generation != table.generation:
            self._row = table.resync(self._row, self._generation)
            self._generation = table.generation
        elif table.n_dead and table.dead is not None and table.dead[self._row]:
            table.resync(self._row, self._generation)
        return self._row

    @property
    def row(self) -> int:
        """Row in the columns of the batch."""
        return self._at()

    def _native_row(self) -> int:
        row = self._at()
        return self._table.native_row(row)

    def _set(self, name: str, value: Any) -> None:
        self._table.set_value(name, self._at(), value)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Handle) or self._table is not other._table:
            return NotImplemented
        try:
            return self._at() == other._at()
        except StaleMetadataError:
            return False

    def __hash__(self) -> int:
        return hash((id(self._table), self._native_row()))


def scalar(column: Column, convert: Callable[[Any], Any] | None = None) -> Any:
    """Property over a column of one value a row, as a Python number."""
    name = column.name

    def get(self: Handle) -> Any:
        row = self._at()
        table = self._table
        values = table.columns.get(name)
        if values is None:
            values = table.column(name)
        value = values.item(row)
        return value if convert is None else convert(value)

    def put(self: Handle, value: Any) -> None:
        self._set(name, value)

    return property(get, put if column.writable else None, doc=_doc(column))


def vector(column: Column) -> Any:
    """Property over a column of several values a row, as a tuple."""
    name = column.name

    def get(self: Handle) -> tuple[Any, ...]:
        row = self._at()
        return tuple(self._table.column(name)[row].tolist())

    def put(self: Handle, value: Any) -> None:
        self._set(name, value)

    return property(get, put, doc=_doc(column))


def _doc(column: Column) -> str:
    return f"{column.doc} ({column.unit})" if column.unit else column.doc
