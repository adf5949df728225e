"""C++ exceptions survive GStreamer's libunwind, whatever was imported first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("gi")
pytest.importorskip("onnxruntime")
pytest.importorskip("cv2")


@pytest.mark.parametrize(
    "first",
    [
        "import cv2, dselements",
        "import dselements, cv2",
        "import onnxruntime, dselements",
        "import dselements",
    ],
)
def test_a_broken_model_is_an_exception(first: str, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"no model")
    code = (
        f"{first}\n"
        "import gi\n"
        "gi.require_version('Gst', '1.0')\n"
        "from gi.repository import Gst\n"
        "Gst.init(None)\n"
        "import onnxruntime\n"
        "try:\n"
        f"    onnxruntime.InferenceSession({str(model)!r})\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "InvalidProtobuf"), done.stderr
