"""Label files of nvinfer."""

from __future__ import annotations

from pathlib import Path

from ...errors import ConfigError


def read_labels(path: Path) -> list[str]:
    """A detector's: one class a line, in order of class ids; empty lines do not count.

    Of labels divided by ``;``, as classifiers have them, the first counts.

    :raises ConfigError: unreadable or empty file.
    """
    return [labels[0] for labels in read_attribute_labels(path)]


def read_attribute_labels(path: Path) -> list[list[str]]:
    """A classifier's: one attribute a line, the labels of its classes divided by ``;``.

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
    labels = [[label.strip() for label in line.split(";")] for line in lines if line]
    if not labels:
        raise ConfigError(f"{path}: label file is empty", hint="write one class a line")
    return labels
