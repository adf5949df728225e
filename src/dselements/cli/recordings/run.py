"""The pipeline of ``dselements record``."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ...element import register, run
from ...element.caps import structure_of
from ...errors import PipelineError

__all__ = ["record_video"]


def record_video(
    location: str, output: Path, config: Path, *, max_frames: int = 0
) -> dict[str, Any]:
    """Decode, detect and record to the end. Returns counts of dsrecord.

    :param max_frames: end after so many; 0 for none.
    :raises PipelineError: if the video cannot be decoded or an element fails.
    """
    Gst.init(None)
    register()
    uri = location if "://" in location else Path(location).absolute().as_uri()
    pipeline = Gst.Pipeline.new("record")
    names = ("uridecodebin", "dsmux", "dsinfer", "dsrecord", "fakesink")
    made = {name: Gst.ElementFactory.make(name, name) for name in names}
    for name, item in made.items():
        if item is None:
            raise PipelineError(f"no GStreamer element named {name}", hint="run script/bootstrap")
        pipeline.add(item)
    made["uridecodebin"].set_property("uri", uri)
    made["dsmux"].set_property("batch-size", 1)
    made["dsinfer"].set_property("config-file-path", str(config))
    made["dsrecord"].set_property("location", str(output))
    if max_frames:
        made["fakesink"].set_property("num-buffers", max_frames)
    for before, after in pairwise(names[1:]):
        made[before].link(made[after])
    made["uridecodebin"].connect("pad-added", _on_pad, made["dsmux"].request_pad_simple("sink_0"))
    run(pipeline)
    stats = made["dsrecord"].get_property("stats")
    return {
        name.replace("-", "_"): stats.get_value(name)
        for name in ("written", "bytes", "records-dropped")
    } | {"output": str(output)}


def _on_pad(_decoder: Any, pad: Any, target: Any) -> None:
    caps = pad.get_current_caps() or pad.query_caps(None)
    video = caps.get_size() and structure_of(caps, 0).get_name() == "video/x-raw"
    if video and not target.is_linked():
        pad.link(target)
