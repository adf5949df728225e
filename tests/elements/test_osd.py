"""dsosd in pipelines: its own frame's shapes, formats, batches, tee, errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: F401

import dselements as ds
from dselements.element.caps import structure_of
from dselements.surface import SystemSurfaces, VideoFormat

WIDTH, HEIGHT, COLOUR = 128, 96, 0xFF285078  # pattern=solid-color takes ARGB
BACK = (40, 80, 120)
_edit: list[Callable[[ds.Batch], None]] = []


@ds.element("testosdedit", description="Runs a function of the test", klass="Filter")
class Edit(ds.MetaTransform):
    """Puts on the frames what the test wants to see."""

    create_meta = True

    def process(self, batch: ds.Batch) -> None:
        _edit[-1](batch)


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    Gst.init(None)
    ds.register()
    ds.register(Edit)


@pytest.fixture
def edit() -> Iterator[list[Callable[[ds.Batch], None]]]:
    yield _edit
    _edit.clear()


def source(format: str, count: int = 1) -> str:
    return (
        f"videotestsrc num-buffers={count} pattern=solid-color foreground-color={COLOUR} ! "
        f"video/x-raw,format={format},width={WIDTH},height={HEIGHT}"
    )


def run(description: str) -> list[Any]:
    """Samples that reach the appsink named sink."""
    pipeline = Gst.parse_launch(description)
    sink = pipeline.get_by_name("sink")
    sink.set_property("sync", False)
    samples = []
    bus = pipeline.get_bus()
    deadline = time.monotonic() + 20
    try:
        pipeline.set_state(Gst.State.PLAYING)
        while time.monotonic() < deadline:
            message = bus.pop_filtered(Gst.MessageType.ERROR)
            if message is not None:
                raise RuntimeError("{} | {}".format(*message.parse_error()))
            sample = sink.emit("try-pull-sample", 50 * Gst.MSECOND)
            if sample is not None:
                samples.append(sample)
            elif sink.is_eos():
                # One may have come, and the end, since the pull gave up.
                while (sample := sink.emit("try-pull-sample", 0)) is not None:
                    samples.append(sample)
                break
        else:
            raise TimeoutError(description)
    finally:
        pipeline.set_state(Gst.State.NULL)
    return samples


def rgb(sample: Any, index: int = 0) -> np.ndarray:
    structure = structure_of(sample.get_caps(), 0)
    info = VideoFormat.make(
        structure.get_string("format"), WIDTH, HEIGHT, structure.get_string("colorimetry")
    )
    with SystemSurfaces(hash(sample.get_buffer()), info).surface(index, index, False) as surface:
        return surface.rgb()


def red_frame(left: int, top: int, right: int, bottom: int) -> np.ndarray:
    """A border of 3 around a box, on the background."""
    expected = np.full((HEIGHT, WIDTH, 3), BACK, np.uint8)
    expected[top - 1 : bottom + 1, left - 1 : right + 1] = (255, 0, 0)
    expected[top + 2 : bottom - 2, left + 2 : right - 2] = BACK
    return expected


def box(rect: tuple[float, float, float, float]) -> Callable[[ds.Batch], None]:
    def add(batch: ds.Batch) -> None:
        batch.frames[0].add_object(rect)

    return add


def test_the_box_is_in_the_pixels(edit: Any) -> None:
    edit.append(box((20, 10, 60, 40)))
    (sample,) = run(f"{source('RGBA')} ! testosdedit ! dsosd ! appsink name=sink")
    np.testing.assert_array_equal(rgb(sample), red_frame(20, 10, 80, 50))
    # The metadata goes on as it was.
    with ds.Batch.from_buffer(sample.get_buffer()) as batch:
        assert batch.objects.rect.tolist() == [[20, 10, 60, 40]]


@pytest.mark.parametrize(
    "name", ["BGRA", "ARGB", "xBGR", "RGBx", "RGB", "BGR", "NV12", "NV21", "I420", "YV12"]
)
def test_all_formats_show_the_same(edit: Any, name: str) -> None:
    edit.append(box((20, 10, 60, 40)))
    (sample,) = run(f"{source(name)} ! testosdedit ! dsosd ! appsink name=sink")
    expected = red_frame(20, 10, 80, 50).astype(int)
    seen = rgb(sample).astype(int)
    if name in ("NV12", "NV21", "I420", "YV12"):
        # Inside the border and far from it chroma is whole.
        assert np.abs(seen[20:40, 30:70] - BACK).max() <= 4
        assert np.abs(seen[60:] - BACK).max() <= 4
        assert np.abs(seen[12:48, 20] - (255, 0, 0)).max() <= 6
    else:
        np.testing.assert_array_equal(seen, expected)


def test_every_frame_of_a_batch_gets_its_own_shapes(edit: Any) -> None:
    def add(batch: ds.Batch) -> None:
        for frame in batch.frames:
            frame.add_object((20 + 30 * frame.pad_index, 10, 30, 40))

    edit.append(add)
    samples = run(
        f"dsmux name=m batch-size=2 width={WIDTH} height={HEIGHT} ! testosdedit ! dsosd ! "
        f"appsink name=sink {source('RGBA', 3)} ! m.sink_0 {source('RGBA', 3)} ! m.sink_1"
    )
    assert len(samples) == 3
    for sample in samples:
        with ds.Batch.from_buffer(sample.get_buffer()) as batch:
            pads = {frame.batch_id: frame.pad_index for frame in batch.frames}
        assert sorted(pads.values()) == [0, 1]
        for index, pad in pads.items():
            left = 20 + 30 * pad
            np.testing.assert_array_equal(rgb(sample, index), red_frame(left, 10, left + 30, 50))


def test_behind_a_tee_only_its_own_branch_is_drawn_on(edit: Any) -> None:
    edit.append(box((20, 10, 60, 40)))
    samples = run(
        f"{source('RGBA', 4)} ! testosdedit ! tee name=t "
        "t. ! queue ! dsosd ! fakesink async=false t. ! queue ! appsink name=sink"
    )
    assert len(samples) == 4
    for sample in samples:
        assert (rgb(sample) == BACK).all()


def test_properties_hide_kinds(edit: Any) -> None:
    def add(batch: ds.Batch) -> None:
        batch.frames[0].add_object((20, 30, 60, 40), label="person")

    edit.append(add)
    (both,) = run(f"{source('RGBA')} ! testosdedit ! dsosd ! appsink name=sink")
    (no_text,) = run(
        f"{source('RGBA')} ! testosdedit ! dsosd display-text=false ! appsink name=sink"
    )
    (none,) = run(
        f"{source('RGBA')} ! testosdedit ! dsosd display-text=false display-bbox=false ! "
        "appsink name=sink"
    )
    np.testing.assert_array_equal(rgb(no_text), red_frame(20, 30, 80, 70))
    assert (rgb(none) == BACK).all()
    assert (rgb(both)[20:28, 21:40] == 0).any()  # the label's black


def test_the_clock(edit: Any) -> None:
    edit.append(lambda batch: None)
    (sample,) = run(
        f"{source('RGBA')} ! testosdedit ! dsosd display-clock=true x-clock-offset=5 "
        "y-clock-offset=40 clock-color=4278190335 ! appsink name=sink"  # 0xFF0000FF
    )
    seen = rgb(sample)
    changed = np.argwhere((seen != BACK).any(axis=2))
    assert changed[:, 0].min() >= 40
    assert changed[:, 1].min() >= 5
    assert (seen == (255, 0, 0)).all(axis=2).any()


def test_without_metadata_frames_pass_untouched() -> None:
    (sample,) = run(f"{source('RGBA')} ! dsosd ! appsink name=sink")
    assert (rgb(sample) == BACK).all()


def test_videoconvert_finds_a_format_that_can_be_drawn_on(edit: Any) -> None:
    edit.append(box((20, 10, 60, 40)))
    (sample,) = run(
        f"{source('P010_10LE')} ! videoconvert ! testosdedit ! dsosd ! videoconvert ! "
        "video/x-raw,format=RGBA ! appsink name=sink"
    )
    seen = rgb(sample).astype(int)
    assert np.abs(seen[20:40, 30:70] - BACK).max() <= 6
    assert seen[30, 20, 0] > 180


def test_gpu_mode_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"process-mode 1.*0 \(CPU\)"):
        run(f"{source('RGBA')} ! dsosd process-mode=1 ! appsink name=sink")


def test_without_pycairo_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cairo", None)
    with pytest.raises(RuntimeError, match=r"apt install python3-cairo.*pip install pycairo"):
        run(f"{source('RGBA')} ! dsosd ! appsink name=sink")
