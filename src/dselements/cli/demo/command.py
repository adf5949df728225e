"""``dselements demo``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Optional

import typer


def demo(
    input: Annotated[
        Optional[list[str]],  # noqa: UP045 -- typer reads it on Python 3.10 too
        typer.Option(help="File, RTSP URL or any URI; repeat it for a batch. Default: a clip."),
    ] = None,
    output: Annotated[Path, typer.Option(help="MP4 file to write.")] = Path("out/demo.mp4"),
    objects: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="JSON lines file, one line a frame. Default: beside the output."),
    ] = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="nvinfer configuration of a detector. Default: the demo's own."),
    ] = None,
    min_confidence: Annotated[float, typer.Option(help="Objects below are removed.")] = 0.5,
    classes: Annotated[str, typer.Option(help="Labels to keep, such as person,car.")] = "",
    rule: Annotated[str, typer.Option(help='Filter rule, such as "area > 900".')] = "",
    frames: Annotated[int, typer.Option(help="Stop after so many frames; 0 runs to the end.")] = 0,
    headless: Annotated[bool, typer.Option("--headless", help="Open no window.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    cache: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder of the detector and the clip.", envvar="DSELEMENTS_CACHE"),
    ] = None,
) -> None:
    """Detect, filter and draw objects on real video; write an MP4 and one JSON line a frame."""
    from ... import assets
    from .report import print_report
    from .run import run
    from .settings import DemoSettings

    def say(text: str) -> None:
        typer.secho(text, err=True, dim=True)

    display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    settings = DemoSettings(
        inputs=tuple(input or [str(assets.clip("vtest", cache, progress=say))]),
        output=output,
        objects=objects or output.with_name("objects.jsonl"),
        config=config or assets.detector(cache, progress=say),
        min_confidence=min_confidence,
        classes=tuple(name.strip() for name in classes.split(",") if name.strip()),
        rule=rule,
        window=display and not headless,
        max_frames=frames,
    )
    settings.check()
    report = run(settings)
    print_report(report, as_json=json)
    if report.error:
        raise typer.Exit(1)
