"""Opens what ``dsrecord`` writes to."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ...recording.mot import MotOutput
from ...recording.output import RecordingOutput
from ...recording.writer import Output
from .settings import RecordSettings

__all__ = ["open_output"]


def _writer() -> str:
    try:
        return f"dselements {version('dselements')}"
    except PackageNotFoundError:  # run from a tree that is not installed
        return "dselements"


def open_output(settings: RecordSettings, mot_origin: int) -> Output:
    """The file in the form that was asked for.

    :param mot_origin: number of the first pixel in MOT files.
    :raises RecordingError: if it cannot be opened.
    :raises MissingExtraError: if the compression's library is not installed.
    """
    if settings.mot:
        return MotOutput(settings.location, settings.compression, mot_origin)
    return RecordingOutput(settings.location, settings.compression, _writer())
