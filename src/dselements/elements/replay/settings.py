"""What ``dsreplay`` reads, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ConfigError
from ...recording.mot import is_mot

__all__ = ["ReplaySettings"]


@dataclass(frozen=True)
class ReplaySettings:
    """A checked location, and how the boxes of MOT files are meant."""

    location: str
    mot: bool
    replace: bool
    on_missing: str
    size: tuple[int, int]
    """Picture size of a MOT file's boxes; (0, 0) for the frame's own."""
    classes: tuple[str, ...]
    """Label of each class id of MOT files."""

    @classmethod
    def parse(
        cls, location: str, mode: str, on_missing: str, size: tuple[int, int], classes: str
    ) -> ReplaySettings:
        """:raises ConfigError: for a location or a size that cannot be meant."""
        if not location:
            raise ConfigError("dsreplay needs a location", hint="location=run.jsonl.zst")
        if bool(size[0]) != bool(size[1]):
            raise ConfigError("mot-width and mot-height go together", hint="set both")
        names = tuple(name.strip() for name in classes.split(",")) if classes else ()
        return cls(location, is_mot(location), mode == "replace", on_missing, size, names)
