"""What the user set for dsinfer: nvinfer's configuration, checked.

Keys, types, defaults and ranges are those of DeepStream's nvinfer; ``parser`` and
``intra-op-threads`` are ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from .keyfile import Document, Entry, Group, read_document
from .keys import CLASS_KEYS, IGNORED_CLASS_KEYS, IGNORED_KEYS, PROPERTY_KEYS, Key

__all__ = ["ClassAttrs", "InferSettings", "load_settings"]

Color = tuple[float, float, float, float]

DEFAULT_UNIQUE_ID = 15
# nvinfer built without OpenCV, as DeepStream ships it, answers a missing cluster-mode so.
FALLBACK_IOU, FALLBACK_TOPK = 0.5, 20


@dataclass(frozen=True)
class ClassAttrs:
    """``[class-attrs-all]`` or ``[class-attrs-N]``."""

    pre_cluster_threshold: float = 0.2
    """Detections below are dropped before clustering."""
    post_cluster_threshold: float = 0.0
    """Only detections above it are kept after clustering (cluster-mode 2)."""
    nms_iou_threshold: float = 0.3
    """A box is kept beside a better one if their IoU is at most this."""
    topk: int = -1
    """Best detections kept per class and frame; -1 keeps all."""
    roi_top_offset: int = 0
    """Pixels at the top of the frame in which no box may start."""
    roi_bottom_offset: int = 0
    """Pixels at the bottom of the frame in which no box may end."""
    detected_min_w: int = 0
    detected_min_h: int = 0
    detected_max_w: int = 0
    """Widest box in pixels of the frame; 0 sets no limit."""
    detected_max_h: int = 0
    border_color: Color = (1.0, 0.0, 0.0, 1.0)
    """Red, green, blue, alpha in 0 to 1."""
    bg_color: Color | None = None
    """Fill of the box; None leaves it empty."""


@dataclass(frozen=True)
class InferSettings:
    """One model's settings, complete and in range."""

    onnx_file: Path
    source: str = ""
    """The configuration file, for messages; empty when only properties were set."""
    labelfile_path: Path | None = None
    num_detected_classes: int | None = None
    """None takes the number of labels."""
    batch_size: int = 1
    interval: int = 0
    """Batches left out between two that are inferred."""
    unique_id: int = DEFAULT_UNIQUE_ID
    infer_dims: tuple[int, int, int] | None = None
    """Channels, height, width; None takes the model's."""
    output_blob_names: tuple[str, ...] = ()
    """Outputs given to the parser; empty gives all."""
    net_scale_factor: float = 1.0
    offsets: tuple[float, ...] = ()
    mean_file: Path | None = None
    model_color_format: int = 0
    """0 RGB, 1 BGR, 2 GRAY."""
    maintain_aspect_ratio: bool = False
    symmetric_padding: bool = False
    scaling_filter: int = 1
    """0 nearest, 1 bilinear."""
    network_input_order: int = 0
    """0 NCHW, 1 NHWC."""
    cluster_mode: int = 2
    """2 NMS, 4 none."""
    filter_out_class_ids: frozenset[int] = frozenset()
    crop_objects_to_roi_boundary: bool = False
    parser: str = ""
    """Built-in layout, ``module:function`` or ``path/file.py:function``; empty finds a layout."""
    intra_op_threads: int = 0
    network_type: int = 0
    """0 detector, 1 classifier."""
    process_mode: int = 1
    """1 full frames, 2 objects."""
    classifier_threshold: float = 0.0
    """A class is given only above this probability."""
    classifier_type: str = ""
    classifier_async_mode: bool = False
    """Objects get the results of earlier frames; no buffer waits for the network."""
    operate_on_gie_id: int = -1
    """unique_component_id of the objects that are inferred on; -1 is all."""
    operate_on_class_ids: frozenset[int] = frozenset()
    """Classes of the objects that are inferred on; empty is all."""
    input_object_min_width: int = 0
    input_object_min_height: int = 0
    input_object_max_width: int = 0
    input_object_max_height: int = 0
    """Pixels; a maximum of 0 sets no limit."""
    secondary_reinfer_interval: int = 2**31 - 1
    """Frames after which a tracked object is inferred on again."""
    class_attrs_all: ClassAttrs = ClassAttrs()
    class_attrs: Mapping[int, ClassAttrs] = field(default_factory=dict)
    """Per class id; the rest has :attr:`class_attrs_all`."""
    warnings: tuple[str, ...] = ()

    def attrs(self, class_id: int) -> ClassAttrs:
        """Attributes of one class."""
        return self.class_attrs.get(class_id, self.class_attrs_all)


def load_settings(config: Path | None, overrides: Mapping[str, Any] | None = None) -> InferSettings:
    """Read a configuration file and lay properties over it.

    :param config: INI or YAML file; None when properties say all.
    :param overrides: GObject properties that were set, by name (``batch-size``, ``unique-id``,
        ``onnx-file`` …). ``filter-out-class-ids`` is text such as ``0;2``. Relative paths here
        are relative to the working directory.
    :raises ConfigError: the message starts with file and line, or names the property.
    """
    overrides = dict(overrides or {})
    document = Document(config or Path())
    if config is not None:
        document = read_document(config)
        if "property" not in document.groups:
            raise ConfigError(
                f"{config}: no [property] group", hint="is it an nvinfer configuration file?"
            )
    reader = _Reader(document)
    laid_over = reader.overrides(overrides)
    values = reader.properties(skip=laid_over) | laid_over
    reader.check_supported(values, laid_over)
    all_attrs, per_class = reader.class_attrs(values)
    reader.note_ignored()
    if values.get("cluster-mode") is None and values.get("network-type", 0) == 0:
        values["cluster-mode"] = 2
        all_attrs = replace(all_attrs, nms_iou_threshold=FALLBACK_IOU, topk=FALLBACK_TOPK)
        per_class = {
            key: replace(item, nms_iou_threshold=FALLBACK_IOU, topk=FALLBACK_TOPK)
            for key, item in per_class.items()
        }
        reader.warn(
            f"cluster-mode is not set: as in nvinfer without OpenCV, NMS with nms-iou-threshold "
            f"{FALLBACK_IOU} and topk {FALLBACK_TOPK} is used for all classes; "
            f"set cluster-mode=2 to use your own"
        )
    if values.get("onnx-file") is None:
        raise ConfigError(
            f"{config}: onnx-file is missing" if config else "no model: nothing sets onnx-file",
            hint="dsinfer runs ONNX models; a TensorRT engine cannot be run here"
            if "model-engine-file" in reader.group("property").entries
            else "set config-file-path to an nvinfer configuration, or onnx-file to a model",
        )
    known = {item.name for item in fields(InferSettings)}
    renamed = {key.replace("-", "_"): value for key, value in values.items() if value is not None}
    renamed["unique_id"] = renamed.pop("gie_unique_id", DEFAULT_UNIQUE_ID)
    for name in ("filter_out_class_ids", "operate_on_class_ids"):
        renamed[name] = frozenset(renamed.get(name, ()))
    if renamed.get("scaling_filter", 1) not in (0, 1):
        if renamed["scaling_filter"] != 6:  # 6 is "the default"
            reader.warn(f"scaling-filter={renamed['scaling_filter']} is replaced by 1 (bilinear)")
        renamed["scaling_filter"] = 1
    return InferSettings(
        **{key: value for key, value in renamed.items() if key in known},
        source=str(config) if config else "",
        class_attrs_all=all_attrs,
        class_attrs=per_class,
        warnings=tuple(document.warnings),
    )


class _Reader:
    """Turns a document's text into values."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._ignored: list[str] = []
        self._lines: dict[str, int] = {}

    def group(self, name: str) -> Group:
        return self.document.groups.get(name, Group(0))

    def warn(self, text: str) -> None:
        where = f"{self.document.path}: " if self.document.groups else ""
        self.document.warnings.append(where + text)

    def note_ignored(self) -> None:
        """One warning that names every key that has no effect here."""
        if self._ignored:
            self.warn(
                "keys of nvinfer that dsinfer does not support are ignored: "
                + ", ".join(self._ignored)
            )

    def properties(self, skip: Mapping[str, Any]) -> dict[str, Any]:
        """Values of ``[property]``, without the keys that properties override."""
        values = self._values("property", PROPERTY_KEYS, IGNORED_KEYS, skip)
        for old, new, value in (
            ("is-classifier", "network-type", 1),
            ("enable-dbscan", "cluster-mode", 1),
        ):
            if values.pop(old, False) and new not in values and new not in skip:
                values[new] = value
                self._lines[new] = self.group("property").entries[old].line
        return values

    def _values(
        self,
        group: str,
        table: Mapping[str, Key],
        ignored: frozenset[str],
        skip: Mapping[str, Any],
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, entry in self.group(group).entries.items():
            if name in table:
                key = table[name]
                if key.name:
                    self.warn(f"{name} (line {entry.line}) is an old name of {key.name}")
                if (key.name or name) not in skip:
                    values[key.name or name] = self._convert(name, key, entry)
                    self._lines[name] = entry.line
            elif name in ignored:
                self._ignored.append(f"{name} (line {entry.line})")
            else:
                near = difflib.get_close_matches(name, [*table, *ignored], 1, 0.6)
                raise self.document.error(
                    entry.line,
                    f"unknown key {name} in [{group}]",
                    f"did you mean {near[0]}?" if near else "see nvinfer's list of keys",
                )
        return values

    def _convert(self, name: str, key: Key, entry: Entry) -> Any:
        try:
            value = key.convert(entry.value)
            key.check(value)
        except ValueError as error:
            text = entry.value if isinstance(entry.value, str) else ";".join(entry.value)
            hint = "a comment needs a line of its own" if "#" in text else ""
            raise self.document.error(entry.line, f"{name}={text}: {error}", hint) from error
        if key.kind == "path":
            value = self._path(name, value, entry)
        return value

    def _path(self, name: str, value: str, entry: Entry) -> Path:
        path = Path(value)
        if not path.is_absolute():
            path = self.document.path.resolve().parent / path
        if not path.is_file():
            raise self.document.error(entry.line, f"{name}: {path} does not exist")
        return path

    def overrides(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in overrides.items():
            key = PROPERTY_KEYS["gie-unique-id" if name == "unique-id" else name]
            try:
                if isinstance(value, str):
                    value = key.convert(value)
                key.check(value)
            except ValueError as error:
                raise ConfigError(f"property {name}: {error}") from error
            if key.kind == "path":
                value = Path(value)
                if not value.is_file():
                    raise ConfigError(f"property {name}: {value} does not exist")
            values["gie-unique-id" if name == "unique-id" else key.name or name] = value
        return values

    def check_supported(self, values: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
        """Refuse what nvinfer can do and this element cannot."""
        for name, supported, what in (
            ("network-type", {0, 1}, "only 0 (detector) and 1 (classifier)"),
            ("cluster-mode", {2, 4}, "only 2 (NMS) and 4 (none)"),
        ):
            value = values.get(name)
            if value is None or value in supported:
                continue
            text = f"{name}={value} is not supported here"
            raise self._refused(name, text, f"dsinfer supports {what}", overrides)
        if values.get("process-mode") == 2 and values.get("network-type", 0) == 0:
            text = "process-mode=2 (objects) needs a classifier here"
            raise self._refused("process-mode", text, "set network-type=1", overrides)

    def _refused(
        self, name: str, text: str, hint: str, overrides: Mapping[str, Any]
    ) -> ConfigError:
        if name in overrides:
            return ConfigError(f"property {text}", hint=hint)
        return self.document.error(self._lines[name], text, hint)

    def class_attrs(self, values: Mapping[str, Any]) -> tuple[ClassAttrs, dict[int, ClassAttrs]]:
        prefix = "class-attrs-"
        for name, group in self.document.groups.items():
            if name != "property" and not name.startswith(prefix):
                near = difflib.get_close_matches(name, ["property", "class-attrs-all"], 1, 0.6)
                hint = f"did you mean {near[0]}?" if near else "expected property or class-attrs-N"
                raise self.document.error(group.line, f"unknown group [{name}]", hint)
        base = self._attrs(f"{prefix}all", ClassAttrs())
        per_class: dict[int, ClassAttrs] = {}
        count = values.get("num-detected-classes")
        for name, group in self.document.groups.items():
            tail = name[len(prefix) :]
            if not name.startswith(prefix) or tail == "all":
                continue
            if not tail.isascii() or not tail.isdigit():
                raise self.document.error(
                    group.line, f"invalid group [{name}]", "write class-attrs-all or a class id"
                )
            if count is not None and int(tail) >= count:
                raise self.document.error(
                    group.line, f"[{name}] is for class {tail}, but num-detected-classes is {count}"
                )
            per_class[int(tail)] = self._attrs(name, base)
        return base, per_class

    def _attrs(self, group: str, base: ClassAttrs) -> ClassAttrs:
        values = self._values(group, CLASS_KEYS, IGNORED_CLASS_KEYS, {})
        return replace(base, **{key.replace("-", "_"): value for key, value in values.items()})
