"""Classifier results of an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import MetadataValueError, NonFiniteValueError, StaleMetadataError

if TYPE_CHECKING:
    from .batch import Batch
    from .object import Object

__all__ = ["Classifier", "Classifiers", "Label"]


class Label(NamedTuple):
    """One label of a classifier (NvDsLabelInfo)."""

    result_label: str
    """Text; at most 127 bytes of UTF-8 are kept."""
    result_class_id: int = 0
    """Index of the winning class."""
    result_prob: float = 1.0
    """Its probability, 0 to 1."""
    label_id: int = 0
    """Index of the attribute (output layer)."""
    num_classes: int = 0
    """Classes of the attribute; 0 if unknown."""


class Classifier:
    """What one classifier said of an object (NvDsClassifierMeta)."""

    __slots__ = ("address", "classifier_type", "labels", "unique_component_id")

    def __init__(
        self,
        labels: Sequence[Label],
        unique_component_id: int,
        classifier_type: str | None,
        address: int = 0,
    ) -> None:
        self.labels = tuple(labels)
        self.unique_component_id = unique_component_id
        self.classifier_type = classifier_type
        self.address = address
        """Of the NvDsClassifierMeta; 0 for one not committed yet."""

    def __repr__(self) -> str:
        names = ", ".join(f"{x.result_label} {x.result_prob:.2f}" for x in self.labels)
        return f"<Classifier {self.unique_component_id}: {names}>"


def _label(value: Label | str | tuple[str, float]) -> Label:
    if isinstance(value, str):
        value = Label(value)
    elif not isinstance(value, Label):
        value = Label(str(value[0]), result_prob=float(value[1]))
    if "\0" in value.result_label:
        raise MetadataValueError(f"label {value.result_label!r} holds a NUL character")
    if value.result_prob - value.result_prob != 0:
        raise NonFiniteValueError(f"probability of label {value.result_label!r} is {value.result_prob}")
    for name in ("result_class_id", "label_id", "num_classes"):
        if not 0 <= getattr(value, name) <= 0xFFFFFFFF:
            raise MetadataValueError(f"{name} {getattr(value, name)} is no uint32")
    return value


class Classifiers:
    """Classifier metas of an object, newest first; edits reach the metadata at commit."""

    __slots__ = ("_batch", "_object")

    def __init__(self, batch: Batch, obj: Object) -> None:
        self._batch = batch
        self._object = obj

    def _list(self) -> list[Classifier]:
        return self._batch._classifiers_of(self._object._native_row())

    def __iter__(self) -> Iterator[Classifier]:
        return iter(list(self._list()))

    def __len__(self) -> int:
        return len(self._list())

    def __getitem__(self, index: int) -> Classifier:
        return self._list()[index]

    def __repr__(self) -> str:
        return repr(self._list())

    def add(
        self,
        labels: Iterable[Label | str | tuple[str, float]],
        *,
        unique_component_id: int = 0,
        classifier_type: str | None = None,
    ) -> Classifier:
        """Add a result: labels as :class:`Label`, as text, or as (text, probability).

        :raises MetadataValueError: for a value that does not fit; NonFiniteValueError for NaN.
        """
        if not -(2**31) <= unique_component_id < 2**31:
            raise MetadataValueError(f"unique_component_id {unique_component_id} is no int32")
        new = Classifier([_label(x) for x in labels], unique_component_id, classifier_type)
        self._list().insert(0, new)
        self._batch._note_classifier("add", self._object._native_row(), new)
        return new

    def replace(self, old: Classifier, labels: Iterable[Label | str | tuple[str, float]]) -> Classifier:
        """Put other labels in the place of a result's, keeping who said it."""
        new = [_label(x) for x in labels]
        self.remove(old)
        return self.add(
            new,
            unique_component_id=old.unique_component_id,
            classifier_type=old.classifier_type,
        )

    def remove(self, classifier: Classifier) -> None:
        """Remove a result. :raises StaleMetadataError: if the object does not hold it."""
        held = self._list()
        for index, mine in enumerate(held):
            if mine is classifier:
                del held[index]
                self._batch._note_classifier("remove", self._object._native_row(), classifier)
                return
        raise StaleMetadataError("the object does not hold this classifier (any more)")

    def clear(self) -> None:
        """Remove all."""
        for classifier in list(self._list()):
            self.remove(classifier)
