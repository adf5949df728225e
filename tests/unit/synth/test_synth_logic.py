"""Synthetic objects and scripted ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from dselements.elements.synth.logic import Scene, Script, bounced
from dselements.elements.synth.settings import SynthSettings
from dselements.errors import ConfigError, PropertyValueError
from dselements.meta.jsonl import FrameRecord, ObjectRecord


def test_bouncing() -> None:
    position = np.array([0.0, 3.0, 10.0, 12.0, 20.0, 23.0, -4.0])
    assert bounced(position, np.float64(10)).tolist() == [0, 3, 10, 8, 0, 3, 4]
    assert bounced(np.array([5.0]), np.float64(0)).tolist() == [0]


@pytest.mark.parametrize("jitter", [0.0, 30.0])
def test_boxes_stay_inside_and_move(jitter: float) -> None:
    settings = SynthSettings(num_objects=50, max_size=300, speed=17, jitter=jitter)
    scene = Scene(settings, 3, 200, 100)
    last = None
    for number in (*range(40), 10**6):
        rect = scene.at(number).rect
        assert rect.shape == (50, 4)
        assert (rect[:, :2] >= 0).all()
        assert (rect[:, 0] + rect[:, 2] <= 200 + 1e-6).all()
        assert (rect[:, 1] + rect[:, 3] <= 100 + 1e-6).all()
        assert (rect[:, 2:] > 0).all()
        assert last is None or not np.array_equal(rect, last)
        last = rect


def test_the_same_seed_gives_the_same_objects_in_any_order() -> None:
    settings = SynthSettings(seed=7, jitter=2.0)
    forward = [Scene(settings, 0, 64, 48).at(n).rect for n in range(5)]
    scene = Scene(settings, 0, 64, 48)
    backward = [scene.at(n).rect for n in reversed(range(5))][::-1]
    np.testing.assert_array_equal(forward, backward)
    other = Scene(SynthSettings(seed=8, jitter=2.0), 0, 64, 48).at(0).rect
    assert not np.array_equal(forward[0], other)
    assert not np.array_equal(forward[0], Scene(settings, 1, 64, 48).at(0).rect)


def test_confidences_and_classes_are_in_range() -> None:
    settings = SynthSettings(num_objects=200, min_confidence=0.4, max_confidence=0.5)
    objects = Scene(settings, 0, 640, 480).at(0)
    assert (objects.confidence >= 0.4).all()
    assert (objects.confidence <= 0.5).all()
    assert set(objects.class_id.tolist()) == {0, 1, 2}
    assert objects.object_id.tolist() == list(range(1, 201))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"classes": " , "}, "classes is empty"),
        ({"classes": "a", "min_size": 9, "max_size": 5}, "min-size 9 is above max-size 5"),
        ({"classes": "a", "min_confidence": 0.9, "max_confidence": 0.1}, "above max-confidence"),
    ],
)
def test_wrong_values_are_named(values: dict[str, object], told: str) -> None:
    with pytest.raises(PropertyValueError, match=told):
        SynthSettings.parse(**values)


def record(frame: int, source: int) -> FrameRecord:
    one = ObjectRecord(0, "x", 0.5, None, 1, 2, 3, 4)
    return FrameRecord(1, frame, source, source, None, 64, 48, [one] * frame)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "objects.jsonl"
    order = [(0, 0), (0, 1), (1, 1), (1, 0), (2, 1)]
    path.write_bytes(b"\n".join(msgspec.json.encode(record(*pair)) for pair in order) + b"\n")
    return path


def frames(script: Script, sources: list[int]) -> list[int | None]:
    found = [script.next(source) for source in sources]
    return [None if r is None else r.frame for r in found]


def test_records_are_handed_out_by_source(path: Path) -> None:
    assert frames(Script(path, loop=False), [1, 0, 0, 1, 1, 1, 0, 5]) == [
        0, 0, 1, 1, 2, None, None, None
    ]  # fmt: skip


def test_loop_begins_again(path: Path) -> None:
    assert frames(Script(path, loop=True), [0, 0, 0, 0, 9]) == [0, 1, 0, 1, None]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "truncated"),
        ("[]", "object"),
        ('{"v": 2}', "missing required field"),
        (msgspec.json.encode(record(0, 0)).decode().replace('"v":1', '"v":9'), "version 9"),
        ('{"v":1,"frame":0,"source_id":0,"pad_index":0,"pts":null,"width":1,"height":1,'
         '"objects":[{"class_id":0,"label":"x","confidence":1,"object_id":"-1","left":0,"top":0,'
         '"width":1,"height":1}]}', "object_id '-1'"),
        ('{"v":1,"frame":0,"source_id":0,"pad_index":0,"pts":null,"width":1,"height":1,'
         '"objects":[{"class_id":0,"label":"x","confidence":1,"object_id":null,"left":0,"top":0,'
         '"width":-1,"height":1}]}', "negative size"),
        ('{"v":1,"surprise":0}', "surprise"),
    ],
)  # fmt: skip
def test_a_malformed_line_is_named(path: Path, line: str, told: str) -> None:
    path.write_text(path.read_text() + "\n" + line + "\n")
    script = Script(path, loop=False)
    with pytest.raises(ConfigError, match=told) as caught:
        frames(script, [0] * 9)
    assert caught.value.message.startswith(f"{path}:7: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.jsonl: cannot be read: No such file"):
        Script(tmp_path / "nothing.jsonl", loop=False)
