"""``dsdemux``: gives each stream of a batch its own pad again.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! m.sink_0 \\
        videotestsrc num-buffers=50 pattern=ball ! m.sink_1 \\
        dsmux name=m batch-size=2 width=320 height=240 ! dssynth ! dsosd ! dsdemux name=d \\
        d.src_0 ! queue ! videoconvert ! fakesink d.src_1 ! queue ! videoconvert ! fakesink

Request ``src_N`` for the stream of the muxer's pad ``sink_N``. Each frame leaves as a buffer of its
own, with its pixels (not copied, and writable), the time stamp of its stream, and a one-frame
NvDsBatchMeta that holds a copy of its metadata, in order and with parents. Frames of streams
without a linked pad are dropped and counted in ``stats``.

A pad has the frame rate and the segment of its stream, and ends when its stream ends, if dsmux made
the batches; otherwise those of the batches. Flow results count together as behind a tee that wants
one taker: end of stream or not linked goes upstream when all pads say so, an error at once.

A frame has the batch's flags (discont, corrupted, gap and the like), and is discont where it does
not follow the pad's frame before: the first one, after a flush, after a lost one.

Put a queue behind each pad, as behind a tee.

Since 0.1.
"""
