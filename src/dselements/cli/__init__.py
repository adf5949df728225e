"""Command line of dselements: ``dselements COMMAND``; also ``python -m dselements``."""

from __future__ import annotations

import sys

import typer

from ..errors import DselementsError
from .build_plugin.command import build_plugin
from .demo.command import demo
from .doctor.command import doctor
from .env import env
from .new.command import new
from .recordings.command import export, record

app = typer.Typer(
    name="dselements",
    help="GStreamer elements in Python that own DeepStream metadata.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(doctor)
app.command()(env)
app.command("build-plugin")(build_plugin)
app.command()(new)
app.command()(record)
app.command()(export)


@app.command()
def version() -> None:
    """Print the versions of dselements, Python, GStreamer and the metadata library in use."""
    from .versions import version_lines

    for line in version_lines():
        typer.echo(line)


def main() -> None:
    """Run the command line; a dselements error ends it with its message and code 1."""
    try:
        app()
    except DselementsError as error:
        typer.secho(f"dselements: {error.message}", fg="red", err=True)
        if error.hint:
            typer.secho(f"  hint: {error.hint}", err=True)
        sys.exit(1)
