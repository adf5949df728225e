"""Opens the metadata library as elements do, then all that may bring another: OUTPUT PLUGIN…"""

from __future__ import annotations

import json
import sys
from typing import Any

META = "libnvds_meta.so"


def mapped() -> list[str]:
    """Paths of the copies in this process; loader.mapped() may not be importable."""
    found: dict[str, None] = {}
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line[line.find("/") :].rstrip("\n") if "/" in line else ""
            base = path.rsplit("/", 1)[-1]
            if base == META or base.startswith(META + "."):
                found[path] = None
    return list(found)


def bring_all_in(plugins: list[str]) -> None:
    """All installed elements and NVIDIA's plugins; faults of theirs are told elsewhere."""
    try:
        from dselements.element.registry import entry_classes

        list(entry_classes(lambda where, error: None))
        from gi.repository import Gst

        Gst.init(None)
        for name in plugins:
            feature = Gst.Registry.get().lookup_feature(name)
            if feature is not None:
                feature.load()
    except Exception:  # noqa: BLE001 -- gi and elements have checks of their own
        return


def main() -> None:
    del sys.path[0]
    output = open(sys.argv[1], "w", encoding="utf-8")  # noqa: SIM115 -- until the process ends
    record: dict[str, Any] = {"before": mapped()}
    try:
        from dselements._core import load

        info = load()
        record.update(info._asdict())
    except BaseException as error:  # noqa: BLE001 -- it is what is asked for
        record["error"] = type(error).__name__
        record["text"] = getattr(error, "message", "") or str(error)
        record["hint"] = getattr(error, "hint", "")
    record["mapped"] = mapped()
    print(json.dumps(record), file=output, flush=True)
    bring_all_in(sys.argv[2:])
    print(json.dumps({"all": mapped()}), file=output, flush=True)


main()
