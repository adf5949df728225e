"""The element that hands each filtered batch to the recorder."""

from __future__ import annotations

from ...element import DROP, MetaTransform, element
from ...meta.batch import Batch
from .recorder import Recorder


@element("dsdemotap", description="Hands every batch to the demo's recorder", klass="Analyzer")
class DemoTap(MetaTransform):
    """Counts and records batches; changes nothing. After ``limit`` frames it drops buffers."""

    __gtype_name__ = "DsDemoTap"

    recorder: Recorder
    limit = 0

    def process(self, batch: Batch) -> object:
        if self.full:
            return DROP
        self.recorder.take(batch)
        return None

    @property
    def full(self) -> bool:
        """True once ``limit`` frames have passed."""
        return 0 < self.limit <= self.recorder.frames
