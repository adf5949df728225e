"""The table of objects: plain columns, and texts, parents and the frame of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError
from .fields import OBJECT_COLUMNS, Column
from .tables import Array, Mask, Rows, Table, _differs

__all__ = ["TEXTS", "ObjectTable"]

TEXTS = ("label", "display_text", "font_name")
_FUSED = frozenset({"class_id", "object_id", "confidence", "rect"})


class ObjectTable(Table):
    """Columns of the objects.

    Beside the plain ones: ``label``, ``display_text``, ``font_name`` (object arrays of str, None
    where NULL), ``parent`` (int32 row, -1 none, -2 not in this batch), ``frame_index`` (int32 row
    of the frame, read-only).
    """

    columns_of = OBJECT_COLUMNS
    noun = "object"

    def __init__(self, snapshot: _native.Snapshot, n: int) -> None:
        super().__init__(snapshot, n)
        self._by_frame: tuple[int, list[Rows] | Rows] | None = None

    # -- reading -----------------------------------------------------------
    def _read(self, name: str) -> Array:
        values: Array
        if name in _FUSED:
            column = OBJECT_COLUMNS[name]
            values = np.frombuffer(getattr(self.snapshot, name), column.dtype)
            if column.width > 1:
                values = values.reshape(-1, column.width)
            return values
        if name in OBJECT_COLUMNS:
            return super()._read(name)
        if name == "frame_index":
            return np.frombuffer(self.snapshot.frame_index, np.int32)
        if name == "label":
            codes, labels = self.snapshot.gather_labels()
            values = _objects([text.decode("utf-8", "replace") for text in labels])
            values = values[np.frombuffer(codes, np.int32)]
            return values
        if name in TEXTS:
            texts = self.snapshot.gather_text(_native.OBJECT, name)
            return _objects([None if t is None else t.decode("utf-8", "replace") for t in texts])
        if name == "parent":
            return np.frombuffer(self.snapshot.gather_parents(), np.int32)
        raise KeyError(name)

    def _load(self, name: str) -> Array:
        values = super()._load(name)
        if name == "parent":
            if self.source is not None:
                # Read as native rows; those of removed parents have no row any more.
                back = np.full(self.native_rows, -1, np.int32)
                back[self.source] = np.arange(len(self.source), dtype=np.int32)
                for array in (values, self._originals[name]):
                    array[:] = np.where(array >= 0, back[np.maximum(array, 0)], array)
            self._orphan()
        return values

    def _writable(self, name: str) -> bool:
        return name != "frame_index"

    def _blank(self, name: str, n: int) -> Array:
        if name in OBJECT_COLUMNS:
            return super()._blank(name, n)
        if name in TEXTS:
            blank = np.empty(n, object)
            blank[:] = "" if name == "label" else None
            return blank
        return np.full(n, -1, np.int32)

    # -- rows --------------------------------------------------------------
    def _settle(self) -> None:
        # Given as rows of the table, which the other, unread columns are not: so it is read.
        if any("parent" in values for _, values in self._pending):
            self.column("parent")
        super()._settle()

    def _kept(self, name: str, values: Array, keep: Rows, remap: Rows) -> Array:
        kept: Array = values[keep]
        if name == "parent":
            kept = np.where(kept >= 0, remap[np.maximum(kept, 0)], kept).astype(np.int32)
        return kept

    def kill(self, rows: Array) -> int:
        killed = super().kill(rows)
        if killed and "parent" in self.columns:
            self._orphan()
        return killed

    def _orphan(self) -> None:
        """Children of removed objects have no parent; the native removal does the same."""
        if not self.n_dead or self.dead is None:
            return
        for values in (self.columns["parent"], self._originals["parent"]):
            known = (values >= 0) & (values < self.n)
            values[known & self.dead[np.where(known, values, 0)]] = -1

    def rows_of_frame(self, frame: int) -> Rows:
        """Rows of the living objects of a frame, in order."""
        self.settle()
        if self._by_frame is None or self._by_frame[0] != self.generation:
            self._by_frame = (self.generation, self._group())
        groups = self._by_frame[1]
        if isinstance(groups, list):
            rows = groups[frame] if frame < len(groups) else np.empty(0, np.intp)
        elif frame + 1 < len(groups):
            rows = np.arange(groups[frame], groups[frame + 1])
        else:
            rows = np.empty(0, np.intp)
        if self.n_dead and self.dead is not None:
            rows = rows[~self.dead[rows]]
        return rows

    def _group(self) -> list[Rows] | Rows:
        """Rows by frame: bounds while they lie frame after frame, else lists."""
        index = self.column("frame_index")
        if not self.n:
            return []
        frames = np.arange(int(index.max()) + 2)
        if not self.added:
            return np.searchsorted(index, frames)
        order = np.argsort(index, kind="stable")
        return np.split(order, np.searchsorted(index[order], frames[1:-1]))

    def describe(self, row: int) -> str:
        if row >= self.n:
            return f"object {row} of {self.n}"
        frame = int(self.column("frame_index")[row])
        return f"object {row} (frame {frame}, class {int(self.column('class_id')[row])})"

    # -- commit ------------------------------------------------------------
    def frames_of_added(self) -> npt.NDArray[np.int32]:
        """Frame row of each added row, in native order."""
        rows = np.empty(self.native_rows - self.n_snapshot, np.int32)
        for first, n, values in self.added:
            at = first - self.n_snapshot
            rows[at : at + n] = values["frame_index"]
        return rows

    def _validate(self, column: Column, values: Array, changed: Mask) -> None:
        super()._validate(column, values, changed)
        if column.name == "rect":
            bad = changed & ((values[:, 2] < 0) | (values[:, 3] < 0))
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                raise MetadataValueError(
                    f"rect of {self.describe(row)} has a negative size: {values[row].tolist()}"
                )

    def text_changes(
        self, name: str, encode: Callable[[Any, Callable[[], str]], bytes | None]
    ) -> tuple[bytes, list[bytes | None]] | None:
        """Changed strings as native rows: int32 codes (-1 keeps) and what they index.

        :param encode: checks a value and makes its bytes; the second argument names the row.
        """
        codes: dict[Any, int] = {}
        strings: list[bytes | None] = []
        out: npt.NDArray[np.int32] | None = None

        def code_of(value: Any, where: Callable[[], str]) -> int:
            if value is not None and not isinstance(value, str):
                encode(value, where)  # raises: before the value is used as a key
            code = codes.get(value)
            if code is None:
                strings.append(encode(value, where))
                code = codes[value] = len(codes)
            return code

        if name in self.columns:
            values = self.columns[name]
            changed = _differs(values, self._originals[name])
            if changed is None:
                return None
            if self.n_dead and self.dead is not None:
                changed &= ~self.dead
            out = np.full(self.native_rows, -1, np.int32)
            rows = np.flatnonzero(changed)
            out[rows if self.source is None else self.source[rows]] = [
                code_of(values[row], partial(self.describe, row)) for row in rows.tolist()
            ]
        else:
            for first, n, given in self.added:
                if name not in given:
                    continue
                if out is None:
                    out = np.full(self.native_rows, -1, np.int32)
                texts = given[name]
                out[first : first + n] = (
                    [code_of(text, lambda: "a new object") for text in texts.tolist()]
                    if isinstance(texts, np.ndarray)
                    else code_of(texts, lambda: "a new object")
                )
        return None if out is None or not strings else (out.tobytes(), strings)

    def parent_changes(self) -> list[tuple[int, int]]:
        """Changed parents: native row of the child, of the parent (-1 for none).

        :raises MetadataValueError: for a parent that is no living object of the same frame, or
            that has the object itself above it.
        """
        if "parent" not in self.columns:
            return []
        values = self.columns["parent"]
        changed = _differs(values, self._originals["parent"])
        if changed is None:
            return []
        if self.n_dead and self.dead is not None:
            changed &= ~self.dead
        rows = np.flatnonzero(changed)
        self._validate_parents(rows, values)
        source = self.sources()
        parents = values[rows]
        native = np.where(parents >= 0, source[np.maximum(parents, 0)], -1)
        return list(zip(source[rows].tolist(), native.tolist(), strict=True))

    def _validate_parents(self, rows: Rows, values: npt.NDArray[np.int32]) -> None:
        parents = values[rows]
        known = (parents >= 0) & (parents < self.n)
        frame = self.column("frame_index")
        other = frame[np.where(known, parents, 0)] != frame[rows]
        bad = (parents < -1) | (parents >= self.n) | (known & other)
        if self.n_dead and self.dead is not None:
            bad |= known & self.dead[np.where(known, parents, 0)]
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise MetadataValueError(
                f"parent of {self.describe(int(rows[at]))} cannot be row {int(parents[at])}: "
                "it is no object of the same frame"
            )
        above = parents
        for _ in range(self.n + 1):
            looped = above == rows
            if looped.any():
                row = int(rows[np.flatnonzero(looped)[0]])
                raise MetadataValueError(f"{self.describe(row)} is its own parent or grandparent")
            if not (above >= 0).any():
                return
            above = np.where(above >= 0, values[np.maximum(above, 0)], -1)
        raise MetadataValueError("the parents of objects form a ring")


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), object)
    array[:] = values
    return array
