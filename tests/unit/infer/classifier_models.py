"""A classifier made here: which colour an image has, and how bright it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

LABELS = "red;green;blue\ndark;bright\n"
CONFIG = """\
[property]
onnx-file=model.onnx
labelfile-path=labels.txt
network-type=1
process-mode=2
gie-unique-id=5
batch-size=2
network-input-order=0
net-scale-factor=0.00392156862745098
classifier-threshold=0.5
classifier-type=look
"""


def save_classifier(folder: Path, config: str = CONFIG) -> Path:
    """Model, labels and ``config.txt``: ``color`` [N, 3, 1, 1] is the mean of each channel,
    ``light`` [N, 2] is 1 - mean and mean of all.
    """
    helper, proto = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["color"], axes=[2, 3], keepdims=1),
        helper.make_node("ReduceMean", ["image"], ["all"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["all", "one"], ["bright"]),
        helper.make_node("Sub", ["unit", "bright"], ["dark"]),
        helper.make_node("Concat", ["dark", "bright"], ["light"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "look",
        [helper.make_tensor_value_info("image", proto.FLOAT, ["N", 3, 8, 8])],
        [
            helper.make_tensor_value_info("color", proto.FLOAT, None),
            helper.make_tensor_value_info("light", proto.FLOAT, None),
        ],
        [
            helper.make_tensor("one", proto.INT64, [1], [1]),
            helper.make_tensor("unit", proto.FLOAT, [], np.ones(1, np.float32)),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    (folder / "labels.txt").write_text(LABELS)
    (folder / "config.txt").write_text(config)
    return folder / "config.txt"
