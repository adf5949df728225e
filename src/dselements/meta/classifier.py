"""Classifier results of an object."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import MetadataValueError, NonFiniteValueError, StaleMetadataError
from .checks import checked_text

if TYPE_CHECKING:
    from .batch import Batch
    from .object import Object

__all__ = ["Classifier", "Classifiers", "Label"]


class Label(NamedTuple):
    """One label of a classifier (NvDsLabelInfo): the answer for one attribute.

    A classifier of cars may have two attributes, colour and make, and so give two labels.
    """

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
    """What one classifier said of an object (NvDsClassifierMeta).

    Read it; to change it, use the methods of :class:`Classifiers`.
    """

    __slots__ = (
        "address",
        "classifier_type",
        "label_addresses",
        "labels",
        "unique_component_id",
    )

    def __init__(
        self,
        labels: Sequence[Label],
        unique_component_id: int,
        classifier_type: str | None,
        address: int = 0,
        label_addresses: tuple[int, ...] = (),
    ) -> None:
        self.labels = tuple(labels)
        """One :class:`Label` for each attribute."""
        self.unique_component_id = unique_component_id
        """unique-id of the element that classified."""
        self.classifier_type = classifier_type
        """What it classifies, such as ``vehicletypes``, as nvinfer's ``classifier-type``; or
        None."""
        self.address = address
        """Of the NvDsClassifierMeta; 0 for one not committed yet."""
        self.label_addresses = label_addresses
        """Of the NvDsLabelInfo of each label; empty for one not committed yet."""

    def __repr__(self) -> str:
        names = ", ".join(f"{x.result_label} {x.result_prob:.2f}" for x in self.labels)
        return f"<Classifier {self.unique_component_id}: {names}>"


def _label(value: Label | str | tuple[str, float]) -> Label:
    if isinstance(value, str):
        value = Label(value)
    elif not isinstance(value, Label):
        try:
            value = Label(value[0], result_prob=value[1])
        except (TypeError, IndexError, KeyError):
            raise MetadataValueError(
                f"a classifier label is a str, (str, probability) or Label, not {value!r}"
            ) from None
    text = checked_text("label", value.result_label)
    try:
        prob = float(value.result_prob)
        numbers = [operator.index(x) for x in value[1:2] + value[3:]]
    except (TypeError, ValueError) as error:
        raise MetadataValueError(f"label {text!r}: {error}") from None
    if not abs(prob) <= 3.4e38:
        raise NonFiniteValueError(f"probability of label {text!r} is {prob}")
    if not all(0 <= number <= 0xFFFFFFFF for number in numbers):
        raise MetadataValueError(f"label {text!r} has {numbers}: they are uint32")
    return Label(text or "", numbers[0], prob, numbers[1], numbers[2])


class Classifiers:
    """Classifier results of an object, newest first. ``obj.classifiers`` is one.

    ::

        obj.classifiers.add([("red", 0.9), ("truck", 0.7)], unique_component_id=3)
        for classifier in obj.classifiers:
            print(classifier.unique_component_id, classifier.labels[0].result_label)

    It has a length and indices, and iterating runs over those present when it began. Edits reach
    the metadata at commit.
    """

    __slots__ = ("_batch", "_object")

    def __init__(self, batch: Batch, obj: Object) -> None:
        self._batch = batch
        self._object = obj

    def _list(self) -> list[Classifier]:
        return self._batch._extras().classifiers(self._object._native_row())

    def _note(self, what: str, classifier: Classifier) -> None:
        self._batch._extras().note_classifier(what, self._object._native_row(), classifier)

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
        """Add a result; it becomes the first.

        :param labels: one for each attribute: a text (probability 1), a pair of text and
            probability, or a :class:`Label`. Texts are cut at 127 bytes of UTF-8.
        :param unique_component_id: unique-id of the element that classified; tells results of
            several classifiers apart.
        :param classifier_type: what was classified, such as ``"vehicletypes"``; None for none.
        :returns: the new result, for :meth:`edit` and :meth:`remove`.
        :raises MetadataValueError: if a value does not fit its field.
        :raises NonFiniteValueError: for a probability that is NaN or infinite.
        """
        if isinstance(labels, (str, Label)):
            raise MetadataValueError(f"labels is a list, not one label: {labels!r}")
        if not -(2**31) <= unique_component_id < 2**31:
            raise MetadataValueError(f"unique_component_id {unique_component_id} is no int32")
        kind = checked_text("classifier_type", classifier_type)
        new = Classifier([_label(x) for x in labels], unique_component_id, kind)
        self._list().insert(0, new)
        self._note("add", new)
        return new

    def edit(
        self, classifier: Classifier, index: int, label: Label | str | tuple[str, float]
    ) -> None:
        """Put another label in the place of one of a result's, keeping all else.

        :param classifier: a result of this object.
        :param index: which of its labels.
        :param label: the new one, in any form that :meth:`add` takes.
        :raises StaleMetadataError: if the object does not hold the classifier.
        :raises IndexError: if it has no such label.
        :raises MetadataValueError: if a value does not fit.
        """
        self._place(classifier)
        labels = list(classifier.labels)
        labels[index] = _label(label)
        classifier.labels = tuple(labels)
        self._note("edit", classifier)

    def replace(
        self, old: Classifier, labels: Iterable[Label | str | tuple[str, float]]
    ) -> Classifier:
        """Put other labels, of any number, in the place of a result's.

        :param old: a result of this object; it is removed.
        :param labels: as for :meth:`add`; component and type stay those of ``old``.
        :returns: the new result.
        :raises StaleMetadataError: if the object does not hold ``old``.
        :raises MetadataValueError: if a value does not fit.
        """
        new = [_label(x) for x in labels]
        self.remove(old)
        return self.add(
            new,
            unique_component_id=old.unique_component_id,
            classifier_type=old.classifier_type,
        )

    def _place(self, classifier: Classifier) -> int:
        for index, mine in enumerate(self._list()):
            if mine is classifier:
                return index
        raise StaleMetadataError("the object does not hold this classifier (any more)")

    def remove(self, classifier: Classifier) -> None:
        """Remove a result.

        :param classifier: a result of this object.
        :raises StaleMetadataError: if the object does not hold it.
        """
        del self._list()[self._place(classifier)]
        self._note("remove", classifier)

    def clear(self) -> None:
        """Remove all results of the object, also those of other elements."""
        for classifier in list(self._list()):
            self.remove(classifier)
