"""The one file that the gst-python loader imports: registers all installed elements."""

from dselements.element.registry import register_plugin

_left_to_the_loader = register_plugin()
if _left_to_the_loader is not None:
    __gstelementfactory__ = _left_to_the_loader
