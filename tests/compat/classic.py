"""The classic filter: a Gst.Element with pads and a chain function, and pyds in it.

Nothing here knows dselements: it is written as against NVIDIA's pyds, which ``import pyds`` names.
"""

from __future__ import annotations

import gi

gi.require_version("Gst", "1.0")
import pyds
from gi.repository import GObject, Gst

Gst.init(None)

MIN_CONFIDENCE = 0.5


class ClassicFilter(Gst.Element):
    """Removes objects with a confidence below 0.5."""

    __gtype_name__ = "PydsClassicFilter"
    __gstmetadata__ = ("Classic filter", "Filter", "Removes unsure objects", "tests")
    __gsttemplates__ = (
        Gst.PadTemplate.new(
            "sink", Gst.PadDirection.SINK, Gst.PadPresence.ALWAYS, Gst.Caps.new_any()
        ),
        Gst.PadTemplate.new(
            "src", Gst.PadDirection.SRC, Gst.PadPresence.ALWAYS, Gst.Caps.new_any()
        ),
    )

    def __init__(self):
        super().__init__()
        self.removed = 0
        self.sinkpad = Gst.Pad.new_from_template(self.get_pad_template("sink"), "sink")
        self.srcpad = Gst.Pad.new_from_template(self.get_pad_template("src"), "src")
        self.sinkpad.set_chain_function_full(self.chain)
        self.sinkpad.set_event_function_full(self.sink_event)
        self.sinkpad.set_query_function_full(self.sink_query)
        self.srcpad.set_query_function_full(self.src_query)
        self.add_pad(self.sinkpad)
        self.add_pad(self.srcpad)

    def sink_event(self, pad, parent, event):
        return self.srcpad.push_event(event)

    def sink_query(self, pad, parent, query):
        return self.srcpad.peer_query(query)

    def src_query(self, pad, parent, query):
        return self.sinkpad.peer_query(query)

    def chain(self, pad, parent, buf):
        batch_meta = pyds.gst_buffer_get_nvds_batch_meta(hash(buf))
        if not batch_meta:
            return self.srcpad.push(buf)
        l_frame = batch_meta.frame_meta_list
        while l_frame is not None:
            try:
                frame_meta = pyds.NvDsFrameMeta.cast(l_frame.data)
            except StopIteration:
                break
            l_obj = frame_meta.obj_meta_list
            while l_obj is not None:
                try:
                    obj_meta = pyds.NvDsObjectMeta.cast(l_obj.data)
                except StopIteration:
                    break
                if obj_meta.confidence < MIN_CONFIDENCE:
                    pyds.nvds_remove_obj_meta_from_frame(frame_meta, obj_meta)
                    self.removed += 1
                try:
                    l_obj = l_obj.next  # after the removal, as tutorials have it
                except StopIteration:
                    break
            try:
                l_frame = l_frame.next
            except StopIteration:
                break
        return self.srcpad.push(buf)


GObject.type_register(ClassicFilter)
if not Gst.Element.register(None, "pydsclassicfilter", 0, ClassicFilter):
    raise RuntimeError("pydsclassicfilter cannot be registered")
