"""Columns: every field goes to the native metadata and comes back, and reading stays lazy."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dselements._core import _native, load
from dselements.errors import MetadataValueError, StaleMetadataError, UnsupportedFieldError
from dselements.meta import UNTRACKED, Batch, Objects
from dselements.meta.fields import BATCH_COLUMNS, FRAME_COLUMNS, OBJECT_COLUMNS, Column
from dselements.meta.objects import _COMPUTED, _OTHERS, _PARTS


@pytest.fixture
def batch() -> Iterator[Batch]:
    """Two frames of two and one objects."""
    with Batch.synthetic(
        [
            {
                "source_id": 5,
                "frame_num": 70,
                "pad_index": 2,
                "objects": [
                    {"rect": (10, 20, 30, 40), "class_id": 1, "label": "car", "confidence": 0.25},
                    {"rect": (1, 2, 3, 4), "class_id": 2, "label": "dog", "object_id": 7},
                ],
            },
            {"source_id": 6, "objects": [{"rect": (50, 60, 70, 80), "label": "car"}]},
        ]
    ) as made:
        yield made


def again(batch: Batch) -> Batch:
    """Another Batch on the same native metadata: what it reads was really written."""
    return Batch(batch.address)


def sample(column: Column, seed: int) -> Any:
    """A value that no other field or row has, near the ends of the column's range."""
    if column.dtype.kind == "f":
        values = [seed + 0.25 + i / 8 for i in range(column.width)]
    else:
        assert column.low_high is not None
        low, high = column.low_high
        values = [(high if i % 2 else low) + (-seed - i if i % 2 else seed + i) for i in range(4)]
        values = values[: column.width]
    return values[0] if column.width == 1 else tuple(values)


@pytest.mark.parametrize("name", OBJECT_COLUMNS)
def test_an_object_field_set_on_a_handle_is_read_back(batch: Batch, name: str) -> None:
    column = OBJECT_COLUMNS[name]
    wanted = [sample(column, seed) for seed in (1, 11, 21)]
    for obj, value in zip(batch.objects, wanted, strict=True):
        setattr(obj, name, value)
    batch.commit()
    new = again(batch)
    found = [getattr(obj, name) for obj in new.objects]
    if name in ("has_bg_color", "text_has_bg"):
        assert found == [True] * 3
    else:
        assert found == wanted
    assert getattr(new.objects, name).tolist() == [
        list(v) if isinstance(v, tuple) else v for v in wanted
    ]
    others = {n for n in OBJECT_COLUMNS if n != name}
    fresh = Batch.synthetic([{"objects": [{"rect": (10, 20, 30, 40), "class_id": 1, "label": "car",
                                           "confidence": 0.25}]}])  # fmt: skip
    with fresh:
        for other in others:
            assert getattr(new.objects[0], other) == getattr(fresh.objects[0], other), other


@pytest.mark.parametrize("name", OBJECT_COLUMNS)
def test_an_object_column_is_written_only_where_it_changed(batch: Batch, name: str) -> None:
    column = OBJECT_COLUMNS[name]
    before = getattr(again(batch).objects, name).tolist()
    value = sample(column, 3)
    getattr(batch.objects, name)[1] = value
    batch.commit()
    after = getattr(again(batch).objects, name).tolist()
    assert after[1] == (list(value) if isinstance(value, tuple) else value)
    assert (after[0], after[2]) == (before[0], before[2])


@pytest.mark.parametrize("name", [n for n, c in FRAME_COLUMNS.items() if c.writable])
def test_a_frame_field_is_read_back(batch: Batch, name: str) -> None:
    column = FRAME_COLUMNS[name]
    value = sample(column, 4)
    setattr(batch.frames[1], name, value)
    batch.commit()
    found = getattr(again(batch).frames[1], name)
    assert found == (True if name == "bInferDone" else value)
    column_now = getattr(again(batch).frames, name)
    assert not column_now.flags.writeable
    assert column_now.shape == (2, *column.shape)


def test_counted_fields_cannot_be_set(batch: Batch) -> None:
    frame = batch.frames[0]
    assert frame.num_obj_meta == 2
    with pytest.raises(AttributeError):
        frame.num_obj_meta = 9  # type: ignore[misc]
    assert [c.name for c in BATCH_COLUMNS.values() if c.writable] == ["misc_batch_info"]


def test_batch_fields(batch: Batch) -> None:
    assert batch.max_frames == 2
    batch.misc_batch_info = (1, -2, 2**62, -(2**63))
    batch.commit()
    assert again(batch).misc_batch_info == (1, -2, 2**62, -(2**63))
    with pytest.raises(MetadataValueError, match="9223372036854775808"):
        batch.misc_batch_info = (2**63, 0, 0, 0)


def test_the_bytes_lie_where_nvidias_headers_put_them(batch: Batch) -> None:
    """Offsets of NvDsObjectMeta as measured on the 9.x library, read past our own tables."""
    obj = batch.objects[1]
    obj.class_id, obj.object_id, obj.confidence = -3, 2**63 + 1, 0.75
    obj.rect, obj.label = (1.5, 2.5, 3.5, 4.5), "Straßenbahn"
    batch.commit()
    address = np.frombuffer(_native.Snapshot(batch.address).object_address, np.uint64)
    raw = _native.read_memory(int(address[1]), 552)
    assert batch.family == "ds9"
    assert struct.unpack_from("<i", raw, 52) == (-3,)
    assert struct.unpack_from("<Q", raw, 56) == (2**63 + 1,)
    assert struct.unpack_from("<f", raw, 96) == (0.75,)
    assert struct.unpack_from("<4f", raw, 104) == (1.5, 2.5, 3.5, 4.5)
    assert raw[344:472].rstrip(b"\0") == "Straßenbahn".encode()


@pytest.mark.parametrize("name", ["label", "display_text", "font_name"])
def test_texts_are_read_back(batch: Batch, name: str) -> None:
    o = batch.objects
    getattr(o, name)[:] = ["ä" * 20, "x", "日本"]
    batch.commit()
    assert getattr(again(batch).objects, name).tolist() == ["ä" * 20, "x", "日本"]
    setattr(batch.objects[0], name, "y")
    batch.commit()
    assert getattr(again(batch).objects, name).tolist() == ["y", "x", "日本"]


def test_a_shorter_label_leaves_nothing_of_the_longer(batch: Batch) -> None:
    batch.objects[0].label = "truck"
    batch.commit()
    batch.objects[0].label = "car"
    batch.commit()
    assert again(batch).objects[0].label == "car"


def test_display_text_can_be_taken_away(batch: Batch) -> None:
    batch.objects[0].display_text = None
    batch.commit()
    assert again(batch).objects.display_text.tolist() == [None, "dog", "car"]


def test_added_objects_look_as_nvinfer_makes_them(batch: Batch) -> None:
    batch.frames[1].add_object((100.9, 5, 20, 30), class_id=3, confidence=0.5, label="bus")
    batch.commit()
    obj = again(batch).frames[1].objects[0]  # newest first in the frame's list
    assert (obj.label, obj.display_text, obj.class_id) == ("bus", "bus", 3)
    assert obj.object_id == UNTRACKED
    assert not obj.tracked
    assert obj.confidence == 0.5
    assert obj.border_width == 3
    assert obj.border_color == (1, 0, 0, 1)
    assert (obj.text_x, obj.text_y) == (100, 0)  # ten above the box, but not above the frame
    assert (obj.font_name, obj.font_size) == ("Serif", 11)
    assert obj.font_color == (1, 1, 1, 1)
    assert obj.text_has_bg
    assert obj.text_bg_color == (0, 0, 0, 1)
    assert obj.detector_bbox == obj.rect
    assert obj.rect[1:] == (5, 20, 30)


def test_added_objects_without_display(batch: Batch) -> None:
    batch.frames[0].add_object((10, 50, 20, 30), label="bus", display=False)
    batch.commit()
    obj = again(batch).frames[0].objects[0]
    assert (obj.label, obj.display_text, obj.border_width, obj.font_size) == ("bus", None, 0, 0)


def test_many_objects_are_added_at_once(batch: Batch) -> None:
    rect = np.arange(12, dtype=np.float32).reshape(3, 4) + 20
    rows = batch.add_objects(
        [1, 0, 1], rect, class_id=[4, 5, 6], label=["a", "b", "c"], confidence=[0.5, 0.25, 0.125],
        tracker_confidence=0.75, misc_obj_info=[[1, 2, 3, 4]] * 3,
    )  # fmt: skip
    assert rows.tolist() == [3, 4, 5]
    assert batch.objects.frame_index.tolist() == [0, 0, 1, 1, 0, 1]
    batch.commit()
    o = again(batch).objects
    assert o.label.tolist() == ["b", "car", "dog", "a", "c", "car"]
    assert o.class_id.tolist() == [5, 1, 2, 4, 6, 0]
    assert o.rect[[3, 0, 4]].tolist() == rect.tolist()
    assert o.text_y[[3, 0, 4]].tolist() == [11, 15, 19]
    assert o.tracker_confidence[[0, 3, 4]].tolist() == [0.75] * 3
    assert o.misc_obj_info[4].tolist() == [1, 2, 3, 4]
    assert batch.stats == {"in": 3, "out": 6, "removed": 0, "added": 3}


def test_added_rows_join_columns_read_before_and_after(batch: Batch) -> None:
    o = batch.objects
    o.confidence[0] = 0.125
    batch.frames[0].add_object((0, 0, 1, 1), label="new", confidence=0.5)
    with pytest.raises(StaleMetadataError, match="came or went"):
        _ = o.class_id
    assert batch.objects.confidence.tolist() == [0.125, 1, 1, 0.5]
    assert batch.objects.label.tolist() == ["car", "dog", "car", "new"]
    assert batch.objects.border_width.tolist() == [3, 3, 3, 3]


def test_nothing_to_add_adds_nothing(batch: Batch) -> None:
    assert batch.add_objects([], np.empty((0, 4))).tolist() == []
    assert batch.frames[0].add_objects(np.empty((0, 4))).tolist() == []
    assert len(batch.objects) == 3


def test_computed_columns(batch: Batch) -> None:
    o = batch.objects
    assert o.right.tolist() == [40, 4, 120]
    assert o.bottom.tolist() == [60, 6, 140]
    assert o.area.tolist() == [1200, 12, 5600]
    assert o.center.tolist() == [[25, 40], [2.5, 4], [85, 100]]
    assert o.center_x.tolist() == [25, 2.5, 85]
    assert o.center_y.tolist() == [40, 4, 100]
    assert o.tracked.tolist() == [False, True, False]
    assert o.source_id.tolist() == [5, 5, 6]
    assert o.frame_num.tolist() == [70, 70, 0]
    assert o.pad_index.tolist() == [2, 2, 0]
    obj = batch.objects[0]
    assert (obj.right, obj.bottom, obj.area, obj.center) == (40, 60, 1200, (25, 40))


@pytest.mark.parametrize("name", [*_COMPUTED, "frame_index"])
def test_computed_columns_cannot_be_written(batch: Batch, name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(batch.objects, name)[0] = 1
    with pytest.raises(AttributeError, match="computed"):
        setattr(batch.objects, name, 1)


def test_parts_of_the_box_are_views(batch: Batch) -> None:
    o = batch.objects
    o.left[0] = 99
    o.width = [1, 2, 3]
    o.top += 1
    batch.objects[2].height = 5
    batch.commit()
    assert again(batch).objects.rect.tolist() == [[99, 21, 1, 40], [1, 3, 2, 4], [50, 61, 3, 5]]


def test_unknown_columns_are_no_attributes(batch: Batch) -> None:
    with pytest.raises(AttributeError, match="no column 'confidense'"):
        _ = batch.objects.confidense
    with pytest.raises(AttributeError, match="no column 'confidense'"):
        batch.objects.confidense = 1
    with pytest.raises(AttributeError, match="no column"):
        _ = batch.frames.nope
    with pytest.raises(AttributeError):
        batch.objects[0].nope = 1  # type: ignore[attr-defined]


def test_annotations_and_dir_name_every_column() -> None:
    everything = {*OBJECT_COLUMNS, *_OTHERS, *_PARTS, *_COMPUTED}
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(Objects))
    block = next(n for n in ast.walk(tree) if isinstance(n, ast.If))
    annotated = {n.target.id for n in block.body if isinstance(n, ast.AnnAssign)}  # type: ignore[union-attr]
    assert annotated == everything
    with Batch.synthetic([{"objects": [{"rect": (0, 0, 1, 1)}]}]) as batch:
        assert everything <= set(dir(batch.objects))


def test_rect_and_text_params_have_deepstreams_names(batch: Batch) -> None:
    obj = batch.objects[0]
    obj.rect_params.left = 11.5
    obj.rect_params.border_color = (0, 1, 0, 0.5)
    obj.text_params.display_text = "hello"
    obj.text_params.x_offset = 3
    obj.text_params.set_bg_clr = False
    obj.text_params.font_params.font_size = 20
    batch.commit()
    new = again(batch).objects[0]
    assert new.rect == (11.5, 20, 30, 40)
    assert new.rect_params.border_color == (0, 1, 0, 0.5)
    assert (new.display_text, new.text_x, new.text_has_bg) == ("hello", 3, False)
    assert new.text_params.font_params.font_size == 20
    with pytest.raises(AttributeError):
        new.rect_params.x = 1
    with pytest.raises(AttributeError):
        _ = new.text_params.left


def test_reading_gathers_only_what_is_asked(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    load()
    made: list[Any] = []
    real = _native.Snapshot

    class Spy:
        def __init__(self, address: int) -> None:
            self._real = real(address)
            self.calls: list[str] = []
            made.append(self)

        def __getattr__(self, name: str) -> Any:
            self.calls.append(name)
            return getattr(self._real, name)

    monkeypatch.setattr(_native, "Snapshot", Spy)
    lazy = again(batch)
    assert lazy.frames is not None
    lazy.commit()
    assert made == []
    assert lazy.objects.confidence.shape == (3,)
    assert len(made) == 1
    assert set(made[0].calls) <= {"n_objects", "n_frames", "confidence"}


def test_a_field_that_the_sdk_lacks(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to SDK 8 there is no rotation angle; all else must work there."""
    snapshot = _native.Snapshot(batch.address)

    class Old:
        family = "ds8"

        def __getattr__(self, name: str) -> Any:
            return getattr(snapshot, name)

        def gather(self, level: int, field: str) -> bytearray:
            if field == "rotation_angle":
                raise UnsupportedFieldError("no field 'rotation_angle'")
            return snapshot.gather(level, field)

    old = again(batch)
    monkeypatch.setattr(old, "_snapshot", Old())
    for use in (
        lambda: old.objects.rotation_angle,
        lambda: old.objects[0].rotation_angle,
        lambda: setattr(old.objects[0], "rotation_angle", 1),
        lambda: setattr(old.objects, "rotation_angle", 1),
    ):
        with pytest.raises(UnsupportedFieldError):
            use()
    assert not hasattr(old.objects, "rotation_angle")
    assert "rotation" not in repr(old.objects[0].rect_params)
    assert "left=10.0" in repr(old.objects[0].rect_params)
    pytest.importorskip("pyarrow")
    assert "rotation_angle" not in old.to_arrow().column_names
