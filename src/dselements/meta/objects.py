"""All objects of a batch as columns and as handles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from ..errors import MetadataValueError, StaleMetadataError
from .checks import checked_texts, checked_values
from .fields import OBJECT_COLUMNS, UNTRACKED
from .object import Object
from .objecttable import TEXTS

if TYPE_CHECKING:
    from .batch import Batch
    from .objecttable import ObjectTable

__all__ = ["Objects"]

Array = npt.NDArray[Any]
_OTHERS = frozenset({*TEXTS, "parent", "frame_index"})
_PARTS = {"left": 0, "top": 1, "width": 2, "height": 3}


class Objects:
    """Columns of all objects of all frames, frame after frame, in the lists' own order.

    A column is a numpy array with one row for each object. Writing into it edits the metadata
    when ``process`` returns (or at ``commit()``)::

        o = batch.objects
        o.class_id[o.label == "truck"] = 2
        o.confidence = o.confidence * 0.9      # checked, then copied into the column

    Numbers written into an array directly are numpy's business (a float becomes an int, an
    int64 is cut to int32); NaN, infinity and negative sizes are found at commit. Assigning a
    whole column checks range and kind at once.

    After objects were added, or removed and ``batch.objects`` fetched again, this view is stale
    and raises StaleMetadataError. Its arrays then keep what was written and are read-only; a
    write through a slice of one that was taken before is found at commit and refused.

    Columns: those of ``meta.fields.OBJECT_COLUMNS``; ``label``, ``display_text``, ``font_name``
    (object arrays of str or None), ``parent`` (int32 row, -1 none), ``frame_index`` (int32 row of
    the frame, read-only). Views on ``rect`` (float32, pixels): ``left``, ``top``, ``width``,
    ``height``. Computed, read-only: ``right``, ``bottom``, ``area``, ``center`` (n, 2),
    ``center_x``, ``center_y``, ``tracked`` (bool), ``source_id``, ``frame_num``, ``pad_index``.
    """

    __slots__ = ("_batch", "_generation", "_table")

    if TYPE_CHECKING:  # for editors and type checkers; a test compares it with the tables
        class_id: npt.NDArray[np.int32]
        object_id: npt.NDArray[np.uint64]
        confidence: npt.NDArray[np.float32]
        tracker_confidence: npt.NDArray[np.float32]
        unique_component_id: npt.NDArray[np.int32]
        rect: npt.NDArray[np.float32]
        border_width: npt.NDArray[np.uint32]
        border_color: npt.NDArray[np.float64]
        has_bg_color: npt.NDArray[np.uint32]
        bg_color: npt.NDArray[np.float64]
        has_color_info: npt.NDArray[np.int32]
        color_id: npt.NDArray[np.int32]
        rotation_angle: npt.NDArray[np.float32]
        text_x: npt.NDArray[np.uint32]
        text_y: npt.NDArray[np.uint32]
        font_size: npt.NDArray[np.uint32]
        font_color: npt.NDArray[np.float64]
        text_has_bg: npt.NDArray[np.uint32]
        text_bg_color: npt.NDArray[np.float64]
        detector_bbox: npt.NDArray[np.float32]
        tracker_bbox: npt.NDArray[np.float32]
        misc_obj_info: npt.NDArray[np.int64]
        label: npt.NDArray[Any]
        display_text: npt.NDArray[Any]
        font_name: npt.NDArray[Any]
        parent: npt.NDArray[np.int32]
        frame_index: npt.NDArray[np.int32]
        left: npt.NDArray[np.float32]
        top: npt.NDArray[np.float32]
        width: npt.NDArray[np.float32]
        height: npt.NDArray[np.float32]
        right: npt.NDArray[np.float32]
        bottom: npt.NDArray[np.float32]
        area: npt.NDArray[np.float32]
        center: npt.NDArray[np.float32]
        center_x: npt.NDArray[np.float32]
        center_y: npt.NDArray[np.float32]
        tracked: npt.NDArray[np.bool_]
        source_id: npt.NDArray[np.uint32]
        frame_num: npt.NDArray[np.int32]
        pad_index: npt.NDArray[np.uint32]

    _batch: Batch
    _table: ObjectTable
    _generation: int

    def __init__(self, batch: Batch) -> None:
        table = batch._object_table()
        table.compact()
        _put(self, "_batch", batch)
        _put(self, "_table", table)
        _put(self, "_generation", table.generation)

    def _current(self) -> ObjectTable:
        """The table. :raises StaleMetadataError: if rows came or went since."""
        table = self._table
        if table.generation != self._generation:
            table.check_open()
            raise StaleMetadataError("these columns were fetched before objects came or went")
        return table

    def __len__(self) -> int:
        return self._current().n

    def __iter__(self) -> Iterator[Object]:
        table = self._current()
        batch, generation = self._batch, self._generation
        rows: Any = range(table.n)
        if table.n_dead and table.dead is not None:
            rows = np.flatnonzero(~table.dead).tolist()
        return iter([Object(batch, table, row, generation) for row in rows])

    @overload
    def __getitem__(self, key: int) -> Object: ...
    @overload
    def __getitem__(self, key: slice | npt.NDArray[Any]) -> list[Object]: ...
    def __getitem__(self, key: int | slice | npt.NDArray[Any]) -> Object | list[Object]:
        """One object, or a list of them by slice, bool mask or array of rows."""
        table = self._current()
        if isinstance(key, (slice, np.ndarray)):
            rows = np.arange(table.n)[key].tolist()
            return [Object(self._batch, table, row, self._generation) for row in rows]
        row = key + table.n if key < 0 else key
        if not 0 <= row < table.n:
            raise IndexError(f"object {key} of {table.n}")
        return Object(self._batch, table, int(row), self._generation)

    def __getattr__(self, name: str) -> Array:
        if name in OBJECT_COLUMNS or name in _OTHERS:
            return self._current().column(name)
        part = _PARTS.get(name)
        if part is not None:
            view: Array = self._current().column("rect")[:, part]
            return view
        compute = _COMPUTED.get(name)
        if compute is None:
            raise AttributeError(f"objects have no column {name!r}")
        values = compute(self)
        values.flags.writeable = False
        return values

    def __setattr__(self, name: str, value: Any) -> None:
        table = self._current()
        if name in _COMPUTED or name == "frame_index":
            raise AttributeError(f"column {name!r} is computed and cannot be set")
        if name in TEXTS:
            table.column(name)[:] = checked_texts(name, value, table.n)
        elif name == "parent":
            try:
                table.column(name)[:] = np.asarray(value).astype(np.int32, casting="same_kind")
            except (TypeError, ValueError) as error:
                raise MetadataValueError(f"column parent cannot be set: {error}") from None
        elif name in _PARTS:
            column = OBJECT_COLUMNS["rect"]._replace(name=name, width=1)
            values = checked_values(column, value, table.n, table.describe)
            if name in ("width", "height") and (np.asarray(values) < 0).any():
                raise MetadataValueError(f"column {name} cannot have negative values")
            table.column("rect")[:, _PARTS[name]] = values
        elif name in OBJECT_COLUMNS:
            values = checked_values(OBJECT_COLUMNS[name], value, table.n, table.describe)
            table.column(name)[:] = values
        else:
            raise AttributeError(f"objects have no column {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*OBJECT_COLUMNS, *_OTHERS, *_PARTS, *_COMPUTED, *super().__dir__()})

    def __repr__(self) -> str:
        if self._table.generation != self._generation:
            return "<Objects, stale>"
        return f"<Objects of {self._table.n}>"

    def _of_frame(self, name: str) -> Array:
        frames = self._batch._frame_table()
        frames.settle()
        values: Array = frames.column(name)[self.frame_index]
        return values


_put = object.__setattr__
_HALF = np.float32(0.5)
_UNTRACKED = np.uint64(UNTRACKED)
_COMPUTED: dict[str, Callable[[Objects], Array]] = {
    "right": lambda o: o.left + o.width,
    "bottom": lambda o: o.top + o.height,
    "area": lambda o: o.width * o.height,
    "center": lambda o: o.rect[:, :2] + o.rect[:, 2:] * _HALF,
    "center_x": lambda o: o.left + o.width * _HALF,
    "center_y": lambda o: o.top + o.height * _HALF,
    "tracked": lambda o: o.object_id != _UNTRACKED,
    "source_id": lambda o: o._of_frame("source_id"),
    "frame_num": lambda o: o._of_frame("frame_num"),
    "pad_index": lambda o: o._of_frame("pad_index"),
}
