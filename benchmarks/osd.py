"""What dsosd costs on one frame: 30 boxes with labels at 1280 x 720, next to a plain OpenCV loop.

    python benchmarks/osd.py [--json] [--repeat 200]

Both draw the same boxes and labels from the same batch metadata, interleaved in one run. "plain"
is what tutorials write: one handle an object, cv2.rectangle and cv2.putText. µs are medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dselements import Batch
from dselements.elements.osd.logic import plans_of
from dselements.elements.osd.painter import Painter
from dselements.elements.osd.settings import OsdSettings
from dselements.surface import Surface, VideoFormat

WIDTH, HEIGHT, OBJECTS = 1280, 720, 30
FORMATS = ("RGBA", "BGRx", "NV12", "I420", "RGB")


class Memory:
    """Plain memory in the place of a mapped GstMemory."""

    def __init__(self, size: int) -> None:
        self.data = np.full(size, 90, np.uint8)
        self.address, self.size, self.writable = self.data.ctypes.data, size, True

    def close(self) -> None: ...


def synthetic() -> Batch:
    rng = np.random.default_rng(1)
    objects = [
        {
            "rect": (
                float(rng.integers(0, WIDTH - 260)),
                float(rng.integers(20, HEIGHT - 220)),
                float(rng.integers(40, 250)),
                float(rng.integers(40, 200)),
            ),
            "label": f"person {i}",
        }
        for i in range(OBJECTS)
    ]
    return Batch.synthetic([{"source_id": 0, "objects": objects}])


def plain_loop(cv2: Any, batch: Batch, image: np.ndarray) -> None:
    for frame in batch.frames:
        for obj in frame.objects:
            x, y, w, h = (round(v) for v in obj.rect)
            color = tuple(255 * v for v in obj.border_color)
            cv2.rectangle(image, (x, y), (x + w, y + h), color, obj.border_width)
            text = obj.display_text or ""
            (tw, th), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1)
            left, top = obj.text_x, obj.text_y
            cv2.rectangle(image, (left, top), (left + tw, top + th + base), (0, 0, 0, 255), -1)
            cv2.putText(
                image, text, (left, top + th), cv2.FONT_HERSHEY_SIMPLEX, 0.5,
                (255, 255, 255, 255), 1, cv2.LINE_AA,
            )  # fmt: skip


def measure(variants: dict[str, Callable[[], None]], repeat: int) -> dict[str, float]:
    """Median µs of each, interleaved."""
    taken: dict[str, list[int]] = {name: [] for name in variants}
    for _ in range(repeat + 5):
        for name, call in variants.items():
            began = time.perf_counter_ns()
            call()
            taken[name].append(time.perf_counter_ns() - began)
    return {name: float(np.median(values[5:])) / 1000 for name, values in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=200)
    arguments = parser.parse_args()
    import cv2

    settings, painter = OsdSettings(), Painter()
    with synthetic() as owner:
        variants: dict[str, Callable[[], None]] = {}
        for name in FORMATS:
            info = VideoFormat.make(name, WIDTH, HEIGHT)
            memory = Memory(info.size)

            def ours(memory: Memory = memory, info: VideoFormat = info) -> None:
                batch = Batch(owner.address)  # fresh, as every buffer brings it
                for _, plan in plans_of(batch, settings):
                    surface = Surface(memory, info)  # type: ignore[arg-type]
                    painter.draw(surface, plan)
                    surface.close()
                batch.close()

            variants[f"dsosd {name}"] = ours
        image = np.full((HEIGHT, WIDTH, 4), 90, np.uint8)

        def plain() -> None:
            batch = Batch(owner.address)
            plain_loop(cv2, batch, image)
            batch.close()

        variants["plain cv2 RGBA"] = plain
        found = measure(variants, arguments.repeat)
    base = found["plain cv2 RGBA"]
    rows = [
        {"variant": n, "us": round(v, 1), "ratio": round(base / v, 2)} for n, v in found.items()
    ]
    if arguments.json:
        print(json.dumps(rows))
        return 0
    print(f"{OBJECTS} boxes with labels, {WIDTH} x {HEIGHT}, median of {arguments.repeat}")
    print(f"{'variant':<16}{'µs a frame':>12}{'plain / this':>14}")
    for row in rows:
        print(f"{row['variant']:<16}{row['us']:>12}{row['ratio']:>14}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
