"""Pipelines of dsrecord and dsreplay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines import launch, play, stats

from dselements import Batch
from dselements.recording import capture, encode_batch

SIZE = "video/x-raw,width=160,height=120,framerate=30/1"


def source(n: int = 10) -> str:
    return f"videotestsrc num-buffers={n} ! {SIZE}"


def lines(description: str, **more: Any) -> tuple[list[bytes], Any, list[Any]]:
    """Each batch's line as it is at a testlook, the pipeline, messages."""
    seen: list[bytes] = []

    def look(batch: Batch) -> None:
        seen.append(encode_batch(capture(batch.address)))

    pipeline = launch(description, look=look, **more)
    return seen, pipeline, play(pipeline)


def record(location: Path, text: str = "dssynth", n: int = 10) -> list[bytes]:
    seen, pipeline, messages = lines(
        f"{source(n)} ! {text} ! testlook name=look "
        f"! dsrecord name=r location={location} ! fakesink"
    )
    assert messages == []
    assert stats(pipeline.get_by_name("r"))["written"] == n
    return seen


def mux(n: int, sources: int, batch: int, tail: str) -> str:
    inputs = " ".join(f"{source(n)} ! m.sink_{i}" for i in range(sources))
    return f"dsmux name=m batch-size={batch} ! {tail} {inputs}"
