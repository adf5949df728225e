"""What hangs on rows and is no column: classifiers, masks, display metas, user metas.

Read from the snapshot when first asked for; keyed by native row, which stays the same while
rows come and go. Edits are kept here until commit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import _native
from ..errors import MetadataValueError, NonFiniteValueError
from .classifier import Classifier, Label
from .display import Shape, from_native
from .payloads import UserMeta, name_of

__all__ = ["DisplayState", "Extras"]

Mask = tuple[npt.NDArray[np.float32], float]


class DisplayState(NamedTuple):
    """Display shapes of one frame."""

    present: list[tuple[int, list[Shape]]]
    """Address and shapes of each display meta of the snapshot that was not cleared."""
    added: list[Shape]


class Extras:
    """Lazily read lists of one snapshot, and their edits."""

    def __init__(self, snapshot: _native.Snapshot) -> None:
        self._snapshot = snapshot
        self._classifiers: dict[int, list[Classifier]] | None = None
        self._displays: dict[int, DisplayState] | None = None
        self._users: dict[int, dict[int, list[UserMeta]]] = {}
        self.payloads: dict[tuple[int, int], tuple[dict[str, bytes], dict[str, bytes]]] = {}
        """Encoded payloads by level and row: as they shall be, as they are."""
        self.masks: dict[int, Mask | None] = {}
        """Masks set since the snapshot."""
        self.classifier_edits: list[tuple[str, int, Classifier]] = []
        """``add``, ``remove`` or ``edit``, native object row, classifier."""
        self.removed_displays: list[tuple[int, int]] = []
        """Native frame row, address of the display meta."""

    @property
    def displays(self) -> dict[int, DisplayState]:
        """Display shapes by native frame row, of the frames whose display was looked at."""
        return self._displays or {}

    # -- classifiers ---------------------------------------------------------
    def classifiers(self, row: int) -> list[Classifier]:
        """Classifiers of an object, as they shall be."""
        if self._classifiers is None:
            self._classifiers = {}
            for at, address, component, kind, labels in self._snapshot.gather_classifiers():
                self._classifiers.setdefault(at, []).append(
                    Classifier(
                        [
                            Label(text.decode("utf-8", "replace"), cls, prob, label_id, classes)
                            for _, label_id, cls, classes, prob, text in labels
                        ],
                        component,
                        None if kind is None else kind.decode("utf-8", "replace"),
                        address,
                        tuple(label[0] for label in labels),
                    )
                )
        return self._classifiers.setdefault(row, [])

    def note_classifier(self, what: str, row: int, classifier: Classifier) -> None:
        """Keep an edit for commit; what is taken back before it leaves no trace."""
        edits = self.classifier_edits
        if what == "remove":
            edits[:] = [edit for edit in edits if edit[2] is not classifier]
            if not classifier.address:
                return
        elif any(edit[2] is classifier for edit in edits):
            return
        edits.append((what, row, classifier))

    # -- user metas and payloads -----------------------------------------------
    def user_metas(self, level: int, row: int) -> list[UserMeta]:
        """User metas of the snapshot, of whatever kind."""
        if level not in self._users:
            table: dict[int, list[UserMeta]] = {}
            for at, address, meta_type, data in self._snapshot.gather_user(level):
                table.setdefault(at, []).append(UserMeta(meta_type, address, data))
            self._users[level] = table
        return self._users[level].get(row, [])

    def payload_blocks(self, level: int, row: int) -> dict[str, bytes]:
        """Encoded payloads by name, as they shall be."""
        key = (level, row)
        if key not in self.payloads:
            blocks: dict[str, bytes] = {}
            for meta in self.user_metas(level, row):
                block = payload_block(meta)
                if block is not None:
                    # Of several with one name, the first in the list is meant.
                    blocks.setdefault(name_of(block), block)
            self.payloads[key] = (blocks, dict(blocks))
        return self.payloads[key][0]

    # -- display -------------------------------------------------------------
    def display(self, row: int) -> DisplayState:
        """Display shapes of a frame, as they shall be."""
        if self._displays is None:
            self._displays = {}
            for at, address, kinds in self._snapshot.gather_display():
                shapes = [from_native(kind, s) for kind, group in kinds.items() for s in group]
                self._displays.setdefault(at, DisplayState([], [])).present.append(
                    (address, shapes)
                )
        return self._displays.setdefault(row, DisplayState([], []))

    def clear_display(self, row: int) -> None:
        """Take all shapes off a frame."""
        present, added = self.display(row)
        self.removed_displays += [(row, address) for address, _ in present]
        present.clear()
        added.clear()

    # -- masks ---------------------------------------------------------------
    def mask(self, row: int) -> Mask | None:
        """Copy of an object's mask, and its threshold."""
        if row in self.masks:
            value = self.masks[row]
            return None if value is None else (value[0].copy(), value[1])
        if row >= self._snapshot.n_objects:
            return None
        found = self._snapshot.gather_mask(row)
        if found is None:
            return None
        data, width, height, threshold = found
        return np.frombuffer(data, np.float32).reshape(height, width).copy(), threshold

    def set_mask(self, row: int, value: Any, threshold: float, where: str) -> None:
        """Set or (None) remove a mask.

        :raises MetadataValueError: if it is no array of two dimensions.
        :raises NonFiniteValueError: for NaN and infinity.
        """
        if value is None:
            self.masks[row] = None
            return
        try:
            with np.errstate(over="ignore"):
                array = np.array(value, np.float32)
            limit = float(threshold)
        except (TypeError, ValueError) as error:
            raise MetadataValueError(f"mask of {where} is not numbers: {error}") from None
        if array.ndim != 2 or not array.size:
            raise MetadataValueError(
                f"mask of {where} has shape {array.shape}: needed (height, width)"
            )
        if not np.isfinite(array).all() or not np.isfinite(limit):
            raise NonFiniteValueError(f"mask of {where} holds NaN or infinity")
        self.masks[row] = (np.ascontiguousarray(array), limit)


def payload_block(meta: UserMeta) -> bytes | None:
    """Bytes of a user meta that is a payload of ours; None for any other."""
    if meta.meta_type != _native.payload_meta_type():
        return None
    return _native.read_payload(meta.address)
