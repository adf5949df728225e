"""What the demo was asked to do, checked before anything runs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ...errors import AssetError, PropertyValueError

_URI = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:")

# Several inputs are scaled to one size and shown side by side.
TILE_WIDTH, TILE_HEIGHT = 640, 360


@dataclass(frozen=True)
class DemoSettings:
    """Inputs and outputs of one run."""

    inputs: tuple[str, ...]
    """Files or URIs; several make a batch."""
    output: Path
    """MP4 file to write."""
    objects: Path
    """JSON lines file to write, one line a frame."""
    config: Path
    """Detector's configuration in nvinfer's form."""
    min_confidence: float
    classes: tuple[str, ...]
    """Labels to keep; empty keeps all."""
    rule: str
    window: bool
    """Also show the video in a window."""
    max_frames: int
    """Stop after this many frames over all inputs; 0 runs to the end."""

    def check(self) -> None:
        """Raise for what would only fail in mid-run."""
        if not 0.0 <= self.min_confidence <= 1.0:
            raise PropertyValueError(
                f"--min-confidence {self.min_confidence} is outside 0 to 1", hint=""
            )
        if self.max_frames < 0:
            raise PropertyValueError(f"--frames {self.max_frames} is negative", hint="")
        for item in self.inputs:
            if not is_uri(item) and not Path(item).is_file():
                raise AssetError(f"--input {item}: no such file", hint="give a file or a URI")
        for path in (self.output, self.objects):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise AssetError(f"cannot make the folder of {path}: {error}", hint="") from error
            if path.is_dir() or not os.access(path.parent, os.W_OK):
                raise AssetError(f"cannot write {path}", hint="give the name of a file")
        if self.output.suffix.lower() != ".mp4":
            raise PropertyValueError(f"--output {self.output} is not an .mp4 file", hint="")


def is_uri(text: str) -> bool:
    """True for ``rtsp://…``, ``file:///…`` and the like."""
    return _URI.match(text) is not None
