"""Puts recorded frames back into a batch: all of them in one native transaction, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import _native
from .._core.layouts import FAMILIES
from ..errors import RecordingFormatError
from ..meta.batch import Batch
from ..meta.fields import BATCH_COLUMNS, FRAME_COLUMNS, NO_TIME, OBJECT_COLUMNS
from ..meta.objecttable import TEXTS
from .schema import BatchLine, FrameLine, PayloadLine, float_of
from .values import column_of, mask_of, parents_of, payload_of, shapes_of, text_of

__all__ = ["BOUND_FIELDS", "Placement", "Restored", "rebuild", "restore"]

Array = npt.NDArray[Any]
BOUND_FIELDS = frozenset(
    {"pad_index", "batch_id", "frame_num", "buf_pts", "source_id", "num_surfaces_per_frame",
     "source_frame_width", "source_frame_height", "surface_type", "surface_index",
     "pipeline_width", "pipeline_height"}
)  # fmt: skip
"""Frame fields that belong to the present pipeline's pixels and stay as they are."""
_OBJECT_FIELDS = {family.name: family.fields["object"] for family in FAMILIES}


class Placement(NamedTuple):
    """A recorded frame, and the row of the frame that gets it."""

    row: int
    line: FrameLine


@dataclass
class Restored:
    """What :func:`restore` did."""

    added: int = 0
    removed: int = 0
    lost: int = 0
    """Columns that the present SDK does not have and that were not zero."""


def restore(
    batch_meta: int,
    placements: Sequence[Placement],
    *,
    replace: bool = True,
    fields: frozenset[str] | None = None,
    whole: Sequence[BatchLine] = (),
) -> Restored:
    """Put recorded frames into a batch.

    :param batch_meta: address of the NvDsBatchMeta.
    :param placements: what goes where; at most one for each row.
    :param replace: take away objects, display metas and payloads that the frames had, and set
        their fields; otherwise only add.
    :param fields: frame fields to set when replacing; None for all but :data:`BOUND_FIELDS`.
    :param whole: recorded batches whose own payloads and misc_batch_info are put on this one.
    :raises RecordingFormatError: if a line does not fit; nothing was changed.
    :raises ConcurrentEditError: if somebody changes the batch meanwhile; nothing was changed.
    """
    snapshot = _native.Snapshot(batch_meta)
    job = _Job(snapshot, list(placements))
    if replace:
        job.clear({p.row for p in placements}, bool(whole))
        job.fields(fields)
    job.objects()
    job.hang()
    for line in whole:
        job.batch(line, replace)
    job.transaction.commit()
    return job.done


def rebuild(line: BatchLine) -> Batch:
    """A batch that owns its metadata, as it was when it was recorded. Close it when done.

    Foreign user metas are not in it, and fields that the loaded SDK lacks.

    :raises RecordingFormatError: if the line does not fit.
    """
    batch = Batch.create(max(line.max_frames, len(line.frames), 1))
    try:
        snapshot = _native.Snapshot(batch.address)
        job = _Job(snapshot, [Placement(i, f) for i, f in enumerate(line.frames)])
        job.transaction.add_frames(len(line.frames))
        job.n_frames = len(line.frames)
        job.fields(frozenset(FRAME_COLUMNS))
        job.objects()
        job.hang()
        job.batch(line, True)
        job.transaction.commit()
    except BaseException:
        batch.close()
        raise
    return batch


class _Job:
    def __init__(self, snapshot: _native.Snapshot, placements: list[Placement]) -> None:
        self.snapshot = snapshot
        self.placements = placements
        self.transaction = _native.Transaction(snapshot)
        self.n_frames = snapshot.n_frames
        self.first = snapshot.n_objects
        self.n = sum(p.line.count for p in placements)
        self.done = Restored()
        self.at: list[int] = []
        row = self.first
        for place in placements:
            if place.line.count < 0:
                raise RecordingFormatError(f"a frame cannot have {place.line.count} objects")
            self.at.append(row)
            row += place.line.count

    # -- what was there ------------------------------------------------------
    def clear(self, rows: set[int], whole: bool) -> None:
        snap, transaction = self.snapshot, self.transaction
        index = np.frombuffer(snap.frame_index, np.int32)
        victims = np.isin(index, list(rows))
        if victims.any():
            transaction.remove_objects(victims.astype(np.uint8).tobytes())
            self.done.removed = int(np.count_nonzero(victims))
        for row, address, _ in snap.gather_display():
            if row in rows:
                transaction.remove_display(row, address)
        ours = _native.payload_meta_type()
        for row, address, meta_type, _ in snap.gather_user(_native.FRAME):
            if row in rows and meta_type == ours:
                transaction.remove_user(_native.FRAME, row, address)
        if whole:
            for row, address, meta_type, _ in snap.gather_user(_native.BATCH):
                if meta_type == ours:
                    transaction.remove_user(_native.BATCH, row, address)

    def fields(self, names: frozenset[str] | None) -> None:
        for name, column in FRAME_COLUMNS.items():
            if not column.writable or (
                name in BOUND_FIELDS if names is None else name not in names
            ):
                continue
            values = np.zeros((self.n_frames, *column.shape), column.dtype)
            changed = np.zeros(self.n_frames, np.uint8)
            for row, line in self.placements:
                values[row] = column_of(column, [_field(line, name, column.width)], 1)[0]
                changed[row] = 1
            self.transaction.scatter(_native.FRAME, name, values.tobytes(), changed.tobytes())

    # -- objects -------------------------------------------------------------
    def objects(self) -> None:
        if not self.n:
            return
        total = self.first + self.n
        rows = np.repeat([p.row for p in self.placements], [p.line.count for p in self.placements])
        names = dict.fromkeys(n for p in self.placements for n in p.line.objects)
        has = _OBJECT_FIELDS[self.snapshot.family]
        parts = [
            (name, [self._column(name, p.line) for p in self.placements])
            for name in names
            if name in OBJECT_COLUMNS
        ]
        self.transaction.add_objects(rows.astype(np.int32).tobytes())
        self.done.added = self.n
        flags = np.zeros(total, np.uint8)
        flags[self.first :] = 1
        for name, values in parts:
            column = OBJECT_COLUMNS[name]
            if name not in has:
                self.done.lost += 1
                continue
            full = np.zeros((total, *column.shape), column.dtype)
            full[self.first :] = np.concatenate(values)
            self.transaction.scatter(_native.OBJECT, name, full.tobytes(), flags.tobytes())
        unknown = set(names) - set(OBJECT_COLUMNS) - set(TEXTS) - {"parent"}
        if unknown:
            raise RecordingFormatError(f"objects have no column {sorted(unknown)[0]!r}")
        self._texts(names)

    def _column(self, name: str, line: FrameLine) -> Array:
        column = OBJECT_COLUMNS[name]
        if name not in line.objects:
            return np.full((line.count, *column.shape), column.default, column.dtype)
        return column_of(column, line.objects[name], line.count)

    def _texts(self, names: dict[str, None]) -> None:
        transaction = self.transaction
        for name in TEXTS:
            if name not in names:
                continue
            found: dict[bytes | None, int] = {}
            codes = np.full(self.first + self.n, -1, np.int32)
            for at, (_, line) in zip(self.at, self.placements, strict=True):
                values = line.objects.get(name)
                if values is None:
                    continue
                if len(values) != line.count:
                    raise RecordingFormatError(f"{name} does not have {line.count} values")
                for i, value in enumerate(values):
                    text = text_of(value, name)
                    codes[at + i] = found.setdefault(text, len(found))
            texts = list(found)
            if name == "label":
                transaction.set_labels(codes.tobytes(), [text or b"" for text in texts])
            elif name == "display_text":
                transaction.set_display_texts(codes.tobytes(), texts)
            else:
                for row in np.flatnonzero(codes >= 0).tolist():
                    if texts[codes[row]] is not None:
                        transaction.set_text(_native.OBJECT, row, name, texts[codes[row]])

    # -- what hangs on rows ----------------------------------------------------
    def hang(self) -> None:
        transaction = self.transaction
        for at, (row, line) in zip(self.at, self.placements, strict=True):
            for i, parent in enumerate(parents_of(line)):
                if parent >= 0:
                    transaction.set_parent(at + i, at + parent)
            for mask in line.masks:
                transaction.set_mask(at + _index(mask.object, line), *mask_of(mask))
            # The library prepends: backwards, so that lists read as they were.
            for one in reversed(line.classifiers):
                labels = [_label(label) for label in one.labels]
                if not -(2**31) <= one.unique_component_id < 2**31:
                    raise RecordingFormatError("a classifier's unique_component_id is no int32")
                transaction.add_classifier(
                    at + _index(one.object, line),
                    one.unique_component_id,
                    text_of(one.classifier_type, "classifier_type"),
                    labels,
                )
            for kinds in reversed(line.display):
                transaction.add_display(row, shapes_of(kinds))
            for payload in reversed(line.payloads):
                self._payload(payload, at, row, line)

    def _payload(self, payload: PayloadLine, at: int, row: int, line: FrameLine) -> None:
        block = payload_of(payload)
        if payload.object is None:
            self.transaction.add_payload(_native.FRAME, row, block)
        else:
            self.transaction.add_payload(_native.OBJECT, at + _index(payload.object, line), block)

    def batch(self, line: BatchLine, replace: bool) -> None:
        if replace:
            column = BATCH_COLUMNS["misc_batch_info"]
            values = column_of(column, [line.misc_batch_info or [0] * column.width], 1)
            self.transaction.scatter(_native.BATCH, column.name, values.tobytes())
        for payload in reversed(line.payloads):
            self.transaction.add_payload(_native.BATCH, 0, payload_of(payload))


def _field(line: FrameLine, name: str, width: int) -> Any:
    if name == "source_id":
        return line.source_id
    if name == "frame_num":
        return line.frame_num
    if name == "buf_pts":
        return NO_TIME if line.buf_pts is None else line.buf_pts
    return line.fields.get(name, 0 if width == 1 else [0] * width)


def _index(index: int, line: FrameLine) -> int:
    if not 0 <= index < line.count:
        raise RecordingFormatError(f"there is no object {index} of {line.count}")
    return index


def _label(values: tuple[int, int, int, Any, Any]) -> tuple[int, int, int, float, bytes]:
    label_id, class_id, classes, prob, text = values
    if not all(0 <= value < 2**32 for value in (label_id, class_id, classes)):
        raise RecordingFormatError(f"a classifier's label has {values[:3]}: they are uint32")
    try:
        number = float_of(prob)
    except ValueError as error:
        raise RecordingFormatError(f"a probability: {error}") from None
    return label_id, class_id, classes, number, text_of(text, "label") or b""
