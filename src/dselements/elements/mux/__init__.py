"""``dsmux``: makes one batch of several streams, in system memory.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! m.sink_0 \\
        videotestsrc num-buffers=50 pattern=ball ! m.sink_1 \\
        dsmux name=m batch-size=2 width=320 height=240 ! dssynth ! dsdemux name=d \\
        d.src_0 ! queue ! fakesink d.src_1 ! queue ! fakesink

Properties are named as nvstreammux's. Each input is converted and scaled to one format and size;
a batch is one buffer with one GstMemory for each frame, and one NvDsBatchMeta whose frames name
their memory by ``batch_id``. No pixel is copied when a batch is made.

A batch holds at most one frame of each input, in the order of the pads. It is made when every
input that has not ended has a frame; with live sources, or ``batched-push-timeout``, an incomplete
batch is made when the time is up. With more inputs than ``batch-size`` the others take their turn
in the next batch. With ``sync-inputs`` a batch holds only frames of one moment (within half a
frame), so that streams of different frame rates stay in step; without it every input gives one
frame to every batch, whatever its time stamp. An input that ends does not hold up the others;
the output ends when all have.

The batch's time stamp is the earliest running time of its frames; each frame keeps the time stamp
of its own stream in ``buf_pts``.

Since 0.1.
"""
