"""dsinfer as a classifier in pipelines: on objects, on frames, asynchronous, and failing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
from pipelines import launch, play, texts

import dselements as ds

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "infer"))
from classifier_models import CONFIG, save_classifier

SOURCE = (
    "videotestsrc num-buffers={n} pattern=red ! video/x-raw,format={format},width=64,height=48 ! "
)


def run(text: str, **calls: Any) -> tuple[list[list[str]], list[str]]:
    rows: list[list[str]] = []

    def look(batch: ds.Batch) -> None:
        rows.append(
            [" ".join(x.result_label for c in o.classifiers for x in c.labels)
             for o in batch.objects]
        )  # fmt: skip

    pipeline = launch(f"{text} ! testlook name=look ! fakesink", look=look, **calls)
    return rows, texts(play(pipeline))


@pytest.mark.parametrize("format", ["RGBA", "BGR", "NV12"])
def test_objects_from_upstream_are_classified(tmp_path: Path, format: str) -> None:
    config = save_classifier(tmp_path)
    rows, problems = run(
        SOURCE.format(n=5, format=format)
        + f"dssynth num-objects=3 ! dsinfer config-file-path={config}"
    )
    assert problems == []
    assert rows == [["red dark"] * 3] * 5


def test_two_models_one_after_the_other(tmp_path: Path) -> None:
    """The second one takes only the objects that the first one made, by its unique id."""
    whole = tmp_path / "whole"
    whole.mkdir()
    first = save_classifier(whole, CONFIG.replace("process-mode=2", "process-mode=1"))
    second = save_classifier(tmp_path, CONFIG.replace("gie-unique-id=5", "gie-unique-id=6"))
    rows, problems = run(
        SOURCE.format(n=3, format="RGBA")
        + f"dssynth num-objects=2 ! dsinfer config-file-path={first} "
        f"! dsinfer config-file-path={second} infer-on-gie-id=5"
    )
    assert problems == []
    assert [sorted(row) for row in rows] == [["", "", "red dark red dark"]] * 3


def test_classes_by_property(tmp_path: Path) -> None:
    config = save_classifier(tmp_path)
    seen: list[tuple[int, bool]] = []

    def classes(batch: ds.Batch) -> None:
        seen.extend((o.class_id, len(o.classifiers) > 0) for o in batch.objects)

    _rows, problems = run(
        SOURCE.format(n=3, format="RGBA")
        + f"dssynth num-objects=6 classes=a,b,c ! dsinfer config-file-path={config} "
        "infer-on-class-ids=0:2 ! testlook name=more",
        more=classes,
    )
    assert problems == []
    assert {class_id for class_id, _ in seen} == {0, 1, 2}
    assert all(classified == (class_id != 1) for class_id, classified in seen)


def test_async_gives_results_to_later_frames(tmp_path: Path) -> None:
    config = save_classifier(tmp_path, CONFIG + "classifier-async-mode=1\n")
    rows, problems = run(
        SOURCE.format(n=40, format="RGBA").replace("videotestsrc", "videotestsrc is-live=true")
        + f"dssynth num-objects=2 ! dsinfer config-file-path={config}"
    )
    assert problems == []
    assert len(rows) == 40
    assert rows[0] == ["", ""]
    assert rows[-1] == ["red dark"] * 2


def test_a_parser_that_fails_follows_the_policy(tmp_path: Path) -> None:
    config = save_classifier(tmp_path)
    (tmp_path / "mine.py").write_text("def broken(layers, context):\n    return 1 / 0\n")
    text = (
        SOURCE.format(n=3, format="RGBA")
        + f"dssynth num-objects=1 ! dsinfer config-file-path={config} parser=mine.py:broken"
    )
    rows, problems = run(f"{text} on-error=pass")
    assert rows == [[""]] * 3
    assert "parser mine.py:broken raised ZeroDivisionError" in problems[0]
    rows, problems = run(text)
    assert rows == []
    assert problems[0].startswith("error: Infer.process: ParserError: parser mine.py:broken")
