"""``dsosd``: draws boxes, texts, masks and shapes from the metadata onto the frames.

It draws what nvdsosd draws, on frames in system memory and in place: each object's
``rect_params``, ``text_params`` and mask, then the display metas (rectangles, texts, lines,
arrows, circles). Every frame of a batch gets its own shapes.

Runnable as it is::

    gst-launch-1.0 videotestsrc num-buffers=30 ! video/x-raw,width=1280,height=720 ! \\
        dssynth num-objects=12 ! dsosd ! videoconvert ! fakesink

Formats: RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, GRAY8, NV12, NV21, I420, YV12.
Alpha stays as it is where it is 255. In the YUV formats a colour is rounded to the nearest
code, and chroma (half resolution) gets the mean coverage of its four pixels.

It needs pycairo: ``apt install python3-cairo`` or ``pip install pycairo``.

Differences from nvdsosd: borders lie on whole pixels, centred on the box's edge with the odd
pixel inside; both ends of an arrow can have a head, heads are at least three line widths long;
texts of scripts that need shaping (Arabic, Indic) are set letter by letter; blurring and GPU mode
are not there.

Since: 0.1
"""
