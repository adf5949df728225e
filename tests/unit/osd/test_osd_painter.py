"""Pixels: what is drawn is where it was computed to be, in every format."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cairo")

from dselements.elements.osd.shapes import (
    Box,
    Circle,
    Label,
    Lines,
    Mask,
    Plan,
    arrow_segments,
)
from dselements.errors import SurfaceError
from dselements.surface.convert import rgb_to_yuv_values

BACK = (40, 80, 120)
RED, GREEN, WHITE = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)
BLACK = (0.0, 0.0, 0.0, 1.0)
PACKED = ["RGBA", "BGRA", "ARGB", "ABGR", "RGBx", "BGRx", "xRGB", "xBGR", "RGB", "BGR"]
YUV = ["NV12", "NV21", "I420", "YV12"]


def plan_of(**lists: list[Any]) -> Plan:
    plan = Plan()
    for name, items in lists.items():
        setattr(plan, name, items)
    return plan


def blank(width: int, height: int) -> np.ndarray:
    return np.full((height, width, 3), BACK, np.uint8)


@pytest.mark.parametrize("name", PACKED)
def test_a_border_is_pixel_exact(canvas: Any, name: str) -> None:
    target = canvas(name, 63, 41)
    drawn = target.draw(plan_of(boxes=[Box(10, 8, 40, 30, 3, RED, None)]))
    expected = blank(63, 41)
    # 3 wide: one pixel outside the edge, two inside.
    expected[7:31, 9:41] = (255, 0, 0)
    expected[10:28, 12:38] = BACK
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize(("border", "outside"), [(1, 0), (2, 1), (4, 2), (5, 2)])
def test_borders_of_all_widths(canvas: Any, border: int, outside: int) -> None:
    drawn = canvas("RGBA", 64, 48).draw(plan_of(boxes=[Box(20, 15, 50, 40, border, GREEN, None)]))
    expected = blank(64, 48)
    inside = border - outside
    expected[15 - outside : 40 + outside, 20 - outside : 50 + outside] = (0, 255, 0)
    expected[15 + inside : 40 - inside, 20 + inside : 50 - inside] = BACK
    np.testing.assert_array_equal(drawn, expected)


def test_a_fill_is_blended_inside_the_border(canvas: Any) -> None:
    box = Box(10, 10, 50, 40, 4, RED, (0.0, 0.0, 1.0, 0.5))
    drawn = canvas("BGRx", 64, 48).draw(plan_of(boxes=[box]))
    inner = drawn[12:38, 12:48].reshape(-1, 3).astype(int)
    assert np.abs(inner - [20, 40, 188]).max() <= 1  # half of 40, 80, 120 and half of blue
    assert (drawn[8:12, 8:52] == (255, 0, 0)).all()
    assert (drawn[:8] == BACK).all()


def test_a_fill_without_a_border_covers_the_box(canvas: Any) -> None:
    drawn = canvas("RGBA", 32, 32).draw(plan_of(boxes=[Box(3, 4, 20, 9, 0, RED, GREEN)]))
    expected = blank(32, 32)
    expected[4:9, 3:20] = (0, 255, 0)
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("name", ["RGBA", "NV12"])
def test_boxes_are_cut_at_the_frame(canvas: Any, name: str) -> None:
    far = 1 << 17
    boxes = [
        Box(-10, -10, 20, 20, 3, RED, None),
        Box(-far, -far, far, far, 3, RED, None),
        Box(100, 100, 200, 200, 3, RED, WHITE),
        Box(61, 45, far, far, 2, RED, None),
    ]
    drawn = canvas(name, 64, 48).draw(plan_of(boxes=boxes)).astype(int)
    assert np.abs(drawn[5, 19] - (255, 0, 0)).max() < 40
    assert np.abs(drawn[46, 60] - (255, 0, 0)).max() < 40
    assert np.abs(drawn[30, 30] - BACK).max() <= 3


def test_a_box_smaller_than_its_border_is_solid(canvas: Any) -> None:
    drawn = canvas("RGBA", 32, 32).draw(plan_of(boxes=[Box(10, 10, 12, 20, 4, RED, GREEN)]))
    expected = blank(32, 32)
    expected[8:22, 8:14] = (255, 0, 0)
    np.testing.assert_array_equal(drawn, expected)


def test_a_turned_box(canvas: Any) -> None:
    # 40 x 10 around (50, 50), by 90 degrees: 10 x 40.
    box = Box(30, 45, 70, 55, 2, RED, GREEN, math.pi / 2)
    drawn = canvas("RGBA", 100, 100).draw(plan_of(boxes=[box]))
    green = np.argwhere((drawn == (0, 255, 0)).all(axis=2))
    red = np.argwhere((drawn == (255, 0, 0)).all(axis=2))
    assert green.min(axis=0).tolist() == [31, 46]
    assert green.max(axis=0).tolist() == [68, 53]
    assert red.min(axis=0).tolist() == [29, 44]
    assert red.max(axis=0).tolist() == [70, 55]
    # By 45 degrees clockwise the right end goes down.
    box = Box(30, 48, 70, 52, 2, RED, None, math.pi / 4)
    drawn = canvas("RGBA", 100, 100).draw(plan_of(boxes=[box]))
    rows, columns = np.nonzero((drawn != BACK).any(axis=2))
    assert np.corrcoef(rows, columns)[0, 1] > 0.9


def test_lines_and_arrows(canvas: Any) -> None:
    lines = [
        Lines(((10, 20, 40, 20),), 1, RED),
        Lines(((50, 10, 50, 40),), 3, GREEN),
        Lines(arrow_segments(10, 60, 90, 60, 1, 1), 1, WHITE),
    ]
    drawn = canvas("RGBA", 100, 80).draw(plan_of(lines=lines))
    assert (drawn[20, 11:40] == (255, 0, 0)).all()
    assert (drawn[19, 5:45] == BACK).all()
    assert (drawn[21, 5:45] == BACK).all()
    assert (drawn[11:40, 49:52] == (0, 255, 0)).all()
    assert (drawn[11:40, 48] == BACK).all()
    assert (drawn[60, 11:88] == 255).all()
    # Heads of 8 at 15 degrees: 7.7 back and 2.1 to each side, at the end only.
    head = (drawn[55:66] != BACK).any(axis=2).any(axis=0)
    sides = (drawn[57:60] != BACK).any(axis=2).any(axis=0)
    assert head[10:91].all()
    assert np.flatnonzero(sides).min() in range(80, 84)


def test_circles(canvas: Any) -> None:
    circles = [Circle(50, 40, 20, 2, RED, (0.0, 0.0, 1.0, 1.0)), Circle(2, 2, 30, 1, GREEN, None)]
    drawn = canvas("RGBA", 100, 80).draw(plan_of(circles=circles))
    assert (drawn[40, 50] == (0, 0, 255)).all()
    for row, column in ((40, 30), (40, 70), (20, 50), (60, 50)):
        assert abs(int(drawn[row, column, 0]) - 255) < 40
        assert drawn[row, column, 2] < 120
    assert (drawn[40, 73] == BACK).all()
    assert drawn[2, 32, 1] > 150  # the second is cut by the corner


def test_a_text_lies_in_its_box(canvas: Any) -> None:
    label = Label("person", 30, 20, "Serif", 11, WHITE, BLACK)
    drawn = canvas("RGBA", 160, 80).draw(plan_of(labels=[label]))
    changed = np.argwhere((drawn != BACK).any(axis=2))
    top, left = changed.min(axis=0)
    bottom, right = changed.max(axis=0)
    assert (top, left) == (20, 30)
    assert 15 <= bottom - top <= 40
    assert 30 <= right - left <= 100
    box = drawn[top : bottom + 1, left : right + 1]
    assert (box != BACK).any(axis=2).all()  # the background is a whole rectangle
    bright = np.argwhere((box > 200).all(axis=2))
    assert len(bright) > 20
    # The text begins half a font size from the left, a quarter from the top.
    assert bright[:, 1].min() >= 5
    assert bright[:, 0].min() >= 2
    assert (box[0] == 0).all()


def test_a_text_without_background_changes_only_its_letters(canvas: Any) -> None:
    label = Label("II", 10, 10, "Sans", 20, RED, None)
    drawn = canvas("RGBA", 100, 60).draw(plan_of(labels=[label]))
    share = (drawn != BACK).any(axis=2)[10:45, 20:40].mean()
    assert 0.05 < share < 0.8
    assert (drawn == (255, 0, 0)).all(axis=2).any()


def test_lines_of_a_text_are_below_each_other(canvas: Any) -> None:
    def rows(text: str) -> int:
        label = Label(text, 0, 0, "Serif", 11, WHITE, BLACK)
        drawn = canvas("RGBA", 200, 200).draw(plan_of(labels=[label]))
        return int((drawn != BACK).any(axis=2).any(axis=1).sum())

    one, two, three = rows("x"), rows("x\ny"), rows("x\ny\nz")
    assert two - one == three - two > 10


def test_a_long_text_is_wrapped_between_words(canvas: Any) -> None:
    label = Label("word " * 20, 0, 0, "Serif", 11, WHITE, BLACK)
    drawn = canvas("RGBA", 200, 200).draw(plan_of(labels=[label]))
    assert (drawn != BACK).any(axis=2).any(axis=1).sum() > 60


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n",
        "\t\x01\x7f",
        "Grüße 汽车 🚗 مرحبا",
        "\ud800 lone surrogate",
        "a" * 100_000,
        "\n" * 100_000,
        "\u200b\u202e",
    ],
)
@pytest.mark.parametrize("name", ["RGBA", "I420"])
def test_texts_of_all_kinds(canvas: Any, name: str, text: str) -> None:
    label = Label(text, 5, 5, "No Such Font Bold Italic", 11, WHITE, BLACK)
    drawn = canvas(name, 80, 50).draw(plan_of(labels=[label]))
    assert np.abs(drawn[0].astype(int) - BACK).max() <= 3  # nothing above its place


def test_odd_sizes_of_fonts(canvas: Any) -> None:
    for size in (1, 60, 2**32 - 1):
        labels = [Label("x", 5, 5, "", size, WHITE, None)]
        assert canvas("RGBA", 80, 50).draw(plan_of(labels=labels)).shape == (50, 80, 3)


def test_a_machine_without_fonts_still_shows_letters(tmp_path: Path) -> None:
    config = tmp_path / "fonts.conf"
    config.write_text("<?xml version='1.0'?><fontconfig></fontconfig>")
    code = (
        "from dselements.elements.osd.stamps import TextStamps, import_cairo\n"
        "stamp = TextStamps(import_cairo()).get('person', 'Serif', 11, 200, 50)\n"
        "assert stamp is not None and stamp._rows.max() > 200, stamp\n"
    )
    env = {**os.environ, "FONTCONFIG_FILE": str(config)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_mask_is_blended_inside_its_box(canvas: Any) -> None:
    scores = np.zeros((4, 4), np.float32)
    scores[:, 2:] = 1.0  # right half
    mask = Mask(20, 10, 60, 50, scores, 0.5, (1.0, 0.0, 0.0, 0.5))
    drawn = canvas("RGBA", 80, 60).draw(plan_of(masks=[mask])).astype(int)
    # Bilinear: scores pass 0.5 in the middle between columns 1 and 2, at x = 40.
    assert np.abs(drawn[10:50, 40:60] - [148, 40, 60]).max() <= 1
    assert (drawn[:, :40] == BACK).all()
    assert (drawn[:, 60:] == BACK).all()
    assert (drawn[:10] == BACK).all()
    assert (drawn[50:] == BACK).all()


@pytest.mark.parametrize("place", [(-20, -20, 20, 20), (60, 40, 200, 200), (-500, 5, -100, 9)])
def test_masks_are_cut_at_the_frame(canvas: Any, place: tuple[int, int, int, int]) -> None:
    mask = Mask(*place, np.ones((3, 5), np.float32), 0.5, RED)
    drawn = canvas("RGBA", 80, 60).draw(plan_of(masks=[mask]))
    left, top, right, bottom = place
    expected = blank(80, 60)
    expected[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = (255, 0, 0)
    np.testing.assert_array_equal(drawn, expected)


def test_nan_scores_are_not_drawn(canvas: Any) -> None:
    mask = Mask(0, 0, 9, 9, np.full((1, 1), np.nan, np.float32), 0.5, RED)
    assert (canvas("RGBA", 16, 16).draw(plan_of(masks=[mask])) == BACK).all()


@pytest.mark.parametrize("name", ["RGBA", "BGRA", "ARGB", "ABGR"])
def test_alpha_of_the_frame_stays(canvas: Any, name: str) -> None:
    target = canvas(name, 120, 60)
    target.draw(everything(120, 60))
    assert (target.rgba()[..., 3] == 255).all()


def everything(width: int, height: int) -> Plan:
    """Some of all, in opaque and translucent colours, at odd and even places."""
    rng = np.random.default_rng(3)
    plan = Plan()
    for i in range(8):
        x, y = int(rng.integers(-10, width - 5)), int(rng.integers(-10, height - 5))
        w, h = int(rng.integers(3, width // 2)), int(rng.integers(3, height // 2))
        color = (*rng.random(3).tolist(), 1.0 if i % 2 else 0.6)
        fill = None if i % 3 else (*rng.random(3).tolist(), 0.4)
        plan.boxes.append(Box(x, y, x + w, y + h, i % 5, color, fill, 0.3 if i == 5 else 0.0))
        label = Label(f"text {i}", max(x, 0), max(y, 0), "Serif", 11, WHITE, color)
        plan.labels.append(label)
    plan.masks.append(
        Mask(11, 7, 61, 50, rng.random((6, 6)).astype(np.float32), 0.5, (0.0, 1.0, 0.0, 0.5))
    )
    plan.lines.append(Lines(arrow_segments(5, 5, width - 9, height - 4, 3, 2), 3, RED))
    plan.circles.append(Circle(width // 2, height // 2, 17, 3, GREEN, (1.0, 0.0, 1.0, 0.5)))
    return plan


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    error = float(((a.astype(float) - b.astype(float)) ** 2).mean())
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


@pytest.mark.parametrize("name", PACKED)
def test_packed_formats_are_all_the_same(canvas: Any, name: str) -> None:
    plan = everything(130, 71)
    np.testing.assert_array_equal(
        canvas(name, 130, 71).draw(plan), canvas("BGRx", 130, 71).draw(plan)
    )


@pytest.mark.parametrize("name", YUV)
@pytest.mark.parametrize("size", [(128, 72), (131, 73)])
def test_yuv_is_rgb_drawn_and_converted(canvas: Any, name: str, size: tuple[int, int]) -> None:
    plan = everything(*size)
    target = canvas(name, *size)
    drawn = canvas("RGBA", *size).draw(plan).astype(float) / 255
    parts = [np.asarray(p) for p in rgb_to_yuv_values(*np.moveaxis(drawn, 2, 0), target.info)]
    with target.surface() as surface:
        target.painter.draw(surface, plan)
        planes = [p.copy() for p in surface.planes]
    chroma = list(np.moveaxis(planes[1], 2, 0)) if name.startswith("NV") else planes[1:]
    if name in ("NV21", "YV12"):
        chroma.reverse()
    # Edges and translucent layers are rounded in other steps: 50 dB is an error of 0.8 (RMS).
    assert psnr(planes[0], parts[0]) > 50
    assert np.abs(planes[0] - parts[0]).max() <= 4
    for ours, full in zip(chroma, parts[1:], strict=True):
        edge = np.pad(full, ((0, full.shape[0] % 2), (0, full.shape[1] % 2)), mode="edge")
        means = edge.reshape(edge.shape[0] // 2, 2, edge.shape[1] // 2, 2).mean(axis=(1, 3))
        inner = (slice(0, size[1] // 2), slice(0, size[0] // 2))
        assert psnr(ours[inner], means[inner]) > 38


def test_gray_is_the_luma_of_the_colours(canvas: Any) -> None:
    target = canvas("GRAY8", 64, 48)
    drawn = target.draw(plan_of(boxes=[Box(10, 10, 40, 30, 2, RED, (0.0, 1.0, 0.0, 0.5))]))
    back = round(0.299 * 40 + 0.587 * 80 + 0.114 * 120)
    assert (drawn[9, 9:41] == 76).all()  # 0.299 * 255
    assert abs(int(drawn[20, 20, 0]) - (back + 150) // 2) <= 1
    assert (drawn[0] == back).all()


@pytest.mark.parametrize("name", ["RGBA", "NV12", "I420", "GRAY8"])
def test_rows_padded_in_an_odd_way_are_copied_and_written_back(canvas: Any, name: str) -> None:
    plan = everything(60, 40)
    plain = canvas(name, 60, 40)
    expected = plain.draw(plan)
    odd = canvas(name, 60, 40)
    strides = [p.stride + 3 for p in odd.info.planes]
    offsets = np.cumsum(
        [0, *(s * p.height + 1 for s, p in zip(strides, odd.info.planes, strict=True))]
    )[:-1]
    odd.info = odd.info.with_strides(offsets.tolist(), strides)
    odd.data = np.full(odd.info.size, 99, np.uint8)
    with odd.surface() as surface:
        odd._clear(surface)
    np.testing.assert_array_equal(odd.draw(plan), expected)
    gap = odd.data[odd.info.planes[0].stride - 3 : odd.info.planes[0].stride]
    assert (gap == 99).all()  # padding is nobody's


def test_a_read_only_surface_is_refused(canvas: Any) -> None:
    target = canvas("RGBA", 16, 16)
    with target.surface(writable=False) as surface, pytest.raises(SurfaceError, match="write=True"):
        target.painter.draw(surface, plan_of(boxes=[Box(1, 1, 5, 5, 1, RED, None)]))


def test_nothing_holds_the_memory_after_drawing(canvas: Any) -> None:
    for name in ("RGBA", "ARGB", "RGB", "NV12", "I420"):
        target = canvas(name, 64, 48)
        surface = target.surface()
        memory = surface._mapped.map  # type: ignore[union-attr]
        target.painter.draw(surface, everything(64, 48))
        surface.close()
        assert memory.closed, name


def test_set_texts_are_kept_within_bounds(canvas: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dselements.elements.osd import stamps

    monkeypatch.setattr(stamps, "CACHE_BYTES", 20_000)
    target = canvas("RGBA", 200, 50)
    texts = target.painter._texts
    first = texts.get("number 0", "Serif", 11, 200, 50)
    assert texts.get("number 0", "Serif", 11, 200, 50) is first
    for i in range(200):
        texts.get(f"number {i}", "Serif", 11, 200, 50)
    assert texts._bytes <= 20_000
    assert 1 < len(texts._stamps) < 50
