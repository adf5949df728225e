"""Runs the demo's pipeline to its end, showing progress."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from typing import Any

import gi
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ..._core import _native
from ...errors import PipelineError
from .pipeline import DemoPipeline
from .recorder import Recorder
from .report import ElementCost, Report
from .settings import DemoSettings

POLL_NS = 100_000_000
# A broken input has this long to deliver its end-of-stream after its error.
END_TIMEOUT_S = 5.0


def run(settings: DemoSettings) -> Report:
    """Run to the end of the inputs and report.

    An input that breaks in mid-stream ends the run: what came before is kept,
    the MP4 is finished, and ``Report.error`` says what broke.

    :raises DselementsError: for what cannot be built or written.
    """
    Gst.init(None)
    batches_before = _native.live_batches()
    recorder = Recorder(settings.objects)
    demo = DemoPipeline(settings, recorder)
    recorder.start()
    try:
        error = _play(settings, demo, recorder)
    finally:
        demo.pipeline.set_state(Gst.State.NULL)
        recorder.close()
    costs = [ElementCost.of(element) for element in demo.timed]
    classes = json.loads(demo.filter.get_property("class-stats"))
    demo.pipeline = None  # its last buffers hold metadata
    return Report(
        frames=recorder.frames,
        fps=recorder.fps,
        classes=classes,
        elements=costs,
        leaked_batches=_native.live_batches() - batches_before,
        output=str(settings.output),
        objects=str(settings.objects),
        error=error,
    )


class _Ender:
    """Ends the inputs once, from a thread of its own: sending an event can block."""

    def __init__(self, demo: DemoPipeline) -> None:
        self._demo = demo
        self.thread: threading.Thread | None = None

    def __call__(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self._demo.end_inputs, daemon=True)
            self.thread.start()


def _play(settings: DemoSettings, demo: DemoPipeline, recorder: Recorder) -> str:
    bus = demo.pipeline.get_bus()
    end = _Ender(demo)
    interrupted = threading.Event()
    previous: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, lambda *_: interrupted.set())
    console = Console(stderr=True)
    error, waited, began = "", 0.0, time.monotonic()
    try:
        demo.pipeline.set_state(Gst.State.PLAYING)
        with _progress(console) as progress:
            task = progress.add_task("frames", total=settings.max_frames or None, fps=0.0)
            while True:
                message = bus.timed_pop_filtered(
                    POLL_NS,
                    Gst.MessageType.ERROR
                    | Gst.MessageType.EOS
                    | Gst.MessageType.WARNING
                    | Gst.MessageType.LATENCY,
                )
                if message is not None and message.type == Gst.MessageType.LATENCY:
                    demo.pipeline.recalculate_latency()
                progress.update(
                    task,
                    completed=recorder.frames,
                    fps=recorder.fps,
                    total=_total(settings, demo),
                )
                if message is not None and message.type == Gst.MessageType.EOS:
                    break
                if message is not None and message.type == Gst.MessageType.WARNING:
                    progress.console.print(_text(message), style="yellow", markup=False)
                if message is not None and message.type == Gst.MessageType.ERROR:
                    error = error or _text(message)
                    if recorder.frames == 0:
                        break  # nothing to finish properly
                if not error and (silent := demo.silent_input(time.monotonic() - began)):
                    error = f"{silent}: no video stream was found in it"
                    break
                if interrupted.is_set() or demo.tap.full or error:
                    end()
                    waited += POLL_NS / 1e9
                    if waited > END_TIMEOUT_S:
                        break
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if not error and recorder.frames == 0:
        raise PipelineError("no video frame came out of the inputs", hint="is it a video?")
    return error


def _total(settings: DemoSettings, demo: DemoPipeline) -> int | None:
    whole = int(demo.duration_ns() / 1e9 * demo.frame_rate())
    if settings.max_frames:
        return min(whole, settings.max_frames) if whole else settings.max_frames
    return whole or None


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[fps]:.1f} fps  ETA"),
        TimeRemainingColumn(),
        console=console,
        disable=not sys.stderr.isatty() and not console.is_terminal,
    )


def _text(message: Any) -> str:
    parse = message.parse_error if message.type == Gst.MessageType.ERROR else message.parse_warning
    problem, detail = parse()
    lines = [f"{message.src.get_name()}: {problem.message}"]
    if detail:
        lines.append(str(detail).strip())
    return "\n".join(lines)
