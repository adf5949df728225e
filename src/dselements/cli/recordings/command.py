"""``dselements record`` and ``dselements export``."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any, Optional

import typer


def record(
    input: Annotated[str, typer.Argument(help="File or any URI.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help=".jsonl, .jsonl.gz, .jsonl.zst, .txt or .csv.")
    ],
    config: Annotated[
        Optional[Path],  # noqa: UP045 -- typer reads it on Python 3.10 too
        typer.Option(help="nvinfer configuration of a detector. Default: the demo's own."),
    ] = None,
    frames: Annotated[int, typer.Option(help="Stop after so many frames; 0 runs to the end.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    cache: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder of the demo's detector.", envvar="DSELEMENTS_CACHE"),
    ] = None,
) -> None:
    """Run a detector on a video and record all its metadata, for dsreplay."""
    from ... import assets
    from .run import record_video

    def say(text: str) -> None:
        typer.secho(text, err=True, dim=True)

    counts = record_video(
        input, output, config or assets.detector(cache, progress=say), max_frames=frames
    )
    _print(counts, json, f"{counts['written']} batches in {output}")


def export(
    recording: Annotated[Path, typer.Argument(help="What dsrecord wrote.")],
    output: Annotated[Path, typer.Argument(help="Parquet file to write.")],
    table: Annotated[str, typer.Option(help="objects or frames: what a row is.")] = "objects",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write a recording as a Parquet file."""
    from ...recording.parquet import export_parquet

    rows = export_parquet(recording, output, table)
    _print({"rows": rows, "output": str(output)}, json, f"{rows} rows in {output}")


def _print(values: dict[str, Any], as_json: bool, text: str) -> None:
    typer.echo(json_module.dumps(values) if as_json else text)
