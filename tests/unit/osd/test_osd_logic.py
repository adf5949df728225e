"""From metadata to plans: columns against one shape at a time, display metas, broken values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dselements import Batch
from dselements.elements.osd.logic import MASK_ALPHA, object_boxes, plans_of
from dselements.elements.osd.settings import ClockSettings, OsdSettings
from dselements.elements.osd.shapes import Circle, box_of, color_of
from dselements.meta import display as shapes

ALL = OsdSettings()


@pytest.fixture
def batch() -> Iterator[Batch]:
    spec: list[dict[str, Any]] = [
        {
            "source_id": 0,
            "objects": [
                {"rect": (10, 20, 30, 40), "label": "car"},
                {"rect": (1.6, 2.4, 7.7, 9.9), "label": "", "border_width": 0, "has_bg_color": 1,
                 "bg_color": (0, 1, 0, 0.5)},
            ],
        },
        {"source_id": 1},
        {
            "source_id": 2,
            "objects": [
                {"rect": (5, 5, 0, 9), "label": "flat"},
                {"rect": (50, 60, 20, 20), "label": "dog", "rotation_angle": 30.0,
                 "mask": np.eye(4, dtype=np.float32), "border_color": (0, 0, 1, 1)},
            ],
        },
    ]  # fmt: skip
    with Batch.synthetic(spec) as made:
        yield made


def test_every_frame_has_its_own_shapes(batch: Batch) -> None:
    plans = {frame.source_id: plan for frame, plan in plans_of(batch, ALL)}
    assert sorted(plans) == [0, 2]
    assert sorted((b.left, b.top, b.right, b.bottom, b.border) for b in plans[0].boxes) == [
        (2, 2, 9, 12, 0),
        (10, 20, 40, 60, 3),
    ]
    assert [(x.text, x.x, x.y, x.font, x.size) for x in plans[0].labels] == [
        ("car", 10, 10, "Serif", 11)
    ]
    assert plans[0].labels[0].background == (0, 0, 0, 1)
    assert [(b.left, b.angle) for b in plans[2].boxes] == [(50, pytest.approx(math.pi / 6))]
    assert {x.text for x in plans[2].labels} == {"flat", "dog"}
    assert not plans[0].masks
    (mask,) = plans[2].masks
    assert (mask.left, mask.top, mask.right, mask.bottom) == (50, 60, 70, 80)
    assert mask.color == (0, 0, 1, MASK_ALPHA)
    np.testing.assert_array_equal(mask.scores, np.eye(4))
    assert mask.threshold == 0.5


@pytest.mark.parametrize("hidden", ["display_text", "display_bbox", "display_mask"])
def test_what_is_hidden_is_left_out(batch: Batch, hidden: str) -> None:
    display = batch.frames[2].display
    display.add_rect(1, 1, 5, 5)
    display.add_text("note", 1, 1)
    settings = OsdSettings(**{hidden: False})
    plan = next(plan for frame, plan in plans_of(batch, settings) if frame.source_id == 2)
    name = {"display_text": "labels", "display_bbox": "boxes", "display_mask": "masks"}[hidden]
    counts = {n: len(getattr(plan, n)) for n in ("labels", "boxes", "masks")}
    expected = {"labels": 3, "boxes": 2, "masks": 1}
    assert counts == {**expected, name: 0}


def test_shapes_of_display_metas(batch: Batch) -> None:
    display = batch.frames[1].display
    display.add_rect(1.2, 2, 5, 5, border_width=2, has_bg_color=True, bg_color=(0, 0, 1, 0.5))
    display.add_text("hello", 3, 4, font_name=None, font_size=0, set_bg_clr=False)
    display.add_line(1, 2, 3, 4)
    display.add_arrow(0, 0, 100, 0, arrow_head=2)
    display.add_circle(9, 8, 7, circle_width=0)
    display.add_circle(9, 8, 0)
    display.add_line(1, 2, 3, 4, line_width=0)
    batch.commit()
    plan = next(plan for frame, plan in plans_of(batch, ALL) if frame.source_id == 1)
    (box,) = plan.boxes
    assert (box.left, box.top, box.right, box.bottom, box.border) == (1, 2, 6, 7, 2)
    assert box.fill == (0, 0, 1, 0.5)
    (label,) = plan.labels
    assert (label.text, label.font, label.size) == ("hello", "Serif", 11)
    assert label.background is None
    assert [len(x.segments) for x in plan.lines] == [1, 5]
    assert plan.lines[0].segments == ((1, 2, 3, 4),)
    assert plan.circles == [Circle(9, 8, 7, 2, (1, 0, 0, 1), None)]


def test_more_shapes_than_one_meta_holds(batch: Batch) -> None:
    for i in range(40):
        batch.frames[1].display.add_rect(i, i, 5, 5)
    batch.commit()
    plan = next(plan for frame, plan in plans_of(batch, ALL) if frame.source_id == 1)
    assert sorted(box.left for box in plan.boxes) == list(range(40))


def test_the_clock_is_on_every_frame(batch: Batch) -> None:
    settings = OsdSettings(clock=ClockSettings(x=3, y=4))
    plans = plans_of(batch, settings)
    assert len(plans) == 3
    assert all((plan.labels[-1].x, plan.labels[-1].y) == (3, 4) for _, plan in plans)
    assert not plans_of(batch, OsdSettings(False, False, False, ClockSettings()))


class Broken:
    """Columns as a C element may leave them; the metadata API itself refuses such values."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        def column(name: str, default: Any, kind: Any) -> np.ndarray:
            return np.array([row.get(name, default) for row in rows], kind)

        self.rect = column("rect", (0, 0, 9, 9), np.float32)
        self.border_width = column("border_width", 3, np.uint32)
        self.border_color = column("border_color", (1, 0, 0, 1), np.float64)
        self.has_bg_color = column("has_bg_color", 0, np.uint32)
        self.bg_color = column("bg_color", (0, 1, 0, 1), np.float64)
        self.rotation_angle = column("rotation_angle", 0, np.float32)


NAN, INF = math.nan, math.inf
BROKEN: list[dict[str, Any]] = [
    {"rect": (10.4, 20.5, 5.2, 6.0)},
    {"rect": (NAN, 0, 5, 5)},
    {"rect": (0, 0, INF, 5)},
    {"rect": (0, 0, -5, 5)},
    {"rect": (0, 0, 0, 0)},
    {"rect": (3e38, 3e38, 3e38, 3e38)},
    {"rect": (-1e30, -5, 2e30, 1e9), "border_width": 2**32 - 1},
    {"rect": (7.2, 7.2, 0.01, 0.01)},
    {"border_color": (NAN, 2.0, -1.0, 0.5)},
    {"border_color": (1, 1, 1, NAN)},
    {"border_color": (1, 1, 1, 0), "has_bg_color": 1},
    {"border_width": 0, "has_bg_color": 7, "bg_color": (0, 0, NAN, 0.3)},
    {"has_bg_color": 1, "bg_color": (1, 1, 1, 0)},
    {"rotation_angle": NAN},
    {"rotation_angle": 721.0},
]


def test_columns_give_what_one_box_at_a_time_gives() -> None:
    found = dict(object_boxes(Broken(BROKEN)))  # type: ignore[arg-type]
    columns = Broken(BROKEN)
    for row in range(len(BROKEN)):
        border_color = color_of(tuple(columns.border_color[row].tolist()))
        fill = color_of(tuple(columns.bg_color[row].tolist()))
        single = box_of(
            tuple(columns.rect[row].astype(float).tolist()),
            int(columns.border_width[row]),
            border_color,
            fill if columns.has_bg_color[row] else None,
            float(columns.rotation_angle[row]),
        )
        ours = found.get(row)
        if single is None:
            assert ours is None, row
        else:
            assert ours is not None, row
            assert ours[:6] == single[:6], row
            assert ours.fill == single.fill, row
            assert ours.angle == pytest.approx(single.angle), row
    assert set(range(len(BROKEN))) - set(found) == {1, 2, 3, 4, 9}


def test_broken_display_shapes_do_not_raise(canvas: Any) -> None:
    pytest.importorskip("cairo")
    from dselements.elements.osd.logic import add_shape
    from dselements.elements.osd.shapes import Plan

    plan = Plan()
    big = 2**32 - 1
    nan = (NAN, NAN, NAN, NAN)
    for shape in (
        shapes.Rect(NAN, 0, 1, 1),
        shapes.Rect(0, 0, 1, 1, big, nan, True, nan),
        shapes.Text(None, big, big),
        shapes.Text("x", big, big, None, big, nan, True, nan),
        shapes.Line(big, big, 0, 0, big, nan),
        shapes.Arrow(big, 0, 0, big, big, 99, (1, 1, 1, 1)),
        shapes.Circle(big, big, big, nan, True, nan, big),
    ):
        add_shape(plan, shape, ALL)
    assert len(plan.boxes) == 0  # NaN alpha is no alpha
    assert len(plan.labels) == 1
    assert len(plan.lines) == 1
    assert len(plan.circles) == 1
    for name in ("RGBA", "NV12"):
        assert canvas(name, 32, 32).draw(plan).shape == (32, 32, 3)
