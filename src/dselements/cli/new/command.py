"""``dselements new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .names import Names
from .write import write

__all__ = ["new"]


def new(
    name: Annotated[str, typer.Argument(help="Name of the package, such as acme-speedgate.")],
    folder: Annotated[
        Path | None, typer.Option("--directory", "-C", help="Where to write it; ./NAME by default.")
    ] = None,
    element: Annotated[str, typer.Option(help="Name of its element; made from NAME.")] = "",
    force: Annotated[
        bool, typer.Option(help="Write into a folder that has something in it.")
    ] = False,
) -> None:
    """Start a package with an element, its tests, CI and README."""
    names = Names.of(name, element)
    names.refuse_taken_element()
    target = folder or Path(names.distribution)
    for path in write(names, target, force):
        typer.echo(f"  {path}")
    typer.echo(
        f"\nElement {names.element}, package {names.distribution}. Next:\n"
        f"  cd {target}\n"
        "  pip install -e . --group test     # where dselements is installed\n"
        "  pytest\n"
        '  eval "$(dselements env)" && gst-inspect-1.0 ' + names.element
    )
