"""Turns a batch's collected edits into one native transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import _native
from .display import metas_of
from .tables import ObjectTable

if TYPE_CHECKING:
    from .batch import Batch

__all__ = ["transaction_of"]


def transaction_of(batch: Batch) -> tuple[_native.Transaction | None, dict[str, int]]:
    """The transaction (None if nothing changed) and what it does to the objects' number.

    Raises what is wrong with the edits; the batch is untouched then.
    """
    snapshot = batch._snap()
    objects, frames = batch._objects, batch._frames
    transaction = _native.Transaction(snapshot)
    dirty = False
    dead_frames: set[int] = set()
    if frames is not None:
        frames.settle()
        added = frames.native_rows - snapshot.n_frames
        if added:
            transaction.add_frames(added)
            dirty = True
        dead_frames = set(frames.removed_native().tolist())
    n_in = snapshot.n_objects
    stats = {"in": n_in, "out": n_in, "removed": 0, "added": 0}
    if objects is not None:
        dirty |= _object_edits(batch, objects, transaction, stats)
    if frames is not None:
        for column, values, changed in frames.changes():
            transaction.scatter(_native.FRAME, column.field, values, changed)
            dirty = True
    removed = set() if objects is None else set(objects.removed_native().tolist())
    dirty |= _extra_edits(batch, transaction, removed, dead_frames)
    for row in sorted(dead_frames):
        transaction.remove_frame(row)
        dirty = True
    return (transaction if dirty else None), stats


def _object_edits(
    batch: Batch, table: ObjectTable, transaction: _native.Transaction, stats: dict[str, int]
) -> bool:
    table.settle()
    n_in = stats["in"]
    dirty = False
    added = table.native_rows - n_in
    gone = table.removed_native()
    if added:
        frame_of = np.zeros(added, np.int32)
        source = np.arange(table.n) if table.source is None else table.source
        new = source >= n_in
        # A new row that is gone already keeps frame 0; it is never made.
        frame_of[source[new] - n_in] = table.column("frame_index")[new]
        transaction.add_objects(frame_of.tobytes())
        dirty = True
    for column, values, changed in table.changes():
        transaction.scatter(_native.OBJECT, column.field, values, changed)
        dirty = True
    dirty |= _texts(table, transaction)
    for child, parent in table.parent_changes():
        transaction.set_parent(child, parent)
        dirty = True
    if len(gone):
        victims = np.zeros(table.native_rows, np.uint8)
        victims[gone] = 1
        transaction.remove_objects(victims.tobytes())
        dirty = True
    stats["removed"] = int(np.count_nonzero(gone < n_in))
    stats["added"] = added - int(np.count_nonzero(gone >= n_in))
    stats["out"] = n_in - stats["removed"] + stats["added"]
    return dirty


def _texts(table: ObjectTable, transaction: _native.Transaction) -> bool:
    from ..errors import MetadataValueError
    from .batch import MAX_LABEL_BYTES, tell_cut

    def encode(name: str, value: Any, row: int) -> bytes | None:
        if value is None and name != "label":
            return None
        if not isinstance(value, str) or "\0" in value:
            raise MetadataValueError(
                f"{name} of {table.describe(row)} cannot be {value!r}: a str without NUL is needed"
            )
        data = value.encode("utf-8", "replace")
        if name == "label" and len(data) > MAX_LABEL_BYTES:
            tell_cut(value)
        return data

    dirty = False
    labels = table.text_changes("label", lambda value, row: encode("label", value, row))
    if labels is not None:
        transaction.set_labels(labels[0], labels[1])
        dirty = True
    texts = table.text_changes("display_text", lambda value, row: encode("display_text", value, row))
    if texts is not None:
        transaction.set_display_texts(*texts)
        dirty = True
    fonts = table.text_changes("font_name", lambda value, row: encode("font_name", value, row))
    if fonts is not None:
        codes = np.frombuffer(fonts[0], np.int32)
        for row in np.flatnonzero(codes >= 0).tolist():
            transaction.set_text(_native.OBJECT, row, "font_name", fonts[1][codes[row]])
        dirty = True
    return dirty


def _extra_edits(
    batch: Batch, transaction: _native.Transaction, removed: set[int], dead_frames: set[int]
) -> bool:
    extras = batch._extras
    if not extras:
        return False
    dirty = False
    for row, value in extras.get("masks", {}).items():
        if row in removed:
            continue
        if value is None:
            transaction.set_mask(row, None, 0, 0, 0.0)
        else:
            array, threshold = value
            height, width = array.shape
            transaction.set_mask(row, array.tobytes(), width, height, threshold)
        dirty = True
    for what, row, classifier in extras.get("classifier_edits", ()):
        if row in removed:
            continue
        if what == "remove":
            transaction.remove_classifier(row, classifier.address)
        else:
            kind = classifier.classifier_type
            transaction.add_classifier(
                row,
                classifier.unique_component_id,
                None if kind is None else kind.encode(),
                [
                    (x.label_id, x.result_class_id, x.num_classes, x.result_prob,
                     x.result_label.encode("utf-8", "replace"))
                    for x in classifier.labels
                ],
            )  # fmt: skip
        dirty = True
    for row, address in extras.get("display_removed", ()):
        if row not in dead_frames:
            transaction.remove_display(row, address)
            dirty = True
    for row, (_, shapes) in extras.get("display", {}).items():
        if row not in dead_frames:
            for meta in metas_of(shapes):
                transaction.add_display(row, meta)
                dirty = True
    return _payload_edits(batch, transaction, removed, dead_frames) or dirty


def _payload_edits(
    batch: Batch, transaction: _native.Transaction, removed: set[int], dead_frames: set[int]
) -> bool:
    from .payloads import name_of

    dirty = False
    extras = batch._extras or {}
    ours = _native.payload_meta_type()
    for (level, row), (now, before) in extras.get("payloads", {}).items():
        gone = removed if level == _native.OBJECT else dead_frames
        if (level != _native.BATCH and row in gone) or now == before:
            continue
        changed = {name for name in before if now.get(name) != before[name]}
        for meta in batch._user_metas(level, row):
            block = _native.read_payload(meta.address) if meta.meta_type == ours else None
            if block is not None and name_of(block) in changed:
                transaction.remove_user(level, row, meta.address)
        for name, block in now.items():
            if before.get(name) != block:
                transaction.add_payload(level, row, block)
        dirty = True
    return dirty
