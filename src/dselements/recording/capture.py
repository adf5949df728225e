"""Copies all metadata of a batch out of it, in a few native calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import _native
from .._core.layouts import FAMILIES
from ..meta.fields import FRAME_COLUMNS, OBJECT_COLUMNS

__all__ = ["Capture", "User", "capture", "object_fields"]

Array = npt.NDArray[Any]
_FUSED = frozenset({"class_id", "object_id", "confidence", "rect"})
_FIELDS = {family.name: frozenset(family.fields["object"]) for family in FAMILIES}


class User(NamedTuple):
    """A user meta: its place, and the payload's bytes or None if it is not ours."""

    row: int
    meta_type: int
    block: bytes | None


class Capture(NamedTuple):
    """Metadata of one batch; holds nothing of it."""

    family: str
    pts: int
    """Of the buffer, nanoseconds."""
    max_frames: int
    misc: Array
    frames: dict[str, Array]
    objects: dict[str, Array]
    bounds: Array
    """Objects of frame i are rows bounds[i] to bounds[i + 1]."""
    labels: tuple[Array, list[bytes]]
    texts: list[bytes | None]
    fonts: list[bytes | None]
    parents: Array
    masks: dict[int, tuple[bytes, int, int, float]]
    classifiers: list[tuple[Any, ...]]
    displays: list[tuple[int, int, dict[str, list[tuple[Any, ...]]]]]
    users: tuple[list[User], list[User], list[User]]
    """Of the batch, the frames, the objects."""

    @property
    def n_frames(self) -> int:
        """Frames of the batch."""
        return len(self.bounds) - 1

    @property
    def n_objects(self) -> int:
        """Objects of all frames."""
        return int(self.bounds[-1])


def object_fields(family: str) -> list[str]:
    """Object columns that metadata of a family has."""
    return [name for name in OBJECT_COLUMNS if name in _FIELDS.get(family, ())]


def _column(data: bytearray, dtype: Any, width: int) -> Array:
    values = np.frombuffer(data, dtype)
    return values if width == 1 else values.reshape(-1, width)


def capture(batch_meta: int, pts: int = 0xFFFFFFFFFFFFFFFF) -> Capture:
    """Copy a batch's metadata as it is now; edits that are not committed are not in it.

    :param batch_meta: address of the NvDsBatchMeta.
    :param pts: time stamp of its buffer in nanoseconds; 2**64 - 1 for none.
    :raises ConcurrentEditError: if somebody changes the batch meanwhile.
    """
    snapshot = _native.Snapshot(batch_meta)
    n = snapshot.n_objects
    frames = {
        name: _column(snapshot.gather(_native.FRAME, name), c.dtype, c.width)
        for name, c in FRAME_COLUMNS.items()
    }
    objects: dict[str, Array] = {}
    for name in object_fields(snapshot.family) if n else ():
        column = OBJECT_COLUMNS[name]
        data = getattr(snapshot, name) if name in _FUSED else snapshot.gather(_native.OBJECT, name)
        objects[name] = _column(data, column.dtype, column.width)
    index = np.frombuffer(snapshot.frame_index, np.int32)
    codes, labels = snapshot.gather_labels()
    masks = {}
    for row in range(n):
        mask = snapshot.gather_mask(row)
        if mask is not None:
            masks[row] = mask
    own = snapshot.gather
    return Capture(
        family=snapshot.family,
        pts=pts,
        max_frames=int(np.frombuffer(own(_native.BATCH, "max_frames_in_batch"), np.uint32)[0]),
        misc=np.frombuffer(own(_native.BATCH, "misc_batch_info"), np.int64),
        frames=frames,
        objects=objects,
        bounds=np.searchsorted(index, np.arange(snapshot.n_frames + 1)),
        labels=(np.frombuffer(codes, np.int32), labels),
        texts=snapshot.gather_text(_native.OBJECT, "display_text") if n else [],
        fonts=snapshot.gather_text(_native.OBJECT, "font_name") if n else [],
        parents=np.frombuffer(snapshot.gather_parents(), np.int32),
        masks=masks,
        classifiers=snapshot.gather_classifiers() if n else [],
        displays=snapshot.gather_display(),
        users=(
            _users(snapshot, _native.BATCH),
            _users(snapshot, _native.FRAME),
            _users(snapshot, _native.OBJECT),
        ),
    )


def _users(snapshot: _native.Snapshot, level: int) -> list[User]:
    ours = _native.payload_meta_type()
    return [
        User(row, meta_type, _native.read_payload(address) if meta_type == ours else None)
        for row, address, meta_type, _ in snapshot.gather_user(level)
    ]
