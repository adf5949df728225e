"""One finding, and the levels it can have."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["LEVELS", "Finding", "Level", "error", "info", "ok", "warning"]

Level = Literal["ok", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("ok", "info", "warning", "error")


class Finding(NamedTuple):
    """What one check found."""

    id: str
    """A key of :data:`catalogue.CATALOGUE`."""
    level: Level
    text: str
    mend: str = ""
    """Shell commands that mend it, one a line; empty where nothing is to be done."""
    subject: str = ""
    """Which one, where a check is made for several things: an extra, an entry point."""


def ok(id: str, text: str, subject: str = "") -> Finding:
    """All is well."""
    return Finding(id, "ok", text, "", subject)


def info(id: str, text: str, mend: str = "", subject: str = "") -> Finding:
    """Something is absent that need not be there."""
    return Finding(id, "info", text, mend, subject)


def warning(id: str, text: str, mend: str = "", subject: str = "") -> Finding:
    """Something will work less well, or in some places only."""
    return Finding(id, "warning", text, mend, subject)


def error(id: str, text: str, mend: str = "", subject: str = "") -> Finding:
    """Elements, or some of them, do not work."""
    return Finding(id, "error", text, mend, subject)
