"""How findings are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from .catalogue import CATALOGUE
from .finding import LEVELS, Finding

__all__ = ["SCHEMA", "as_json", "show", "summary"]

SCHEMA = 1
"""Number of the JSON form; it changes if a key is removed or means something else."""
_STYLE = {"ok": "green", "info": "cyan", "warning": "yellow", "error": "bold red"}


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings each level has."""
    levels = [finding.level for finding in findings]
    return {level: levels.count(level) for level in LEVELS}


def as_json(findings: Sequence[Finding], version: str) -> str:
    """One JSON object; ``docs/doctor.md`` describes it."""
    document = {
        "schema": SCHEMA,
        "dselements": version,
        "counts": counts(findings),
        "findings": [
            {
                "id": f.id,
                "group": CATALOGUE[f.id].group,
                "subject": f.subject,
                "level": f.level,
                "text": f.text,
                "mend": f.mend,
            }
            for f in findings
        ],
    }
    return json.dumps(document, indent=2)


def show(findings: Iterable[Finding], console: Console) -> list[Finding]:
    """Print findings as they come, under the names of their groups; returns them."""
    shown: list[Finding] = []
    group = ""
    for finding in findings:
        shown.append(finding)
        own = CATALOGUE[finding.id].group
        if own != group:
            group = own
            console.print(Text(group, style="bold"))
        line = Text.assemble(
            "  ",
            (f"{finding.level:<8}", _STYLE[finding.level]),
            (f"{finding.id:<20}", "dim"),
            finding.text,
        )
        # Soft-wrapped, so that a line can be copied whole.
        console.print(line, soft_wrap=True)
        for command in finding.mend.splitlines():
            console.print(Text(f"          $ {command}", style="bold"), soft_wrap=True)
    return shown


def summary(findings: Sequence[Finding]) -> str:
    """One line at the end."""
    n = counts(findings)
    return (
        f"{n['ok']} ok, {n['info']} info, {n['warning']} warning{'s' * (n['warning'] != 1)}, "
        f"{n['error']} error{'s' * (n['error'] != 1)}"
    )
