"""Which module ``import pyds`` brings: OUTPUT pyds."""

from __future__ import annotations

import importlib
import json
import sys


def main() -> None:
    del sys.path[0]
    record: dict[str, object] = {"item": "pyds"}
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        print(json.dumps({"begin": "pyds"}), file=output, flush=True)
        try:
            pyds = importlib.import_module("pyds")
            names = set(dir(pyds))
            record["ours"] = pyds.__name__.startswith("dselements.")
            record["nvidia"] = "NvDsObjectMeta" in names and not record["ours"]
        except BaseException as error:  # noqa: BLE001 -- it is what is asked for
            record["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(record), file=output, flush=True)


main()
