"""``dselements doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Optional

import typer

__all__ = ["doctor"]


def _ids(values: Sequence[str], option: str) -> set[str]:
    from .checks import CHECKS

    found = {id.strip() for value in values for id in value.split(",") if id.strip()}
    unknown = sorted(found - CHECKS.keys())
    if unknown:
        raise typer.BadParameter(
            f"no finding has the id {', '.join(unknown)}; ids: {', '.join(CHECKS)}",
            param_hint=option,
        )
    return found


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    only: Annotated[
        Optional[list[str]],  # noqa: UP045 -- typer reads it on Python 3.10 too
        typer.Option(help="Ids of the findings wanted, such as gi,loader-plugin."),
    ] = None,
    skip: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Ids of findings to leave out."),
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="First make GStreamer scan the elements again.")
    ] = False,
) -> None:
    """Say what keeps elements from working here, and the command that mends it.

    Ends with 1 if there is an error, with 0 otherwise.
    """
    from ... import __version__
    from ..env import refresh as refresh_registry
    from .checks import CHECKS, examine

    wanted = (_ids(only, "--only") if only else set(CHECKS)) - _ids(skip or [], "--skip")
    if refresh:
        refresh_registry(force=True)
    if json:
        from .report import as_json

        findings = list(examine(wanted))
        typer.echo(as_json(findings, __version__))
    else:
        from rich.console import Console

        from .report import show, summary

        console = Console(highlight=False)
        findings = show(examine(wanted), console)
        console.print(summary(findings))
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)
