"""Label files of nvinfer."""

from __future__ import annotations

from pathlib import Path

from ...errors import ConfigError


def read_labels(path: Path) -> list[str]:
    """One class a line, in order of class ids; empty lines do not count.

    A line may hold several labels divided by ``;`` (classifiers do); a detector uses the first.

    :raises ConfigError: unreadable or empty file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: label file is not UTF-8 text") from error
    except OSError as error:
        raise ConfigError(f"{path}: label file cannot be read: {error.strerror}") from error
    lines = [line.rstrip("\r") for line in text.split("\n")]
    labels = [line.split(";", 1)[0].strip() for line in lines if line]
    if not labels:
        raise ConfigError(f"{path}: label file is empty", hint="write one class a line")
    return labels
