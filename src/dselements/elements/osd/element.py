"""The GStreamer element ``dsosd``."""

from __future__ import annotations

from ...element import MetaTransform, Property, element
from ...errors import SurfaceError
from ...meta import Batch
from ...surface import Surface
from ...surface.format import FORMATS
from .logic import plans_of
from .painter import Painter
from .settings import MAX_FONT_SIZE, OsdSettings

_UINT_MAX = 2**32 - 1


@element(
    "dsosd",
    description="Draws boxes, texts, masks and shapes from the metadata onto the frames",
    klass="Filter/Editor/Video",
)
class Osd(MetaTransform):
    """See :mod:`dselements.elements.osd`."""

    __gtype_name__ = "DsOsd"
    caps = f"video/x-raw, format=(string){{ {', '.join(FORMATS)} }}"
    pixels = "write"

    display_text = Property(True, help="Draw texts")
    display_bbox = Property(True, help="Draw boxes")
    display_mask = Property(True, help="Draw instance masks")
    display_clock = Property(False, help="Draw the wall clock")
    clock_font = Property("Serif", help="Font of the clock")
    clock_font_size = Property(12, min=0, max=MAX_FONT_SIZE, help="Points; 0 is the default")
    x_clock_offset = Property(0, min=0, max=_UINT_MAX, help="Left of the clock, pixels")
    y_clock_offset = Property(0, min=0, max=_UINT_MAX, help="Top of the clock, pixels")
    clock_color = Property(_UINT_MAX, min=0, max=_UINT_MAX, help="Clock's colour, 0xRRGGBBAA")
    process_mode = Property(0, min=0, max=1, help="0 CPU; 1 (GPU) is refused")

    _settings = OsdSettings()
    _painter: Painter | None = None

    def configure(self) -> None:
        self._settings = OsdSettings.parse(
            display_text=self.display_text,
            display_bbox=self.display_bbox,
            display_mask=self.display_mask,
            display_clock=self.display_clock,
            clock_font=self.clock_font,
            clock_font_size=self.clock_font_size,
            x_clock_offset=self.x_clock_offset,
            y_clock_offset=self.y_clock_offset,
            clock_color=self.clock_color,
            process_mode=self.process_mode,
        )

    def start(self) -> None:
        self._painter = Painter()

    def stop(self) -> None:
        self._painter = None

    def process(self, batch: Batch) -> None:
        painter = self._painter
        if painter is None:
            raise RuntimeError("dsosd was given a buffer before it was started")
        for frame, plan in plans_of(batch, self._settings):
            with frame.surface(write=True) as surface:
                if not isinstance(surface, Surface):
                    raise SurfaceError(
                        "dsosd draws on frames in system memory, this one lies in NVMM",
                        hint="insert nvvideoconvert ! video/x-raw,format=RGBA before dsosd; it "
                        "keeps the metadata",
                    )
                painter.draw(surface, plan)
