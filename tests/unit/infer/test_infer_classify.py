"""The classifier: attributes, its parsers, and the objects it works on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
from classifier_models import CONFIG, save_classifier

from dselements.elements.infer.attributes import Attribute, check_attributes, strongest
from dselements.elements.infer.classify import Classifier
from dselements.elements.infer.history import FORGET_AFTER, TIDY_EVERY, History
from dselements.elements.infer.network import Pixels
from dselements.elements.infer.secondary import FrameClassifier, ObjectClassifier, crop
from dselements.elements.infer.settings import load_settings
from dselements.errors import ConfigError, ModelError, ParserError
from dselements.meta import UNTRACKED, Batch

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def image(color: tuple[int, int, int], width: int = 12, height: int = 10) -> Pixels:
    return Pixels(np.full((height, width, 3), color, np.uint8), "RGB")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return save_classifier(tmp_path)


@pytest.fixture
def classifier(config: Path) -> Iterator[Classifier]:
    made = Classifier(load_settings(config))
    yield made
    made.close()


# -- images ------------------------------------------------------------------------
def test_each_output_is_an_attribute_with_its_strongest_class(classifier: Classifier) -> None:
    found = classifier.classify([image(BLUE), image((255, 255, 255)), image((0, 0, 0))])
    # Blue: the colour is certain; dark is 2/3. White: the first of equal colours. Black: none.
    assert found[0] == (
        Attribute(0, 2, pytest.approx(1), "blue"),
        Attribute(1, 0, pytest.approx(2 / 3, abs=1e-5), "dark"),
    )
    assert [a.result_label for a in found[1]] == ["red", "bright"]
    assert found[2] == (Attribute(1, 0, pytest.approx(1), "dark"),)
    assert (classifier.model.inferences, classifier.model.inferred_frames) == (2, 3)  # 2 + 1


def test_only_above_the_threshold(config: Path, tmp_path: Path) -> None:
    config.write_text(CONFIG.replace("threshold=0.5", "threshold=0.7"))
    made = Classifier(load_settings(config))
    assert [a.result_label for a in made.classify([image(BLUE)])[0]] == ["blue"]
    made.close()


def test_labels_that_are_missing_are_empty(config: Path) -> None:
    (config.parent / "labels.txt").write_text("red;green\n")
    made = Classifier(load_settings(config))
    assert [a.result_label for a in made.classify([image(BLUE)])[0]] == ["", ""]
    made.close()


def test_a_parser_of_ones_own(config: Path) -> None:
    (config.parent / "mine.py").write_text(
        "def own(layers, context):\n"
        "    assert context.labels[0] == ('red', 'green', 'blue') and context.network_width == 8\n"
        "    best = layers['color'].argmax()\n"
        "    return [(0, best, layers['color'].max()), (7, 1, 0.25, 'mine')]\n"
        "def broken(layers, context):\n    raise KeyError('no such layer')\n"
    )
    made = Classifier(load_settings(config, {"parser": "mine.py:own"}))
    assert made.classify([image(GREEN)]) == [
        (Attribute(0, 1, pytest.approx(1), "green"), Attribute(7, 1, 0.25, "mine"))
    ]
    made.close()
    made = Classifier(load_settings(config, {"parser": "mine.py:broken"}))
    with pytest.raises(ParserError, match=r"mine.py:broken raised KeyError"):
        made.classify([image(GREEN)])
    made.close()
    with pytest.raises(ConfigError, match="no function 'none'"):
        Classifier(load_settings(config, {"parser": "mine.py:none"}))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "NoneType, not attributes"),
        ("red", "str, not attributes"),
        ([(0, 1)], "missing"),
        ([(0, 1.5, 0.5)], "float"),
        ([(0, -1, 0.5)], "ids count from 0"),
        ([(0, 1, float("nan"))], "not finite"),
        ([(0, 1, 0.5, 3)], "label is not a str"),
    ],
)
def test_what_is_no_attribute_is_named(answer: Any, text: str) -> None:
    with pytest.raises(ParserError, match=text):
        check_attributes("own", answer, [])


def test_nan_of_the_network_is_an_error(classifier: Classifier) -> None:
    layers = {"color": np.array([0.1, np.nan])}
    with pytest.raises(ParserError, match="output color holds NaN"):
        strongest(layers, classifier.context)


# -- boxes ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rect", "part"),
    [
        ((2, 4, 6, 4), (2, 4, 6, 4)),
        ((1, 3, 5, 5), (2, 4, 4, 4)),  # up to even, down to even
        ((-4, -4, 8, 8), (0, 0, 4, 4)),
        ((8, 6, 100, 100), (8, 6, 4, 4)),
        ((12, 0, 5, 5), None),
        ((0, 0, 1.5, 8), None),
        ((-20, 0, 10, 8), None),
    ],
)
def test_crops_are_even_and_inside(rect: Any, part: Any) -> None:
    array = np.arange(10 * 12).reshape(10, 12).astype(np.uint8)
    found = crop(Pixels(array, "GRAY8"), rect)
    if part is None:
        assert found is None
    else:
        left, top, width, height = part
        assert found is not None
        np.testing.assert_array_equal(found.array, array[top : top + height, left : left + width])


# -- objects ---------------------------------------------------------------------------
class Scene:
    """Frames of three vertical stripes, red, green and blue, 8 pixels wide each."""

    def __init__(self) -> None:
        self.opened = 0
        self.array = np.zeros((16, 24, 3), np.uint8)
        for i, color in enumerate((RED, GREEN, BLUE)):
            self.array[:, 8 * i : 8 * i + 8] = color

    @contextlib.contextmanager
    def __call__(self, frame: Any) -> Iterator[Pixels]:
        self.opened += 1
        yield Pixels(self.array, "RGB")


def stripe(i: int, **more: Any) -> dict[str, Any]:
    return {"rect": (8 * i, 2, 8, 8), "object_id": UNTRACKED, "label": "thing", **more}


def batch_of(*objects: dict[str, Any], frame_num: int = 0) -> Batch:
    return Batch.synthetic([{"source_id": 3, "frame_num": frame_num, "objects": objects}])


def labels_of(batch: Batch) -> list[list[str]]:
    return [[x.result_label for c in o.classifiers for x in c.labels] for o in batch.objects]


def test_objects_get_a_classifier_meta_and_their_text(classifier: Classifier) -> None:
    work, scene = ObjectClassifier(classifier), Scene()
    with batch_of(stripe(0), stripe(2)) as batch:
        work(batch, scene)
        batch.commit()
        assert labels_of(batch) == [["red", "dark"], ["blue", "dark"]]
        first = batch.objects[0]
        (result,) = first.classifiers
        assert (result.unique_component_id, result.classifier_type) == (5, "look")
        assert [(x.label_id, x.result_class_id) for x in result.labels] == [(0, 0), (1, 0)]
        assert result.labels[0].result_prob == pytest.approx(1)
        assert first.display_text == "thing red dark"
    assert scene.opened == 1, "one frame is opened once"


def test_only_the_objects_that_were_asked_for(config: Path) -> None:
    config.write_text(
        CONFIG
        + "operate-on-gie-id=2\noperate-on-class-ids=0;4\ninput-object-min-width=6\n"
        + "input-object-max-height=12\n"
    )
    classifier = Classifier(load_settings(config))
    good = {"unique_component_id": 2, "class_id": 4}
    with batch_of(
        stripe(0, **good),
        stripe(0, **good | {"class_id": 3}),
        stripe(0, **good | {"unique_component_id": 1}),
        stripe(0, **good) | {"rect": (0, 0, 4, 8)},
        stripe(0, **good) | {"rect": (0, 0, 8, 14)},
        stripe(1, **good | {"class_id": 0}),
    ) as batch:
        ObjectClassifier(classifier)(batch, Scene())
        assert [bool(names) for names in labels_of(batch)] == [True] + [False] * 4 + [True]
    classifier.close()


def test_tracked_objects_are_looked_at_again_only_when_due(config: Path) -> None:
    config.write_text(CONFIG + "secondary-reinfer-interval=3\n")
    classifier = Classifier(load_settings(config))
    work, scene = ObjectClassifier(classifier), Scene()
    looked = []
    for n in range(10):
        # It grows by more than a fifth in frame 6.
        rect = (0, 2, 8, 8) if n < 6 else (0, 2, 8, 12)
        before = classifier.model.inferred_frames
        with batch_of(stripe(0, object_id=9) | {"rect": rect}, frame_num=n) as batch:
            work(batch, scene)
            assert labels_of(batch) == [["red", "dark"]]
        if classifier.model.inferred_frames > before:
            looked.append(n)
    assert looked == [0, 4, 6]
    classifier.close()


def test_an_object_outside_the_frame_is_no_error(classifier: Classifier) -> None:
    with batch_of(stripe(0) | {"rect": (200, 0, 8, 8)}, stripe(1)) as batch:
        ObjectClassifier(classifier)(batch, Scene())
        assert labels_of(batch) == [[], ["green", "dark"]]


def test_frames_get_an_object_of_their_size(config: Path) -> None:
    config.write_text(CONFIG.replace("process-mode=2", "process-mode=1"))
    classifier = Classifier(load_settings(config))
    work = FrameClassifier(classifier)

    @contextlib.contextmanager
    def opened(frame: Any) -> Iterator[Pixels]:
        yield image(RED if frame.source_id == 0 else GREEN)

    specs = [
        {"source_id": i, "pipeline_width": 12, "pipeline_height": 10, "objects": []} for i in (0, 1)
    ]
    with Batch.synthetic(specs) as batch:
        work(batch, opened)
        batch.commit()
        assert labels_of(batch) == [["red", "dark"], ["green", "dark"]]
        for frame in batch.frames:
            (obj,) = frame.objects
            assert obj.rect == (0, 0, 12, 10)
            assert (obj.class_id, obj.object_id, obj.unique_component_id) == (-1, UNTRACKED, 5)
            assert frame.bInferDone
    classifier.close()


# -- asynchronous ----------------------------------------------------------------------
class Gate:
    """A backend that waits for the test before each run."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.inputs, self.outputs = inner, inner.inputs, inner.outputs
        self.go = threading.Semaphore(0)
        self.error: Exception | None = None

    def run(self, inputs: Any) -> Any:
        assert self.go.acquire(timeout=20)
        if self.error is not None:
            raise self.error
        return self.inner.run(inputs)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def later(config: Path) -> Iterator[tuple[ObjectClassifier, Gate]]:
    from dselements.backends import open_backend

    config.write_text(CONFIG + "classifier-async-mode=1\n")
    settings = load_settings(config)
    gate = Gate(open_backend(settings.onnx_file))
    work = ObjectClassifier(Classifier(settings, gate))
    yield work, gate
    gate.error = None
    for _ in range(100):
        gate.go.release()
    work.close()
    gate.close()


def see(work: ObjectClassifier, n: int, *objects: dict[str, Any]) -> list[list[str]]:
    with batch_of(*objects, frame_num=n) as batch:
        work(batch, Scene())
        return labels_of(batch)


def settle(work: ObjectClassifier) -> None:
    for future in list(work._waiting):
        future.exception(timeout=20)


def test_async_results_come_with_a_later_frame(later: tuple[ObjectClassifier, Gate]) -> None:
    work, gate = later
    tracked, loose = stripe(0, object_id=1), stripe(1)
    assert see(work, 0, tracked, loose) == [[], []]
    assert see(work, 1, tracked, loose) == [[], []], "it is being looked at: not once more"
    gate.go.release()
    settle(work)
    assert see(work, 2, tracked, loose) == [["red", "dark"], []]
    assert gate.inner


def test_async_errors_come_with_the_next_call(later: tuple[ObjectClassifier, Gate]) -> None:
    work, gate = later
    gate.error = ModelError("the engine broke")
    assert see(work, 0, stripe(0, object_id=1)) == [[]]
    gate.go.release()
    settle(work)
    with pytest.raises(ModelError, match="the engine broke"):
        see(work, 1, stripe(0, object_id=1))
    gate.error = None
    gate.go.release()
    see(work, 2, stripe(0, object_id=2))
    settle(work)
    assert see(work, 3, stripe(0, object_id=2)) == [["red", "dark"]]


def test_async_waiting_is_bounded_and_counted(later: tuple[ObjectClassifier, Gate]) -> None:
    work, _ = later
    for n in range(10):
        see(work, n, stripe(0, object_id=n))
    assert len(work._waiting) == 4
    assert work.skipped == 6


# -- history -----------------------------------------------------------------------------
def test_what_was_not_seen_for_long_is_forgotten() -> None:
    history = History(0)
    history.see(0, 1, 0)
    for n in range(TIDY_EVERY + FORGET_AFTER + 2):
        history.see(0, 2, n)
        history.see(1, 1, n)
    assert len(history) == 2


def test_a_stream_that_begins_again_begins_with_nothing() -> None:
    history = History(100)
    known = history.see(0, 1, 50)
    known.looked_at = 50
    assert not history.due(known, 51, 0)
    again = history.see(0, 1, 0)
    assert again is not known
    assert history.due(again, 0, 0)
