"""pyds's fields in the layouts of the other SDK families, in memory built after the headers."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest
from walking import frames, objects

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "core"))
from test_core_layouts import NEW, OLD, SIZES, Memory

import dselements.compat.pyds as pyds
from dselements.errors import UnsupportedFieldError

# offsetof in the headers of 8.0 and 9.1.
OBJECT = {"rect_params": 104, "object_id": 56, "confidence": 96, "detector_bbox_info": 64}
NAMES = {
    "mask_params": "mask", "text_params": "text", "obj_label": "label", "misc_obj_info": "misc",
    "classifier_meta_list": "classifiers", "obj_user_meta_list": "users",
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_fields_are_read_and_written_where_the_family_has_them(name: str) -> None:
    at = NEW if name == "ds9" else OLD
    memory = Memory(SIZES[name], at, 3)
    batch_meta = pyds.NvDsBatchMeta.cast(memory.batch)
    frame = frames(batch_meta)[0]
    found = objects(frame)
    assert [o.obj_label for o in found] == ["car 0", "car 1", "car 2"]
    assert [o.object_id for o in found] == [1000, 1001, 1002]
    assert [o.text_params.y_offset for o in found] == [8, 9, 10]
    assert [o.rect_params.height for o in found] == [4, 5, 6]
    assert list(found[2].misc_obj_info) == [2, 0, 0, -2]
    obj = found[1]
    fields = type(obj).fields()
    assert {k: fields[k].offset_in(obj) for k in OBJECT} == OBJECT
    assert {k: fields[k].offset_in(obj) for k in NAMES} == {k: at[v] for k, v in NAMES.items()}
    assert fields["reserved"].offset_in(obj) == SIZES[name][1] - 32
    obj.obj_label = "lorry"
    obj.text_params.x_offset = 77
    obj.mask_params.threshold = 0.5
    obj.rect_params.color_id = 4
    frame.pipeline_width = 640
    raw = ctypes.string_at(memory.objects[1], SIZES[name][1])
    assert raw[at["label"] : at["label"] + 6] == b"lorry\0"
    assert raw[at["text"] + 8] == 77
    assert raw[at["mask"] + 12 : at["mask"] + 16] == b"\0\0\0\x3f"
    assert raw[204] == 4
    assert type(frame).fields()["reserved"].offset_in(frame) == SIZES[name][0] - 32
    if name == "ds9":
        obj.rect_params.rotation_angle = 5
        assert memory.margins_untouched()
    else:
        with pytest.raises(UnsupportedFieldError, match=f"of the {name} family has no field"):
            obj.rect_params.rotation_angle = 5
    assert memory.margins_untouched()


def test_the_size_of_a_structure_is_that_of_the_family() -> None:
    sizes = {
        "NvDsObjectMeta": (544, 544, 552), "NvDsDisplayMeta": (6912, 6912, 7040),
        "NvDsFrameMeta": (200, 232, 232), "NvOSD_RectParams": (104, 104, 112),
        "NvDsEventMsgMeta": (None, 14032, 14040), "NvDsTargetMiscDataFrame": (None, 128, 144),
    }  # fmt: skip
    for name, expected in sizes.items():
        for family, size in zip(("ds6", "ds8", "ds9"), expected, strict=True):
            if size is None:
                with pytest.raises(RuntimeError, match=f"{name} lie in the {family} family"):
                    getattr(pyds, name).size_in(family)
            else:
                assert getattr(pyds, name).size_in(family) == size
