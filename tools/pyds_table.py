"""The table of pyds's names in docs/migrating-from-pyds.md.

    python tools/pyds_table.py [--check]

Writes the table between its markers; with --check it only says whether that is up to date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import dselements.compat.pyds as pyds
from dselements.compat.pyds.differences import DIFFERENCES
from dselements.compat.pyds.enums import ENUMS
from dselements.compat.pyds.unsupported import REASONS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "migrating-from-pyds.md"
NAMES = ROOT / "tests" / "compat" / "pyds_names.txt"
BEGIN, END = "<!-- names: begin -->", "<!-- names: end -->"


def names() -> dict[str, list[str]]:
    """Every public name of pyds 1.2.0, with the members of enumerations and classes."""
    found: dict[str, list[str]] = {}
    for line in NAMES.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, members = line.partition(":")
            found[name] = members.split()
    return found


def row(name: str, members: list[str]) -> str:
    """One row: name, verdict, reason."""
    if name in REASONS:
        return f"| `{name}` | raises NotSupportedError | {REASONS[name]} |"
    getattr(pyds, name)
    note = DIFFERENCES.get(name, "")
    if "raises NotSupportedError" in note:
        return f"| `{name}` | raises NotSupportedError | {note} |"
    if "raises SurfaceError, naming" in note:
        return f"| `{name}` | raises SurfaceError | {note} |"
    if members and not hasattr(getattr(pyds, name), members[0]):
        raise SystemExit(f"{name} has no {members[0]}")
    if name in ENUMS:
        note = note or f"an IntEnum; its {len(members)} members are names of the module too"
    verdict = "works with a difference" if name in DIFFERENCES else "works"
    return f"| `{name}` | {verdict} | {note} |"


def table() -> str:
    """The whole table."""
    rows = [row(name, members) for name, members in names().items()]
    return "\n".join(["| name | | |", "| --- | --- | --- |", *rows])


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    new = f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"
    if options.check:
        return 0 if new == text else 1
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
