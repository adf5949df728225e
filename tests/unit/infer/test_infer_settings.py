"""nvinfer configuration files: what is read, and what every mistake says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dselements.elements.infer.settings import ClassAttrs, InferSettings, load_settings
from dselements.errors import ConfigError

INI = """\
# a comment
[property]
gie-unique-id = 3
onnx-file=model.onnx
labelfile-path=labels.txt
num-detected-classes=4
batch-size=2
interval=1
net-scale-factor=0.00392156862745098
offsets=103.5;116.28;123.675;
model-color-format=1
maintain-aspect-ratio=1
symmetric-padding=true
network-input-order=0
infer-dims=3;544;960
output-blob-names=a;b
cluster-mode=2
filter-out-class-ids=0;2
crop-objects-to-roi-boundary=0
parser=my.module:parse
intra-op-threads=2

[class-attrs-all]
pre-cluster-threshold=0.25
nms-iou-threshold=0.4
topk=10
border-color=0;1;0;1

[class-attrs-1]
pre-cluster-threshold=0.6
bg-color=0;0;1;0.5
roi-top-offset=5
detected-min-w=7
"""

YAML = """\
property:
  gie-unique-id: 3
  onnx-file: model.onnx
  labelfile-path: labels.txt
  num-detected-classes: 4
  batch-size: 2
  interval: 1
  net-scale-factor: 0.00392156862745098
  offsets: 103.5;116.28;123.675
  model-color-format: 1
  maintain-aspect-ratio: 1
  symmetric-padding: true
  network-input-order: 0
  infer-dims: [3, 544, 960]
  output-blob-names: a;b
  cluster-mode: 2
  filter-out-class-ids: 0;2
  crop-objects-to-roi-boundary: 0
  parser: my.module:parse
  intra-op-threads: 2
class-attrs-all:
  pre-cluster-threshold: 0.25
  nms-iou-threshold: 0.4
  topk: 10
  border-color: 0;1;0;1
class-attrs-1:
  pre-cluster-threshold: 0.6
  bg-color: [0, 0, 1, 0.5]
  roi-top-offset: 5
  detected-min-w: 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n")
    return tmp_path


def load(folder: Path, text: str, name: str = "config.txt", **overrides: Any) -> InferSettings:
    path = folder / name
    path.write_text(text)
    return load_settings(path, {key.replace("_", "-"): item for key, item in overrides.items()})


def minimal(extra: str = "") -> str:
    return f"[property]\nonnx-file=model.onnx\nnum-detected-classes=4\ncluster-mode=2\n{extra}"


@pytest.mark.parametrize(("text", "name"), [(INI, "a.txt"), (YAML, "a.yml"), (YAML, "a.yaml")])
def test_reads_every_key(folder: Path, text: str, name: str) -> None:
    settings = load(folder, text, name)
    base = ClassAttrs(
        pre_cluster_threshold=0.25,
        nms_iou_threshold=0.4,
        topk=10,
        border_color=(0.0, 1.0, 0.0, 1.0),
    )
    assert settings == InferSettings(
        onnx_file=folder / "model.onnx",
        source=str(folder / name),
        labelfile_path=folder / "labels.txt",
        num_detected_classes=4,
        batch_size=2,
        interval=1,
        unique_id=3,
        infer_dims=(3, 544, 960),
        output_blob_names=("a", "b"),
        net_scale_factor=0.00392156862745098,
        offsets=(103.5, 116.28, 123.675),
        model_color_format=1,
        maintain_aspect_ratio=True,
        symmetric_padding=True,
        filter_out_class_ids=frozenset({0, 2}),
        parser="my.module:parse",
        intra_op_threads=2,
        class_attrs_all=base,
        class_attrs={
            1: ClassAttrs(
                pre_cluster_threshold=0.6,
                nms_iou_threshold=0.4,
                topk=10,
                border_color=(0.0, 1.0, 0.0, 1.0),
                bg_color=(0.0, 0.0, 1.0, 0.5),
                roi_top_offset=5,
                detected_min_w=7,
            )
        },
    )
    assert settings.attrs(0) == settings.attrs(3) == base
    assert settings.attrs(1).pre_cluster_threshold == 0.6


def test_defaults_are_nvinfers(folder: Path) -> None:
    settings = load(folder, minimal())
    assert (settings.unique_id, settings.batch_size, settings.interval) == (15, 1, 0)
    assert settings.net_scale_factor == 1.0
    attrs = settings.attrs(0)
    assert (attrs.pre_cluster_threshold, attrs.post_cluster_threshold) == (0.2, 0.0)
    assert (attrs.nms_iou_threshold, attrs.topk) == (0.3, -1)
    assert attrs.border_color == (1.0, 0.0, 0.0, 1.0)
    assert attrs.bg_color is None
    assert settings.warnings == ()


def test_missing_cluster_mode_is_what_nvinfer_makes_of_it(folder: Path) -> None:
    text = minimal("[class-attrs-2]\nnms-iou-threshold=0.9\n").replace("cluster-mode=2\n", "")
    settings = load(folder, text)
    assert settings.cluster_mode == 2
    assert (settings.attrs(0).nms_iou_threshold, settings.attrs(0).topk) == (0.5, 20)
    assert (settings.attrs(2).nms_iou_threshold, settings.attrs(2).topk) == (0.5, 20)
    assert "cluster-mode is not set" in settings.warnings[0]


def test_properties_override_the_file(folder: Path) -> None:
    (folder / "other.onnx").write_bytes(b"")
    text = INI.replace("onnx-file=model.onnx", "onnx-file=gone.onnx")
    settings = load(
        folder,
        text,
        unique_id=9,
        batch_size=7,
        interval=0,
        filter_out_class_ids="1;3",
        onnx_file=str(folder / "other.onnx"),
        parser="ssd",
    )
    assert (settings.unique_id, settings.batch_size, settings.interval) == (9, 7, 0)
    assert settings.filter_out_class_ids == {1, 3}
    assert settings.onnx_file == folder / "other.onnx"
    assert settings.parser == "ssd"


def test_no_file_at_all(folder: Path) -> None:
    settings = load_settings(None, {"onnx-file": str(folder / "model.onnx"), "cluster-mode": 4})
    assert (settings.cluster_mode, settings.source) == (4, "")
    with pytest.raises(ConfigError, match=r"no model.*set config-file-path"):
        load_settings(None)


def test_paths_are_relative_to_the_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    monkeypatch.chdir("/")
    settings = load(folder / "sub", minimal().replace("model.onnx", "../model.onnx"))
    assert settings.onnx_file.resolve() == folder / "model.onnx"
    settings = load(folder / "sub", minimal().replace("model.onnx", str(folder / "model.onnx")))
    assert settings.onnx_file == folder / "model.onnx"


# text after the five lines of minimal() → line, message, hint
MISTAKES: dict[str, tuple[str, int, str, str]] = {
    "unknown key": ("batch-sise=2", 5, "unknown key batch-sise", "did you mean batch-size?"),
    "far unknown key": ("zzz=2", 5, "unknown key zzz", "list of keys"),
    "no integer": ("batch-size=two", 5, "batch-size=two: not an integer", ""),
    "float for integer": ("batch-size=2.0", 5, "not an integer", ""),
    "too small": ("batch-size=0", 5, "must be at least 1", ""),
    "too big": ("batch-size=1025", 5, "must be at most 1024", ""),
    "negative": ("interval=-1", 5, "must be at least 0", ""),
    "unique id": ("gie-unique-id=0", 5, "must be at least 1", ""),
    "no number": ("net-scale-factor=1,5", 5, "not a number", ""),
    "NaN": ("net-scale-factor=nan", 5, "not a finite number", ""),
    "trailing comment": ("batch-size=2 # two", 5, "not an integer", "a line of its own"),
    "no boolean": ("maintain-aspect-ratio=yes", 5, "must be 0, 1, true or false", ""),
    "empty": ("parser=", 5, "the value is empty", ""),
    "choice": ("model-color-format=3", 5, "must be one of 0, 1, 2", ""),
    "list length": ("infer-dims=3;300", 5, "3 values expected, not 2", ""),
    "list item": ("infer-dims=3;x;300", 5, "not an integer", ""),
    "offsets": ("offsets=1;2", 5, "1 or 3 values expected, not 2", ""),
    "missing labels": ("labelfile-path=no.txt", 5, "no.txt does not exist", ""),
    "missing mean": ("mean-file=no.ppm", 5, "no.ppm does not exist", ""),
    "objects": (
        "process-mode=2",
        5,
        "process-mode=2 (objects) needs a classifier",
        "network-type=1",
    ),
    "segmentation": ("network-type=2", 5, "network-type=2 is not supported", "0 (detector) and 1"),
    "attribute": ("\n[class-attrs-all]\npre-cluster-treshold=1", 7, "unknown key", "threshold?"),
    "attribute range": ("[class-attrs-all]\nnms-iou-threshold=1.5", 6, "at most 1", ""),
    "attribute topk": ("[class-attrs-1]\ntopk=-1", 6, "at least 0", ""),
    "colour": ("[class-attrs-1]\nborder-color=1;0;0", 6, "4 values expected, not 3", ""),
    "colour range": ("[class-attrs-1]\nborder-color=255;0;0;1", 6, "must be at most 1", ""),
    "class": ("[class-attrs-4]\ntopk=1", 5, "num-detected-classes is 4", ""),
    "class name": ("[class-attrs-car]\ntopk=1", 5, "invalid group [class-attrs-car]", "class id"),
    "group": ("[class-atrs-all]\ntopk=1", 5, "unknown group [class-atrs-all]", "class-attrs-all?"),
    "header": ("[class-attrs-all\ntopk=1", 5, "malformed group header", "[name]"),
    "no assignment": ("batch-size", 5, "neither a group nor key=value", ""),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_names_file_line_and_mend(folder: Path, case: str) -> None:
    extra, line, message, hint = MISTAKES[case]
    with pytest.raises(ConfigError) as caught:
        load(folder, minimal(extra))
    assert caught.value.message.startswith(f"{folder / 'config.txt'}:{line}: ")
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("mode", [0, 1, 3])
def test_cluster_modes_that_are_not_there(folder: Path, mode: int) -> None:
    text = minimal().replace("cluster-mode=2", f"cluster-mode={mode}")
    with pytest.raises(ConfigError, match=rf":4: cluster-mode={mode} .*2 \(NMS\) and 4 \(none\)"):
        load(folder, text)


def test_old_dbscan_switch(folder: Path) -> None:
    text = minimal("enable-dbscan=1")
    assert load(folder, text).cluster_mode == 2  # cluster-mode counts
    with pytest.raises(ConfigError, match=r":4: cluster-mode=1 is not supported"):
        load(folder, text.replace("cluster-mode=2\n", ""))


YAML_MISTAKES: dict[str, tuple[str, int, str]] = {
    "syntax": ("property: [1\n", 2, "not YAML"),
    "no mapping": ("- 1\n", 1, "mapping of groups"),
    "group": ("property: 5\n", 1, "must be a mapping of keys"),
    "nested": ("property:\n  batch-size:\n    a: 1\n", 3, "must be a value or a list"),
    "unknown": ("property:\n  batch-size: 1\n  intervall: 2\n", 3, "unknown key intervall"),
    "number": ("property:\n  batch-size: many\n", 2, "not an integer"),
    "list for value": ("property:\n  batch-size: [1, 2]\n", 2, "one value expected"),
    "empty": ("property:\n  onnx-file:\n", 2, "the value is empty"),
    "attribute": ("property:\n  interval: 0\nclass-attrs-0:\n  topk: x\n", 4, "not an integer"),
}


@pytest.mark.parametrize("case", YAML_MISTAKES)
def test_a_mistake_in_yaml(folder: Path, case: str) -> None:
    text, line, message = YAML_MISTAKES[case]
    with pytest.raises(ConfigError) as caught:
        load(folder, text, "c.yml")
    assert caught.value.message.startswith(f"{folder / 'c.yml'}:{line}: ")
    assert message in caught.value.message


def test_a_file_that_cannot_be_used(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone.txt: no such configuration file"):
        load_settings(folder / "gone.txt")
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory"):
        load_settings(folder)
    (folder / "binary").write_bytes(b"[property]\n\xff\xfe\n")
    with pytest.raises(ConfigError, match=r"binary:2: not UTF-8"):
        load_settings(folder / "binary")
    with pytest.raises(ConfigError, match=r"no \[property\] group"):
        load(folder, "[class-attrs-all]\ntopk=1\n")
    with pytest.raises(ConfigError, match=r":1: topk stands before any group"):
        load(folder, "topk=1\n[property]\n")
    with pytest.raises(ConfigError, match=r"config.txt: onnx-file is missing"):
        load(folder, "[property]\nbatch-size=1\n")
    with pytest.raises(ConfigError, match=r":2: onnx-file: .*gone.onnx does not exist"):
        load(folder, "[property]\nonnx-file=gone.onnx\n")


def test_an_engine_alone_cannot_be_run(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"onnx-file is missing.*TensorRT engine"):
        load(folder, "[property]\nmodel-engine-file=a.engine\n")


def test_wrong_properties() -> None:
    for name, value, message in (
        ("process-mode", 2, "process-mode=2 (objects) needs a classifier"),
        ("batch-size", 2000, "must be at most 1024"),
        ("filter-out-class-ids", "1;x", "not an integer"),
        ("onnx-file", "/no/such.onnx", "does not exist"),
    ):
        with pytest.raises(ConfigError, match=rf"property {name}") as caught:
            load_settings(None, {name: value})
        assert message in str(caught.value)


def test_keys_without_effect_are_named_in_one_warning(folder: Path) -> None:
    text = minimal("gpu-id=0\nnetwork-mode=2\n[class-attrs-all]\neps=0.5\n")
    warnings = load(folder, text).warnings
    assert len(warnings) == 1
    assert "gpu-id (line 5), network-mode (line 6), eps (line 8)" in warnings[0]
    assert warnings[0].startswith(f"{folder / 'config.txt'}: ")


def test_old_names_doubles_and_filters_are_warned_about(folder: Path) -> None:
    settings = load(
        folder,
        minimal("interval=1\ninterval=2\nscaling-filter=4\n[class-attrs-all]\nthreshold=0.7"),
    )
    assert settings.interval == 2
    assert settings.scaling_filter == 1
    assert settings.attrs(0).pre_cluster_threshold == 0.7
    joined = "\n".join(settings.warnings)
    assert "interval was already set in line 5" in joined
    assert "threshold (line 9) is an old name of pre-cluster-threshold" in joined
    assert "scaling-filter=4 is replaced by 1" in joined
