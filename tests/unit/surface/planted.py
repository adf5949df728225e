"""NvBufSurface structs planted in ordinary memory, as NVIDIA's headers lay them out."""

from __future__ import annotations

import ctypes
import itertools
import struct
from typing import Any

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst

SIZES = {"6.x": (64, 384), "9.x": (72, 416)}
SYSTEM = 6


class Planted:
    """A GstBuffer whose memory is an NvBufSurface; ``frames`` are the pixel bytes."""

    def __init__(
        self,
        frames: list[dict[str, Any]],
        family: str = "9.x",
        mem_type: int = SYSTEM,
        batch_size: int | None = None,
    ) -> None:
        struct_size, params_size = SIZES[family]
        self.params = (ctypes.c_char * (params_size * max(len(frames), 1)))()
        self.frames = []
        for i, frame in enumerate(frames):
            planes = frame["planes"]  # width, height, pitch, offset, bytes a pixel
            size = max(p[3] + p[2] * p[1] for p in planes)
            pixels = np.arange(size).astype(np.uint8)
            self.frames.append(pixels)
            head = struct.pack(
                "<IIIIIxxxxQIxxxxQ", frame["width"], frame["height"], planes[0][2], frame["color"],
                frame.get("layout", 0), 0, frame.get("size", size),
                0 if frame.get("empty") else pixels.ctypes.data,
            )  # fmt: skip
            columns = [[p[k] for p in planes] + [0] * (4 - len(planes)) for k in range(4)]
            columns.append([p[2] * p[1] for p in planes] + [0] * (4 - len(planes)))
            columns.append([p[4] for p in planes] + [0] * (4 - len(planes)))
            body = struct.pack("<I24I", len(planes), *itertools.chain(*columns))
            at = i * params_size
            self.params[at : at + len(head)] = head
            self.params[at + len(head) : at + len(head) + len(body)] = body
        count = len(frames) if batch_size is None else batch_size
        self.bytes = struct.pack(
            "<IIIBxxxIxxxxQ", 0, count, count, 1, mem_type, ctypes.addressof(self.params)
        ).ljust(struct_size, b"\0")
        # As NVIDIA's allocators: a copy of the buffer copies the struct.
        memory = Gst.Memory.new_wrapped(
            Gst.MemoryFlags.NO_SHARE, self.bytes, len(self.bytes), 0, len(self.bytes), None
        )
        buffer = Gst.Buffer.new()
        buffer.append_memory(memory)
        del memory
        self.buffer = buffer
        self.address = hash(buffer)


def packed(
    color: int, width: int, height: int, channels: int = 4, pitch: int = 0
) -> dict[str, Any]:
    pitch = pitch or width * channels
    planes = [(width, height, pitch, 0, channels)]
    return {"width": width, "height": height, "color": color, "planes": planes}


def nv12(color: int, width: int, height: int, pitch: int) -> dict[str, Any]:
    planes = [
        (width, height, pitch, 0, 1),
        ((width + 1) // 2, (height + 1) // 2, pitch, pitch * height, 2),
    ]
    return {"width": width, "height": height, "color": color, "planes": planes}
