"""All objects of a batch (or of one frame) as columns and as handles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from ..errors import MetadataValueError, StaleMetadataError
from .fields import OBJECT_COLUMNS, UNTRACKED
from .object import Object

if TYPE_CHECKING:
    from .batch import Batch

__all__ = ["Objects"]

Array = npt.NDArray[Any]
_EXTRA = frozenset({"label", "display_text", "font_name", "parent", "frame_index"})


class Objects:
    """Columns of all objects of all frames, frame after frame, in the lists' own order.

    A column is a numpy array with one row for each object. Writing into it edits the metadata
    when ``process`` returns (or at ``commit()``)::

        o = batch.objects
        o.class_id[o.label == "truck"] = 2
        o.confidence = o.confidence * 0.9      # copies into the column

    After objects were added or removed this view is stale: fetch ``batch.objects`` again.
    Its arrays are read-only then, so that no write gets lost.

    Columns: those of ``meta.fields.OBJECT_COLUMNS``; ``label``, ``display_text``, ``font_name``
    (object arrays of str or None), ``parent`` (int32 row, -1 none), ``frame_index`` (int32 row of
    the frame, read-only). Views on ``rect`` (float32, pixels): ``left``, ``top``, ``width``,
    ``height``. Computed, read-only: ``right``, ``bottom``, ``area``, ``center_x``, ``center_y``,
    ``tracked`` (bool), ``source_id``, ``frame_num``, ``pad_index``.
    """

    __slots__ = ("_batch", "_generation", "_table")

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        table = batch._object_table()
        table.compact()
        self._table = table
        self._generation = table.generation

    def _column(self, name: str) -> Array:
        table = self._table
        if table.generation != self._generation:
            table.check_open()
            raise StaleMetadataError("these columns were fetched before objects came or went")
        return table.column(name)

    def __len__(self) -> int:
        if self._table.generation != self._generation:
            self._column("class_id")
        return self._table.n

    def __iter__(self) -> Iterator[Object]:
        self._column("class_id")
        batch, generation = self._batch, self._generation
        return iter([Object(batch, self._table, row, generation) for row in range(self._table.n)])

    @overload
    def __getitem__(self, key: int) -> Object: ...
    @overload
    def __getitem__(self, key: slice) -> list[Object]: ...
    def __getitem__(self, key: int | slice) -> Object | list[Object]:
        n = len(self)
        if isinstance(key, slice):
            return [
                Object(self._batch, self._table, row, self._generation)
                for row in range(*key.indices(n))
            ]
        row = key + n if key < 0 else key
        if not 0 <= row < n:
            raise IndexError(f"object {key} of {n}")
        return Object(self._batch, self._table, row, self._generation)

    def __getattr__(self, name: str) -> Array:
        if name in OBJECT_COLUMNS or name in _EXTRA:
            return self._column(name)
        compute = _COMPUTED.get(name)
        if compute is None:
            raise AttributeError(f"objects have no column {name!r}")
        return compute(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Objects.__slots__:
            object.__setattr__(self, name, value)
            return
        if name not in OBJECT_COLUMNS and name not in _EXTRA and name not in _RECT_VIEWS:
            known = "is computed and" if name in _COMPUTED else "does not exist and"
            raise AttributeError(f"column {name!r} {known} cannot be set")
        array = getattr(self, name)
        try:
            array[...] = value
        except (ValueError, TypeError, OverflowError) as error:
            raise MetadataValueError(f"column {name} cannot be set: {error}") from error

    def __dir__(self) -> list[str]:
        return sorted({*OBJECT_COLUMNS, *_EXTRA, *_COMPUTED, *super().__dir__()})

    def __repr__(self) -> str:
        if self._table.closed or self._table.generation != self._generation:
            return "<Objects, stale>"
        return f"<Objects of {len(self)}>"

    def _of_frame(self, name: str) -> Array:
        frames = self._batch._frame_table()
        frames.settle()
        values = frames.column(name)[self._column("frame_index")]
        values.flags.writeable = False
        return values


def _computed(values: Array) -> Array:
    values.flags.writeable = False
    return values


_RECT_VIEWS = {"left": 0, "top": 1, "width": 2, "height": 3}
_COMPUTED: dict[str, Any] = {
    "left": lambda o: o._column("rect")[:, 0],
    "top": lambda o: o._column("rect")[:, 1],
    "width": lambda o: o._column("rect")[:, 2],
    "height": lambda o: o._column("rect")[:, 3],
    "right": lambda o: _computed(o.left + o.width),
    "bottom": lambda o: _computed(o.top + o.height),
    "area": lambda o: _computed(o.width * o.height),
    "center_x": lambda o: _computed(o.left + o.width * np.float32(0.5)),
    "center_y": lambda o: _computed(o.top + o.height * np.float32(0.5)),
    "tracked": lambda o: _computed(o.object_id != np.uint64(UNTRACKED)),
    "source_id": lambda o: o._of_frame("source_id"),
    "frame_num": lambda o: o._of_frame("frame_num"),
    "pad_index": lambda o: o._of_frame("pad_index"),
}
