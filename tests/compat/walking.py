"""Building and walking batches with pyds's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dselements.compat.pyds as pyds
from dselements.meta import Batch


def fill(address: int, frames: int = 2, objects: int = 6) -> None:
    with Batch(address) as batch:
        for source in range(frames):
            frame = batch.add_frame(
                source_id=source, batch_id=source, frame_num=7, pad_index=source
            )
            for i in range(objects):
                frame.add_object(
                    (10.0 * i, 5, 20, 30), class_id=i % 3, label=f"l{i}", object_id=i,
                    confidence=i / 10 + 0.05,
                )  # fmt: skip


def frames(batch_meta: Any) -> list[Any]:
    return [pyds.NvDsFrameMeta.cast(data) for data in walk(batch_meta.frame_meta_list)]


def objects(frame_meta: Any) -> list[Any]:
    return [pyds.NvDsObjectMeta.cast(data) for data in walk(frame_meta.obj_meta_list)]


def walk(node: Any) -> Iterator[Any]:
    while node is not None:
        yield node.data
        node = node.next
