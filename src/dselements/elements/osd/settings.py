"""Settings of ``dsosd``, checked."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import PropertyValueError

__all__ = ["MAX_FONT_SIZE", "ClockSettings", "OsdSettings"]

MAX_FONT_SIZE = 60
"""Largest clock-font-size, points; nvdsosd's."""


@dataclass(frozen=True)
class ClockSettings:
    """Text of the wall clock."""

    font: str = "Serif"
    font_size: int = 12
    x: int = 0
    y: int = 0
    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True)
class OsdSettings:
    """What to draw."""

    display_text: bool = True
    display_bbox: bool = True
    display_mask: bool = True
    clock: ClockSettings | None = None
    """None: no clock."""

    @classmethod
    def parse(
        cls,
        *,
        display_text: bool = True,
        display_bbox: bool = True,
        display_mask: bool = True,
        display_clock: bool = False,
        clock_font: str = "Serif",
        clock_font_size: int = 12,
        x_clock_offset: int = 0,
        y_clock_offset: int = 0,
        clock_color: int = 0xFFFFFFFF,
        process_mode: int = 0,
    ) -> OsdSettings:
        """From the element's properties.

        :param clock_color: 0xRRGGBBAA.
        :raises PropertyValueError: for a process mode that is not there.
        """
        if process_mode != 0:
            raise PropertyValueError(
                f"process-mode {process_mode} is not there", hint="0 (CPU) is the only one"
            )
        clock = None
        if display_clock:
            red, green, blue, alpha = (byte / 255 for byte in clock_color.to_bytes(4, "big"))
            clock = ClockSettings(
                clock_font or "Serif",
                clock_font_size,
                x_clock_offset,
                y_clock_offset,
                (red, green, blue, alpha),
            )
        return cls(display_text, display_bbox, display_mask, clock)
