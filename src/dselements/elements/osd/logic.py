"""From a batch's metadata to what is drawn on each frame."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import UnsupportedFieldError
from ...meta import Batch, Frame, Objects
from ...meta import display as shapes
from .settings import ClockSettings, OsdSettings
from .shapes import (
    DEFAULT_FONT,
    DEFAULT_FONT_SIZE,
    FAR,
    MAX_LINE,
    Box,
    Circle,
    Color,
    Label,
    Lines,
    Mask,
    Plan,
    arrow_segments,
    box_of,
    clamp,
    color_of,
    line_width,
)

__all__ = ["MASK_ALPHA", "plans_of"]

MASK_ALPHA = 127 / 255
"""Opacity of a mask over that of the border's colour; nvdsosd's."""
DEFAULT_CIRCLE_WIDTH = 2
"""Taken for a circle_width of 0; nvdsosd's."""

Array = npt.NDArray[Any]


def plans_of(batch: Batch, settings: OsdSettings) -> list[tuple[Frame, Plan]]:
    """Each frame of a batch and what is to be drawn on it; frames without shapes are left out.

    Values that C elements may have left broken (NaN, boxes without area, colours out of range,
    huge widths) are repaired or skipped, they never raise.
    """
    frames = list(batch.frames)
    plans = {frame.row: Plan() for frame in frames}
    objects = batch.objects
    if len(objects):
        owner = objects.frame_index.tolist()
        if settings.display_bbox:
            for row, box in object_boxes(objects):
                plans[owner[row]].boxes.append(box)
        if settings.display_mask:
            for row, mask in object_masks(objects):
                plans[owner[row]].masks.append(mask)
        if settings.display_text:
            for row, label in object_labels(objects):
                plans[owner[row]].labels.append(label)
    found = []
    for frame in frames:
        plan = plans[frame.row]
        for shape in frame.display:
            add_shape(plan, shape, settings)
        if settings.clock is not None and settings.display_text:
            plan.labels.append(clock_label(settings.clock, time.localtime()))
        if plan:
            found.append((frame, plan))
    return found


def clean_colors(values: Array) -> list[Color]:
    """Rows of (n, 4) as tuples between 0 and 1; NaN is 0."""
    clean = np.clip(np.where(np.isnan(values), 0.0, values), 0.0, 1.0)
    return [tuple(row) for row in clean.tolist()]


def object_boxes(objects: Objects) -> list[tuple[int, Box]]:
    """Row and box of each object that has a visible one; what box_of() gives, for all at once."""
    rect = objects.rect.astype(np.float64)
    border_color, bg_color = objects.border_color, objects.bg_color
    with np.errstate(invalid="ignore", over="ignore"):
        line = np.where(border_color[:, 3] > 0, np.minimum(objects.border_width, MAX_LINE), 0)
        filled = (objects.has_bg_color != 0) & (bg_color[:, 3] > 0)
        size = rect[:, 2:]
        good = np.isfinite(rect).all(axis=1) & (size > 0).all(axis=1) & (filled | (line > 0))
    rows = np.flatnonzero(good)
    if not len(rows):
        return []
    corners = rect[rows]
    corners[:, 2:] += corners[:, :2]
    corners = np.floor(np.clip(corners, -FAR, FAR) + 0.5).astype(np.int64)
    np.maximum(corners[:, 2:], corners[:, :2] + 1, out=corners[:, 2:])
    borders = clean_colors(border_color[rows])
    fills: list[Color | None] = list(clean_colors(bg_color[rows]))
    try:
        degrees = objects.rotation_angle[rows].astype(np.float64)
        turned = np.isfinite(degrees) & (degrees != 0)
        angles = np.radians(np.where(turned, degrees, 0.0) % 360).tolist()
    except UnsupportedFieldError:  # before SDK 9
        angles = [0.0] * len(rows)
    return [
        (row, Box(*box, width, border, fill if has_fill else None, angle))  # type: ignore[call-arg]
        for row, box, width, border, fill, has_fill, angle in zip(
            rows.tolist(),
            corners.tolist(),
            line[rows].tolist(),
            borders,
            fills,
            filled[rows].tolist(),
            angles,
            strict=True,
        )
    ]


def object_labels(objects: Objects) -> list[tuple[int, Label]]:
    """Row and text of each object that has one."""
    texts = objects.display_text.tolist()
    rows = [row for row, text in enumerate(texts) if text]
    if not rows:
        return []
    x, y = objects.text_x.tolist(), objects.text_y.tolist()
    fonts, sizes = objects.font_name.tolist(), objects.font_size.tolist()
    colors = clean_colors(objects.font_color)
    has_background = objects.text_has_bg.tolist()
    backgrounds = clean_colors(objects.text_bg_color)
    return [
        (
            row,
            Label(
                texts[row],
                min(x[row], FAR),
                min(y[row], FAR),
                fonts[row] or DEFAULT_FONT,
                sizes[row] or DEFAULT_FONT_SIZE,
                colors[row],
                backgrounds[row] if has_background[row] else None,
            ),
        )
        for row in rows
    ]


def object_masks(objects: Objects) -> list[tuple[int, Mask]]:
    """Row and mask of each object that has one over a box with an area."""
    found = []
    for obj in objects:
        scores = obj.mask
        if scores is None or not scores.size:
            continue
        red, green, blue, alpha = color_of(obj.border_color)
        color = (red, green, blue, alpha * MASK_ALPHA)
        box = box_of(obj.rect, 0, color, color)
        if box is not None:
            place = (box.left, box.top, box.right, box.bottom)
            found.append((obj.row, Mask(*place, scores, obj.mask_threshold, color)))
    return found


def add_shape(plan: Plan, shape: shapes.Shape, settings: OsdSettings) -> None:
    """Add one shape of a display meta. Properties that hide boxes or texts hide these too."""
    if isinstance(shape, shapes.Rect):
        fill = color_of(shape.bg_color) if shape.has_bg_color else None
        rect = (shape.left, shape.top, shape.width, shape.height)
        box = box_of(rect, shape.border_width, color_of(shape.border_color), fill)
        if box is not None and settings.display_bbox:
            plan.boxes.append(box)
    elif isinstance(shape, shapes.Text):
        if shape.display_text and settings.display_text:
            plan.labels.append(
                Label(
                    shape.display_text,
                    clamp(shape.x_offset),
                    clamp(shape.y_offset),
                    shape.font_name or DEFAULT_FONT,
                    shape.font_size or DEFAULT_FONT_SIZE,
                    color_of(shape.font_color),
                    color_of(shape.text_bg_clr) if shape.set_bg_clr else None,
                )
            )
    elif isinstance(shape, shapes.Line):
        ends = (clamp(shape.x1), clamp(shape.y1), clamp(shape.x2), clamp(shape.y2))
        _add_lines(plan, (ends,), shape.line_width, shape.line_color)
    elif isinstance(shape, shapes.Arrow):
        ends = (clamp(shape.x1), clamp(shape.y1), clamp(shape.x2), clamp(shape.y2))
        width = line_width(shape.arrow_width)
        segments = arrow_segments(*ends, width, shape.arrow_head)
        _add_lines(plan, segments, width, shape.arrow_color)
    else:
        fill = color_of(shape.bg_color) if shape.has_bg_color else None
        if shape.radius > 0:
            plan.circles.append(
                Circle(
                    clamp(shape.xc),
                    clamp(shape.yc),
                    clamp(shape.radius),
                    line_width(shape.circle_width) or DEFAULT_CIRCLE_WIDTH,
                    color_of(shape.circle_color),
                    fill,
                )
            )


def _add_lines(
    plan: Plan, segments: tuple[tuple[float, float, float, float], ...], width: float, color: Color
) -> None:
    line, clean = line_width(width), color_of(color)
    if line and clean[3] > 0:
        plan.lines.append(Lines(segments, line, clean))


def clock_label(clock: ClockSettings, now: time.struct_time) -> Label:
    """The wall clock as nvdsosd writes it: 2026-3-9  14:05:00."""
    text = (
        f"{now.tm_year}-{now.tm_mon}-{now.tm_mday}  "
        f"{now.tm_hour:02d}:{now.tm_min:02d}:{now.tm_sec:02d}"
    )
    size = clock.font_size or DEFAULT_FONT_SIZE
    x, y = min(clock.x, FAR), min(clock.y, FAR)
    return Label(text, x, y, clock.font, size, clock.color, None)
