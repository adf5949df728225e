"""``dspythonfilter``: keeps, drops and renames objects.

::

    gst-launch-1.0 videotestsrc num-buffers=50 ! dssynth num-objects=8 ! \\
        dspythonfilter min-confidence=0.6 keep-classes=person,car ! dsosd ! videoconvert ! fakesink

Steps, in this order; an object must pass all: ``min-confidence`` and ``class-thresholds``,
``keep-classes`` and ``drop-classes``, the size limits, ``region``, ``rule``. What is kept is then
renamed by ``relabel``. Classes are given by label or by class id: ``person,2``.

All properties can be changed while playing. A value that cannot be parsed is an error when the
element starts, and a warning while it plays: the old filter stays in force.

Since 0.1.
"""
