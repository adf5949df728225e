"""``dselements build-plugin``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .build import build
from .check import can_inspect, inspect, refuse_taken_name
from .settings import BuildSettings

__all__ = ["build_plugin"]


def build_plugin(
    sources: Annotated[
        list[Path], typer.Argument(help="Python files, or the folder of a package.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="libgstNAME.so; folders are made.")
    ],
    name: Annotated[str, typer.Option(help="Plugin name; that of the file by default.")] = "",
    version: Annotated[str, typer.Option(help="Version, as gst-inspect-1.0 shows it.")] = "0.1.0",
    license_: Annotated[
        str, typer.Option("--license", help="SPDX identifier or GStreamer's own word.")
    ] = "unknown",
    package: Annotated[str, typer.Option(help="Package that it belongs to.")] = "",
    origin: Annotated[str, typer.Option(help="URL that it comes from.")] = "unknown",
    description: Annotated[
        str, typer.Option(help="What it is; the docstring's first line by default.")
    ] = "",
    cython: Annotated[
        bool, typer.Option(help="Compile with Cython; else embed the bytecode.")
    ] = True,
    optimize: Annotated[int, typer.Option("--optimize", "-O", help="The C compiler's level.")] = 2,
    check: Annotated[bool, typer.Option(help="Refuse a taken name; load the result.")] = True,
) -> None:
    """Compile Python elements into a GStreamer plugin, found through GST_PLUGIN_PATH."""
    settings = BuildSettings(
        sources=tuple(sources),
        output=output,
        name=name,
        version=version,
        license=license_,
        package=package,
        origin=origin,
        description=description,
        cython=cython,
        optimize=optimize,
    )
    if check and not can_inspect():
        typer.echo("not checked: there is no gst-inspect-1.0 (apt: gstreamer1.0-tools)", err=True)
        check = False
    if check:
        refuse_taken_name(settings.name, settings.output)
    elements: list[str] = []
    result = build(settings, (lambda made: elements.extend(inspect(made))) if check else None)
    typer.echo(f"{result.output}: plugin {result.name} for CPython {result.python}")
    for line in elements:
        typer.echo(f"  {line}")
