"""CUDA's driver: OUTPUT; its version and the number of devices."""

from __future__ import annotations

import ctypes
import json
import sys


def main() -> None:
    record: dict[str, object] = {}
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        version, devices = ctypes.c_int(), ctypes.c_int()
        record["cuInit"] = driver.cuInit(0)
        driver.cuDriverGetVersion(ctypes.byref(version))
        record["version"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
        if record["cuInit"] == 0:
            driver.cuDeviceGetCount(ctypes.byref(devices))
        record["devices"] = devices.value
    except (OSError, AttributeError) as error:
        record["error"] = str(error)
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        print(json.dumps(record), file=output)


main()
