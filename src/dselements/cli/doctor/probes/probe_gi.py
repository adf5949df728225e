"""PyGObject, GStreamer's typelibs and overrides in this interpreter: OUTPUT."""

from __future__ import annotations

import json
import sys

NAMESPACES = ("Gst", "GstBase", "GstVideo")


def look(record: dict[str, object]) -> None:
    import gi

    record["gi"] = gi.__version__
    record["gi_file"] = gi.__file__
    for name in NAMESPACES:
        gi.require_version(name, "1.0")
    from gi.repository import Gst, GstBase, GstVideo

    Gst.init(None)
    record["namespaces"] = [module.__name__ for module in (Gst, GstBase, GstVideo)]
    record["gstreamer"] = list(Gst.version()[:3])
    try:
        importlib_gst()
        with Gst.Buffer.new_allocate(None, 4, None).map(Gst.MapFlags.READ) as mapped:
            record["overrides"] = mapped.size == 4 and hasattr(Gst.Structure, "__getitem__")
    except (ImportError, TypeError, AttributeError) as error:
        record["overrides"] = False
        record["overrides_error"] = f"{type(error).__name__}: {error}"


def importlib_gst() -> None:
    import importlib

    importlib.import_module("gi.overrides.Gst")


def main() -> None:
    del sys.path[0]
    record: dict[str, object] = {}
    try:
        look(record)
    except BaseException as error:  # noqa: BLE001 -- it is what is asked for
        record["error"] = f"{type(error).__name__}: {error}"
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        print(json.dumps(record), file=output)


main()
