"""``dsreplay``: puts recorded metadata back on the frames that it belongs to, exact to the bit.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! dssynth ! dsrecord location=a.jsonl.gz ! fakesink
    gst-launch-1.0 videotestsrc num-buffers=50 ! dsreplay location=a.jsonl.gz ! dsosd ! \\
        videoconvert ! fakesink

Reads what ``dsrecord`` wrote, and MOT Challenge files (``.txt``, ``.csv``). A frame finds its
record by ``source_id`` and time stamp (``match=pts``) or frame number (``match=frame-num``; MOT
always). Behind dsmux or nvstreammux the batch's frames are filled, however they are batched;
where there is no metadata, each buffer is given a batch of one frame of the source ``source-id``.

``mode=replace`` takes away what the frame had (objects, shapes, payloads of dselements);
``mode=add`` leaves it. A frame without a record passes, is an error, or its buffer is dropped
(``on-missing``); the ``stats`` count ``matched``, ``missing`` and ``unused`` (recorded frames
that no frame of the video wanted).

Fields that say where the pixels are (``batch_id``, ``pad_index``, sizes, ``surface_…``) and the
frame's own ``buf_pts`` and ``frame_num`` stay as they are. Recorded payloads of a whole batch,
and its ``misc_batch_info``, come with the frame that was its first.

The file is read ahead by a thread of its own, in bounded memory: up to ``window`` frames wait for
their source. A seek backwards begins again at the last block before.

Since 0.1.
"""
