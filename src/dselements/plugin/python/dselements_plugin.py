"""The one file that the gst-python loader imports: registers all installed elements."""

from dselements.element.registry import register_plugin

register_plugin()
