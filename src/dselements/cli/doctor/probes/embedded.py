"""Put into a scratch folder for the gst-python loader: tells which Python it runs."""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    record = {
        "version": sys.version.split()[0],
        "major_minor": list(sys.version_info[:2]),
        "prefix": sys.prefix,
        "executable": sys.executable,
    }
    for name in ("dselements", "gi"):
        try:
            record[name] = str(__import__(name).__file__)
        except BaseException as error:  # noqa: BLE001 -- it is what is asked for
            record[f"{name}_error"] = f"{type(error).__name__}: {error}"
    with open(os.environ["DSELEMENTS_DOCTOR_OUT"], "w", encoding="utf-8") as output:
        print(json.dumps(record), file=output)


if "DSELEMENTS_DOCTOR_OUT" in os.environ:
    main()
