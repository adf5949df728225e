"""Builds the demo's pipeline."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst

from ...element import register
from ...element.caps import structure_of
from ...errors import PipelineError
from .recorder import Recorder
from .settings import TILE_HEIGHT, TILE_WIDTH, DemoSettings, is_uri
from .tap import DemoTap

# The first that is installed encodes. Debian has them in -ugly, -bad and -libav.
ENCODERS = (
    ("x264enc speed-preset=veryfast key-int-max=50", "h264parse"),
    ("openh264enc", "h264parse"),
    ("avenc_mpeg4 bitrate=4000000", "mpeg4videoparse"),
)
# How long an input may take until it shows a video stream. decodebin (seen in 1.22) can lose the
# error of a demuxer that finds no stream at once; nothing would ever come.
FILE_TIMEOUT_S, URI_TIMEOUT_S = 20.0, 60.0
LIVE_SCHEMES = ("rtsp:", "rtsps:", "rtspt:", "rtspu:", "srt:", "udp:", "v4l2:")


def make(factory: str, name: str | None = None, **properties: Any) -> Any:
    """A new element with properties set. :raises PipelineError: if it is not installed."""
    element = Gst.ElementFactory.make(factory, name)
    if element is None:
        raise PipelineError(
            f"no GStreamer element named {factory}", hint="run script/bootstrap, or gst-inspect-1.0"
        )
    for key, value in properties.items():
        element.set_property(key.replace("_", "-"), value)
    return element


def encoder_description() -> str:
    """gst-launch text of the encoder and parser that are at hand."""
    for encoder, parser in ENCODERS:
        if Gst.ElementFactory.find(encoder.split()[0]) and Gst.ElementFactory.find(parser):
            return f"{encoder} ! {parser}"
    raise PipelineError(
        "no video encoder for MP4 is installed",
        hint="apt-get install gstreamer1.0-plugins-ugly gstreamer1.0-plugins-bad",
    )


class DemoPipeline:
    """decode → dsmux → dsinfer → dspythonfilter → tap → dsosd → MP4 (and a window)."""

    def __init__(self, settings: DemoSettings, recorder: Recorder) -> None:
        register()
        register(DemoTap)
        self.pipeline = Gst.Pipeline.new("demo")
        self.decoders: list[Any] = []
        self.mux_pads: list[Any] = []
        self._inputs = tuple(settings.inputs)
        count = len(settings.inputs)
        live = any(item.lower().startswith(LIVE_SCHEMES) for item in settings.inputs)
        self.mux = make("dsmux", "dsmux", batch_size=count, live_source=live)
        if count > 1:
            self.mux.set_property("width", TILE_WIDTH)
            self.mux.set_property("height", TILE_HEIGHT)
            self.mux.set_property("enable-padding", True)
            self.mux.set_property("sync-inputs", True)
        self.infer = make("dsinfer", "dsinfer", config_file_path=str(settings.config))
        self.filter = make(
            "dspythonfilter",
            "dspythonfilter",
            min_confidence=settings.min_confidence,
            keep_classes=",".join(settings.classes),
            rule=settings.rule,
        )
        self.tap: DemoTap = make("dsdemotap", "tap")
        self.tap.recorder = recorder
        self.tap.limit = settings.max_frames
        self.osd = make("dsosd", "dsosd")
        chain = [self.mux, self.infer, self.filter, self.tap, self.osd]
        self.timed = [element for element in chain if element is not self.tap]
        for element in chain:
            self.pipeline.add(element)
        for before, after in pairwise(chain):
            if not before.link(after):
                raise PipelineError(f"cannot link {before.name} to {after.name}", hint="")
        self._add_output(settings, count)
        for index, item in enumerate(settings.inputs):
            self._add_input(index, item)

    def _add_input(self, index: int, item: str) -> None:
        pad = self.mux.request_pad_simple(f"sink_{index}")
        self.mux_pads.append(pad)
        if is_uri(item):
            decoder = make("uridecodebin", f"input{index}", uri=item)
            self.pipeline.add(decoder)
        else:
            source = make("filesrc", f"file{index}", location=item)
            decoder = make("decodebin", f"input{index}")
            self.pipeline.add(source)
            self.pipeline.add(decoder)
            source.link(decoder)
        decoder.connect("pad-added", self._on_pad, pad)
        self.decoders.append(decoder)

    @staticmethod
    def _on_pad(_decoder: Any, pad: Any, target: Any) -> None:
        caps = pad.get_current_caps() or pad.query_caps(None)
        video = caps.get_size() and structure_of(caps, 0).get_name() == "video/x-raw"
        if video and not target.is_linked():
            pad.link(target)

    def _add_output(self, settings: DemoSettings, count: int) -> None:
        tail = (
            "queue max-size-buffers=8 max-size-bytes=0 max-size-time=0 ! videoconvert ! "
            f"video/x-raw,format=I420 ! {encoder_description()} ! mp4mux ! "
            "filesink name=file"
        )
        if settings.window:
            tail = (
                "tee name=shown ! " + tail + " shown. ! queue leaky=downstream "
                "max-size-buffers=2 ! videoconvert ! autovideosink sync=false"
            )
        output = Gst.parse_bin_from_description(tail, False)
        first = output.find_unlinked_pad(Gst.PadDirection.SINK)
        output.add_pad(Gst.GhostPad.new("sink", first))
        output.get_by_name("file").set_property("location", str(settings.output))
        self.pipeline.add(output)
        if count == 1:
            if not self.osd.link(output):
                raise PipelineError("cannot link dsosd to the encoder", hint="")
            return
        demux, tiles = make("dsdemux", "dsdemux"), make("compositor", "tiles", background=1)
        for element in (demux, tiles):
            self.pipeline.add(element)
        self.osd.link(demux)
        tiles.link(output)
        columns = math.ceil(math.sqrt(count))
        for index in range(count):
            queue = make("queue", max_size_buffers=8, max_size_bytes=0, max_size_time=0)
            self.pipeline.add(queue)
            place = tiles.request_pad_simple(f"sink_{index}")
            place.set_property("xpos", index % columns * TILE_WIDTH)
            place.set_property("ypos", index // columns * TILE_HEIGHT)
            demux.request_pad_simple(f"src_{index}").link(queue.get_static_pad("sink"))
            queue.get_static_pad("src").link(place)

    def end_inputs(self) -> None:
        """Send end-of-stream into every input, so that the file is finished properly."""
        for pad in self.mux_pads:
            pad.send_event(Gst.Event.new_eos())

    def silent_input(self, seconds: float) -> str:
        """An input that has shown no video after so many seconds; empty if there is none.

        :param seconds: since the start.
        """
        for pad, item in zip(self.mux_pads, self._inputs, strict=True):
            limit = URI_TIMEOUT_S if is_uri(item) else FILE_TIMEOUT_S
            if seconds > limit and not pad.is_linked():
                return item
        return ""

    def duration_ns(self) -> int:
        """Sum of the inputs' known durations in nanoseconds; 0 if none is known."""
        total = 0
        for decoder in self.decoders:
            known, value = decoder.query_duration(Gst.Format.TIME)
            total += value if known and value > 0 else 0
        return total

    def frame_rate(self) -> float:
        """Frames a second of the batched video; 0 while unknown."""
        caps = self.mux.get_static_pad("src").get_current_caps()
        if caps is None:
            return 0.0
        known, numerator, denominator = structure_of(caps, 0).get_fraction("framerate")
        return numerator / denominator if known and denominator else 0.0
