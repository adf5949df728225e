"""The GStreamer element ``dspythonfilter``."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from ...element import MetaTransform, Property, element
from ...errors import DselementsError
from ...meta import Batch
from .logic import ClassCounts, keep_mask, rename
from .settings import ANCHORS, FilterSettings

MAX_PIXELS = 2.0**31


@element(
    "dspythonfilter",
    description="Keeps, drops and renames objects by confidence, class, size, region or a rule",
    klass="Filter/Video",
    author="dselements",
)
class PythonFilter(MetaTransform):
    """See :mod:`dselements.elements.pythonfilter`."""

    __gtype_name__ = "DsPythonFilter"

    min_confidence = Property(0.0, min=0.0, max=1.0, help="Objects below are removed")
    class_thresholds = Property(
        "", help="Smallest confidence of single classes, such as 0:0.5;person:0.6"
    )
    keep_classes = Property("", help="Only these classes stay: labels or ids, person,2")
    drop_classes = Property("", help="These classes are removed: labels or ids, person,2")
    relabel = Property("", help="New labels and ids: truck:vehicle;2:car=7;bus:=9")
    min_width = Property(0.0, min=0.0, max=MAX_PIXELS, help="Pixels")
    min_height = Property(0.0, min=0.0, max=MAX_PIXELS, help="Pixels")
    max_width = Property(0.0, min=0.0, max=MAX_PIXELS, help="Pixels; 0 is no limit")
    max_height = Property(0.0, min=0.0, max=MAX_PIXELS, help="Pixels; 0 is no limit")
    min_area = Property(0.0, min=0.0, max=MAX_PIXELS, help="Square pixels")
    region = Property(
        "", help="x1,y1,x2,y2 or polygon x,y x,y x,y in pixels; a leading % means percent"
    )
    region_mode = Property(
        "keep", choices=("keep", "drop"), help="Objects in the region stay, or go"
    )
    anchor = Property(
        "bottom-center", choices=tuple(ANCHORS), help="Point of the box that must be in the region"
    )
    rule = Property(
        "", help='Objects for which it is true stay: confidence > 0.6 and label in ("car", "bus")'
    )
    class_stats = Property(
        "{}", writable=False, help="Found, kept and removed objects of each class, as JSON"
    )

    _PARSED: ClassVar[tuple[str, ...]] = (
        "min_confidence", "class_thresholds", "keep_classes", "drop_classes", "relabel",
        "min_width", "min_height", "max_width", "max_height", "min_area", "region", "region_mode",
        "anchor", "rule",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._settings = FilterSettings()
        self._applied = {name: getattr(self, name) for name in self._PARSED}
        self._counts = ClassCounts()

    def configure(self) -> None:
        """Apply what is right; what is wrong is told, and keeps its old value until mended."""
        wanted = {name: getattr(self, name) for name in self._PARSED}
        try:
            self._settings = FilterSettings.parse(**wanted)
        except Exception:
            for name, value in wanted.items():
                if value != self._applied.get(name):
                    with contextlib.suppress(DselementsError):
                        tried = {**self._applied, name: value}
                        self._settings = FilterSettings.parse(**tried)
                        self._applied = tried
            raise
        self._applied = wanted

    def start(self) -> None:
        self._counts = ClassCounts()

    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name == "class-stats":
            return msgspec.json.encode(self._counts.table()).decode()
        return super().do_get_property(pspec)

    def process(self, batch: Batch) -> None:
        objects = batch.objects
        if not len(objects):
            return
        keep = keep_mask(objects, self._settings, lambda: self._sizes(batch))
        self._counts.add(objects.label, objects.class_id, keep)
        if not keep.all():
            batch.remove(~keep)
        if self._settings.relabel:
            rename(batch.objects, self._settings)

    @staticmethod
    def _sizes(batch: Batch) -> npt.NDArray[np.float64]:
        sizes = np.array([(f.width, f.height) for f in batch.frames], np.float64).reshape(-1, 2)
        return sizes[batch.objects.frame_index]
