"""``dsmux``: makes one batch of several streams, in system memory.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! m.sink_0 \\
        videotestsrc num-buffers=50 pattern=ball ! m.sink_1 \\
        dsmux name=m batch-size=2 width=320 height=240 ! dssynth ! dsdemux name=d \\
        d.src_0 ! queue ! fakesink d.src_1 ! queue ! fakesink

Properties are named as nvstreammux's. Each input is converted and scaled to one format and size;
a batch is one buffer with one GstMemory for each frame, and one NvDsBatchMeta whose frames name
their memory by ``batch_id``. No pixel is copied when a batch is made, unless it has more than 16
frames: a GstBuffer has room for 16 memories, and the frames are then copied into one.

Put dsdemux before elements that are not ours: they take the first frame of a batch for all of it.

**Which frames.** A batch holds at most one frame of each input, in the order of the pads. It is
made when every input that has not ended has a frame. With more inputs than ``batch-size`` (0 is
the number of inputs) they take turns, and what is left over begins the next batch. Each batch
takes the next frame of every input, whatever its time; with ``sync-inputs`` only frames of one
moment (within half a frame of the earliest), so that inputs of different frame rates stay in step.

**Live inputs.** ``batched-push-timeout`` microseconds after the frame that waits longest was due
(its running time and the sources' latency), a batch is made of what is there, and counted as
``late`` in ``stats``. -1 waits for every input. Files are never cut short, as they are not live;
``live-source=true`` has them timed as if they were (GStreamer 1.22).

**Time.** A batch's time stamp is the latest running time of its frames, as nvstreammux's, and
never goes back. The output's segment is that of the first input. ``buf_pts`` is the time stamp of
the frame in its own stream; ``ntp_timestamp`` is the wall clock when the batch was made.
``frame_num`` counts from 0 for each input. Segment, frame rate and end of each stream go
downstream as sticky events, and dsdemux gives them back.

**Seeks.** The output's segment is a new one after a seek, flushing or not. The end of a segment
(``SEGMENT_DONE``) goes downstream once, when all inputs have played theirs or ended.

**Flags.** A batch is live, discont, resync or corrupted if one of its frames is, and a gap or
droppable if all are.

**Endings.** An input that ends does not hold up the others; the output ends when all have. Pads
can be requested and released while playing. Late-frame reports (QoS) from downstream go no
further, as a late batch says nothing about one input.

Since 0.1.
"""
