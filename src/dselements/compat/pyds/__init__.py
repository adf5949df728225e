"""pyds's names over dselements' native core.

::

    import dselements.compat.pyds as pyds

or, before the import of a script that says ``import pyds``::

    import dselements.compat
    dselements.compat.install()

Writes go straight to native memory, as in pyds: the next read and the next element see them.
Reads of what was removed, or of a buffer that is gone, raise StaleMetadataError. What is
different, and what is not served, is in docs/migrating-from-pyds.md.
"""

from __future__ import annotations

import difflib
from typing import Any

from ..._core import _native
from . import analytics, buffers, infer, memory, metas, osd, pools, schema, tracker, usermeta
from .enums import ENUMS, enum, value_of
from .unsupported import REASONS, refuse

IS_DSELEMENTS = True
"""True here; NVIDIA's pyds has no such name."""

__version__ = "1.2.0"
"""The version of pyds whose names these are."""

GList = _native.NativeList

_PARTS = (analytics, buffers, infer, memory, metas, osd, pools, schema, tracker, usermeta)
for _part in _PARTS:
    for _name in _part.__all__:
        globals()[_name] = getattr(_part, _name)

# Casts of early releases, by function.
for _name, _class in {
    "batch_meta": metas.NvDsBatchMeta,
    "frame_meta": metas.NvDsFrameMeta,
    "object_meta": metas.NvDsObjectMeta,
    "user_meta": metas.NvDsUserMeta,
    "classifier_meta": metas.NvDsClassifierMeta,
    "display_meta": metas.NvDsDisplayMeta,
    "label_info": metas.NvDsLabelInfo,
    "event_msg_meta": schema.NvDsEventMsgMeta,
    "vehicle_object": schema.NvDsVehicleObject,
    "person_object": schema.NvDsPersonObject,
    "tensor_meta": infer.NvDsInferTensorMeta,
}.items():
    globals()[f"glist_get_nvds_{_name}"] = _class.cast
del _part, _name, _class

__all__ = sorted(
    {name for name in globals() if not name.startswith("_")}
    - {"Any", "annotations", "difflib", "enum", "refuse", "value_of", "ENUMS", "REASONS"}
    - {part.__name__.rsplit(".", 1)[1] for part in _PARTS}
    - {"base", "enums", "unsupported"}
)


def __getattr__(name: str) -> Any:
    if name in ENUMS:
        return enum(name)
    if name in REASONS:
        return refuse(name)
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member = value_of(name)
    if member is not None:
        return member
    close = difflib.get_close_matches(name, [*__all__, *ENUMS, *REASONS], 1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise AttributeError(
        f"pyds has no {name!r} ({hint}dselements.compat.pyds has the names of pyds "
        f"{__version__}; see docs/migrating-from-pyds.md)"
    )


def __dir__() -> list[str]:
    return sorted({*__all__, *ENUMS, *REASONS})
