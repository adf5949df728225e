"""Row tables: columns read when asked for, edits found by comparing at commit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError, NonFiniteValueError, StaleMetadataError
from .fields import FRAME_COLUMNS, OBJECT_COLUMNS, Column

__all__ = ["FrameTable", "ObjectTable", "Table"]

Array = npt.NDArray[Any]

# References that getrefcount sees when only the table holds an array: the dict's, the loop
# variable's, the call's argument.
_OWN_REFERENCES = 3


class Table:
    """Columns of one level of a batch.

    ``generation`` grows whenever rows are added or leave: arrays handed out before are then
    made read-only, and handles find their new row by :meth:`resync`.
    """

    columns_of: Mapping[str, Column]
    noun = "row"

    def __init__(self, snapshot: _native.Snapshot, n: int) -> None:
        self.snapshot = snapshot
        self.n = n
        self.generation = 0
        self.closed = ""
        """Why the table is closed; empty while it is open."""
        self.columns: dict[str, Array] = {}
        self._originals: dict[str, Array] = {}
        self._native: dict[str, Array] = {}
        self.source: npt.NDArray[np.intp] | None = None
        """Native row of each row; None while they are the same."""
        self._remaps: list[npt.NDArray[np.intp] | None] = []
        self._pending: list[tuple[int, dict[str, Any]]] = []
        self._pending_n = 0
        self.native_rows = n
        """Rows a transaction knows: those of the snapshot and all added ones."""
        self.dead: npt.NDArray[np.bool_] | None = None
        self.n_dead = 0
        self._gone: list[npt.NDArray[np.intp]] = []
        self._frozen: list[tuple[str, Array, Array]] = []

    # -- columns -----------------------------------------------------------
    def column(self, name: str) -> Array:
        """The live array of a column; writing to it edits the metadata at commit."""
        try:
            return self.columns[name]
        except KeyError:
            return self._load(name)

    def _load(self, name: str) -> Array:
        self.check_open()
        column = self.columns_of[name]
        values = self._native.pop(name, None)
        if values is None:
            raw = self.snapshot.gather(column.level, column.field)
            values = np.frombuffer(raw, column.dtype)
            if column.width > 1:
                values = values.reshape(-1, column.width)
        values = self._fit(values, column.default)
        if not column.writable:
            values.flags.writeable = False
        else:
            self._originals[name] = values.copy()
        self.columns[name] = values
        return values

    def _fit(self, values: Array, default: Any) -> Array:
        """Bring a column of the snapshot's rows to the table's present rows."""
        if self.native_rows > len(values):
            extra = self.native_rows - len(values)
            grown = np.full((extra, *values.shape[1:]), default, values.dtype)
            values = np.concatenate([values, grown])
        return values if self.source is None else values[self.source]

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
                row = int(remap[row]) if row < len(remap) else -1
                if row < 0:
                    raise StaleMetadataError(f"this {self.noun} was removed")
        if self.dead is not None and self.dead[row]:
            raise StaleMetadataError(f"this {self.noun} was removed")
        return row

    def append(self, n: int, values: dict[str, Any]) -> int:
        """Add rows with these column values; returns the row of the first.

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
        """Take pending rows into the columns."""
        if not self._pending_n:
            return
        pending, self._pending = self._pending, []
        extra, self._pending_n = self._pending_n, 0
        given = {name for _, values in pending for name in values}
        for name in given:
            self.column(name)
        old_n = self.n
        if self.source is not None:
            added = np.arange(self.native_rows, self.native_rows + extra)
            self.source = np.concatenate([self.source, added])
        self.n += extra
        self.native_rows += extra
        if self.dead is not None:
            self.dead = np.concatenate([self.dead, np.zeros(extra, bool)])
        for name in list(self.columns):
            old = self.columns[name]
            blank = self._blank(name, extra)
            new = np.concatenate([old, blank])
            original = self._originals.get(name)
            if original is not None:
                self._originals[name] = np.concatenate([original, blank])
            at = old_n
            for n, values in pending:
                if name in values:
                    new[at : at + n] = values[name]
                at += n
            self._replace(name, new)

    def _blank(self, name: str, n: int) -> Array:
        column = self.columns_of[name]
        shape = (n,) if column.width == 1 else (n, column.width)
        return np.full(shape, column.default, column.dtype)

    def _replace(self, name: str, new: Array) -> None:
        """Put a new array in a column's place; writes to the old one must not get lost."""
        old = self.columns[name]
        if old.flags.writeable:
            if sys.getrefcount(old) > _OWN_REFERENCES:
                # Somebody holds it, or a view of it that stays writable.
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
        source = np.arange(self.n) if self.source is None else self.source
        self._gone.append(source[self.dead])
        remap = np.full(self.n, -1, np.intp)
        remap[keep] = np.arange(len(keep))
        for name in list(self.columns):
            self._replace(name, self._kept(name, self.columns[name], keep, remap))
            original = self._originals.get(name)
            if original is not None:
                self._originals[name] = self._kept(name, original, keep, remap)
        self.source = source[keep]
        self.n = len(keep)
        self.dead, self.n_dead = None, 0
        self._remaps.append(remap)
        self.generation += 1

    def _kept(self, name: str, values: Array, keep: Array, remap: Array) -> Array:
        return values[keep]

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
            if not _equal(array, copy):
                raise StaleMetadataError(
                    f"column {name} was written through an array fetched before rows were "
                    "added or removed"
                )

    def removed_native(self) -> npt.NDArray[np.intp]:
        """Native rows of all removed rows."""
        gone = list(self._gone)
        if self.n_dead and self.dead is not None:
            source = np.arange(self.n) if self.source is None else self.source
            gone.append(source[self.dead])
        return np.concatenate(gone) if gone else np.empty(0, np.intp)

    def changes(self) -> list[tuple[Column, bytes, bytes]]:
        """Changed plain columns as native rows: column, values, one flag byte a row."""
        self.settle()
        self.check_frozen()
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
                full = np.zeros((self.native_rows, *values.shape[1:]), values.dtype)
                full[self.source] = values
                flags = np.zeros(self.native_rows, bool)
                flags[self.source] = changed
                values, changed = full, flags
            found.append((column, values.tobytes(), changed.tobytes()))
        return found

    def _validate(self, column: Column, values: Array, changed: npt.NDArray[np.bool_]) -> None:
        if column.dtype.kind != "f":
            return
        bad = ~np.isfinite(values)
        if column.width > 1:
            bad = bad.any(axis=1)
        bad &= changed
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
        try:
            new = np.asarray(value)
            if new.dtype == object or new.dtype.kind not in "biuf":
                raise TypeError("not a number")
            if new.shape != ((column.width,) if column.width > 1 else ()):
                raise ValueError(f"shape {new.shape}, needed {column.width} values")
        except (TypeError, ValueError) as error:
            raise MetadataValueError(
                f"{name} of {self.describe(row)} cannot be {value!r}: {error}"
            ) from None
        limits = column.low_high
        if limits is None:
            with np.errstate(over="ignore"):
                cast = new.astype(column.dtype)
            if not np.isfinite(cast).all():
                raise NonFiniteValueError(f"{name} of {self.describe(row)} cannot be {value!r}")
        elif new.dtype.kind == "f" or (
            new.size and (int(new.min()) < limits[0] or int(new.max()) > limits[1])
        ):
            raise MetadataValueError(
                f"{name} of {self.describe(row)} cannot be {value!r}: "
                f"it holds integers from {limits[0]} to {limits[1]}"
            )
        self.column(name)[row] = new


class FrameTable(Table):
    """Columns of the frames."""

    columns_of = FRAME_COLUMNS
    noun = "frame"


class ObjectTable(Table):
    """Columns of the objects, with labels, texts, parents and the frame of each."""

    columns_of = OBJECT_COLUMNS
    noun = "object"
    TEXTS = ("label", "display_text", "font_name")

    def __init__(self, snapshot: _native.Snapshot, n: int) -> None:
        super().__init__(snapshot, n)
        for name in ("class_id", "object_id", "confidence"):
            self._native[name] = np.frombuffer(
                getattr(snapshot, name), OBJECT_COLUMNS[name].dtype
            )
        self._native["rect"] = np.frombuffer(snapshot.rect, np.float32).reshape(-1, 4)
        self._frame_native = np.frombuffer(snapshot.frame_index, np.int32)
        self._by_frame: tuple[int, list[npt.NDArray[np.intp]]] | None = None

    def _load(self, name: str) -> Array:
        if name in self.columns_of:
            return super()._load(name)
        self.check_open()
        values: Array
        if name == "frame_index":
            values = self._fit(self._frame_native, -1)
            if values is self._frame_native:
                values = values.copy()
            values.flags.writeable = False
            self.columns[name] = values
            return values
        if name == "label":
            codes, labels = self.snapshot.gather_labels()
            values = _take(codes, [text.decode("utf-8", "replace") for text in labels])
            values = self._fit(values, "")
        elif name in self.TEXTS:
            texts = self.snapshot.gather_text(_native.OBJECT, name)
            values = np.empty(len(texts), object)
            values[:] = [None if t is None else t.decode("utf-8", "replace") for t in texts]
            values = self._fit(values, None)
        elif name == "parent":
            raw = np.frombuffer(self.snapshot.gather_parents(), np.int32)
            native = self._grown(raw, -1)
            values = native if self.source is None else self._remapped(native)
        else:
            raise KeyError(name)
        if values.base is not None or name == "parent":
            values = values.copy()
        self._originals[name] = values.copy()
        self.columns[name] = values
        return values

    def _grown(self, values: Array, default: int) -> Array:
        if self.native_rows == len(values):
            return values
        return np.concatenate(
            [values, np.full(self.native_rows - len(values), default, values.dtype)]
        )

    def _remapped(self, native: Array) -> Array:
        """Parents given as native rows, as rows of the table; a removed parent becomes -1."""
        assert self.source is not None
        back = np.full(self.native_rows, -1, np.int32)
        back[self.source] = np.arange(len(self.source), dtype=np.int32)
        mine = native[self.source]
        return np.where(mine >= 0, back[np.maximum(mine, 0)], mine).astype(np.int32)

    def _blank(self, name: str, n: int) -> Array:
        if name in self.TEXTS:
            blank = np.empty(n, object)
            blank[:] = "" if name == "label" else None
            return blank
        if name in ("parent", "frame_index"):
            return np.full(n, -1, np.int32)
        return super()._blank(name, n)

    def _kept(self, name: str, values: Array, keep: Array, remap: Array) -> Array:
        kept = values[keep]
        if name == "parent":
            kept = np.where(kept >= 0, remap[np.maximum(kept, 0)], kept).astype(np.int32)
        return kept

    def kill(self, rows: Array) -> int:
        killed = super().kill(rows)
        if killed and "parent" in self.columns and self.dead is not None:
            for values in (self.columns["parent"], self._originals["parent"]):
                orphans = (values >= 0) & self.dead[np.maximum(values, 0)]
                values[orphans] = -1
        return killed

    def rows_of_frame(self, frame: int) -> npt.NDArray[np.intp]:
        """Rows of the living objects of a frame, in order."""
        self.settle()
        if self._by_frame is None or self._by_frame[0] != self.generation:
            index = self.column("frame_index")
            order = np.argsort(index, kind="stable")
            counts = np.bincount(index, minlength=frame + 1) if self.n else np.zeros(1, int)
            ends = np.cumsum(counts)
            self._by_frame = (self.generation, np.split(order, ends[:-1]) if self.n else [])
        groups = self._by_frame[1]
        rows = groups[frame] if frame < len(groups) else np.empty(0, np.intp)
        if self.n_dead and self.dead is not None:
            rows = rows[~self.dead[rows]]
        return rows

    def describe(self, row: int) -> str:
        frame = int(self.column("frame_index")[row])
        return f"object {row} (frame {frame}, class {int(self.column('class_id')[row])})"

    def _validate(self, column: Column, values: Array, changed: npt.NDArray[np.bool_]) -> None:
        super()._validate(column, values, changed)
        if column.name == "rect":
            bad = changed & ((values[:, 2] < 0) | (values[:, 3] < 0))
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                raise MetadataValueError(
                    f"rect of {self.describe(row)} has a negative size: {values[row].tolist()}"
                )

    def text_changes(
        self, name: str, encode: Callable[[Any, int], bytes | None]
    ) -> tuple[bytes, list[bytes | None]] | None:
        """Changed strings as native rows: int32 codes (-1 keeps) and what they index."""
        original = self._originals.get(name)
        if original is None:
            return None
        values = self.columns[name]
        changed = values != original
        if self.n_dead and self.dead is not None:
            changed &= ~self.dead
        rows = np.flatnonzero(changed)
        if not len(rows):
            return None
        codes: dict[Any, int] = {}
        strings: list[bytes | None] = []
        out = np.full(self.native_rows, -1, np.int32)
        for row in rows.tolist():
            value = values[row]
            code = codes.get(value)
            if code is None:
                strings.append(encode(value, row))
                code = codes[value] = len(codes)
            out[row if self.source is None else self.source[row]] = code
        return out.tobytes(), strings

    def parent_changes(self) -> list[tuple[int, int]]:
        """Changed parents: native row of the child, of the parent (-1 for none)."""
        original = self._originals.get("parent")
        if original is None:
            return []
        values = self.columns["parent"]
        rows = np.flatnonzero(values != original)
        return [
            (self.native_row(row), self.native_row(int(values[row])) if values[row] >= 0 else -1)
            for row in rows.tolist()
            if not (self.n_dead and self.dead is not None and self.dead[row])
        ]


def _take(codes: bytes | bytearray, strings: Sequence[str]) -> Array:
    distinct = np.empty(len(strings), object)
    distinct[:] = strings
    return distinct[np.frombuffer(codes, np.int32)]


def _equal(a: Array, b: Array) -> bool:
    if a.dtype == object:
        return bool((a == b).all())
    return bool((_words(a) == _words(b)).all())


def _words(values: Array) -> Array:
    """Bits of an array as integers, so that NaN equals itself."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _differs(values: Array, original: Array) -> npt.NDArray[np.bool_] | None:
    """Rows whose bits differ; None if there are none."""
    different = _words(values) != _words(original)
    if not different.any():
        return None
    return different if different.ndim == 1 else different.any(axis=1)
