"""Helpers of the element tests: run pipelines, collect what passes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

import dselements as ds
from dselements.cli.env import plugin_dir

TIMEOUT_S = 20


@ds.element("testlook", description="Calls a function with each batch")
class Look(ds.MetaTransform):
    """Set ``.call`` to a function of the batch."""

    __gtype_name__ = "DsTestLook"
    call: Callable[[ds.Batch], object] | None = None

    def process(self, batch: ds.Batch) -> object:
        return self.call(batch) if self.call else None


def launch(text: str, **calls: Callable[[ds.Batch], object]) -> Any:
    """A pipeline from gst-launch text; ``name=function`` sets the call of a testlook."""
    ds.register()
    pipeline = Gst.parse_launch(text)
    for name, call in calls.items():
        pipeline.get_by_name(name).call = call
    return pipeline


def play(pipeline: Any, timeout_s: float = TIMEOUT_S) -> list[Any]:
    """Run to the end of stream or the first error; returns errors and warnings (messages)."""
    bus = pipeline.get_bus()
    wanted = Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING
    seen = []
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while True:
            message = bus.timed_pop_filtered(int(timeout_s * Gst.SECOND), wanted)
            assert message is not None, "the pipeline hangs"
            if message.type == Gst.MessageType.EOS:
                return seen
            seen.append(message)
            if message.type == Gst.MessageType.ERROR:
                return seen
    finally:
        pipeline.set_state(Gst.State.NULL)


def texts(messages: list[Any]) -> list[str]:
    """Kind, text and details of messages."""
    out = []
    for message in messages:
        error = message.type == Gst.MessageType.ERROR
        problem, details = message.parse_error() if error else message.parse_warning()
        out.append(f"{'error' if error else 'warning'}: {problem.message}\n{details or ''}")
    return out


def stats(element: Any) -> dict[str, int]:
    """The stats property as a dict."""
    structure = element.get_property("stats")
    names = [structure.nth_field_name(i) for i in range(structure.n_fields())]
    return {name: structure.get_value(name) for name in names}


def shell(
    arguments: list[str], tmp_path: Path, timeout_s: float = 60, **env: str
) -> subprocess.CompletedProcess[str]:
    """gst-launch-1.0 or gst-inspect-1.0 in a fresh process with a fresh registry."""
    environ = {
        **os.environ,
        "GST_PLUGIN_PATH": str(plugin_dir()),
        "GST_REGISTRY": str(tmp_path / "registry.bin"),
        "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
        **env,
    }
    return subprocess.run(
        arguments, env=environ, capture_output=True, text=True, timeout=timeout_s, check=False
    )
