"""Where and in which form ``dsrecord`` writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigError
from ...recording.files import compression_of
from ...recording.mot import SOURCE_PATTERN, is_mot

__all__ = ["FORMATS", "RecordSettings"]

FORMATS = ("auto", "jsonl", "jsonl.gz", "jsonl.zst", "mot")


@dataclass(frozen=True)
class RecordSettings:
    """A checked location and format."""

    location: str
    mot: bool
    compression: str
    """``gz``, ``zst`` or ``""``."""

    @classmethod
    def parse(cls, location: str, form: str) -> RecordSettings:
        """:raises ConfigError: for a location or suffix that cannot be meant."""
        if not location:
            raise ConfigError("dsrecord needs a location", hint="location=run.jsonl.zst")
        if form == "auto":
            if location == "-":
                return cls(location, False, "")
            if is_mot(location):
                return cls(location, True, "")
            kind = compression_of(location)
            name = Path(location).with_suffix("") if kind else Path(location)
            if name.suffix.lower() != ".jsonl":
                raise ConfigError(
                    f"the suffix of {location} tells no format",
                    hint=".jsonl, .jsonl.gz, .jsonl.zst, .txt or .csv; or set format",
                )
            return cls._single(cls(location, False, kind))
        if form == "mot":
            return cls(location, True, "")
        return cls._single(cls(location, False, form.removeprefix("jsonl").removeprefix(".")))

    @staticmethod
    def _single(made: RecordSettings) -> RecordSettings:
        if SOURCE_PATTERN in made.location:
            raise ConfigError(
                f"{made.location}: only MOT files are one for each source",
                hint="a recording holds all sources in one file",
            )
        return made
