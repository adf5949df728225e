"""The elements that come with dselements, one folder each, loaded when asked for."""

from __future__ import annotations

__all__ = ["ELEMENTS"]

ELEMENTS: dict[str, str] = {
    "dspython": "dselements.elements.python.element:Python",
    "dspythonfilter": "dselements.elements.pythonfilter.element:PythonFilter",
    "dssynth": "dselements.elements.synth.element:Synth",
    "dsmux": "dselements.elements.mux.element:Mux",
    "dsdemux": "dselements.elements.demux.element:Demux",
    "dsinfer": "dselements.elements.infer.element:Infer",
    "dsosd": "dselements.elements.osd.element:Osd",
    "dsrecord": "dselements.elements.record.element:Record",
    "dsreplay": "dselements.elements.replay.element:Replay",
}
"""Factory name → module:class."""
