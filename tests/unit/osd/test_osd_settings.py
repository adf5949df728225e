"""Settings of dsosd."""

from __future__ import annotations

import time

import pytest

from dselements.elements.osd.logic import clock_label
from dselements.elements.osd.settings import ClockSettings, OsdSettings
from dselements.errors import PropertyValueError


def test_defaults_are_nvdsosds() -> None:
    settings = OsdSettings.parse()
    assert (settings.display_text, settings.display_bbox, settings.display_mask) == (True,) * 3
    assert settings.clock is None


def test_the_clocks_colour_is_red_first() -> None:
    clock = OsdSettings.parse(display_clock=True, clock_color=0xFF800033, x_clock_offset=7).clock
    assert clock is not None
    assert clock.color == pytest.approx((1, 128 / 255, 0, 0.2))
    assert clock.x == 7


def test_the_clocks_text_is_nvdsosds() -> None:
    now = time.struct_time((2026, 3, 9, 14, 5, 7, 0, 68, 0))
    label = clock_label(ClockSettings(), now)
    assert label.text == "2026-3-9  14:05:07"
    assert (label.font, label.size, label.background) == ("Serif", 12, None)


def test_gpu_mode_is_refused() -> None:
    with pytest.raises(PropertyValueError, match=r"process-mode 1 .*0 \(CPU\)"):
        OsdSettings.parse(process_mode=1)
