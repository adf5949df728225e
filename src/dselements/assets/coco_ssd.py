"""The demo's detector: SSD "lite" with MobileNet v2, trained on COCO.

Input ``image`` uint8 [N, 300, 300, 3] RGB. Outputs ``boxes`` float32 [N, 1917, 4] ymin, xmin, ymax,
xmax in 0 to 1 and ``scores`` float32 [N, 1917, 90]; COCO's category id is column + 1.
Suppression of overlapping boxes is left to the caller. On a photograph all outputs agreed with
TensorFlow.js (its CPU backend, on the original graph) within 7e-7.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .tfjs import OnnxBuilder, TfjsGraph, TrunkConverter

SIZE = 300
CLASSES = 90
PREDICTORS = 6

# COCO's 91 categories in the order of their ids, without the last one (hair brush is not in the
# model). Ten of them were never annotated and so are never found.
LABELS = tuple(
    """person;bicycle;car;motorcycle;airplane;bus;train;truck;boat;traffic light;fire hydrant;
street sign;stop sign;parking meter;bench;bird;cat;dog;horse;sheep;cow;elephant;bear;zebra;giraffe;
hat;backpack;umbrella;shoe;eye glasses;handbag;tie;suitcase;frisbee;skis;snowboard;sports ball;kite;
baseball bat;baseball glove;skateboard;surfboard;tennis racket;bottle;plate;wine glass;cup;fork;
knife;spoon;bowl;banana;apple;sandwich;orange;broccoli;carrot;hot dog;pizza;donut;cake;chair;couch;
potted plant;bed;mirror;dining table;window;desk;toilet;door;tv;laptop;mouse;remote;keyboard;
cell phone;microwave;oven;toaster;sink;refrigerator;blender;book;clock;vase;scissors;teddy bear;
hair drier;toothbrush""".replace("\n", "").split(";")
)

CONFIG = """\
# Detector of the dselements demo, in nvinfer's form. Written by dselements.assets: copy it before
# you change it, for it is written anew when it differs.
[property]
onnx-file=model.onnx
labelfile-path=labels.txt
num-detected-classes=90
gie-unique-id=1
batch-size=4
process-mode=1
network-type=0
# the model takes uint8 RGB images, interleaved, and normalises them itself
network-input-order=1
model-color-format=0
# boxes [N, 1917, 4] and scores [N, 1917, 90]
parser=ssd
cluster-mode=2

[class-attrs-all]
pre-cluster-threshold=0.3
nms-iou-threshold=0.5
"""


def convert(model_json: Path, target: Path) -> None:
    """Write the detector as ONNX.

    The graph's own resizing and its loops over the batch are left out: the input has the network's
    size already. Anchors and box decoding come from the graph's constants.

    :raises AssetError: the graph is not the expected one.
    """
    graph = TfjsGraph(model_json)
    build = OnnxBuilder()
    scale, shift = graph.scalar("Preprocessor/mul/x"), graph.scalar("Preprocessor/sub/y")
    build.add("Cast", ["image"], "image/float", to=1)
    build.add("Mul", ["image/float", build.constant("scale", scale)], "image/scaled")
    build.add("Sub", ["image/scaled", build.constant("shift", shift)], "image/normal")
    build.add("Transpose", ["image/normal"], "image/nchw", perm=[0, 3, 1, 2])

    trunk = TrunkConverter(graph, build, {"Preprocessor/sub": "image/nchw"})

    def head(kind: str, columns: int) -> str:
        shape = build.constant(f"{kind}/shape", [0, -1, columns], np.int64)
        parts = []
        for index in range(PREDICTORS):
            name = f"{kind}/{index}"
            tensor = trunk.tensor(f"BoxPredictor_{index}/{kind}/BiasAdd")
            build.add("Transpose", [tensor], f"{name}/nhwc", perm=[0, 2, 3, 1])
            parts.append(build.add("Reshape", [f"{name}/nhwc", shape], f"{name}/rows"))
        return build.add("Concat", parts, kind, axis=1)

    logits = head("ClassPredictor", CLASSES + 1)  # column 0 is the background
    build.add("Sigmoid", [logits], "scores/all")
    first, last, axis = (
        build.constant(f"scores/{name}", [value], np.int64)
        for name, value in (("first", 1), ("last", CLASSES + 1), ("axis", 2))
    )
    build.add("Slice", ["scores/all", first, last, axis], "scores")

    anchors = _decode(graph, build, head("BoxEncodingPredictor", 4))
    build.save(
        target,
        "coco_ssd_lite_mobilenet_v2",
        {"image": (np.uint8, ("N", SIZE, SIZE, 3))},
        {"boxes": (np.float32, ("N", anchors, 4)), "scores": (np.float32, ("N", anchors, CLASSES))},
    )


def _decode(graph: TfjsGraph, build: OnnxBuilder, encodings: str) -> int:
    """Boxes from encodings (dy, dx, log height, log width) and anchors; returns their number.

    centre = anchor centre + d / scale * anchor size; size = exp(log size / scale) * anchor size.
    """
    anchors = graph.weights["Postprocessor/ExpandDims"].reshape(-1, 4).astype(np.float32)
    sizes = anchors[:, 2:] - anchors[:, :2]  # corners are ymin, xmin, ymax, xmax
    centres = anchors[:, :2] + sizes / 2
    # The graph holds the reciprocals of the scales, 1/10 and 1/5.
    centre_scale = graph.scalar("ConstantFolding/Postprocessor/Decode/div_recip")
    size_scale = graph.scalar("ConstantFolding/Postprocessor/Decode/div_2_recip")
    halves = build.constant("decode/split", [2, 2], np.int64)
    build.add_many("Split", [encodings, halves], ["decode/d", "decode/log"], axis=2)
    factor = build.constant("decode/factor", (sizes * centre_scale)[None])
    build.add("Mul", ["decode/d", factor], "decode/moved")
    build.add("Add", ["decode/moved", build.constant("decode/centres", centres[None])], "centre")
    build.add("Mul", ["decode/log", build.constant("decode/scale", size_scale)], "decode/scaled")
    build.add("Exp", ["decode/scaled"], "decode/exp")
    build.add("Mul", ["decode/exp", build.constant("decode/half", (sizes / 2)[None])], "half")
    build.add("Sub", ["centre", "half"], "low")
    build.add("Add", ["centre", "half"], "high")
    build.add("Concat", ["low", "high"], "boxes", axis=2)
    return len(anchors)
