"""Imports modules one after the other: OUTPUT MODULE…; a record for each."""

from __future__ import annotations

import importlib
import json
import sys


def main() -> None:
    # The script's folder is no place to import from.
    del sys.path[0]
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        for name in sys.argv[2:]:
            print(json.dumps({"begin": name}), file=output, flush=True)
            record = {"item": name}
            try:
                module = importlib.import_module(name)
                record["version"] = str(getattr(module, "__version__", ""))
                record["file"] = str(getattr(module, "__file__", ""))
            except BaseException as error:  # noqa: BLE001 -- it is what is asked for
                record["error"] = f"{type(error).__name__}: {error}"
            print(json.dumps(record), file=output, flush=True)


main()
