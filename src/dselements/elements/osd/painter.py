"""Draws plans on frames, with cairo."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...surface import Surface
from .planes import Layer, Layers
from .shapes import Box, Circle, Color, Label, Lines, Mask, Plan
from .stamps import Stamp, TextStamps, import_cairo, mask_coverage

__all__ = ["Painter"]

_FULL_TURN = 2 * math.pi


class Painter:
    """Draws on frames in place; keeps set texts and scratch memory between frames.

    :raises MissingExtraError: without pycairo.
    """

    def __init__(self) -> None:
        self._cairo = import_cairo()
        self._texts = TextStamps(self._cairo)
        self._scratch: dict[Any, npt.NDArray[np.uint8]] = {}

    def draw(self, surface: Surface, plan: Plan) -> None:
        """Draw a plan on a frame whose surface is open for writing.

        :raises SurfaceError: if the format cannot be drawn on, or the surface is not writable.
        """
        surface.check_writable()
        with Layers(self._cairo, surface, self._scratch) as target:
            layers = target.layers
            for box in plan.boxes:
                _box(layers, box)
            for mask in plan.masks:
                self._mask(target, mask)
            for label in plan.labels:
                self._label(target, label)
            for lines in plan.lines:
                _lines(layers, lines)
            for circle in plan.circles:
                _circle(layers, circle)

    def _label(self, target: Layers, label: Label) -> None:
        stamp = self._texts.get(label.text, label.font, label.size, target.width, target.height)
        if stamp is None:
            return
        points = label.size
        if label.background is not None and label.background[3] > 0:
            # nvdsosd's box: the text's size and half a font size more to each side, a quarter
            # above and below.
            _fill(
                target.layers,
                label.background,
                label.x,
                label.y,
                stamp.width + points,
                stamp.height + points // 2,
            )
        if label.color[3] > 0:
            _stamp(target.layers, stamp, label.x + points // 2, label.y + points // 4, label.color)

    def _mask(self, target: Layers, mask: Mask) -> None:
        found = mask_coverage(mask, target.width, target.height)
        if found is not None:
            x, y, coverage = found
            _stamp(target.layers, Stamp(self._cairo, coverage), x, y, mask.color)


def _fill(layers: list[Layer], color: Color, x: int, y: int, width: int, height: int) -> None:
    for layer in layers:
        context = layer.paths
        for operator, red, green, blue, alpha in layer.passes(color):
            context.set_operator(operator)
            context.set_source_rgba(red, green, blue, alpha)
            context.rectangle(x, y, width, height)
            context.fill()


def _stamp(layers: list[Layer], stamp: Stamp, x: int, y: int, color: Color) -> None:
    for layer in layers:
        context = layer.stamps
        if layer.half:
            image, at_x, at_y = stamp.half(x & 1, y & 1), x >> 1, y >> 1
        else:
            image, at_x, at_y = stamp.surface, x, y
        for operator, red, green, blue, alpha in layer.passes(color):
            context.set_operator(operator)
            context.set_source_rgba(red, green, blue, alpha)
            context.mask_surface(image, at_x, at_y)


def _box(layers: list[Layer], box: Box) -> None:
    left, top, right, bottom, border, color, fill, angle = box
    if angle:
        _turned(layers, box)
        return
    width, height = right - left, bottom - top
    outside = border // 2
    inside = border - outside
    if fill is not None and width > 2 * inside and height > 2 * inside:
        _fill(layers, fill, left + inside, top + inside, width - 2 * inside, height - 2 * inside)
    if not border:
        return
    if width <= 2 * inside or height <= 2 * inside:  # the border meets itself
        _fill(
            layers, color, left - outside, top - outside, width + 2 * outside, height + 2 * outside
        )
        return
    shift = border / 2 - outside
    for layer in layers:
        context = layer.paths
        context.set_line_width(border)
        for operator, red, green, blue, alpha in layer.passes(color):
            context.set_operator(operator)
            context.set_source_rgba(red, green, blue, alpha)
            context.rectangle(left + shift, top + shift, width - 2 * shift, height - 2 * shift)
            context.stroke()


def _turned(layers: list[Layer], box: Box) -> None:
    left, top, right, bottom, border, color, fill, angle = box
    width, height = right - left, bottom - top
    for layer in layers:
        context = layer.paths
        context.save()
        context.translate(left + width / 2, top + height / 2)
        context.rotate(angle)
        if fill is not None:
            for operator, red, green, blue, alpha in layer.passes(fill):
                context.set_operator(operator)
                context.set_source_rgba(red, green, blue, alpha)
                context.rectangle(-width / 2, -height / 2, width, height)
                context.fill()
        if border:
            context.set_line_width(border)
            for operator, red, green, blue, alpha in layer.passes(color):
                context.set_operator(operator)
                context.set_source_rgba(red, green, blue, alpha)
                context.rectangle(-width / 2, -height / 2, width, height)
                context.stroke()
        context.restore()


def _lines(layers: list[Layer], lines: Lines) -> None:
    for layer in layers:
        context = layer.paths
        context.set_line_width(lines.width)
        for operator, red, green, blue, alpha in layer.passes(lines.color):
            context.set_operator(operator)
            context.set_source_rgba(red, green, blue, alpha)
            for x1, y1, x2, y2 in lines.segments:
                context.move_to(x1 + 0.5, y1 + 0.5)
                context.line_to(x2 + 0.5, y2 + 0.5)
            context.stroke()


def _circle(layers: list[Layer], circle: Circle) -> None:
    for layer in layers:
        context = layer.paths
        context.set_line_width(circle.width)
        for color, stroke in ((circle.fill, False), (circle.color, True)):
            if color is None or color[3] <= 0:
                continue
            for operator, red, green, blue, alpha in layer.passes(color):
                context.set_operator(operator)
                context.set_source_rgba(red, green, blue, alpha)
                context.new_sub_path()
                context.arc(circle.x + 0.5, circle.y + 0.5, circle.radius, 0, _FULL_TURN)
                if stroke:
                    context.stroke()
                else:
                    context.fill()
