"""The keys of nvinfer's configuration that dsinfer reads, and those it only knows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["CLASS_KEYS", "IGNORED_CLASS_KEYS", "IGNORED_KEYS", "PROPERTY_KEYS", "Key"]

_INTEGER = re.compile(r"[+-]?[0-9]+")


MAX_CLASSES = 65536
"""More would be a slip: the largest label sets have some ten thousand."""


@dataclass(frozen=True)
class Key:
    """Type and range of one key."""

    kind: str
    """``int``, ``float``, ``bool``, ``text``, ``path``, ``ints``, ``floats`` or ``texts``."""
    low: float | None = None
    high: float | None = None
    """Smallest and largest value, both allowed."""
    choices: tuple[int, ...] | None = None
    count: tuple[int, ...] | None = None
    """Allowed lengths of a list."""
    name: str | None = None
    """Key that this one is an old name of."""

    def convert(self, value: str | tuple[str, ...]) -> Any:
        """Text of the file to a value. :raises ValueError: not of this kind."""
        if self.kind in ("ints", "floats", "texts"):
            one = _CONVERTERS[self.kind[:-1]]
            return tuple(one(item) for item in _items(value))
        if not isinstance(value, str):
            raise ValueError("one value expected, not a list")
        return _CONVERTERS[self.kind](value)

    def check(self, value: Any) -> None:
        """:raises ValueError: out of range."""
        if self.count is not None and len(value) not in self.count:
            allowed = " or ".join(map(str, self.count))
            raise ValueError(f"{allowed} values expected, not {len(value)}")
        if self.choices is not None and value not in self.choices:
            raise ValueError(f"must be one of {', '.join(map(str, self.choices))}")
        for item in value if isinstance(value, tuple) else (value,):
            if self.low is not None and item < self.low:
                raise ValueError(f"must be at least {self.low:g}")
            if self.high is not None and item > self.high:
                raise ValueError(f"must be at most {self.high:g}")


def _items(value: str | tuple[str, ...]) -> list[str]:
    if isinstance(value, tuple):
        return list(value)
    items = [item.strip() for item in value.split(";")]
    if items and not items[-1]:  # a list may end with its separator
        items.pop()
    return items


def _int(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("not an integer")
    return int(text)


def _float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("not a number") from None
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def _bool(text: str) -> bool:
    try:
        return {"0": False, "1": True, "false": False, "true": True}[text.lower()]
    except KeyError:
        raise ValueError("must be 0, 1, true or false") from None


def _text(text: str) -> str:
    if not text:
        raise ValueError("the value is empty")
    return text


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "text": _text,
    "path": _text,
}

MAX_BATCH_SIZE = 1024

PROPERTY_KEYS: dict[str, Key] = {
    "batch-size": Key("int", 1, MAX_BATCH_SIZE),
    "classifier-async-mode": Key("bool"),
    "classifier-threshold": Key("float", 0, 1),
    "classifier-type": Key("text"),
    "cluster-mode": Key("int", choices=(0, 1, 2, 3, 4)),
    "crop-objects-to-roi-boundary": Key("bool"),
    "enable-dbscan": Key("bool"),  # old way to say cluster-mode=1
    "filter-out-class-ids": Key("ints", 0),
    "gie-unique-id": Key("int", 1, 2**31 - 1),
    "infer-dims": Key("ints", 1, count=(3,)),
    "input-object-max-height": Key("int", 0),
    "input-object-max-width": Key("int", 0),
    "input-object-min-height": Key("int", 0),
    "input-object-min-width": Key("int", 0),
    "interval": Key("int", 0, 2**31 - 1),
    "intra-op-threads": Key("int", 0, 1024),
    "is-classifier": Key("bool"),  # old way to say network-type=1
    "labelfile-path": Key("path"),
    "maintain-aspect-ratio": Key("bool"),
    "mean-file": Key("path"),
    "model-color-format": Key("int", choices=(0, 1, 2)),
    "net-scale-factor": Key("float"),
    "network-input-order": Key("int", choices=(0, 1)),
    "network-type": Key("int", choices=(0, 1, 2, 3, 100)),
    "num-detected-classes": Key("int", 1, MAX_CLASSES),
    "offsets": Key("floats", count=(1, 3)),
    "onnx-file": Key("path"),
    "operate-on-class-ids": Key("ints", 0),
    "operate-on-gie-id": Key("int", -1, 2**31 - 1),
    "output-blob-names": Key("texts"),
    "parser": Key("text"),
    "process-mode": Key("int", choices=(1, 2)),
    "scaling-filter": Key("int", choices=(0, 1, 2, 3, 4, 5, 6)),
    "secondary-reinfer-interval": Key("int", 0, 2**31 - 1),
    "symmetric-padding": Key("bool"),
}

# Known to nvinfer; here they name hardware, engines, or steps that dsinfer has not.
IGNORED_KEYS = frozenset(
    {
        "auto-inc-mem",
        "custom-lib-path",
        "custom-network-config",
        "disable-output-host-copy",
        "dump-input-tensor",
        "dump-output-tensor",
        "dynamic-properties",
        "enable-dla",
        "engine-create-func-name",
        "force-implicit-batch-dim",
        "gpu-id",
        "input-dims",
        "input-tensor-from-meta",
        "int8-calib-file",
        "ip-tensor-file",
        "layer-device-precision",
        "max-gpu-mem-per",
        "model-engine-file",
        "model-file",
        "network-mode",
        "op-tensor-files",
        "output-instance-mask",
        "output-io-formats",
        "output-tensor-meta",
        "overwrite-input-tensor",
        "overwrite-output-tensor",
        "parse-bbox-func-name",
        "parse-bbox-instance-mask-func-name",
        "parse-classifier-func-name",
        "parse-func",
        "parse-segmentation-func-name",
        "proto-file",
        "raw-output-file-write",
        "scaling-compute-hw",
        "segmentation-output-order",
        "segmentation-threshold",
        "stabilize-buffer-count",
        "strongly-typed",
        "tensor-meta-pool-size",
        "tlt-encoded-model",
        "tlt-model-key",
        "uff-file",
        "uff-input-blob-name",
        "uff-input-dims",
        "uff-input-order",
        "use-dla-core",
        "warmup-engine",
        "workspace-size",
    }
)

_COLOR = Key("floats", 0, 1, count=(4,))

CLASS_KEYS: dict[str, Key] = {
    "bg-color": _COLOR,
    "border-color": _COLOR,
    "detected-max-h": Key("int", 0),
    "detected-max-w": Key("int", 0),
    "detected-min-h": Key("int", 0),
    "detected-min-w": Key("int", 0),
    "nms-iou-threshold": Key("float", 0, 1),
    "post-cluster-threshold": Key("float", 0),
    "pre-cluster-threshold": Key("float", 0),
    "roi-bottom-offset": Key("int", 0),
    "roi-top-offset": Key("int", 0),
    "threshold": Key("float", 0, name="pre-cluster-threshold"),
    "topk": Key("int", 0),
}

# Parameters of the cluster modes that are not supported.
IGNORED_CLASS_KEYS = frozenset({"dbscan-min-score", "eps", "group-threshold", "minBoxes"})
