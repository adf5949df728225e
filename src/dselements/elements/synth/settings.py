"""Properties of dssynth, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import PropertyValueError

__all__ = ["SynthSettings"]


@dataclass(frozen=True)
class SynthSettings:
    """What is put on each frame."""

    num_objects: int = 5
    seed: int = 0
    classes: tuple[str, ...] = ("person", "car", "bicycle")
    min_size: int = 24
    max_size: int = 120
    speed: float = 4.0
    """Pixels a frame, at most."""
    jitter: float = 0.0
    """Standard deviation of the box edges, pixels."""
    min_confidence: float = 0.3
    max_confidence: float = 1.0
    tracked: bool = True

    @classmethod
    def parse(cls, **values: Any) -> SynthSettings:
        """Check the properties' values. :raises PropertyValueError: naming the wrong one."""
        classes = tuple(c.strip() for c in values.pop("classes").split(",") if c.strip())
        settings = cls(classes=classes, **values)
        if not classes:
            raise PropertyValueError("classes is empty", hint="such as person,car")
        if settings.min_size > settings.max_size:
            raise PropertyValueError(
                f"min-size {settings.min_size} is above max-size {settings.max_size}"
            )
        if settings.min_confidence > settings.max_confidence:
            raise PropertyValueError(
                f"min-confidence {settings.min_confidence} is above max-confidence "
                f"{settings.max_confidence}"
            )
        return settings
