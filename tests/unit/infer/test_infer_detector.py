"""The detector on small ONNX models made here, and on broken ones."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dselements.backends import TensorSpec, backend_names, open_backend
from dselements.elements.infer.labels import read_labels
from dselements.elements.infer.logic import Detector
from dselements.elements.infer.network import Pixels, pixels_of
from dselements.elements.infer.settings import ClassAttrs, InferSettings
from dselements.errors import ConfigError, ModelError, ParserError

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

PARSER = """\
import numpy as np

def mean(layers, context):
    '''One box a frame, whose score is the frame's mean.'''
    score = layers["mean"].reshape(1) / 255
    box = [[0, 0, context.network_width, context.network_height]]
    return box, score, np.zeros(1)

def nan(layers, context):
    return [[0, 0, 1, 1]], [float("nan")], [0]
"""


def save_mean_model(
    path: Path, shape: list[Any] | None = None, dtype: Any = np.float32, axes: int = 3
) -> Path:
    """A model whose output ``mean`` [N, 1, 1, 1] is the mean of its input [N, 3, 8, 8]."""
    helper = onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shape = ["N", 3, 8, 8] if shape is None else shape
    nodes = [
        helper.make_node("Cast", ["image"], ["float"], to=onnx.TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["float"], ["mean"], axes=list(range(1, 1 + axes))),
    ]
    graph = helper.make_graph(
        nodes,
        "mean",
        [helper.make_tensor_value_info("image", kind, shape)],
        [helper.make_tensor_value_info("mean", onnx.TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(path))
    return path


@pytest.fixture
def settings(tmp_path: Path) -> InferSettings:
    (tmp_path / "parser.py").write_text(PARSER)
    return InferSettings(
        onnx_file=save_mean_model(tmp_path / "mean.onnx"),
        source=str(tmp_path / "config.txt"),
        num_detected_classes=1,
        parser="parser.py:mean",
        batch_size=3,
        class_attrs_all=ClassAttrs(pre_cluster_threshold=0.1),
    )


def frame(value: int, size: tuple[int, int] = (8, 8)) -> Any:
    pixels = Pixels(np.full((size[1], size[0], 3), value, np.uint8), "RGB")
    return lambda: contextlib.nullcontext(pixels)


def test_frames_are_batched_and_mapped(settings: InferSettings) -> None:
    detector = Detector(settings)
    assert detector.model.backend.inputs[0].shape == (None, 3, 8, 8)
    values = [255, 51, 0, 102, 204]
    found = detector.detect([frame(value, (16, 32)) for value in values])
    # the third is below the threshold
    assert [len(item) for item in found] == [1, 1, 0, 1, 1]
    scores = [float(item.scores[0]) for item in found if len(item)]
    assert scores == pytest.approx([1.0, 0.2, 0.4, 0.8])
    assert found[0].boxes.tolist() == [[0, 0, 16, 32]]
    assert (detector.model.inferences, detector.model.inferred_frames) == (2, 5)  # 3 + 2
    assert 0 < detector.model.inference_ns_max <= detector.model.inference_ns
    detector.close()


def test_a_model_of_fixed_batch(settings: InferSettings, tmp_path: Path) -> None:
    model = save_mean_model(tmp_path / "two.onnx", [2, 3, 8, 8])
    detector = Detector(replace(settings, onnx_file=model))
    assert "takes batches of 2" in detector.warnings[0]
    # odd numbers leave a slot unused
    for values in ([255, 204, 153], [51]):
        found = detector.detect([frame(value) for value in values])
        assert [float(item.scores[0]) for item in found] == pytest.approx(
            [value / 255 for value in values]
        )


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
def test_input_types(settings: InferSettings, tmp_path: Path, dtype: Any) -> None:
    model = save_mean_model(tmp_path / "t.onnx", ["N", 8, 8, 3], dtype)
    detector = Detector(replace(settings, onnx_file=model, network_input_order=1))
    assert float(detector.detect([frame(102)])[0].scores[0]) == pytest.approx(0.4)


def test_open_sizes_come_from_infer_dims(settings: InferSettings, tmp_path: Path) -> None:
    model = save_mean_model(tmp_path / "open.onnx", ["N", 3, "H", "W"])
    with pytest.raises(ConfigError, match=r"leaves its input size open.*set infer-dims"):
        Detector(replace(settings, onnx_file=model))
    detector = Detector(replace(settings, onnx_file=model, infer_dims=(3, 6, 4)))
    assert (detector.network.width, detector.network.height) == (4, 6)
    with pytest.raises(ConfigError, match=r"infer-dims=3;6;4 does not fit the model's input image"):
        Detector(replace(settings, infer_dims=(3, 6, 4)))


def test_interval(settings: InferSettings) -> None:
    detector = Detector(replace(settings, interval=2))
    assert [detector.due() for _ in range(7)] == [True, False, False, True, False, False, True]
    detector.restart()
    assert detector.due()


def test_labels(tmp_path: Path, settings: InferSettings) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(b"\xef\xbb\xbfcar;auto\r\n\r\n\nperson\n")
    assert read_labels(path) == ["car", "person"]
    detector = Detector(replace(settings, labelfile_path=path, num_detected_classes=None))
    assert detector.num_classes == 2
    assert [detector.label(i) for i in (0, 1, 2)] == ["car", "person", ""]
    assert "2 labels, but num-detected-classes is 1" in "".join(
        Detector(replace(settings, labelfile_path=path)).warnings
    )
    with pytest.raises(ConfigError, match=r"labels.txt: 2 labels, but num-detected-classes is 3"):
        Detector(replace(settings, labelfile_path=path, num_detected_classes=3))
    with pytest.raises(ConfigError, match="num-detected-classes and labelfile-path are both"):
        Detector(replace(settings, num_detected_classes=None))
    path.write_bytes(b"\n")
    with pytest.raises(ConfigError, match=r"labels.txt: label file is empty"):
        read_labels(path)
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(ConfigError, match=r"labels.txt:2: label file is not UTF-8"):
        read_labels(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_labels(tmp_path)


def test_classes_beyond_the_last(settings: InferSettings) -> None:
    with pytest.raises(ConfigError, match="class-attrs names class 4, but there are 1 classes"):
        Detector(replace(settings, class_attrs={4: ClassAttrs()}))
    with pytest.raises(ConfigError, match="filter-out-class-ids names class 1"):
        Detector(replace(settings, filter_out_class_ids=frozenset({0, 1})))


def test_a_model_that_is_none(settings: InferSettings, tmp_path: Path) -> None:
    text = tmp_path / "text.onnx"
    text.write_text("this is no model\n" * 100)
    with pytest.raises(ModelError, match=r"text.onnx is not a model that ONNX Runtime can load"):
        Detector(replace(settings, onnx_file=text))
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    with pytest.raises(ModelError, match=r"empty.onnx is not a model"):
        Detector(replace(settings, onnx_file=empty))
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(settings.onnx_file.read_bytes()[:-40])
    with pytest.raises(ModelError, match=r"cut.onnx is not a model"):
        Detector(replace(settings, onnx_file=cut))
    with pytest.raises(ModelError, match=r"gone.onnx does not exist"):
        Detector(replace(settings, onnx_file=tmp_path / "gone.onnx"))


@pytest.mark.parametrize(
    ("shape", "dtype", "axes", "error", "message"),
    [
        (
            ["N", 192],
            np.float32,
            1,
            ModelError,
            r"one input of 4 axes .* image: float32 \[\?, 192\]",
        ),
        (["N", 3, 8, 8], np.float64, 3, ModelError, "none of uint8, float16, float32"),
        (
            ["N", 8, 8, 3],
            np.float32,
            3,
            ConfigError,
            r"8 channels .*set network-input-order to NHWC",
        ),
        (["N", 1, 8, 8], np.float32, 3, ConfigError, "takes 1 channels"),
    ],
)
def test_wrong_inputs(
    settings: InferSettings,
    tmp_path: Path,
    shape: list[Any],
    dtype: Any,
    axes: int,
    error: type[Exception],
    message: str,
) -> None:
    model = save_mean_model(tmp_path / "w.onnx", shape, dtype, axes)
    with pytest.raises(error, match=message):
        Detector(replace(settings, onnx_file=model))


def test_outputs_are_chosen_by_name(settings: InferSettings) -> None:
    assert Detector(replace(settings, output_blob_names=("mean",))).detect([frame(51)])
    with pytest.raises(ModelError, match=r"has no output 'men' .*its outputs are mean"):
        Detector(replace(settings, output_blob_names=("men",)))


def test_no_layout_fits(settings: InferSettings) -> None:
    with pytest.raises(ModelError, match=r"outputs \(mean .*\) do not fit any built-in layout"):
        Detector(replace(settings, parser=""))


def test_a_parser_that_gives_nan(settings: InferSettings) -> None:
    detector = Detector(replace(settings, parser="parser.py:nan"))
    with pytest.raises(ParserError, match=r"parser.py:nan returned NaN or infinity in scores"):
        detector.detect([frame(1)])


class Odd:
    """A backend whose outputs have no batch axis, or which fails."""

    inputs = (TensorSpec("image", np.dtype(np.float32), (None, 3, 8, 8)),)
    outputs = (TensorSpec("mean", np.dtype(np.float32), (None, 1)),)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {"mean": np.zeros((7, 1), np.float32)}

    def close(self) -> None:
        pass


def test_outputs_without_a_batch_axis(settings: InferSettings) -> None:
    with pytest.raises(ModelError, match=r"output mean has shape \[7, 1\] for a batch of 2"):
        Detector(settings, Odd()).detect([frame(1), frame(2)])


def test_backends(settings: InferSettings) -> None:
    assert backend_names() == ("onnxruntime",)
    with pytest.raises(ModelError, match=r"unknown inference engine 'x' .*onnxruntime"):
        open_backend(settings.onnx_file, name="x")
    backend = open_backend(settings.onnx_file, threads=1)
    assert str(backend.inputs[0]) == "image: float32 [?, 3, 8, 8]"
    with pytest.raises(ModelError, match="inference failed"):
        backend.run({"image": np.zeros((1, 3, 9, 8), np.float32)})
    backend.close()
    backend.close()


class FakeSurface:
    """What pixels_of needs of a surface."""

    def __init__(self, name: str) -> None:
        self.format = type("Format", (), {"format": name})()
        self.array = np.zeros((4, 4, 4), np.uint8)
        self.planes = [np.full((4, 4), 9, np.uint8), np.zeros((2, 2, 2), np.uint8)]

    def rgb(self) -> np.ndarray:
        return np.full((4, 4, 3), 5, np.uint8)


def test_pixels_of_a_surface() -> None:
    assert pixels_of(FakeSurface("RGBA"), gray=False).layout == "RGBA"
    converted = pixels_of(FakeSurface("NV12"), gray=False)
    assert (converted.layout, int(converted.array[0, 0, 0])) == ("RGB", 5)
    luma = pixels_of(FakeSurface("NV12"), gray=True)
    assert (luma.layout, int(luma.array[0, 0])) == ("GRAY8", 9)
