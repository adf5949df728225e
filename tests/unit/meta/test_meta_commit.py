"""All or nothing: what is refused, and that the metadata is then as it was."""

from __future__ import annotations

import ctypes
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dselements._core import _native
from dselements.errors import (
    ConcurrentEditError,
    MetadataValueError,
    NoBatchMetaError,
    NonFiniteValueError,
    StaleMetadataError,
    SurfaceError,
)
from dselements.meta import Batch, committing


@pytest.fixture
def batch() -> Iterator[Batch]:
    made = Batch.synthetic(
        [
            {"source_id": 0, "objects": [
                {"rect": (10, 20, 30, 40), "class_id": k, "label": f"l{k}", "confidence": 0.5}
                for k in range(3)
            ]},
            {"source_id": 1, "objects": [{"rect": (1, 2, 3, 4), "class_id": 9}]},
        ]
    )  # fmt: skip
    yield made
    made.close()


def everything(batch: Batch) -> dict[str, Any]:
    """All that can be read of a batch, natively and anew."""
    new = Batch(batch.address)
    table = new.to_arrow().to_pydict()
    table["sources"] = new.frames.source_id.tolist()
    table["payloads"] = [dict(x.payloads) for x in [*new.frames, *new.objects]]
    table["classifiers"] = [[c.labels for c in o.classifiers] for o in new.objects]
    table["display"] = [list(f.display) for f in new.frames]
    table["masks"] = [None if o.mask is None else o.mask.tolist() for o in new.objects]
    table["pools"] = _native.pool_counters(batch.address)
    return table


def edit_everything(batch: Batch) -> None:
    o = batch.objects
    o.class_id[:] = 7
    o.label[o.label == "l1"] = "other"
    frame = batch.frames[0]
    frame.source_id = 42
    frame.display.add_circle(5, 5, 3)
    frame.payloads["a"] = 1
    obj = frame.objects[0]
    obj.payloads["b"] = 2
    obj.classifiers.add(["red"])
    obj.mask = [[0.5]]
    frame.objects[1].parent = obj
    frame.objects[2].remove()
    batch.frames[1].add_object((0, 0, 1, 1), label="new")
    batch.add_frame(source_id=3)
    batch.payloads["c"] = 3
    batch.misc_batch_info = (1, 2, 3, 4)


def test_an_exception_in_user_code_leaves_all_as_it_was(batch: Batch) -> None:
    before = everything(batch)
    mine = Batch(batch.address)

    def process() -> None:
        with mine:
            edit_everything(mine)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        process()
    assert mine.closed
    assert everything(batch) == before


def test_rollback_leaves_all_as_it_was(batch: Batch) -> None:
    before = everything(batch)
    obj = batch.objects[0]
    edit_everything(batch)
    batch.rollback()
    with pytest.raises(StaleMetadataError, match=r"after rollback\(\)"):
        _ = obj.class_id
    batch.commit()
    assert everything(batch) == before
    assert batch.objects.class_id.tolist() == [0, 1, 2, 9]


def test_the_same_edits_are_all_applied_by_commit(batch: Batch) -> None:
    with Batch(batch.address) as mine:
        edit_everything(mine)
    after = everything(batch)
    assert after["class_id"] == [7, 7, 0, 7]
    assert after["label"] == ["l0", "other", "new", ""]
    assert after["parent"] == [-1, 0, -1, -1]
    assert after["sources"] == [42, 1, 3]
    assert after["payloads"] == [{"a": 1}, {}, {}, {"b": 2}, {}, {}, {}]
    assert after["masks"] == [[[0.5]], None, None, None]
    assert [len(d) for d in after["display"]] == [1, 0, 0]
    assert len(after["classifiers"][0]) == 1
    new = Batch(batch.address)
    assert dict(new.payloads) == {"c": 3}
    assert new.misc_batch_info == (1, 2, 3, 4)


def test_one_bad_value_stops_the_whole_commit(batch: Batch) -> None:
    before = everything(batch)
    edit_everything(batch)
    batch.objects.rect[1, 2] = math.nan
    with pytest.raises(NonFiniteValueError):
        batch.commit()
    assert everything(batch) == before
    batch.objects.rect[1, 2] = 3  # mended, and tried again
    batch.commit()
    assert everything(batch)["width"][1] == 3


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda o: o.rect.__setitem__((1, 0), math.nan), NonFiniteValueError,
         r"rect of object 1 \(frame 0, class 1\) is \[nan, 20.0, 30.0, 40.0\]"),
        (lambda o: o.confidence.__setitem__(3, math.inf), NonFiniteValueError,
         r"confidence of object 3 \(frame 1, class 9\) is inf"),
        (lambda o: o.border_color.__setitem__((0, 2), -math.inf), NonFiniteValueError,
         r"border_color of object 0 .*-inf"),
        (lambda o: o.rect.__setitem__((2, 3), -1), MetadataValueError,
         r"rect of object 2 .* has a negative size: \[10.0, 20.0, 30.0, -1.0\]"),
        (lambda o: o.label.__setitem__(1, 5), MetadataValueError,
         r"label of object 1 .* is a str, not int"),
        (lambda o: o.label.__setitem__(1, None), MetadataValueError, "label of object 1"),
        (lambda o: o.label.__setitem__(1, ["x"]), MetadataValueError, "not list"),
        (lambda o: o.label.__setitem__(1, "a\0b"), MetadataValueError, "NUL"),
        (lambda o: o.display_text.__setitem__(1, "a\0b"), MetadataValueError,
         "display_text of object 1 .* NUL"),
        (lambda o: o.font_name.__setitem__(1, "\ud800"), MetadataValueError, "no valid text"),
    ],
)  # fmt: skip
def test_bad_values_in_columns_are_refused_at_commit(
    batch: Batch, write: Callable[[Any], None], error: type[Exception], message: str
) -> None:
    before = everything(batch)
    write(batch.objects)
    with pytest.raises(error, match=message):
        batch.commit()
    assert everything(batch) == before


def test_nan_that_was_there_before_is_nobodys_fault(batch: Batch) -> None:
    """A NaN of another element must not stop edits of other values."""
    snapshot = _native.Snapshot(batch.address)
    transaction = _native.Transaction(snapshot)
    transaction.scatter(
        _native.OBJECT, "confidence", np.array([math.nan, 1, 1, 1], np.float32).tobytes()
    )
    transaction.commit()
    o = batch.objects
    o.confidence[1] = 0.25
    batch.commit()
    assert Batch(batch.address).objects.confidence.tolist()[1:] == [0.25, 1, 1]


def test_a_bad_value_of_a_removed_object_does_not_matter(batch: Batch) -> None:
    batch.objects.rect[1] = math.nan
    batch.objects[1].remove()
    batch.commit()
    assert Batch(batch.address).objects.class_id.tolist() == [0, 2, 9]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("confidence", math.nan, NonFiniteValueError),
        ("confidence", math.inf, NonFiniteValueError),
        ("confidence", 1e39, NonFiniteValueError),  # infinity as float32
        ("confidence", "0.5", MetadataValueError),
        ("confidence", None, MetadataValueError),
        ("confidence", (0.5, 0.5), MetadataValueError),
        ("left", math.nan, NonFiniteValueError),
        ("rect", (1, 2, math.nan, 4), NonFiniteValueError),
        ("rect", (1, 2, -3, 4), MetadataValueError),
        ("rect", (1, 2, 3), MetadataValueError),
        ("rect", 5, MetadataValueError),
        ("width", -1, MetadataValueError),
        ("border_color", (1, 0, 0), MetadataValueError),
        ("border_color", (1, 0, 0, math.nan), NonFiniteValueError),
        ("class_id", 2**31, MetadataValueError),
        ("class_id", -(2**31) - 1, MetadataValueError),
        ("class_id", 1.5, MetadataValueError),
        ("class_id", math.nan, MetadataValueError),
        ("class_id", "3", MetadataValueError),
        ("object_id", -1, MetadataValueError),
        ("object_id", 2**64, MetadataValueError),
        ("object_id", 2.0**64, MetadataValueError),
        ("border_width", -1, MetadataValueError),
        ("border_width", 2**32, MetadataValueError),
        ("text_x", -0.5, MetadataValueError),
        ("misc_obj_info", (2**63, 0, 0, 0), MetadataValueError),
        ("label", 5, MetadataValueError),
        ("label", None, MetadataValueError),
        ("label", "a\0b", MetadataValueError),
        ("label", b"car", MetadataValueError),
        ("display_text", 5, MetadataValueError),
        ("font_name", "a\0b", MetadataValueError),
        ("mask", [1.0, 2.0], MetadataValueError),
        ("mask", "x", MetadataValueError),
        ("mask", np.empty((0, 3)), MetadataValueError),
        ("mask", [[math.nan]], NonFiniteValueError),
        ("mask_threshold", 0.5, MetadataValueError),
    ],
)
def test_handles_refuse_bad_values_at_once(
    batch: Batch, name: str, value: Any, error: type[Exception]
) -> None:
    obj = batch.objects[1]
    with pytest.raises(error) as caught:
        setattr(obj, name, value)
    if name not in ("mask_threshold",):
        assert "object 1 (frame 0, class 1)" in str(caught.value)
    batch.commit()
    assert batch.objects.class_id.tolist() == [0, 1, 2, 9]
    assert batch.objects.rect[1].tolist() == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("name", "value", "good"),
    [
        ("class_id", np.int64(5), 5),
        ("class_id", 5.0, 5),
        ("class_id", True, 1),
        ("class_id", np.array(6), 6),
        ("confidence", np.float64(0.25), 0.25),
        ("confidence", 1, 1.0),
        ("rect", np.array([1, 2, 3, 4]), (1, 2, 3, 4)),
        ("rect", [1, 2, 0, 0], (1, 2, 0, 0)),
        ("rect", (-5, -6, 3, 4), (-5, -6, 3, 4)),  # partly outside the frame is usual
        ("object_id", 2**64 - 1, 2**64 - 1),
        ("object_id", np.uint64(2**63), 2**63),
        ("has_bg_color", True, True),
        ("label", np.str_("bus"), "bus"),
    ],
)
def test_handles_take_what_fits(batch: Batch, name: str, value: Any, good: Any) -> None:
    setattr(batch.objects[1], name, value)
    batch.commit()
    assert getattr(Batch(batch.address).objects[1], name) == good


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("class_id", [1, 2, 2**40, 3], MetadataValueError, "object 2 .* 1099511627776"),
        ("class_id", [0.5] * 4, MetadataValueError, "0.5"),
        ("class_id", [1, 2], MetadataValueError, "shape"),
        ("object_id", [0, 1, 2, -1], MetadataValueError, "object 3 .* -1"),
        ("confidence", [1, 2, math.nan, 3], NonFiniteValueError, "object 2"),
        ("confidence", ["a"] * 4, MetadataValueError, "numbers"),
        ("rect", [[1, 2, 3, 4]] * 3, MetadataValueError, "shape"),
        ("rect", [[1, 2, 3, -4]] * 4, MetadataValueError, "object 0 .* negative"),
        ("width", [1, 1, 1, -1], MetadataValueError, "negative"),
        ("left", [1, 1, math.inf, 1], NonFiniteValueError, "left of object 2"),
        ("label", ["a", "b"], MetadataValueError, "2 values of label for 4"),
        ("label", ["a", "b", "c", 4], MetadataValueError, "label is a str, not int"),
    ],
)  # fmt: skip
def test_whole_columns_are_checked_when_assigned(
    batch: Batch, name: str, value: Any, error: type[Exception], message: str
) -> None:
    before = everything(batch)
    with pytest.raises(error, match=message):
        setattr(batch.objects, name, value)
    batch.commit()
    assert everything(batch) == before


def test_whole_columns_take_one_or_all_values(batch: Batch) -> None:
    o = batch.objects
    o.class_id = 3
    o.label = "same"
    o.confidence = [0.5, 0.25, 0.125, 1]
    o.rect = [[1, 2, 3, 4]] * 4
    o.border_color = (0, 0, 1, 1)
    o.display_text = ["a", None, "b", None]
    o.class_id += 1
    batch.commit()
    new = Batch(batch.address).objects
    assert new.class_id.tolist() == [4] * 4
    assert new.label.tolist() == ["same"] * 4
    assert new.confidence.tolist() == [0.5, 0.25, 0.125, 1]
    assert new.rect.tolist() == [[1, 2, 3, 4]] * 4
    assert new.border_color.tolist() == [[0, 0, 1, 1]] * 4
    assert new.display_text.tolist() == ["a", None, "b", None]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"rect": [[1, 2, 3, 4], [1, 2, math.nan, 4]]}, NonFiniteValueError, "new object 1"),
        ({"rect": [[1, 2, 3, 4], [1, 2, -1, 4]]}, MetadataValueError, "new object 1 .* negative"),
        ({"rect": [1, 2, 3, 4]}, MetadataValueError, "shape"),
        ({"class_id": [1, 2**31]}, MetadataValueError, "new object 1"),
        ({"class_id": [1, 2, 3]}, MetadataValueError, "shape"),
        ({"confidence": [0.5, math.inf]}, NonFiniteValueError, "new object 1"),
        ({"label": ["a", None]}, MetadataValueError, "label is a str"),
        ({"label": ["a"]}, MetadataValueError, "1 values of label"),
        ({"frame_rows": [0, 2]}, MetadataValueError, "0 to 1"),
        ({"frame_rows": [-1, 0]}, MetadataValueError, "0 to 1"),
        ({"frame_rows": [0.0, 1.0]}, MetadataValueError, "int"),
        ({"nope": 1}, MetadataValueError, "no column 'nope'"),
        ({"frame_index": 1}, MetadataValueError, "no column 'frame_index'"),
        ({"parent": 0.5}, MetadataValueError, "parent"),
        ({"parent": [0, 3]}, None, "cannot be row 3"),
    ],
)  # fmt: skip
def test_bad_values_of_new_objects(
    batch: Batch, values: dict[str, Any], error: type[Exception] | None, message: str
) -> None:
    before = everything(batch)
    given = {"frame_rows": [0, 0], "rect": [[1, 2, 3, 4]] * 2, **values}
    if error is not None:
        with pytest.raises(error, match=message):
            batch.add_objects(**given)
        batch.commit()
    else:
        batch.add_objects(**given)
        with pytest.raises(MetadataValueError, match=message):
            batch.commit()
    assert everything(batch) == before


def test_another_writer_is_noticed_and_nothing_written(batch: Batch) -> None:
    o = batch.objects
    o.class_id[:] = 5
    with Batch(batch.address) as other:
        other.objects[0].remove()
    with pytest.raises(ConcurrentEditError):
        batch.commit()
    assert Batch(batch.address).objects.class_id.tolist() == [1, 2, 9]
    batch.rollback()
    batch.objects.class_id = 5
    batch.commit()
    assert Batch(batch.address).objects.class_id.tolist() == [5, 5, 5]


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("x" * 127, 127),
        ("x" * 128, 127),
        ("x" * 300, 127),
        ("ü" * 150, 126),  # 300 bytes; 127 would split the 64th character
        ("日" * 100, 126),
        ("x" + "😀" * 75, 125),
    ],
)
def test_long_labels_are_cut_between_characters_and_told_once(
    batch: Batch, label: str, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    committing._told.clear()
    with caplog.at_level(logging.WARNING, "dselements.meta"):
        batch.objects[0].label = label
        batch.frames[1].add_object((0, 0, 1, 1), label=label)
        batch.commit()
        batch.objects[1].label = label
        batch.commit()
    found = Batch(batch.address).objects.label[0]
    assert len(found.encode()) == kept
    assert label.startswith(found)
    assert [r.name for r in caplog.records] == (["dselements.meta"] if len(label) > 127 or
                                                kept < 127 else [])  # fmt: skip


def test_commit_counts(batch: Batch) -> None:
    batch.commit()
    assert batch.stats == {}  # nothing was read
    _ = batch.objects.confidence
    batch.commit()
    assert batch.stats == {"in": 4, "out": 4, "removed": 0, "added": 0}
    batch.remove(batch.objects.class_id == 9)
    assert len(batch.objects) == 3
    batch.objects[0].remove()
    batch.frames[0].add_object((0, 0, 1, 1))
    batch.commit()
    assert batch.stats == {"in": 4, "out": 3, "removed": 2, "added": 1}


def test_generation_tells_when_columns_change(batch: Batch) -> None:
    first = batch.generation
    batch.remove(np.array([0]))
    assert batch.generation == first
    _ = batch.objects
    assert batch.generation == first + 1
    batch.frames[0].add_object((0, 0, 1, 1))
    assert batch.generation == first + 2


def test_copies_own_their_metadata(batch: Batch) -> None:
    a, b, *_ = batch.objects
    b.parent = a
    b.payloads["x"] = {"deep": [1, 2]}
    batch.frames[0].payloads["y"] = "z"
    batch.payloads["batch"] = 1
    b.mask = [[0.25, 0.5]]
    b.classifiers.add([("red", 0.5)])
    batch.commit()
    with batch.copy() as copied:
        mine = everything(batch)
        theirs = everything(copied)
        pools = mine.pop("pools"), theirs.pop("pools")
        assert mine == theirs
        assert [p["object"][2] for p in pools] == [4, 4]
        assert dict(copied.payloads) == {"batch": 1}
        copied.remove(copied.objects)
    assert copied.closed
    assert len(Batch(batch.address).objects) == 4


def test_a_forgotten_owner_frees_its_metadata() -> None:
    before = _native.live_batches()
    batch = Batch.create(1)
    assert _native.live_batches() == before + 1
    del batch
    assert _native.live_batches() == before


def test_a_failed_build_frees_its_metadata() -> None:
    before = _native.live_batches()
    with pytest.raises(MetadataValueError, match="needs a rect"):
        Batch.synthetic([{"objects": [{"label": "x"}]}])
    with pytest.raises(MetadataValueError, match="no field 'sauce_id'"):
        Batch.synthetic([{"sauce_id": 1}])
    assert _native.live_batches() == before


def test_no_buffer_no_batch() -> None:
    with pytest.raises(NoBatchMetaError):
        Batch(0).objects  # noqa: B018
    with pytest.raises(ValueError, match=r"takes a Gst\.Buffer"):
        Batch.from_buffer(0)


def test_the_batch_of_a_buffer() -> None:
    gst = ctypes.CDLL("libgstreamer-1.0.so.0")
    gst.gst_init(None, None)
    gst.gst_buffer_new.restype = ctypes.c_void_p
    gst.gst_mini_object_unref.argtypes = [ctypes.c_void_p]
    buffer = gst.gst_buffer_new()
    before = _native.live_batches()
    with pytest.raises(NoBatchMetaError, match="no NvDsBatchMeta"):
        Batch.from_buffer(buffer)
    with Batch.create(2, buffer=buffer) as made:
        made.add_frame(source_id=8).add_object((1, 2, 3, 4), label="car")
    with Batch.from_buffer(buffer) as found:  # closing did not free it: the buffer owns it
        assert found.buffer == buffer
        assert found.frames[0].source_id == 8
        found.objects.label = "bus"
    assert Batch.from_buffer(buffer).objects.label.tolist() == ["bus"]
    with pytest.raises(MetadataValueError, match="already"):
        Batch.create(1, buffer=buffer)
    gst.gst_mini_object_unref(buffer)
    assert _native.live_batches() == before


def test_a_batch_without_pixels(batch: Batch) -> None:
    frame = batch.frames[0]
    frame.pipeline_width, frame.pipeline_height = 640, 480
    assert (frame.width, frame.height) == (640, 480)
    with pytest.raises(SurfaceError, match="pixels cannot be reached"):
        frame.surface()


def test_pixels_come_from_the_provider(batch: Batch) -> None:
    class Provider:
        asked: list[Any]
        closed = 0

        def surface(self, frame_row: int, batch_id: int, write: bool) -> Any:
            return (frame_row, batch_id, write)

        def size(self, batch_id: int) -> tuple[int, int]:
            return 100 + batch_id, 50

        def close(self) -> None:
            self.closed += 1

    provider = Provider()
    with Batch(batch.address, surfaces=provider) as mine:
        frame = mine.frames[1]
        assert frame.surface(write=True) == (1, 1, True)
        assert (frame.width, frame.height) == (101, 50)
    assert provider.closed == 1
