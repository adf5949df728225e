"""The metas of a batch (nvdsmeta.h)."""

from __future__ import annotations

from ..._core.layouts import FAMILIES
from .base import Field, Meta, Struct, longs
from .enums import meta_type
from .osd import (
    NvBbox_Coords,
    NvOSD_ArrowParams,
    NvOSD_CircleParams,
    NvOSD_LineParams,
    NvOSD_MaskParams,
    NvOSD_RectParams,
    NvOSD_TextParams,
)

__all__ = [
    "NvDsBaseMeta",
    "NvDsBatchMeta",
    "NvDsClassifierMeta",
    "NvDsComp_BboxInfo",
    "NvDsDisplayMeta",
    "NvDsFrameMeta",
    "NvDsLabelInfo",
    "NvDsMetaPool",
    "NvDsObjectMeta",
    "NvDsUserMeta",
]

# NvDsMetaType of what the lists hold.
FRAME, OBJECT, DISPLAY, CLASSIFIER, LABEL, USER = 2, 3, 4, 5, 6, 7
COUNTED = "the library counts"
MAX_SHAPES = 16


def _offset(name: str) -> dict[str, int]:
    return {f.name: f.offsets[name] for f in FAMILIES}


def _field(name: str) -> dict[str, int]:
    return {f.name: f.fields["object"][name][0] for f in FAMILIES}


def _sizes(name: str) -> dict[str, int]:
    return {f.name: f.sizes[name] for f in FAMILIES}


def _before_end(name: str, distance: int) -> dict[str, int]:
    return {f.name: f.sizes[name] - distance for f in FAMILIES}


class NvDsBaseMeta(Meta):
    """Head of every meta."""

    __slots__ = ()
    SIZES = 40
    batch_meta = Field("reference", 0)
    meta_type = Field("i32", 8, to_python=meta_type)
    uContext = Field("pointer", 16)


class NvDsComp_BboxInfo(Struct):
    """A box as a detector or tracker gave it."""

    __slots__ = ()
    SIZES = 16
    org_bbox_coords = Field("struct", 0, cls=NvBbox_Coords)


class NvDsMetaPool(Meta):
    """A pool of metas; its counts can be read."""

    __slots__ = ()
    SIZES = 56
    meta_type = Field("i32", 0, to_python=meta_type, frozen=COUNTED)
    max_elements_in_pool = Field("u32", 4, frozen=COUNTED)
    element_size = Field("u32", 8, frozen=COUNTED)
    num_empty_elements = Field("u32", 12, frozen=COUNTED)
    num_full_elements = Field("u32", 16, frozen=COUNTED)


class NvDsBatchMeta(Meta):
    """The metadata of a batch of frames."""

    __slots__ = ()
    SIZES = 192
    META_TYPE = 1
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    max_frames_in_batch = Field("u32", 40, frozen="fixed when the batch is made")
    num_frames_in_batch = Field("u32", 44, frozen=COUNTED)
    frame_meta_pool = Field("reference", 48, cls=NvDsMetaPool)
    obj_meta_pool = Field("reference", 56, cls=NvDsMetaPool)
    classifier_meta_pool = Field("reference", 64, cls=NvDsMetaPool)
    display_meta_pool = Field("reference", 72, cls=NvDsMetaPool)
    user_meta_pool = Field("reference", 80, cls=NvDsMetaPool)
    label_info_meta_pool = Field("reference", 88, cls=NvDsMetaPool)
    frame_meta_list = Field("list", 96, cls=FRAME)
    batch_user_meta_list = Field("list", 104, cls=USER)
    misc_batch_info = longs(128, 4)
    reserved = longs(160, 4)


NvDsBaseMeta.batch_meta.cls = NvDsBatchMeta


class NvDsFrameMeta(Meta):
    """The metadata of one frame. ``pipeline_width`` and ``pipeline_height`` are not pyds's."""

    __slots__ = ()
    SIZES = _sizes("frame")
    META_TYPE = FRAME
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    pad_index = Field("u32", 40)
    batch_id = Field("u32", 44)
    frame_num = Field("i32", 48)
    buf_pts = Field("u64", 56)
    ntp_timestamp = Field("u64", 64)
    source_id = Field("u32", 72)
    num_surfaces_per_frame = Field("u32", 76)
    source_frame_width = Field("u32", 80)
    source_frame_height = Field("u32", 84)
    surface_type = Field("u32", 88)
    surface_index = Field("u32", 92)
    num_obj_meta = Field("u32", 96, frozen=COUNTED)
    bInferDone = Field("i32", 100)
    obj_meta_list = Field("list", 104, cls=OBJECT)
    display_meta_list = Field("list", 112, cls=DISPLAY)
    frame_user_meta_list = Field("list", 120, cls=USER)
    misc_frame_info = longs(128, 4)
    pipeline_width = Field("u32", 160)
    pipeline_height = Field("u32", 164)
    reserved = longs(_before_end("frame", 32), 4)


class NvDsObjectMeta(Meta):
    """The metadata of one object."""

    __slots__ = ()
    SIZES = _sizes("object")
    META_TYPE = OBJECT
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    parent = Field("reference", 40, frozen="the parent is given to nvds_add_obj_meta_to_frame()")
    unique_component_id = Field("i32", 48)
    class_id = Field("i32", 52)
    object_id = Field("u64", 56)
    detector_bbox_info = Field("struct", 64, cls=NvDsComp_BboxInfo)
    tracker_bbox_info = Field("struct", 80, cls=NvDsComp_BboxInfo)
    confidence = Field("f32", 96)
    tracker_confidence = Field("f32", 100)
    rect_params = Field("struct", 104, cls=NvOSD_RectParams)
    mask_params = Field("struct", _offset("object.mask"), cls=NvOSD_MaskParams)
    text_params = Field("struct", _offset("object.text"), cls=NvOSD_TextParams)
    obj_label = Field("chars", _offset("object.label"), size=128)
    classifier_meta_list = Field("list", _offset("object.classifiers"), cls=CLASSIFIER)
    obj_user_meta_list = Field("list", _offset("object.users"), cls=USER)
    misc_obj_info = longs(_field("misc_obj_info"), 4)
    reserved = longs(_before_end("object", 32), 4)


NvDsObjectMeta.parent.cls = NvDsObjectMeta


class NvDsClassifierMeta(Meta):
    """What one classifier found. ``classifier_type`` is not pyds's."""

    __slots__ = ()
    SIZES = 64
    META_TYPE = CLASSIFIER
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    num_labels = Field("u32", 40, frozen=COUNTED)
    unique_component_id = Field("i32", 44)
    label_info_list = Field("list", 48, cls=LABEL)
    classifier_type = Field("string", 56, frozen="it is set by the element that classifies")


class NvDsLabelInfo(Meta):
    """One label of a classifier."""

    __slots__ = ()
    SIZES = 200
    META_TYPE = LABEL
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    num_classes = Field("u32", 40)
    result_label = Field("chars", 44, size=128)
    pResult_label = Field("text", 176)
    result_class_id = Field("u32", 184)
    label_id = Field("u32", 188)
    result_prob = Field("f32", 192)


class NvDsDisplayMeta(Meta):
    """Shapes and texts to draw: at most 16 of each kind."""

    __slots__ = ()
    SIZES = _sizes("display")
    META_TYPE = DISPLAY
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    num_rects = Field("u32", 40, count=MAX_SHAPES)
    num_labels = Field("u32", 44, count=MAX_SHAPES)
    num_lines = Field("u32", 48, count=MAX_SHAPES)
    num_arrows = Field("u32", 52, count=MAX_SHAPES)
    num_circles = Field("u32", 56, count=MAX_SHAPES)
    rect_params = Field("structs", 64, cls=NvOSD_RectParams, count=MAX_SHAPES)
    text_params = Field("structs", _offset("display.texts"), cls=NvOSD_TextParams, count=16)
    line_params = Field("structs", _offset("display.lines"), cls=NvOSD_LineParams, count=16)
    arrow_params = Field("structs", _offset("display.arrows"), cls=NvOSD_ArrowParams, count=16)
    circle_params = Field("structs", _offset("display.circles"), cls=NvOSD_CircleParams, count=16)
    misc_osd_data = longs(_before_end("display", 64), 4)
    reserved = longs(_before_end("display", 32), 4)


class NvDsUserMeta(Meta):
    """A user's own meta. ``user_meta_data`` owns the structure that is assigned to it."""

    __slots__ = ()
    SIZES = 48
    META_TYPE = USER
    base_meta = Field("struct", 0, cls=NvDsBaseMeta)
    user_meta_data = Field("pointer", 40)
