"""supervision and Arrow."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dselements.errors import MetadataValueError, MissingExtraError, NonFiniteValueError
from dselements.meta import UNTRACKED, Batch
from dselements.meta.convert import ROW_KEY


class Detections:
    """The part of supervision.Detections that is used; the real one where it is installed."""

    def __init__(self, xyxy: Any, confidence: Any = None, class_id: Any = None,
                 tracker_id: Any = None, data: Any = None) -> None:  # fmt: skip
        self.xyxy, self.confidence, self.class_id = xyxy, confidence, class_id
        self.tracker_id, self.data = tracker_id, {} if data is None else data

    def __len__(self) -> int:
        return len(self.xyxy)

    def __getitem__(self, index: Any) -> Detections:
        def pick(x: Any) -> Any:
            return None if x is None else x[index]

        data = {key: values[index] for key, values in self.data.items()}
        rest = [pick(x) for x in (self.confidence, self.class_id, self.tracker_id)]
        return Detections(self.xyxy[index], *rest, data)


@pytest.fixture
def sv(monkeypatch: pytest.MonkeyPatch) -> Any:
    try:
        import supervision
    except ImportError:
        supervision = ModuleType("supervision")
        supervision.Detections = Detections  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "supervision", supervision)
    return supervision


@pytest.fixture
def batch() -> Iterator[Batch]:
    made = Batch.synthetic(
        [
            {"source_id": 5, "objects": [
                {"rect": (10, 20, 30, 40), "class_id": 1, "label": "car", "confidence": 0.25,
                 "object_id": 2**63 + 5, "payloads": {"k": 1}},
                {"rect": (1, 2, 3, 4), "class_id": 2, "label": "dog", "confidence": 0.5},
            ]},
            {"source_id": 6, "objects": [{"rect": (0, 0, 5, 5), "label": "cat"}]},
        ]
    )  # fmt: skip
    yield made
    made.close()


def test_detections_of_a_frame(batch: Batch, sv: Any) -> None:
    d = batch.to_supervision(batch.frames[0])
    assert isinstance(d, sv.Detections)
    assert d.xyxy.tolist() == [[10, 20, 40, 60], [1, 2, 4, 6]]
    assert d.confidence.tolist() == [0.25, 0.5]
    assert d.class_id.tolist() == [1, 2]
    assert d.tracker_id.tolist() == [-(2**63) + 5, -1]
    assert d.data["class_name"].tolist() == ["car", "dog"]
    assert len(batch.to_supervision()) == 3
    assert batch.to_supervision(batch.frames[1]).tracker_id is None


def test_detections_go_back_to_their_objects(batch: Batch, sv: Any) -> None:
    batch.objects[1].remove()
    frame = batch.frames[0]
    frame.add_object((7, 7, 7, 7), label="new", class_id=8)
    d = batch.to_supervision(frame)
    d = d[np.array([1, 0])]  # another order
    d.xyxy = d.xyxy + np.float32(1)
    d.tracker_id = np.array([77, -1])
    d.class_id = np.array([9, 3])
    batch.from_supervision(frame, d)
    batch.commit()
    new = Batch(batch.address)
    a, b = new.frames[0].objects
    assert (a.label, a.rect, a.class_id, a.object_id) == ("new", (8, 8, 7, 7), 9, 77)
    assert (b.label, b.rect, b.class_id, b.object_id) == ("car", (11, 21, 30, 40), 3, UNTRACKED)
    assert dict(b.payloads) == {"k": 1}
    assert [o.label for o in new.frames[1].objects] == ["cat"]


def test_missing_detections_remove_and_new_ones_add(batch: Batch, sv: Any) -> None:
    frame = batch.frames[0]
    d = batch.to_supervision(frame)
    mixed = sv.Detections(
        xyxy=np.array([[0, 0, 4, 2], d.xyxy[1]]),
        confidence=np.array([0.75, 0.5]),
        class_id=np.array([4, 2]),
        data={"class_name": np.array(["bus", "dog"]), ROW_KEY: np.array([-1, d.data[ROW_KEY][1]])},
    )
    batch.from_supervision(frame, mixed, unique_component_id=6)
    batch.commit()
    bus, dog = Batch(batch.address).frames[0].objects
    assert (bus.label, bus.rect, bus.class_id, bus.confidence) == ("bus", (0, 0, 4, 2), 4, 0.75)
    assert (bus.unique_component_id, bus.display_text) == (6, "bus")
    assert (dog.label, dog.unique_component_id) == ("dog", 0)


def test_detections_of_another_library_replace_the_frame(batch: Batch, sv: Any) -> None:
    batch.from_supervision(batch.frames[0], sv.Detections(xyxy=np.array([[1, 1, 3, 4.0]])))
    batch.commit()
    (only,) = Batch(batch.address).frames[0].objects
    assert (only.rect, only.label, only.confidence, only.tracked) == ((1, 1, 2, 3), "", 1, False)
    batch.from_supervision(batch.frames[0], sv.Detections(xyxy=np.empty((0, 4))))
    batch.commit()
    assert len(Batch(batch.address).frames[0].objects) == 0


def test_wrong_detections_change_nothing(batch: Batch, sv: Any) -> None:
    frame, other = batch.frames
    theirs = batch.to_supervision(other)
    with pytest.raises(MetadataValueError, match="names object 2, which frame 0 does not hold"):
        batch.from_supervision(frame, theirs)
    twice = batch.to_supervision(frame)[np.array([0, 0])]
    with pytest.raises(MetadataValueError, match="same object"):
        batch.from_supervision(frame, twice)
    d = batch.to_supervision(frame)
    d.xyxy[0, 0] = np.nan
    with pytest.raises(NonFiniteValueError):
        batch.from_supervision(frame, d)
    batch.commit()
    assert Batch(batch.address).objects.label.tolist() == ["car", "dog", "cat"]


def test_an_arrow_table_has_every_column(batch: Batch) -> None:
    pytest.importorskip("pyarrow")
    batch.objects[0].border_color = (0, 0.5, 1, 1)
    batch.objects[0].remove()
    batch.frames[1].add_object((7, 8, 9, 10), label="new", display=False)
    t = batch.to_arrow()
    d = t.to_pydict()
    assert d["label"] == ["dog", "cat", "new"]
    assert d["frame_index"] == [0, 1, 1]
    assert d["source_id"] == [5, 6, 6]
    assert d["left"] == [1, 0, 7]
    assert d["height"] == [4, 5, 10]
    assert d["object_id"] == [UNTRACKED] * 3
    assert d["display_text"] == ["dog", "cat", None]
    assert d["border_color"] == [[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]
    assert str(t.schema.field("object_id").type) == "uint64"
    assert t.num_rows == 3
    with Batch.synthetic([]) as empty:
        assert empty.to_arrow().num_rows == 0
        assert empty.to_arrow().schema == t.schema


def test_missing_libraries_are_named(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] in ("pyarrow", "supervision"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    for name in ("pyarrow", "supervision"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(builtins, "__import__", no)
    with pytest.raises(MissingExtraError, match=r"pip install 'dselements\[supervision\]'"):
        batch.to_supervision()
    with pytest.raises(MissingExtraError, match=r"pip install 'dselements\[arrow\]'"):
        batch.to_arrow()
