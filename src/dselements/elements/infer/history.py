"""What is known of tracked objects, so that a classifier need not look at them in every frame."""

from __future__ import annotations

from dataclasses import dataclass, field

from .attributes import Attribute

__all__ = ["History", "Known"]

# nvinfer's: a box that has grown by a fifth is worth another look; an object that was not seen
# for 150 frames is forgotten.
GROWTH = 1.2
FORGET_AFTER = 150
TIDY_EVERY = 300
"""Frames of a source; nvinfer waits 1800, and holds what it forgets that much longer."""


@dataclass
class Known:
    """One tracked object."""

    attributes: tuple[Attribute, ...] = ()
    """Of the last look that ended."""
    looked_at: int = -1
    """Frame of the last look that began."""
    seen_at: int = -1
    """Last frame that the object was in."""
    area: float = 0.0
    """Square pixels of its box at the last look."""
    waiting: bool = False
    """True while the network looks at it."""


@dataclass
class _Source:
    objects: dict[int, Known] = field(default_factory=dict)
    tidied: int = 0
    last: int = -1


class History:
    """Tracked objects of all sources.

    :param interval: frames after which an object is looked at again.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._sources: dict[int, _Source] = {}

    def __len__(self) -> int:
        return sum(len(source.objects) for source in self._sources.values())

    def see(self, source: int, object_id: int, frame: int) -> Known:
        """The object's entry; a new one if it is not known."""
        entry = self._sources.setdefault(source, _Source())
        if frame < entry.last:  # a new stream of the same number
            entry.objects.clear()
            entry.tidied = frame
        elif frame - entry.tidied >= TIDY_EVERY:
            old = [i for i, k in entry.objects.items() if frame - k.seen_at > FORGET_AFTER]
            for gone in old:
                del entry.objects[gone]
            entry.tidied = frame
        entry.last = frame
        known = entry.objects.setdefault(object_id, Known())
        known.seen_at = frame
        return known

    def due(self, known: Known, frame: int, area: float) -> bool:
        """True if the object is to be looked at in this frame."""
        if known.waiting:
            return False
        if known.looked_at < 0 or known.area * GROWTH < area:
            return True
        return frame - known.looked_at > self._interval

    def clear(self) -> None:
        """Forget all."""
        self._sources.clear()
