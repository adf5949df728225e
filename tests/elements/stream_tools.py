"""Helpers of the tests of stream behaviour: a pipeline with every element, waiting, what passed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pipelines
from pipelines import Gst

from dselements.element.caps import structure_of

PATIENCE_S = 20
SIZE = "video/x-raw,width=32,height=16,framerate=30/1"
NO_FLAGS = Gst.SeekFlags(0)


_made: list[Any] = []


def launch(text: str, **calls: Callable[..., object]) -> Any:
    """As pipelines.launch; :func:`stop_all` stops what a failed test left running."""
    pipeline = pipelines.launch(text, **calls)
    _made.append(pipeline)
    return pipeline


def stop_all() -> None:
    """To NULL with all pipelines made here."""
    for pipeline in _made:
        pipeline.set_state(Gst.State.NULL)
    _made.clear()


def wait_for(test: Callable[[], object], what: str, timeout_s: float = PATIENCE_S) -> None:
    """Wait until the test is true."""
    deadline = time.monotonic() + timeout_s
    while not test():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def clip(number: int, frames: int, more: str = "", caps: str = SIZE) -> str:
    """A source of dsmux's pad of this number."""
    return f"videotestsrc name=s{number} num-buffers={frames} {more} ! {caps} ! m.sink_{number} "


def change(pipeline: Any, state: Any) -> None:
    """Change the state, and wait until it is reached."""
    assert pipeline.set_state(state) != Gst.StateChangeReturn.FAILURE
    done = pipeline.get_state(PATIENCE_S * Gst.SECOND)[0]
    assert done in (Gst.StateChangeReturn.SUCCESS, Gst.StateChangeReturn.NO_PREROLL), done


def message(pipeline: Any, kinds: Any, timeout_s: float = PATIENCE_S) -> Any:
    """The next message of these kinds; fails if there is none."""
    found = pipeline.get_bus().timed_pop_filtered(int(timeout_s * Gst.SECOND), kinds)
    assert found is not None, f"no message of {kinds}"
    return found


def no_message(pipeline: Any, kinds: Any) -> None:
    """Fail if a message of these kinds waits."""
    found = pipeline.get_bus().pop_filtered(kinds)
    assert found is None, found.type


def model(folder: Path) -> Path:
    """Configuration of a tiny detector: one object in the middle half of every frame."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = {
        "nothing": np.zeros((1, 1, 1, 1), np.float32),
        "axes": np.array([3], np.int64),
        "corners": np.array([[[0.25, 0.25, 0.75, 0.75]]], np.float32),
        "score": np.array([[[0.9]]], np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=1),
            helper.make_node("Mul", ["mean", "nothing"], ["four"]),
            helper.make_node("Squeeze", ["four", "axes"], ["zero"]),
            helper.make_node("Add", ["zero", "corners"], ["boxes"]),
            helper.make_node("Add", ["zero", "score"], ["scores"]),
        ],
        "tiny",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 8, 8])],
        [
            helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["N", 1, 4]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 1, 1]),
        ],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    whole.ir_version = 8
    onnx.save(whole, str(folder / "tiny.onnx"))
    path = folder / "tiny.txt"
    path.write_text(
        "[property]\nonnx-file=tiny.onnx\nnum-detected-classes=1\ngie-unique-id=7\n"
        "cluster-mode=2\nparser=ssd\n[class-attrs-all]\npre-cluster-threshold=0.1\n"
    )
    return path


class Passed:
    """Buffers and events that reach a pad, in order."""

    def __init__(self, pad: Any) -> None:
        self.log: list[tuple[Any, ...]] = []
        kinds = Gst.PadProbeType.EVENT_DOWNSTREAM | Gst.PadProbeType.EVENT_FLUSH
        pad.add_probe(kinds | Gst.PadProbeType.BUFFER, self._note)

    def _note(self, _pad: Any, info: Any) -> Any:
        if info.type & Gst.PadProbeType.BUFFER:
            buffer = info.get_buffer()
            flags = buffer.get_flags()
            self.log.append(("buffer", buffer.pts, flags))
            return Gst.PadProbeReturn.OK
        event = info.get_event()
        kind = event.type.value_nick
        if event.type == Gst.EventType.CAPS:
            one = structure_of(event.parse_caps(), 0)
            self.log.append(
                (
                    kind,
                    one.get_int("width")[1],
                    one.get_int("height")[1],
                    one.get_fraction("framerate")[1:],
                )
            )
        elif event.type == Gst.EventType.SEGMENT:
            segment = event.parse_segment()
            self.log.append((kind, segment.start, segment.time, segment.base))
        else:
            self.log.append((kind,))
        return Gst.PadProbeReturn.OK

    def only(self, kind: str) -> list[tuple[Any, ...]]:
        """Entries of one kind."""
        return [entry for entry in list(self.log) if entry[0] == kind]


def passed(pipeline: Any, *names: str) -> list[Passed]:
    """What reaches the sink pads of these elements."""
    return [Passed(pipeline.get_by_name(name).get_static_pad("sink")) for name in names]


__all__ = [
    "NO_FLAGS", "PATIENCE_S", "SIZE", "Gst", "Passed", "change", "clip", "launch", "message",
    "model", "no_message", "passed", "stop_all", "wait_for",
]  # fmt: skip
