"""Probe code of the kinds that DeepStream's Python samples show, written anew, in pipelines."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, launch, play

import dselements.compat.pyds as pyds
from dselements._core import _native
from dselements.errors import SurfaceError

SOURCE = "videotestsrc num-buffers={n} pattern=black ! video/x-raw,format=RGBA,width=64,height=48"
STREAMS = (
    f"{SOURCE} ! m.sink_0 {SOURCE} ! m.sink_1 "
    "dsmux name=m batch-size=2 width=64 height=48 ! dssynth num-objects=5 "
)
VEHICLE, PERSON = 0, 2


def probed(description: str, probe: Callable[[Any, Any, Any], Any], user_data: Any = None) -> Any:
    """Run with a buffer probe on the source pad of the element ``tap``."""
    pipeline = launch(description)
    pad = pipeline.get_by_name("tap").get_static_pad("src")
    errors: list[BaseException] = []

    def guarded(pad: Any, info: Any, data: Any) -> Any:
        try:
            return probe(pad, info, data)
        except BaseException as error:  # noqa: BLE001 - PyGObject would only print it
            errors.append(error)
            return Gst.PadProbeReturn.OK

    pad.add_probe(Gst.PadProbeType.BUFFER, guarded, user_data)
    assert play(pipeline) == []
    assert errors == []
    return pipeline


def test_counts_by_class_and_a_text_on_each_frame() -> None:
    """test1: objects are counted by class, and a display meta shows the numbers."""
    shown: list[str] = []
    drawn: list[dict[str, Any]] = []

    def probe(pad: Any, info: Any, u_data: Any) -> Any:
        gst_buffer = info.get_buffer()
        if not gst_buffer:
            return Gst.PadProbeReturn.OK
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(gst_buffer))
        l_frame = batch_meta.frame_meta_list
        while l_frame is not None:
            try:
                frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
            except StopIteration:
                break
            obj_counter: Counter[int] = Counter()
            frame_number = frame_meta.frame_num
            num_rects = frame_meta.num_obj_meta
            l_obj = frame_meta.obj_meta_list
            while l_obj is not None:
                try:
                    obj_meta = pyds.NvDsObjectMeta.cast(l_obj.data)
                except StopIteration:
                    break
                obj_counter[obj_meta.class_id] += 1
                obj_meta.rect_params.border_color.set(0.0, 0.0, 1.0, 0.8)
                try:
                    l_obj = l_obj.next
                except StopIteration:
                    break
            display_meta = pyds.nvds_acquire_display_meta_from_pool(batch_meta)
            display_meta.num_labels = 1
            text = display_meta.text_params[0]
            text.display_text = (
                f"Frame Number={frame_number} Number of Objects={num_rects} "
                f"Vehicle_count={obj_counter[VEHICLE]} Person_count={obj_counter[PERSON]}"
            )
            text.x_offset, text.y_offset = 10, 12
            text.font_params.font_name = "Serif"
            text.font_params.font_size = 10
            text.font_params.font_color.set(1.0, 1.0, 1.0, 1.0)
            text.set_bg_clr = 1
            text.text_bg_clr.set(0.0, 0.0, 0.0, 1.0)
            shown.append(pyds.get_string(text.display_text) or "")
            pyds.nvds_add_display_meta_to_frame(frame_meta, display_meta)
            try:
                l_frame = l_frame.next
            except StopIteration:
                break
        return Gst.PadProbeReturn.OK

    def look(batch: Any) -> None:
        drawn.append(_native.Snapshot(batch.address).gather_display()[0][2])
        assert batch.objects.border_color[:, 2].tolist() == [1.0] * 10
        counts = Counter(batch.objects.class_id.tolist())
        assert shown[-1].endswith(f"Vehicle_count={counts[VEHICLE]} Person_count={counts[PERSON]}")

    pipeline = launch(
        f"{SOURCE.format(n=6)} ! dssynth num-objects=10 ! identity name=tap "
        "! testlook name=look ! dsosd ! fakesink",
        look=look,
    )
    pipeline.get_by_name("tap").get_static_pad("src").add_probe(
        Gst.PadProbeType.BUFFER, probe, None
    )
    assert play(pipeline) == []
    assert [text.split(" Number of")[0] for text in shown] == [
        f"Frame Number={k}" for k in range(6)
    ]
    assert all("Number of Objects=10 " in text for text in shown)
    white, black = (1, 1, 1, 1), (0, 0, 0, 1)
    assert [d["texts"] for d in drawn] == [
        [(text.encode(), 10, 12, b"Serif", 10, white, 1, black)] for text in shown
    ]


# -- data that NVIDIA's elements attach, laid out by hand -------------------------------------


class Native:
    """Memory that a C element would own; kept for as long as the batch."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def put(self, raw: bytes) -> int:
        at = _native.block_new(max(len(raw), 1))
        _native.block_write(at, raw)
        self.kept.append(at)
        return at

    def free(self) -> None:
        for at in self.kept:
            _native.block_free(at)


def words(*values: int, size: int = 8) -> bytes:
    return b"".join(v.to_bytes(size, "little") for v in values)


def past_frames(memory: Native, uid: int, boxes: list[tuple[float, ...]]) -> int:
    """A NvDsTargetMiscDataBatch with one stream, one target and its past boxes."""
    size = pyds.NvDsTargetMiscDataFrame.size_in("")
    at_end = size - (24 if size == 144 else 16)
    history = b""
    for k, box in enumerate(boxes):
        frame = bytearray(size)
        frame[0:4] = words(40 + k, size=4)
        frame[8:24] = np.array(box, np.float32).tobytes()
        frame[at_end : at_end + 4] = np.float32(0.5 + k / 8).tobytes()
        frame[at_end + 4 : at_end + 8] = words(k + 1, size=4)
        history += bytes(frame)
    target = bytearray(160)
    target[0:8] = words(memory.put(history))
    target[8:12] = words(len(boxes), size=4)
    target[16:24] = words(uid)
    target[24:26] = words(2, size=2)
    target[26:30] = b"bike"
    stream = words(memory.put(bytes(target)), 1, 3) + words(1, 1, size=4)
    return memory.put(words(memory.put(stream)) + words(1, 1, size=4) + words(0))


def test_tracker_ids_and_frames_of_the_past(batch_meta: Any) -> None:
    """test2: the tracker's past frames hang on the batch."""
    memory = Native()
    boxes = [(1.0, 2.0, 3.0, 4.0), (2.0, 2.0, 3.0, 4.0), (3.0, 2.0, 3.0, 4.0)]
    user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
    user_meta.user_meta_data = past_frames(memory, 77, boxes)
    user_meta.base_meta.meta_type = pyds.NvDsMetaType.NVDS_TRACKER_PAST_FRAME_META
    pyds.nvds_add_user_meta_to_batch(batch_meta, user_meta)

    found = []
    l_user = batch_meta.batch_user_meta_list
    while l_user is not None:
        try:
            meta = pyds.NvDsUserMeta.cast(l_user.data)
        except StopIteration:
            break
        if meta.base_meta.meta_type == pyds.NvDsMetaType.NVDS_TRACKER_PAST_FRAME_META:
            batch = pyds.NvDsTargetMiscDataBatch.cast(meta.user_meta_data)
            assert (batch.numFilled, batch.numAllocated) == (1, 1)
            for stream in pyds.NvDsTargetMiscDataBatch.list(batch):
                for target in pyds.NvDsTargetMiscDataStream.list(stream):
                    head = (stream.streamID, target.uniqueId, target.classId, target.objLabel)
                    for frame in pyds.NvDsTargetMiscDataObject.list(target):
                        box = frame.tBbox
                        found.append(
                            (*head, frame.frameNum, box.left, box.top, box.width, box.height,
                             frame.confidence, frame.age)
                        )  # fmt: skip
        try:
            l_user = l_user.next
        except StopIteration:
            break
    assert found == [
        (1, 77, 2, "bike", 40 + k, *box, 0.5 + k / 8, k + 1) for k, box in enumerate(boxes)
    ]
    held = frame
    pyds.nvds_remove_user_meta_from_batch(batch_meta, user_meta)
    memory.free()
    assert held.is_stale


def test_tracks_are_followed_by_their_ids() -> None:
    """test2: an object keeps its number from frame to frame."""
    seen: dict[int, list[float]] = defaultdict(list)

    def probe(pad: Any, info: Any, u_data: Any) -> Any:
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(info.get_buffer()))
        l_obj = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data).obj_meta_list
        while l_obj is not None:
            obj_meta = pyds.NvDsObjectMeta.cast(l_obj.data)
            seen[obj_meta.object_id].append(obj_meta.rect_params.left)
            l_obj = l_obj.next
        return Gst.PadProbeReturn.OK

    probed(f"{SOURCE.format(n=8)} ! dssynth num-objects=4 name=tap ! fakesink", probe)
    assert len(seen) == 4
    assert {len(x) for x in seen.values()} == {8}


def test_frames_of_each_stream_are_counted() -> None:
    """test3: several inputs; each frame says from which it came."""
    frames: Counter[str] = Counter()
    objects: Counter[str] = Counter()

    def probe(pad: Any, info: Any, u_data: Any) -> Any:
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(info.get_buffer()))
        l_frame = batch_meta.frame_meta_list
        while l_frame is not None:
            frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
            stream = f"stream{frame_meta.pad_index}"
            assert frame_meta.source_id == frame_meta.pad_index
            frames[stream] += 1
            objects[stream] += frame_meta.num_obj_meta
            l_frame = l_frame.next
        return Gst.PadProbeReturn.OK

    probed(f"{STREAMS.format(n=15)} ! identity name=tap ! fakesink", probe)
    assert frames == {"stream0": 15, "stream1": 15}
    assert objects == {"stream0": 75, "stream1": 75}


def test_event_messages_with_extensions_survive_a_tee() -> None:
    """test4: an event message on every frame, read behind a tee that copies the metadata."""
    read: list[tuple[Any, ...]] = []
    before = _native.live_blocks()

    def vehicle(data: Any) -> Any:
        obj = pyds.NvDsVehicleObject.cast(data)
        obj.type, obj.color, obj.license = "sedan", "blue", "XX1234"
        return obj

    def attach(pad: Any, info: Any, u_data: Any) -> Any:
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(info.get_buffer()))
        frame_meta = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data)
        obj_meta = pyds.NvDsObjectMeta.cast(frame_meta.obj_meta_list.data)
        user_event_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
        assert user_event_meta
        msg_meta = pyds.alloc_nvds_event_msg_meta(user_event_meta)
        msg_meta.bbox.top = obj_meta.rect_params.top
        msg_meta.bbox.left = obj_meta.rect_params.left
        msg_meta.frameId = frame_meta.frame_num
        msg_meta.trackingId = obj_meta.object_id
        msg_meta.confidence = obj_meta.confidence
        msg_meta.sensorId = 1
        msg_meta.sensorStr = "sensor-0"
        msg_meta.ts = pyds.alloc_buffer(33)
        pyds.generate_ts_rfc3339(msg_meta.ts, 32)
        msg_meta.type = pyds.NvDsEventType.NVDS_EVENT_MOVING
        msg_meta.objType = pyds.NvDsObjectType.NVDS_OBJECT_TYPE_VEHICLE
        msg_meta.extMsg = vehicle(pyds.alloc_nvds_vehicle_object())
        msg_meta.extMsgSize = sys.getsizeof(pyds.NvDsVehicleObject)
        user_event_meta.user_meta_data = msg_meta
        user_event_meta.base_meta.meta_type = pyds.NvDsMetaType.NVDS_EVENT_MSG_META
        pyds.nvds_add_user_meta_to_frame(frame_meta, user_event_meta)
        return Gst.PadProbeReturn.OK

    def look(batch: Any) -> None:
        frame_meta = pyds.NvDsFrameMeta.cast(
            pyds.NvDsBatchMeta.cast(batch.address).frame_meta_list.data
        )
        user_meta = pyds.NvDsUserMeta.cast(frame_meta.frame_user_meta_list.data)
        assert user_meta.base_meta.meta_type == pyds.NVDS_EVENT_MSG_META
        message = pyds.NvDsEventMsgMeta.cast(user_meta.user_meta_data)
        obj = pyds.NvDsVehicleObject.cast(message.extMsg)
        stamp = pyds.get_string(message.ts) or ""
        assert (len(stamp), stamp[10], stamp[-1]) == (24, "T", "Z")
        read.append(
            (message.frameId, message.sensorStr.text, message.type.name, message.objType.name,
             obj.type.text, obj.color.text, obj.license.text, obj.make)
        )  # fmt: skip

    pipeline = launch(
        f"{SOURCE.format(n=6)} ! dssynth num-objects=3 ! identity name=tap ! tee name=t "
        "t. ! queue ! testlook name=a ! fakesink async=false "
        "t. ! queue ! testlook name=b ! fakesink async=false",
        a=look,
        b=look,
    )
    pipeline.get_by_name("tap").get_static_pad("src").add_probe(
        Gst.PadProbeType.BUFFER, attach, None
    )
    assert play(pipeline) == []
    del pipeline
    want = ("sensor-0", "NVDS_EVENT_MOVING", "NVDS_OBJECT_TYPE_VEHICLE", "sedan", "blue", "XX1234")
    assert sorted(read) == sorted([(k, *want, 0) for k in range(6)] * 2)
    assert _native.live_blocks() == before


def test_pixels_of_each_frame_of_a_batch() -> None:
    """imagedata: NumPy views of frames, drawn on and copied."""
    shapes: list[tuple[int, ...]] = []
    means: dict[int, float] = {}

    def probe(pad: Any, info: Any, u_data: Any) -> Any:
        gst_buffer = info.get_buffer()
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(gst_buffer))
        l_frame = batch_meta.frame_meta_list
        while l_frame is not None:
            frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
            n_frame = pyds.get_nvds_buf_surface(hash(gst_buffer), frame_meta.batch_id)
            frame_copy = np.array(n_frame, copy=True, order="C")
            shapes.append(frame_copy.shape)
            means[frame_meta.source_id] = float(frame_copy[..., :3].mean())
            pyds.unmap_nvds_buf_surface(hash(gst_buffer), frame_meta.batch_id)
            l_frame = l_frame.next
        return Gst.PadProbeReturn.OK

    white = SOURCE.replace("black", "white")
    probed(
        f"{SOURCE.format(n=3)} ! m.sink_0 {white.format(n=3)} ! m.sink_1 "
        "dsmux name=m batch-size=2 width=64 height=48 ! dssynth num-objects=1 name=tap ! fakesink",
        probe,
    )
    assert shapes == [(48, 64, 4)] * 6
    assert means == {0: 0.0, 1: 255.0}


def test_a_buffer_of_ones_own_is_drawn_on_in_place() -> None:
    buffer = Gst.Buffer.new_allocate(None, 2 * 64 * 48 * 4, None)
    batch_meta = pyds.NvDsBatchMeta.cast(_native.create_batch(2, hash(buffer)))
    for k in range(2):
        frame = pyds.nvds_acquire_frame_meta_from_pool(batch_meta)
        frame.batch_id, frame.source_frame_width, frame.source_frame_height = k, 64, 48
        pyds.nvds_add_frame_meta_to_batch(batch_meta, frame)
    for k in range(2):
        view = pyds.get_nvds_buf_surface(hash(buffer), k)
        assert view.flags.writeable
        view[:] = 100 + k
        view[0, 0] = (1, 2, 3, 4)
        del view
    data = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(2, 48, 64, 4)
    assert data[:, 1:].mean(axis=(1, 2, 3)).tolist() == [100, 101]
    assert data[:, 0, 0].tolist() == [[1, 2, 3, 4]] * 2


def test_rgb_rows_are_padded_and_a_view_outlives_its_buffer() -> None:
    width, height, stride = 5, 3, 16
    buffer = Gst.Buffer.new_allocate(None, stride * height, None)
    buffer.fill(0, bytes(range(stride * height)))
    batch_meta = pyds.NvDsBatchMeta.cast(_native.create_batch(1, hash(buffer)))
    frame = pyds.nvds_acquire_frame_meta_from_pool(batch_meta)
    frame.source_frame_width, frame.source_frame_height = width, height
    pyds.nvds_add_frame_meta_to_batch(batch_meta, frame)
    view = pyds.get_nvds_buf_surface(hash(buffer), 0)
    del buffer
    assert view.shape == (height, width, 3)
    assert np.shares_memory(view, view.base)
    assert view[1].ravel().tolist() == list(range(16, 31))
    view[2, 4] = 255
    assert view[2, 4].tolist() == [255] * 3


def test_pixels_that_cannot_be_seen_say_what_to_do() -> None:
    refused: list[str] = []

    def probe(pad: Any, info: Any, u_data: Any) -> Any:
        address = hash(info.get_buffer())
        for call in (
            lambda: pyds.get_nvds_buf_surface(address, 0),
            lambda: pyds.get_nvds_buf_surface_gpu(address, 0),
        ):
            with pytest.raises(SurfaceError) as caught:
                call()
            refused.append(str(caught.value))
        with pytest.raises(ValueError, match="no frame of the batch has batch_id 7"):
            pyds.get_nvds_buf_surface(address, 7)
        return Gst.PadProbeReturn.OK

    probed(
        "videotestsrc num-buffers=1 ! video/x-raw,format=NV12,width=64,height=48 "
        "! dssynth num-objects=1 name=tap ! fakesink",
        probe,
    )
    assert "videoconvert ! video/x-raw,format=RGBA" in refused[0]
    assert "frame.surface()" in refused[1]

    buffer = Gst.Buffer.new_allocate(None, 72, None)  # an NVMM buffer holds a NvBufSurface
    address = _native.create_batch(1, hash(buffer))
    batch_meta = pyds.NvDsBatchMeta.cast(address)
    frame = pyds.nvds_acquire_frame_meta_from_pool(batch_meta)
    pyds.nvds_add_frame_meta_to_batch(batch_meta, frame)
    with pytest.raises(SurfaceError, match=r"NVMM .* nvvideoconvert ! video/x-raw,format=RGBA"):
        pyds.get_nvds_buf_surface(hash(buffer), 0)


def test_classifier_labels_are_made_and_read(batch_meta: Any) -> None:
    """test2: secondary classifiers hang labels on objects."""
    frame_meta = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data)
    obj_meta = pyds.NvDsObjectMeta.cast(frame_meta.obj_meta_list.data)
    for component, names in ((2, ("red", "dark")), (3, ("sedan",))):
        classifier = pyds.nvds_acquire_classifier_meta_from_pool(batch_meta)
        classifier.unique_component_id = component
        for k, name in enumerate(names):
            label = pyds.nvds_acquire_label_info_meta_from_pool(batch_meta)
            label.result_label, label.result_class_id, label.result_prob = name, k, 0.5
            label.label_id, label.num_classes = k, 9
            pyds.nvds_add_label_info_meta_to_classifier(classifier, label)
        pyds.nvds_add_classifier_meta_to_object(obj_meta, classifier)
    found: dict[int, list[tuple[Any, ...]]] = {}
    l_class = obj_meta.classifier_meta_list
    while l_class is not None:
        classifier = pyds.NvDsClassifierMeta.cast(l_class.data)
        labels = []
        l_label = classifier.label_info_list
        while l_label is not None:
            label = pyds.NvDsLabelInfo.cast(l_label.data)
            labels.append((label.result_label, label.result_class_id, label.result_prob))
            l_label = l_label.next
        assert classifier.num_labels == len(labels)
        found[classifier.unique_component_id] = sorted(labels)
        l_class = l_class.next
    assert found == {2: [("dark", 1, 0.5), ("red", 0, 0.5)], 3: [("sedan", 0, 0.5)]}
    pyds.nvds_remove_classifier_meta_from_obj(obj_meta, classifier)
    assert obj_meta.classifier_meta_list.next is None
    label = pyds.NvDsLabelInfo.cast(
        pyds.NvDsClassifierMeta.cast(obj_meta.classifier_meta_list.data).label_info_list.data
    )
    classifier = pyds.NvDsClassifierMeta.cast(obj_meta.classifier_meta_list.data)
    left = classifier.num_labels
    pyds.nvds_remove_label_info_meta_from_classifier(classifier, label)
    assert classifier.num_labels == left - 1


def layer(memory: Native, name: str, dims: tuple[int, ...]) -> bytes:
    """A NvDsInferLayerInfo of float32 values."""
    shape = (*dims, *[0] * (8 - len(dims)))
    count = int(np.prod(dims))
    head = words(0, len(dims), *shape, count, 0, size=4)
    return head + words(memory.put(name.encode() + b"\0"), 0) + words(0, 0, size=4)


def test_boxes_are_parsed_from_raw_outputs(batch_meta: Any) -> None:
    """ssd-parser: the network's output layers, read value by value and turned into objects."""
    memory = Native()
    boxes = np.array([[0.1, 0.2, 0.5, 0.6], [0.3, 0.3, 0.4, 0.9]], np.float32)
    scores = np.array([0.9, 0.2], np.float32)
    layers = layer(memory, "detection_boxes", (2, 4)) + layer(memory, "detection_scores", (2,))
    pointers = words(memory.put(boxes.tobytes()), memory.put(scores.tobytes()))
    tensor = (
        words(5, 2, size=4) + words(memory.put(layers), memory.put(pointers), 0)
        + words(0, 0, size=4) + words(0) + words(300, 300, 3, 0, 0, 0, size=4)
    )  # fmt: skip
    frame_meta = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data)
    user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
    user_meta.user_meta_data = memory.put(tensor)
    user_meta.base_meta.meta_type = pyds.NvDsMetaType.NVDSINFER_TENSOR_OUTPUT_META
    pyds.nvds_add_user_meta_to_frame(frame_meta, user_meta)

    l_user = frame_meta.frame_user_meta_list
    user_meta = pyds.NvDsUserMeta.cast(l_user.data)
    assert user_meta.base_meta.meta_type == pyds.NvDsMetaType.NVDSINFER_TENSOR_OUTPUT_META
    tensor_meta = pyds.NvDsInferTensorMeta.cast(user_meta.user_meta_data)
    assert (tensor_meta.unique_id, tensor_meta.num_output_layers) == (5, 2)
    assert tensor_meta.network_info.width == 300
    by_name = {}
    for i in range(tensor_meta.num_output_layers):
        info = pyds.get_nvds_LayerInfo(tensor_meta, i)
        by_name[info.layerName] = info
    box_layer, score_layer = by_name["detection_boxes"], by_name["detection_scores"]
    assert box_layer.inferDims.d[: box_layer.inferDims.numDims].tolist() == [2, 4]
    assert box_layer.dataType == pyds.FLOAT
    added = 0
    for i in range(score_layer.inferDims.numElements):
        score = pyds.get_detections(score_layer.buffer, i)
        if score < 0.5:
            continue
        box = [pyds.get_detections(box_layer.buffer, 4 * i + k) for k in range(4)]
        obj_meta = pyds.nvds_acquire_obj_meta_from_pool(batch_meta)
        rect = obj_meta.rect_params
        rect.left, rect.top = box[1] * 100, box[0] * 100
        rect.width, rect.height = (box[3] - box[1]) * 100, (box[2] - box[0]) * 100
        obj_meta.confidence = score
        obj_meta.object_id = 0xFFFFFFFFFFFFFFFF
        obj_meta.obj_label = "found"
        pyds.nvds_add_obj_meta_to_frame(frame_meta, obj_meta, None)
        added += 1
    assert added == 1
    new = pyds.NvDsObjectMeta.cast(frame_meta.obj_meta_list.data)
    assert (new.obj_label, round(new.confidence, 6)) == ("found", 0.9)
    assert [round(getattr(new.rect_params, k)) for k in ("left", "top", "width", "height")] == [
        20, 10, 40, 40,
    ]  # fmt: skip
    # What NumPy users do with the same pointer.
    import ctypes

    pointer = ctypes.cast(pyds.get_ptr(box_layer.buffer), ctypes.POINTER(ctypes.c_float))
    assert np.array_equal(np.ctypeslib.as_array(pointer, shape=(2, 4)), boxes)
    with pytest.raises(ValueError, match="layer 2 of 2"):
        pyds.get_nvds_LayerInfo(tensor_meta, 2)
    pyds.nvds_remove_user_meta_from_frame(frame_meta, user_meta)
    memory.free()


def test_segmentation_masks_and_reid_vectors(batch_meta: Any) -> None:
    memory = Native()
    classes = np.array([[0, 1, -1], [2, 0, 1]], np.int32)
    frame_meta = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data)
    vector = np.arange(5, dtype=np.float32)
    for meta_type, raw in (
        (pyds.NVDSINFER_SEGMENTATION_META,
         words(3, 3, 2, 0, size=4) + words(memory.put(classes.tobytes()), 0, 0, 0)),
        (1234, words(5, 0, size=4) + words(memory.put(vector.tobytes()), 0)),
    ):  # fmt: skip
        user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
        user_meta.user_meta_data = memory.put(raw)
        user_meta.base_meta.meta_type = meta_type
        pyds.nvds_add_user_meta_to_frame(frame_meta, user_meta)
    by_type = {}
    node = frame_meta.frame_user_meta_list
    while node is not None:
        user_meta = pyds.NvDsUserMeta.cast(node.data)
        by_type[int(user_meta.base_meta.meta_type)] = user_meta.user_meta_data
        node = node.next
    masks = pyds.get_segmentation_masks(by_type[13])
    assert masks.tolist() == classes.tolist()
    reid = pyds.NvDsObjReid.cast(by_type[1234])
    assert reid.get_host_reid_vector().tolist() == vector.tolist()
    pyds.nvds_clear_frame_user_meta_list(frame_meta, frame_meta.frame_user_meta_list)
    memory.free()


def test_a_custom_user_meta_travels_from_one_probe_to_the_next() -> None:
    """user-metadata-test: a structure attached before a queue and read behind it."""
    read: list[tuple[Any, ...]] = []

    def write(pad: Any, info: Any, u_data: Any) -> Any:
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(info.get_buffer()))
        pyds.nvds_acquire_meta_lock(batch_meta)
        l_frame = batch_meta.frame_meta_list
        while l_frame is not None:
            frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
            user_meta = pyds.nvds_acquire_user_meta_from_pool(batch_meta)
            if user_meta:
                data = pyds.alloc_custom_struct(user_meta)
                data.message = f"test message {frame_meta.frame_num}"
                data.message = pyds.get_string(data.message)
                data.structId = frame_meta.frame_num
                data.sampleInt = frame_meta.frame_num + 1
                user_meta.user_meta_data = data
                user_meta.base_meta.meta_type = pyds.NvDsMetaType.NVDS_USER_META
                pyds.nvds_add_user_meta_to_frame(frame_meta, user_meta)
            l_frame = l_frame.next
        pyds.nvds_release_meta_lock(batch_meta)
        return Gst.PadProbeReturn.OK

    def take(pad: Any, info: Any, u_data: Any) -> Any:
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(info.get_buffer()))
        frame_meta = pyds.NvDsFrameMeta.cast(batch_meta.frame_meta_list.data)
        node = frame_meta.frame_user_meta_list
        while node is not None:
            user_meta = pyds.NvDsUserMeta.cast(node.data)
            if user_meta.base_meta.meta_type == pyds.NvDsMetaType.NVDS_USER_META:
                data = pyds.CustomDataStruct.cast(user_meta.user_meta_data)
                read.append((data.structId, pyds.get_string(data.message), data.sampleInt))
            node = node.next
        return Gst.PadProbeReturn.OK

    pipeline = launch(
        f"{SOURCE.format(n=10)} ! dssynth num-objects=1 name=w ! queue ! identity name=r ! fakesink"
    )
    for name, probe in (("w", write), ("r", take)):
        pipeline.get_by_name(name).get_static_pad("src").add_probe(
            Gst.PadProbeType.BUFFER, probe, None
        )
    assert play(pipeline) == []
    del pipeline
    assert read == [(k, f"test message {k}", k + 1) for k in range(10)]
