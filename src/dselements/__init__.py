"""GStreamer elements in Python that own DeepStream metadata."""

__version__ = "0.1.0"
