"""Row tables: columns read when asked for, edits found by comparing at commit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError, NonFiniteValueError, StaleMetadataError
from .checks import checked_values
from .fields import BATCH_COLUMNS, FRAME_COLUMNS, Column

__all__ = ["BatchTable", "FrameTable", "Table"]

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Table:
    """Columns of one level of a batch.

    Rows are those of the snapshot, then the added ones; removed rows stay, marked dead, until
    :meth:`compact`. ``generation`` grows whenever rows are added or leave: arrays handed out
    before are then made read-only, and handles find their new row by :meth:`resync`.
    """

    columns_of: Mapping[str, Column]
    noun = "row"

    def __init__(self, snapshot: _native.Snapshot, n: int) -> None:
        self.snapshot = snapshot
        self.n = n
        self.n_snapshot = n
        self.generation = 0
        self.closed = ""
        """Why the table is closed; empty while it is open."""
        self.columns: dict[str, Array] = {}
        self.source: Rows | None = None
        """Native row of each row; None while they are the same."""
        self.native_rows = n
        """Rows a transaction knows: those of the snapshot and all added ones."""
        self.dead: Mask | None = None
        self.n_dead = 0
        self.added: list[tuple[int, int, dict[str, Any]]] = []
        """Added rows: native row of the first, how many, values by column."""
        self._originals: dict[str, Array] = {}
        self._remaps: list[Rows | None] = []
        self._pending: list[tuple[int, dict[str, Any]]] = []
        self._pending_n = 0
        self._gone: list[Rows] = []
        self._frozen: list[tuple[str, Array, Array]] = []

    # -- columns -----------------------------------------------------------
    def column(self, name: str) -> Array:
        """The live array of a column; writing to it edits the metadata at commit."""
        values = self.columns.get(name)
        return self._load(name) if values is None else values

    def _load(self, name: str) -> Array:
        self.check_open()
        original = self._read(name)
        extra = self.native_rows - self.n_snapshot
        writable = self._writable(name)
        if extra:
            original = np.concatenate([original, self._blank(name, extra)])
        # Kept beside the live array to find edits; not needed where there can be none.
        values = original.copy() if writable else original
        for first, n, given in self.added:
            if name in given:
                values[first : first + n] = given[name]
        if self.source is not None:
            values = values[self.source]
            original = original[self.source] if writable else original
        if writable:
            self._originals[name] = original
        else:
            values.flags.writeable = False
        self.columns[name] = values
        return values

    def _read(self, name: str) -> Array:
        """Values of the snapshot's rows."""
        column = self.columns_of[name]
        values = np.frombuffer(self.snapshot.gather(column.level, name), column.dtype)
        return values if column.width == 1 else values.reshape(-1, column.width)

    def _writable(self, name: str) -> bool:
        return self.columns_of[name].writable

    def _blank(self, name: str, n: int) -> Array:
        column = self.columns_of[name]
        return np.full((n, *column.shape), column.default, column.dtype)

    def check_open(self) -> None:
        """:raises StaleMetadataError: if the batch is closed."""
        if self.closed:
            raise StaleMetadataError(f"{self.noun} metadata used after {self.closed}")

    # -- rows --------------------------------------------------------------
    def resync(self, row: int, generation: int) -> int:
        """Present row of a handle made at ``generation``.

        :raises StaleMetadataError: if the batch is closed or the row was removed.
        """
        self.check_open()
        self.settle()
        for remap in self._remaps[generation:]:
            if remap is not None:
                row = int(remap[row])
                if row < 0:
                    raise StaleMetadataError(f"this {self.noun} was removed")
        if self.dead is not None and self.dead[row]:
            raise StaleMetadataError(f"this {self.noun} was removed")
        return row

    def append(self, n: int, values: dict[str, Any]) -> int:
        """Add rows with these checked column values; returns the row of the first.

        A handle on a new row is one generation behind, so that its first use settles it.
        """
        self.check_open()
        if not self._pending_n:
            self._remaps.append(None)
            self.generation += 1
        first = self.n + self._pending_n
        self._pending.append((n, values))
        self._pending_n += n
        return first

    def settle(self) -> None:
        """Take pending rows in."""
        if self._pending_n:
            self._settle()

    def _settle(self) -> None:
        pending, self._pending = self._pending, []
        extra, self._pending_n = self._pending_n, 0
        first = at = self.native_rows
        for n, values in pending:
            self.added.append((at, n, values))
            at += n
        self.native_rows = at
        self.n += extra
        if self.source is not None:
            self.source = np.concatenate([self.source, np.arange(first, at)])
        if self.dead is not None:
            self.dead = np.concatenate([self.dead, np.zeros(extra, bool)])
        for name in list(self.columns):
            original = self._originals.get(name)
            if original is not None:
                self._originals[name] = np.concatenate([original, self._blank(name, extra)])
            self._replace(name, self._grown(name, extra, pending))

    def _grown(self, name: str, extra: int, pending: list[tuple[int, dict[str, Any]]]) -> Array:
        new = np.concatenate([self.columns[name], self._blank(name, extra)])
        at = len(new) - extra
        for n, values in pending:
            if name in values:
                new[at : at + n] = values[name]
            at += n
        return new

    def _replace(self, name: str, new: Array) -> None:
        """Put a new array in a column's place; a later write to the old one must not get lost."""
        held = sys.getrefcount(self.columns[name]) > _UNSHARED
        old = self.columns[name]
        if old.flags.writeable:
            if held:
                # Somebody has it, or a view of it; views stay writable, so commit compares.
                self._frozen.append((name, old, old.copy()))
            old.flags.writeable = False
        else:
            new.flags.writeable = False
        self.columns[name] = new

    def kill(self, rows: Array) -> int:
        """Mark rows (bool mask or indices) as removed; returns how many were alive."""
        self.check_open()
        if self.dead is None:
            self.dead = np.zeros(self.n, bool)
        before = self.n_dead
        self.dead[rows] = True
        self.n_dead = int(np.count_nonzero(self.dead))
        return self.n_dead - before

    def compact(self) -> None:
        """Take pending rows in and removed rows out."""
        self.settle()
        if not self.n_dead or self.dead is None:
            return
        keep = np.flatnonzero(~self.dead)
        source = self.sources()
        self._gone.append(source[self.dead])
        remap = np.full(self.n, -1, np.intp)
        remap[keep] = np.arange(len(keep))
        for name in list(self.columns):
            original = self._originals.get(name)
            if original is not None:
                self._originals[name] = self._kept(name, original, keep, remap)
            self._replace(name, self._kept(name, self.columns[name], keep, remap))
        self.source = source[keep]
        self.n = len(keep)
        self.dead, self.n_dead = None, 0
        self._remaps.append(remap)
        self.generation += 1

    def _kept(self, name: str, values: Array, keep: Rows, remap: Rows) -> Array:
        kept: Array = values[keep]
        return kept

    def sources(self) -> Rows:
        """Native row of each row."""
        return np.arange(self.n) if self.source is None else self.source

    def native_row(self, row: int) -> int:
        """Row in the transaction."""
        return row if self.source is None else int(self.source[row])

    def close(self, why: str) -> None:
        """Make every handle and column stale."""
        if self.closed:
            return
        self.closed = why
        self.generation = -1
        for values in self.columns.values():
            if values.flags.writeable:
                values.flags.writeable = False

    # -- commit ------------------------------------------------------------
    def check_frozen(self) -> None:
        """:raises StaleMetadataError: if an array was written after rows came or went."""
        for name, array, copy in self._frozen:
            if _differs(array, copy) is not None:
                raise StaleMetadataError(
                    f"column {name} was written through an array fetched before {self.noun}s "
                    "were added or removed"
                )

    def gone(self) -> Rows:
        """Native rows of all removed rows."""
        gone = list(self._gone)
        if self.n_dead and self.dead is not None:
            if self.source is None:
                gone.append(np.flatnonzero(self.dead))
            else:
                gone.append(self.source[self.dead])
        return gone[0] if len(gone) == 1 else np.concatenate([np.empty(0, np.intp), *gone])

    def changes(self) -> list[tuple[Column, bytes, bytes]]:
        """Changed plain columns as native rows: column, values, one flag byte a row.

        :raises NonFiniteValueError: for NaN or infinity in a changed row.
        :raises MetadataValueError: for another value that does not fit.
        """
        found = []
        for name, original in self._originals.items():
            column = self.columns_of.get(name)
            if column is None:
                continue
            values = self.columns[name]
            changed = _differs(values, original)
            if changed is None:
                continue
            if self.n_dead and self.dead is not None:
                changed &= ~self.dead
            self._validate(column, values, changed)
            if self.source is not None:
                full = np.zeros((self.native_rows, *column.shape), column.dtype)
                full[self.source] = values
                flags = np.zeros(self.native_rows, bool)
                flags[self.source] = changed
                values, changed = full, flags
            found.append((column, values.tobytes(), changed.tobytes()))
        return found + self._changes_of_added()

    def _changes_of_added(self) -> list[tuple[Column, bytes, bytes]]:
        """Values given to added rows in columns that nobody has looked at."""
        names = {name: None for _, _, values in self.added for name in values}
        found = []
        for name in names:
            column = self.columns_of.get(name)
            if column is None or name in self.columns:
                continue
            full = np.zeros((self.native_rows, *column.shape), column.dtype)
            flags = np.zeros(self.native_rows, bool)
            for first, n, values in self.added:
                if name in values:
                    full[first : first + n] = values[name]
                    flags[first : first + n] = True
            found.append((column, full.tobytes(), flags.tobytes()))
        return found

    def _validate(self, column: Column, values: Array, changed: Mask) -> None:
        if column.dtype.kind != "f":
            return
        finite: Any = np.isfinite(values)
        bad = changed & ~(finite if column.width == 1 else finite.all(axis=1))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise NonFiniteValueError(
                f"{column.name} of {self.describe(row)} is {values[row].tolist()}"
            )

    def describe(self, row: int) -> str:
        """A row for error messages."""
        return f"{self.noun} {row}"

    def set_value(self, name: str, row: int, value: Any) -> None:
        """Write one cell, checked at once.

        :raises NonFiniteValueError: for NaN and infinity.
        :raises MetadataValueError: if the value does not fit the column.
        """
        column = self.columns_of[name]
        if not column.writable:
            raise MetadataValueError(f"{name} is counted by the library and cannot be set")
        new = checked_values(column, value, None, lambda _: self.describe(row))
        self.column(name)[row] = new


class FrameTable(Table):
    """Columns of the frames. Never compacted: frame rows are good until commit."""

    columns_of = FRAME_COLUMNS
    noun = "frame"


class BatchTable(Table):
    """Columns of the batch itself: one row."""

    columns_of = BATCH_COLUMNS
    noun = "batch"

    def describe(self, row: int) -> str:
        return "the batch"


# What getrefcount says of an array that only its table's dict holds. Measured in the form used
# above, as the interpreter's own references differ between Python versions.
_probe = {"x": np.empty(0)}
_UNSHARED = sys.getrefcount(_probe["x"])


def _words(values: Array) -> Array:
    """Bits of an array as integers, so that NaN equals itself."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _differs(values: Array, original: Array) -> Mask | None:
    """Rows whose bits (or texts) differ; None if there are none."""
    different: Any
    if values.dtype == object or values.dtype.kind in "iu":
        different = values != original
    else:
        different = _words(values) != _words(original)
    if not different.any():
        return None
    mask: Mask = different if different.ndim == 1 else different.any(axis=1)
    return mask
