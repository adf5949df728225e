"""The demo: real video through detector, filter and drawing into an MP4 and JSON lines."""
