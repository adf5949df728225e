"""Runs a pipeline to its end."""

from __future__ import annotations

from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

from ..errors import PipelineError
from .registry import register

__all__ = ["run"]


def run(pipeline: str | Any, timeout_s: float | None = None) -> None:
    """Play a pipeline (gst-launch text, or a Gst.Pipeline) until end of stream.

    :param timeout_s: raise after so many seconds; None waits for ever.
    :raises PipelineError: if it cannot be built, fails, or takes too long.
    """
    Gst.init(None)
    if isinstance(pipeline, str):
        register()
        try:
            pipeline = Gst.parse_launch(pipeline)
        except GLib.Error as error:
            raise PipelineError(f"the pipeline cannot be built: {error.message}") from error
    bus = pipeline.get_bus()
    try:
        pipeline.set_state(Gst.State.PLAYING)
        wait = Gst.CLOCK_TIME_NONE if timeout_s is None else int(timeout_s * Gst.SECOND)
        message = bus.timed_pop_filtered(wait, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        if message is None:
            raise PipelineError(f"no end of stream within {timeout_s} s")
        if message.type == Gst.MessageType.ERROR:
            problem, details = message.parse_error()
            name = message.src.get_name() if message.src else "pipeline"
            raise PipelineError(f"{name}: {problem.message}", hint=details or "")
    finally:
        pipeline.set_state(Gst.State.NULL)
