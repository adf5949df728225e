"""Random edits against a plain Python model, and gather after scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dselements._core import _native
from dselements.errors import StaleMetadataError
from dselements.meta import Batch, Object
from dselements.meta.fields import OBJECT_COLUMNS

QUICK = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FLOATS = st.floats(0, 1000, width=32)
LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


class Thing:
    """An object of the model."""

    def __init__(self, frame: int, class_id: int, left: float, label: str) -> None:
        self.frame, self.class_id, self.left, self.label = frame, class_id, left, label
        self.confidence, self.border_width = 1.0, 3
        self.text: str | None = label
        self.parent: Thing | None = None
        self.payload: Any = None
        self.alive = True

    def state(self) -> tuple[Any, ...]:
        return (self.frame, self.class_id, self.left, self.label, self.confidence,
                self.border_width, self.text, self.payload)  # fmt: skip


class Model:
    """What the batch should hold; each step is done on both."""

    def __init__(self, batch: Batch, frames: int) -> None:
        self.batch = batch
        self.frames = frames
        self.committed: list[Thing] = []
        self.saved: dict[Thing, tuple[Any, ...]] = {}
        self.begin()

    def begin(self) -> None:
        """A new transaction: fresh handles on what is committed."""
        self.things = list(self.committed)
        self.handles = dict(zip(self.things, self.batch.objects, strict=True))
        self.saved = {t: (dict(vars(t))) for t in self.things}  # type: ignore[misc]
        self.dead: list[Object] = []

    def add(self, frame: int, class_id: int, left: float, label: str) -> None:
        thing = Thing(frame, class_id, left, label)
        handle = self.batch.frames[frame].add_object(
            (left, 2, 3, 4), class_id=class_id, label=label
        )
        self.things.append(thing)
        self.handles[thing] = handle

    def add_many(self, frames: list[int], left: float) -> None:
        things = [Thing(f, i, left, str(i)) for i, f in enumerate(frames)]
        self.batch.add_objects(
            np.array(frames, int),
            [[left, 2, 3, 4]] * len(frames),
            class_id=np.arange(len(frames)),
            label=[t.label for t in things],
        )
        self.things += things
        for thing, handle in zip(self.things, self.batch.objects, strict=True):
            self.handles.setdefault(thing, handle)

    def kill(self, thing: Thing) -> None:
        thing.alive = False
        self.things.remove(thing)
        self.dead.append(self.handles.pop(thing))
        for other in self.things:
            if other.parent is thing:
                other.parent = None

    def pick(self, index: int) -> Thing | None:
        return self.things[index % len(self.things)] if self.things else None

    def step(self, op: str, i: int, j: int, number: float, text: str) -> None:
        thing = self.pick(i)
        if op == "add":
            self.add(j % self.frames, i, number, text)
        elif op == "add_many":
            self.add_many([(i + k) % self.frames for k in range(j % 4)], number)
        elif op == "compact":
            assert len(self.batch.objects) == len(self.things)
        elif op == "commit":
            self.commit()
        elif op == "rollback":
            self.rollback()
        elif thing is None:
            return
        elif op == "remove":
            self.handles[thing].remove()
            self.kill(thing)
        elif op == "remove_mask":
            o = self.batch.objects
            mask = o.class_id % 3 == i % 3
            self.batch.remove(mask)
            for t in [t for t in self.things if t.class_id % 3 == i % 3]:
                self.kill(t)
        elif op == "set_handle":
            h = self.handles[thing]
            h.class_id, h.left, h.confidence, h.border_width = j, number, number, j
            thing.class_id, thing.left, thing.confidence, thing.border_width = j, number, number, j
        elif op == "set_column":
            o = self.batch.objects
            pick = o.left <= number
            o.class_id[pick] = j
            o.border_width[pick] = i
            for t in self.things:
                if t.left <= number:
                    t.class_id, t.border_width = j, i
        elif op == "label":
            self.handles[thing].label = text
            thing.label = text
        elif op == "text":
            value = text or None
            self.batch.objects.display_text[self.handles[thing].row] = value
            thing.text = value
        elif op == "payload":
            self.handles[thing].payloads["p"] = [j, text]
            thing.payload = [j, text]
        elif op == "parent":
            self.set_parent(thing, self.pick(j))

    def set_parent(self, thing: Thing, other: Thing | None) -> None:
        assert other is not None
        above: Thing | None = other
        while above is not None and above is not thing:
            above = above.parent
        if other.frame != thing.frame or above is thing:
            with pytest.raises(ValueError, match="parent"):
                self.handles[thing].parent = self.handles[other]
            return
        self.handles[thing].parent = self.handles[other]
        thing.parent = other

    def check(self) -> None:
        """Handles and columns show the model, before commit too."""
        for thing in self.things:
            h = self.handles[thing]
            assert (
                h.frame.row, h.class_id, h.left, h.label, h.confidence, h.border_width,
                h.display_text, h.payloads.get("p"),
            ) == thing.state()  # fmt: skip
            assert (None if h.parent is None else h.parent.row) == (
                None if thing.parent is None else self.handles[thing.parent].row
            )
        for handle in self.dead:
            with pytest.raises(StaleMetadataError):
                _ = handle.class_id

    def commit(self) -> None:
        self.check()
        self.batch.commit()
        old = [t for t in self.committed if t.alive]
        new = [t for t in self.things if t not in self.saved]
        # In each frame's list the new ones come first.
        self.committed = [
            t for f in range(self.frames) for group in (new, old) for t in group if t.frame == f
        ]
        self.verify()
        self.begin()

    def rollback(self) -> None:
        self.batch.rollback()
        for thing, state in self.saved.items():
            vars(thing).update(state)  # type: ignore[arg-type]
        self.verify()
        self.begin()

    def verify(self) -> None:
        """A new Batch on the native metadata shows the model."""
        o = Batch(self.batch.address).objects
        place = {t: i for i, t in enumerate(self.committed)}
        found = list(
            zip(
                o.frame_index.tolist(), o.class_id.tolist(), o.left.tolist(), o.label.tolist(),
                o.confidence.tolist(), o.border_width.tolist(), o.display_text.tolist(),
                [h.payloads.get("p") for h in o], strict=True,
            )
        )  # fmt: skip
        assert found == [t.state() for t in self.committed]
        assert o.parent.tolist() == [
            -1 if t.parent is None else place[t.parent] for t in self.committed
        ]
        used = _native.pool_counters(self.batch.address)
        assert used["object"][2] == len(self.committed)
        assert used["user"][2] == sum(t.payload is not None for t in self.committed)


OPS = st.sampled_from(
    ["add", "add", "add_many", "compact", "commit", "rollback", "remove", "remove_mask",
     "set_handle", "set_column", "label", "text", "payload", "parent", "parent"]
)  # fmt: skip
STEPS = st.lists(st.tuples(OPS, st.integers(0, 9), st.integers(0, 9), FLOATS, LABELS), max_size=30)


@QUICK
@given(frames=st.integers(1, 3), steps=STEPS)
def test_any_sequence_of_edits_does_what_the_model_does(frames: int, steps: list[Any]) -> None:
    with Batch.synthetic([{} for _ in range(frames)]) as batch:
        model = Model(batch, frames)
        for number, step in enumerate(steps):
            model.step(*step)
            if number % 5 == 4:
                model.check()
        model.commit()
        model.rollback()
        batch.remove(batch.objects)


@QUICK
@given(data=st.data())
def test_what_is_scattered_is_gathered(data: st.DataObject) -> None:
    """Every column at once, with any bits but NaN and infinity, through commit and copy."""
    n = data.draw(st.integers(0, 5))
    with Batch.synthetic([{"objects": [{"rect": (0, 0, 1, 1)}] * n}]) as batch:
        wanted = {}
        for name, column in OBJECT_COLUMNS.items():
            size = n * column.width
            raw = data.draw(st.binary(min_size=size * 8, max_size=size * 8))
            values = np.frombuffer(raw, f"u{column.dtype.itemsize}")[:size].view(column.dtype)
            if column.dtype.kind == "f":
                values = np.nan_to_num(values, nan=1, posinf=2, neginf=3)
                values = np.abs(values) if name == "rect" else values
            wanted[name] = values.reshape((n, *column.shape))
            getattr(batch.objects, name)[:] = wanted[name]
        batch.commit()
        with batch.copy() as copied:
            for source in (Batch(batch.address), copied):
                for name, values in wanted.items():
                    found = getattr(source.objects, name)
                    assert found.dtype == OBJECT_COLUMNS[name].dtype
                    assert found.tobytes() == values.tobytes(), name


@QUICK
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)))
def test_any_labels(labels: list[str]) -> None:
    with Batch.synthetic([{}]) as batch:
        batch.frames[0].add_objects(np.ones((len(labels), 4)), label=labels)
        batch.commit()
        found = Batch(batch.address).objects.label.tolist()
        assert len(found) == len(labels)
        for short, label in zip(found, labels, strict=True):
            assert label.startswith(short)
            rest = label[len(short) : len(short) + 1]
            assert not rest or len((short + rest).encode()) > 127


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@QUICK
@given(value=JSON, encoding=st.sampled_from(["json", "msgpack"]))
def test_any_payload(value: Any, encoding: str) -> None:
    with Batch.synthetic([{"objects": [{"rect": (0, 0, 1, 1)}]}]) as batch:
        batch.objects[0].payloads.put("p", value, encoding)
        batch.commit()
        with batch.copy() as copied:
            assert copied.objects[0].payloads["p"] == value
