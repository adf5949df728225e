"""``dsrecord``: writes all metadata of each batch to a file, exact to the bit.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! dssynth num-objects=8 ! \\
        dsrecord location=run.jsonl.gz ! fakesink

One line of JSON a batch; ``dsreplay`` puts it back. The suffix chooses the form: ``.jsonl``,
``.jsonl.gz``, ``.jsonl.zst`` (needs ``pip install 'dselements[record]'``), or ``.txt`` and
``.csv`` for MOT Challenge lines. ``-`` is standard output.

What is written: every field of batch, frames and objects, texts, masks, classifiers, parents,
display metas and payloads. User metas of other elements are counted by type; pixels are not
touched.

The file is written by a thread of its own. The streaming thread only copies the metadata and puts
it into a queue of ``queue-size`` batches; ``on-full`` says what happens when the disk is too
slow. Every ``flush-batches`` batches or ``flush-interval`` milliseconds what was written becomes
readable, so that a recording cut short by a kill is good up to there. At end of stream and when
the element stops, the file is finished.

Since 0.1.
"""
