"""Built-in output layouts, and the contract of custom parsers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dselements.elements.infer.detections import Detections, ParserContext, check_result
from dselements.elements.infer.parsers import (
    call_parser,
    find_parser,
    load_parser,
    parse_detectnet,
    parse_ssd,
    parse_yolov5,
    parse_yolov8,
)
from dselements.elements.infer.settings import ClassAttrs
from dselements.errors import ConfigError, ModelError, ParserError


def context(
    classes: int, size: tuple[int, int] = (100, 200), threshold: float = 0.5
) -> ParserContext:
    thresholds = np.full(classes, threshold, np.float32)
    return ParserContext(*size, classes, thresholds, (ClassAttrs(),) * classes)


def rows(found: Detections) -> list[tuple[int, float, list[float]]]:
    return [
        (int(c), pytest.approx(float(s)), pytest.approx(list(map(float, b))))
        for c, s, b in zip(found.class_ids, found.scores, found.boxes, strict=True)
    ]


def test_ssd() -> None:
    # ymin, xmin, ymax, xmax in parts of a network of 100x200
    boxes = np.array(
        [[0.1, 0.2, 0.3, 0.6], [-0.1, -0.2, 0.5, 1.2], [0.5, 0.5, 0.4, 0.6]], np.float32
    )
    scores = np.array([[0.9, 0.1, 0.6], [0.0, 0.5, 0.49], [0.9, 0, 0]], np.float32)
    found = parse_ssd({"scores": scores, "boxes": boxes}, context(3))
    assert rows(found) == [
        (0, 0.9, [20, 20, 40, 40]),
        (2, 0.6, [20, 20, 40, 40]),
        (1, 0.5, [0, 0, 100, 100]),  # clipped to the network's input
    ]  # the last box is inside out


def test_ssd_of_four_classes_goes_by_the_name() -> None:
    boxes = np.array([[0.0, 0.0, 0.5, 0.5]], np.float32)
    scores = np.array([[0.0, 0.0, 0.0, 0.8]], np.float32)
    for layers in ({"my_boxes": boxes, "p": scores}, {"p": scores, "my_boxes": boxes}):
        assert rows(parse_ssd(layers, context(4))) == [(3, 0.8, [0, 0, 50, 100])]


@pytest.mark.parametrize("transposed", [False, True])
def test_yolov8(transposed: bool) -> None:
    head = np.zeros((4 + 2, 5), np.float32)
    head[:, 0] = [50, 100, 20, 40, 0.2, 0.7]
    head[:, 1] = [10, 10, 40, 40, 0.5, 0.4]
    head[:, 2] = [10, 10, 40, 40, 0.49, 0.4]
    found = parse_yolov8({"out": head.T.copy() if transposed else head}, context(2))
    assert rows(found) == [(1, 0.7, [40, 80, 20, 40]), (0, 0.5, [0, 0, 30, 30])]


def test_yolov5() -> None:
    head = np.zeros((4, 5 + 2), np.float32)
    head[0] = [50, 100, 20, 40, 0.8, 0.9, 0.1]
    head[1] = [50, 100, 20, 40, 0.8, 0.1, 0.5]  # 0.8 * 0.5 < 0.5
    head[2] = [50, 100, 20, 40, 0.4, 1.0, 1.0]
    assert rows(parse_yolov5({"out": head}, context(2))) == [(0, 0.72, [40, 80, 20, 40])]


def test_detectnet() -> None:
    """A network of 100x200 and a grid of 7x13: strides are 15 (100 / 7 up) and 16 (200 / 13 up)."""
    cov = np.zeros((2, 13, 7), np.float32)
    bbox = np.zeros((8, 13, 7), np.float32)
    cov[1, 4, 3] = 0.75
    # centre x = 3 * 15 + 0.5, y = 4 * 16 + 0.5; sides 20 left, 10 up, 5 right, 30 down
    bbox[4:8, 4, 3] = np.array([20, 10, 5, 30]) / 35
    cov[0, 12, 6] = 0.5
    bbox[0:4, 12, 6] = np.array([1, 1, 99, 99]) / 35  # beyond the last pixel 99, 199
    cov[0, 0, 0] = 0.4999
    found = parse_detectnet({"output_cov/Sigmoid": cov, "output_bbox/BiasAdd": bbox}, context(2))
    assert rows(found) == [
        (0, 0.5, [89.5, 191.5, 9.5, 7.5]),
        (1, 0.75, [25.5, 54.5, 25, 40]),
    ]


FITTING = [
    ({"boxes": (1917, 4), "scores": (1917, 90)}, 90, "ssd"),
    ({"a": (100, 4), "b": (100, 4)}, 4, "ssd"),
    ({"out": (84, 8400)}, 80, "yolov8"),
    ({"out": (8400, 84)}, 80, "yolov8"),
    ({"out": (25200, 85)}, 80, "yolov5"),
    ({"x_bbox": (16, 34, 60), "x_cov": (4, 34, 60)}, 4, "detectnet"),
]


@pytest.mark.parametrize(("shapes", "classes", "layout"), FITTING)
def test_the_layout_is_found(shapes: dict[str, Any], classes: int, layout: str) -> None:
    assert find_parser("", shapes, classes, None)[0] == layout
    assert find_parser(layout, shapes, classes, None)[0] == layout


def test_outputs_that_do_not_fit() -> None:
    with pytest.raises(ModelError, match="hold 90 classes, but num-detected-classes is 80"):
        find_parser("", {"boxes": (1917, 4), "scores": (1917, 90)}, 80, None)
    with pytest.raises(ModelError, match=r"\(out \[84, 8400\]\) do not fit any .* with 3 classes"):
        find_parser("", {"out": (84, 8400)}, 3, None)
    with pytest.raises(ModelError, match="do not fit layout ssd"):
        find_parser("ssd", {"out": (84, 8400)}, 80, None)
    with pytest.raises(ConfigError, match=r"unknown parser 'sdd'.*built-in are detectnet, ssd"):
        find_parser("sdd", {}, 1, None)


def test_custom_parser_from_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef parse(layers, context):\n"
        "    return np.ones((1, 4)), [context.num_classes], [0]\n"
    )
    name, parser = find_parser("mine.py:parse", {}, 3, tmp_path)
    assert name == "mine.py:parse"
    found = check_result(name, call_parser(name, parser, {}, context(3)))
    assert rows(found) == [(0, 3.0, [1, 1, 1, 1])]
    assert load_parser(f"{tmp_path}/mine.py:parse", None) is not None


def test_custom_parser_from_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "infer_test_parsers.py").write_text("def parse(layers, context):\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert load_parser("infer_test_parsers:parse", None)({}, context(1)) == 1
    finally:
        sys.modules.pop("infer_test_parsers", None)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_module_x:f", "cannot import no_such_module_x: ModuleNotFoundError"),
        ("gone.py:f", "FileNotFoundError: no such file"),
        ("broken.py:f", "cannot import broken.py: SyntaxError"),
        ("raises.py:f", "cannot import raises.py: ZeroDivisionError"),
        ("raises_not.py:g", "has no function 'g'"),
        ("raises_not.py:x", "has no function 'x'"),
    ],
)
def test_a_parser_that_cannot_be_loaded(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    (tmp_path / "raises_not.py").write_text("x = 1\n")
    with pytest.raises(ConfigError, match=message):
        load_parser(spec, tmp_path)


def test_a_parser_that_raises() -> None:
    def parser(layers: Any, context: Any) -> Any:
        return layers["gone"]

    with pytest.raises(ParserError, match=r"parser my:f raised KeyError: 'gone'") as caught:
        call_parser("my:f", parser, {}, context(1))
    assert isinstance(caught.value.__cause__, KeyError)


ONE = np.ones((1, 4))
NOT_DETECTIONS: list[tuple[Any, str]] = [
    (None, "returned NoneType, not detections"),
    ([ONE, [1], [0]], "returned list"),
    ((ONE, [1]), "returned 2 values, not 3"),
    ((np.ones((2, 4)), [1], [0]), r"boxes of shape \[2, 4\], not \[n, 4\] with n = 1"),
    ((np.ones(4), [1], [0]), r"boxes of shape \[4\]"),
    ((np.ones((1, 5)), [1], [0]), r"boxes of shape \[1, 5\]"),
    ((ONE, [[1]], [0]), r"scores of shape \[1, 1\], not \[n\]"),
    ((ONE, [1], [0, 1]), r"class_ids of shape \[2\]"),
    ((ONE, ["x"], [0]), "no array of numbers"),
    ((ONE, [1], ["x"]), "class_ids of type"),
    ((ONE, [1], [-1]), "whole numbers from 0"),
    ((ONE, [1], [0.5]), "whole numbers from 0"),
    ((ONE, [np.nan], [0]), "NaN or infinity in scores, row 0"),
    ((np.array([[0, 0, 1, 1], [0, np.inf, 1, 1]]), [1, 1], [0, 0]), "infinity in boxes, row 1"),
    ((np.array([[5, 5, -1, 1]]), [1], [0]), "negative width or height in boxes, row 0"),
]


@pytest.mark.parametrize(("result", "message"), NOT_DETECTIONS)
def test_what_is_not_detections_is_refused(result: Any, message: str) -> None:
    with pytest.raises(ParserError, match=message) as caught:
        check_result("my:f", result)
    assert "parser my:f" in caught.value.message


def test_what_is_detections_is_taken() -> None:
    assert len(check_result("f", ([], [], []))) == 0
    assert len(check_result("f", (np.zeros((0, 4)), np.zeros(0), np.zeros(0)))) == 0
    found = check_result("f", ([[1, 2, 3, 4]], [0.5], np.array([2.0])))
    assert found.class_ids.dtype == np.int64
    assert found.boxes.dtype == found.scores.dtype == np.float32
    assert rows(check_result("f", found)) == [(2, 0.5, [1, 2, 3, 4])]
