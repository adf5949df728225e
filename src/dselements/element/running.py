"""Runs a pipeline to its end."""

from __future__ import annotations

import logging
import time
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst

from ..errors import PipelineError
from .registry import register

__all__ = ["run"]

log = logging.getLogger("dselements.element")

_STEP_NS = 100_000_000
_LAST = Gst.MessageType.EOS | Gst.MessageType.ERROR
_WANTED = _LAST | Gst.MessageType.LATENCY | Gst.MessageType.WARNING


def run(pipeline: str | Any, timeout_s: float | None = None) -> None:
    """Play a pipeline (gst-launch text, or a Gst.Pipeline) until end of stream.

    KeyboardInterrupt ends it at once. Warnings on the bus are logged (``dselements.element``).

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
        end = None if timeout_s is None else time.monotonic() + timeout_s
        message = None
        while message is None:
            # In short steps: Ctrl-C reaches Python only between them.
            message = bus.timed_pop_filtered(_STEP_NS, _WANTED)
            if message is not None and message.type == Gst.MessageType.LATENCY:
                pipeline.recalculate_latency()
                message = None
            elif message is not None and message.type == Gst.MessageType.WARNING:
                problem, details = message.parse_warning()
                log.warning("%s: %s\n%s", _name(message), problem.message, details or "")
                message = None
            if message is None and end is not None and time.monotonic() > end:
                raise PipelineError(f"no end of stream within {timeout_s} s")
        if message.type == Gst.MessageType.ERROR:
            problem, details = message.parse_error()
            raise PipelineError(f"{_name(message)}: {problem.message}", hint=details or "")
    finally:
        pipeline.set_state(Gst.State.NULL)


def _name(message: Any) -> str:
    return str(message.src.get_name()) if message.src else "pipeline"
