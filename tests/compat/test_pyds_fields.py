"""Fields of pyds's structures: every one is read and written where the library has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from walking import frames, objects

import dselements.compat.pyds as pyds
from dselements._core import _native
from dselements.errors import MetadataValueError, NonFiniteValueError, UnsupportedFieldError
from dselements.meta import Batch


def test_writes_reach_the_columns_and_columns_reach_the_reads(address: int) -> None:
    obj = objects(frames(pyds.NvDsBatchMeta.cast(address))[0])[2]
    obj.class_id = 7
    obj.confidence = 0.25
    obj.object_id = 1 << 63
    obj.obj_label = "häuser"
    obj.unique_component_id = 3
    obj.tracker_confidence = 0.5
    obj.rect_params.left = 1.5
    obj.rect_params.border_width = 4
    obj.rect_params.border_color.set(0.1, 0.2, 0.3, 0.4)
    obj.rect_params.has_bg_color = True
    obj.rect_params.bg_color.alpha = 0.75
    obj.detector_bbox_info.org_bbox_coords.width = 33
    obj.tracker_bbox_info.org_bbox_coords.height = 44
    obj.text_params.display_text = "seen"
    obj.text_params.x_offset = 12
    obj.text_params.font_params.font_name = "Serif"
    obj.text_params.font_params.font_size = 14
    obj.text_params.font_params.font_color.set(1, 0, 0, 1)
    obj.text_params.set_bg_clr = 1
    obj.misc_obj_info[3] = -5
    with Batch(address) as batch:
        o = batch.objects
        row = 2
        assert (o.class_id[row], o.object_id[row], o.label[row]) == (7, 1 << 63, "häuser")
        assert o.confidence[row] == 0.25
        assert o.rect[row].tolist() == [1.5, 5, 20, 30]
        assert o.border_width[row] == 4
        assert o.border_color[row].tolist() == [0.1, 0.2, 0.3, 0.4]
        assert o.bg_color[row].tolist()[3] == 0.75
        assert o.detector_bbox[row].tolist() == [20, 5, 33, 30]
        assert o.tracker_bbox[row].tolist()[3] == 44
        assert o.display_text[row] == "seen"
        assert o.font_name[row] == "Serif"
        assert (o.text_x[row], o.font_size[row]) == (12, 14)
        assert o.misc_obj_info[row].tolist() == [0, 0, 0, -5]
        o.class_id[row] = 8
        o.label[row] = "short"
    assert (obj.class_id, obj.obj_label) == (8, "short")
    assert list(obj.misc_obj_info) == [0, 0, 0, -5]
    assert int(np.asarray(obj.misc_obj_info).sum()) == -5


def test_fields_of_frames_and_batches(address: int) -> None:
    batch_meta = pyds.NvDsBatchMeta.cast(address)
    frame = frames(batch_meta)[1]
    frame.buf_pts = 1 << 40
    frame.ntp_timestamp = 5
    frame.source_frame_width = 1920
    frame.bInferDone = 1
    frame.misc_frame_info[0] = 9
    batch_meta.misc_batch_info[3] = 4
    assert list(batch_meta.misc_batch_info) == [0, 0, 0, 4]
    with Batch(address) as batch:
        other = batch.frames[1]
        assert (other.buf_pts, other.ntp_timestamp, other.source_frame_width) == (1 << 40, 5, 1920)
    assert (frame.frame_num, frame.batch_id, frame.pad_index, frame.num_obj_meta) == (7, 1, 1, 6)
    assert frame.base_meta.batch_meta == batch_meta
    assert frame.base_meta.meta_type == pyds.NvDsMetaType.NVDS_FRAME_META
    assert batch_meta.max_frames_in_batch == 4
    pool = batch_meta.obj_meta_pool
    assert pool.num_full_elements == 12
    assert pool.element_size == _sizes(address)


def _sizes(address: int) -> int:
    return {"ds6": 544, "ds8": 544, "ds9": 552}[_native.layout_of(address)]


def test_a_label_is_cut_between_characters_and_a_shorter_one_ends_where_it_should(
    batch_meta: Any,
) -> None:
    a, b = objects(frames(batch_meta)[0])[:2]
    a.obj_label = "é" * 100
    assert a.obj_label == "é" * 63
    a.obj_label = "car"
    assert a.obj_label == "car"
    assert (b.obj_label, a.classifier_meta_list) == ("l1", None)


def test_display_texts_are_addresses_that_know_their_text(batch_meta: Any) -> None:
    text = objects(frames(batch_meta)[0])[0].text_params
    text.display_text = None
    assert text.display_text == 0
    assert pyds.get_string(text.display_text) is None
    text.display_text = "one"
    first = text.display_text
    text.display_text = "two"
    assert isinstance(first, int)
    assert pyds.get_string(first) == "one"  # read before the change
    assert f"{text.display_text}" == str(text.display_text) == "two"
    text.display_text = None
    assert text.display_text == 0
    with pytest.raises(MetadataValueError, match="NUL"):
        text.display_text = "a\0b"


def test_sixteen_shapes_of_a_kind(batch_meta: Any) -> None:
    display = pyds.nvds_acquire_display_meta_from_pool(batch_meta)
    display.num_lines = 16
    for k, line in enumerate(display.line_params):
        line.x1, line.line_width = k, 2
    assert [line.x1 for line in display.line_params] == list(range(16))
    with pytest.raises(MetadataValueError, match="at most 16, not 17"):
        display.num_lines = 17
    with pytest.raises(IndexError):
        display.line_params[16].x1 = 3
    pyds.nvds_add_display_meta_to_frame(frames(batch_meta)[0], display)
    shapes = _native.Snapshot(batch_meta.native_address).gather_display()[0][2]
    assert [line[0] for line in shapes["lines"]] == list(range(16))


def test_every_shape_is_where_the_overlay_reads_it(address: int) -> None:
    batch_meta = pyds.NvDsBatchMeta.cast(address)
    display = pyds.nvds_acquire_display_meta_from_pool(batch_meta)
    display.num_rects = display.num_arrows = display.num_circles = display.num_labels = 1
    display.rect_params[0].width = 5
    arrow, circle, text = (
        display.arrow_params[0], display.circle_params[0], display.text_params[0],
    )  # fmt: skip
    arrow.x2, arrow.arrow_head = 6, pyds.NvOSD_Arrow_Head_Direction.BOTH_HEAD
    arrow.arrow_color.blue = 0.5
    circle.radius, circle.xc = 7, 8
    circle.circle_color.set(1, 1, 0, 1)
    text.display_text, text.y_offset = "t", 9
    pyds.nvds_add_display_meta_to_frame(frames(batch_meta)[0], display)
    shapes = _native.Snapshot(address).gather_display()[0][2]
    assert shapes["rects"][0][2] == 5
    assert shapes["arrows"][0][2:6:3] == (6, 2)
    assert shapes["arrows"][0][6] == (0, 0, 0.5, 0)
    assert shapes["circles"][0][:3] == (8, 0, 7)
    assert shapes["circles"][0][3] == (1, 1, 0, 1)
    assert (shapes["texts"][0][0], shapes["texts"][0][2]) == (b"t", 9)


def test_structures_of_their_own_are_copied_when_assigned(batch_meta: Any) -> None:
    a, b = objects(frames(batch_meta)[0])[:2]
    color = pyds.NvOSD_ColorParams()
    color.set(0.5, 0.25, 0, 1)
    a.rect_params.bg_color = color
    color.red = 0.9
    assert (a.rect_params.bg_color.red, a.rect_params.bg_color.green) == (0.5, 0.25)
    a.text_params.display_text = "mine"
    b.text_params = a.text_params
    assert str(b.text_params.display_text) == "mine"
    assert int(b.text_params.display_text) != int(a.text_params.display_text)  # each its own
    text = pyds.NvOSD_TextParams()
    text.display_text = "loose"
    b.text_params = text
    assert str(b.text_params.display_text) == "loose"
    b.rect_params = a.rect_params
    assert b.rect_params.left == a.rect_params.left


def test_masks(batch_meta: Any, address: int) -> None:
    mask = objects(frames(batch_meta)[0])[0].mask_params
    assert mask.get_mask_array().tolist() == []
    with pytest.raises(MetadataValueError, match="0x0"):
        mask.alloc_mask_array()
    mask.width, mask.height, mask.threshold = 3, 2, 0.5
    array = mask.alloc_mask_array()
    array[:] = np.arange(6)
    array += 1
    assert mask.size == 24
    assert mask.get_mask_array().tolist() == [1, 2, 3, 4, 5, 6]
    with Batch(address) as batch:
        assert batch.objects[0].mask.shape == (2, 3)
    mask.alloc_mask_array()
    assert mask.get_mask_array().tolist() == [0] * 6


@pytest.mark.parametrize(
    ("path", "value", "error", "words"),
    [
        ("rect_params.left", math.nan, NonFiniteValueError, "left cannot be nan"),
        ("confidence", math.inf, NonFiniteValueError, "confidence cannot be inf"),
        ("confidence", 1e300, MetadataValueError, "too large for a float"),
        ("confidence", "high", MetadataValueError, "takes a number, not str"),
        ("class_id", 1 << 31, MetadataValueError, "holds -2147483648 to 2147483647"),
        ("class_id", 1.5, MetadataValueError, "takes an integer, not float"),
        ("object_id", -1, MetadataValueError, "0xFFFFFFFFFFFFFFFF, not -1"),
        ("obj_label", 5, MetadataValueError, "takes a str"),
        ("rect_params", 5, MetadataValueError, "takes a NvOSD_RectParams"),
        ("obj_user_meta_list", None, MetadataValueError, "nvds_add_ and nvds_remove_"),
        ("parent", None, MetadataValueError, "nvds_add_obj_meta_to_frame"),
        ("mask_params.data", 5, MetadataValueError, "alloc_mask_array"),
    ],
)
def test_bad_values_are_refused_and_name_the_field(
    batch_meta: Any, path: str, value: object, error: type[Exception], words: str
) -> None:
    obj = objects(frames(batch_meta)[0])[0]
    *way, name = path.split(".")
    target = obj
    for step in way:
        target = getattr(target, step)
    with pytest.raises(error, match=words):
        setattr(target, name, value)
    assert (obj.class_id, obj.object_id, obj.rect_params.left, obj.obj_label) == (0, 0, 0, "l0")


def test_an_unknown_attribute_is_an_attribute_error(batch_meta: Any) -> None:
    obj = objects(frames(batch_meta)[0])[0]
    with pytest.raises(AttributeError):
        obj.clas_id = 3
    with pytest.raises(AttributeError):
        _ = obj.label


def test_a_field_of_another_sdk_family_is_told(batch_meta: Any) -> None:
    rect = objects(frames(batch_meta)[0])[0].rect_params
    if _native.layout_of(batch_meta.native_address) == "ds9":
        rect.rotation_angle = 30
        assert rect.rotation_angle == 30
    else:
        with pytest.raises(UnsupportedFieldError):
            _ = rect.rotation_angle


def test_metas_are_made_by_pools_only() -> None:
    with pytest.raises(MetadataValueError, match="acquire it"):
        pyds.NvDsObjectMeta()
