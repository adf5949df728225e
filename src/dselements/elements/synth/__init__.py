"""``dssynth``: puts synthetic objects, or objects from a file, on any raw video.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! dssynth num-objects=8 classes=person,car ! \\
        dsosd ! videoconvert ! fakesink

Each buffer is given an NvDsBatchMeta; where one is there already (behind dsmux or nvstreammux),
the objects are added to its frames. Pixels are not touched, so that any memory will do.

Objects depend on ``seed``, the source and the frame number alone: the same run gives the same
objects. They move in straight lines, bounce at the borders and never leave the frame.
With ``location`` they come from JSON lines, as ``dselements demo`` writes them: the file's first
line of a source goes to its first frame, and so on.

Since 0.1.
"""
