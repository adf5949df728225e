"""The GStreamer element ``dsrecord``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
from gi.repository import GObject, Gst, GstBase

from ..._core import _native
from ...element import MetaTransform, Property, element
from ...errors import RecordingError
from ...meta import Batch
from ...recording.capture import capture
from ...recording.writer import ON_FULL, Counters, Writer
from .logic import open_output
from .settings import FORMATS, RecordSettings

_UINT_MAX = 2**31 - 1


@element(
    "dsrecord",
    description="Writes all metadata of each batch to a file, exact to the bit",
    klass="Filter/Analyzer",
    author="dselements",
)
class Record(MetaTransform):
    """See :mod:`dselements.elements.record`."""

    __gtype_name__ = "DsRecord"

    location = Property("", mutable=False, help="File to write; - is standard output")
    format = Property("auto", choices=FORMATS, mutable=False, help="auto goes by the suffix")
    queue_size = Property(
        256, min=1, max=1_000_000, mutable=False, help="Batches that wait for the disk, at most"
    )
    on_full = Property(
        "block", choices=ON_FULL, mutable=False, help="What a batch does that finds the queue full"
    )
    flush_batches = Property(
        64, min=1, max=_UINT_MAX, mutable=False, help="Batches after which all is made readable"
    )
    flush_interval = Property(
        1000, min=1, max=_UINT_MAX, mutable=False, help="Milliseconds after which it is, too"
    )
    mot_origin = Property(
        1, min=0, max=1, mutable=False, help="Number of the first pixel in MOT files"
    )

    def __init__(self) -> None:
        super().__init__()
        # Nothing is changed: behind a tee no copy is needed.
        self.set_passthrough(True)
        self._writer: Writer | None = None
        self._last = Counters()
        self._output: Any = None

    def start(self) -> None:
        settings = RecordSettings.parse(self.location, self.format)
        self._output = open_output(settings, self.mot_origin)
        self._writer = Writer(
            self._output,
            size=self.queue_size,
            on_full=self.on_full,
            block_batches=self.flush_batches,
            block_s=self.flush_interval / 1000,
        )

    def stop(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        self._last = writer.counters
        told = writer.error is not None
        try:
            writer.close()
        except RecordingError:
            if not told:  # process() has told it otherwise
                raise
        zeros = getattr(self._output, "nonfinite", 0)
        if zeros:
            self.post_warning(
                f"{zeros} numbers were NaN or infinite; MOT files have no such, they hold 0"
            )

    def on_caps(self, caps: Any) -> None:
        if self._writer is not None:
            self._writer.caps(caps.to_string())

    def process(self, batch: Batch) -> None:
        writer = self._writer
        if writer is None:
            raise RecordingError("dsrecord was given a buffer before it was started", hint="")
        pts, *_ = _native.buffer_info(batch.buffer)
        writer.put(capture(batch.address, pts))

    def on_event(self, event: Any, upstream: bool) -> None:
        writer = self._writer
        if writer is None or upstream:
            return
        if event.type == Gst.EventType.FLUSH_START:
            writer.flushing(True)
        elif event.type == Gst.EventType.FLUSH_STOP:
            writer.flushing(False)
        elif event.type == Gst.EventType.EOS:
            writer.end()

    # -- GStreamer -------------------------------------------------------------
    def do_change_state(self, transition: Any) -> Any:
        if transition == Gst.StateChange.PAUSED_TO_READY and self._writer is not None:
            self._writer.release()
        return GstBase.BaseTransform.do_change_state(self, transition)

    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name != "stats":
            return super().do_get_property(pspec)
        structure = self._stats.structure(self._ds_name)
        writer = self._writer
        counters = asdict(writer.counters if writer is not None else self._last)
        counters["queued"] = writer.waiting if writer is not None else 0
        counters["records_dropped"] = counters.pop("dropped")
        for name, value in counters.items():
            structure.set_value(name.replace("_", "-"), GObject.Value(GObject.TYPE_UINT64, value))
        return structure
