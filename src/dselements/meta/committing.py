"""Turns a batch's collected edits into one native transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import _native
from .checks import MAX_LABEL_BYTES, checked_text
from .display import metas_of
from .extras import Extras, payload_block
from .payloads import name_of

if TYPE_CHECKING:
    from .batch import Batch
    from .objecttable import ObjectTable

__all__ = ["transaction_of"]

log = logging.getLogger("dselements.meta")

# Labels whose cut was told. Bounded: a stream of ever new labels must not fill the memory.
_told: set[str] = set()
_MOST_TOLD = 1000


def transaction_of(
    batch: Batch, snapshot: _native.Snapshot
) -> tuple[_native.Transaction | None, dict[str, int]]:
    """The transaction (None if nothing changed) and what it does to the objects' number.

    Raises what is wrong with the edits; the batch is untouched then.
    """
    objects, frames, extras = batch._objects, batch._frames, batch._extra
    tables = [t for t in (batch._batch_table, frames, objects) if t is not None]
    for table in tables:
        table.settle()
        table.check_frozen()
    transaction = _native.Transaction(snapshot)
    dirty = False
    dead_frames: list[int] = []
    if frames is not None:
        added = frames.native_rows - snapshot.n_frames
        if added:
            transaction.add_frames(added)
            dirty = True
        dead_frames = frames.gone().tolist()
    n_in = snapshot.n_objects
    stats = {"in": n_in, "out": n_in, "removed": 0, "added": 0}
    gone = np.empty(0, np.intp)
    if objects is not None:
        gone = objects.gone()
        if objects.added:
            transaction.add_objects(objects.frames_of_added().tobytes())
            dirty = True
    for table in tables:
        for column, values, changed in table.changes():
            transaction.scatter(column.level, column.name, values, changed)
            dirty = True
    if objects is not None:
        dirty |= _texts(objects, transaction)
        for child, parent in objects.parent_changes():
            transaction.set_parent(child, parent)
            dirty = True
        if len(gone):
            victims = np.zeros(objects.native_rows, np.uint8)
            victims[gone] = 1
            transaction.remove_objects(victims.tobytes())
            dirty = True
            stats["removed"] = int(np.count_nonzero(gone < n_in))
        stats["added"] = objects.native_rows - n_in - (len(gone) - stats["removed"])
        stats["out"] = n_in - stats["removed"] + stats["added"]
    if extras is not None:
        dirty |= _extras(extras, transaction, set(gone.tolist()), set(dead_frames))
    for row in dead_frames:
        transaction.remove_frame(row)
        dirty = True
    return (transaction if dirty else None), stats


def _text(name: str) -> Callable[[Any, Callable[[], str]], bytes | None]:
    def encode(value: Any, where: Callable[[], str]) -> bytes | None:
        text = checked_text(name, value, where())
        if text is None:
            return None
        data = text.encode()
        if name == "label" and len(data) > MAX_LABEL_BYTES:
            _tell_cut(text)
        return data

    return encode


_LABEL, _DISPLAY_TEXT, _FONT_NAME = _text("label"), _text("display_text"), _text("font_name")


def _tell_cut(label: str) -> None:
    """Log once that a label is too long for the metadata."""
    if label not in _told and len(_told) < _MOST_TOLD:
        _told.add(label)
        log.warning("label %r is cut to %d bytes of UTF-8", label, MAX_LABEL_BYTES)


def _texts(table: ObjectTable, transaction: _native.Transaction) -> bool:
    labels = table.text_changes("label", _LABEL)
    if labels is not None:
        transaction.set_labels(labels[0], [label or b"" for label in labels[1]])
    texts = table.text_changes("display_text", _DISPLAY_TEXT)
    if texts is not None:
        transaction.set_display_texts(*texts)
    fonts = table.text_changes("font_name", _FONT_NAME)
    if fonts is not None:
        codes = np.frombuffer(fonts[0], np.int32)
        for row in np.flatnonzero(codes >= 0).tolist():
            transaction.set_text(_native.OBJECT, row, "font_name", fonts[1][codes[row]])
    return labels is not None or texts is not None or fonts is not None


def _extras(
    extras: Extras, transaction: _native.Transaction, removed: set[int], dead_frames: set[int]
) -> bool:
    dirty = False
    for row, mask in extras.masks.items():
        if row in removed:
            continue
        if mask is None:
            transaction.set_mask(row, None, 0, 0, 0.0)
        else:
            height, width = mask[0].shape
            transaction.set_mask(row, mask[0].tobytes(), width, height, mask[1])
        dirty = True
    dirty |= _classifiers(extras, transaction, removed)
    for row, address in extras.removed_displays:
        if row not in dead_frames:
            transaction.remove_display(row, address)
            dirty = True
    for row, state in extras.displays.items():
        if row not in dead_frames:
            for meta in metas_of(state.added):
                transaction.add_display(row, meta)
                dirty = True
    return _payloads(extras, transaction, removed, dead_frames) or dirty


def _classifiers(extras: Extras, transaction: _native.Transaction, removed: set[int]) -> bool:
    dirty = False
    for what, row, classifier in extras.classifier_edits:
        if row in removed:
            continue
        labels = [
            (x.label_id, x.result_class_id, x.num_classes, x.result_prob, x.result_label.encode())
            for x in classifier.labels
        ]
        for label in classifier.labels:
            if what != "remove" and len(label.result_label.encode()) > MAX_LABEL_BYTES:
                _tell_cut(label.result_label)
        if what == "remove":
            transaction.remove_classifier(row, classifier.address)
        elif what == "edit":
            for address, label_values in zip(classifier.label_addresses, labels, strict=True):
                transaction.set_label_info(address, classifier.address, label_values)
        else:
            kind = classifier.classifier_type
            transaction.add_classifier(
                row, classifier.unique_component_id, None if kind is None else kind.encode(), labels
            )
        dirty = True
    return dirty


def _payloads(
    extras: Extras, transaction: _native.Transaction, removed: set[int], dead_frames: set[int]
) -> bool:
    dirty = False
    for (level, row), (now, before) in extras.payloads.items():
        gone = removed if level == _native.OBJECT else dead_frames
        if (level != _native.BATCH and row in gone) or now == before:
            continue
        dropped = {name for name in before if now.get(name) != before[name]}
        for meta in extras.user_metas(level, row):
            block = payload_block(meta)
            if block is not None and name_of(block) in dropped:
                transaction.remove_user(level, row, meta.address)
        # The library prepends; backwards, so that they read in the order of assignment.
        for name, block in reversed(now.items()):
            if before.get(name) != block:
                transaction.add_payload(level, row, block)
        dirty = True
    return dirty
