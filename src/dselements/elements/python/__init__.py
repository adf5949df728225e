"""``dspython``: a class or function of your own as an element, without registering it.

::

    printf 'def process(batch, limit=0.5):\\n    batch.objects.confidence[:] = limit\\n' > mine.py
    gst-launch-1.0 videotestsrc num-buffers=50 ! dssynth ! \\
        dspython module=mine.py args='{"limit": 0.6}' ! dsosd ! videoconvert ! fakesink

``module`` is a file, or a dotted name on PYTHONPATH. ``function`` gets the batch and ``args`` as
keyword arguments. ``class`` is any class with ``process(batch)``, made with ``args``; or a
MetaTransform, whose properties ``args`` sets. If neither is named, the module's one such class, or
its function ``process``, is taken. A class may also have ``start()``, ``stop()``,
``on_caps(caps)``, ``on_source_added(source_id, info)``, ``on_source_eos(source_id)`` and
``on_source_removed(source_id)``; an attribute ``element = None`` in the class gets this element,
for its log and its bus.

**Hot reload.** With ``dev-mode=true`` the file is looked at before each buffer; when it has been
saved, the new code runs from that buffer on. If the old object has ``get_state()`` and the new one
``set_state(state)``, the state goes over. If the new code cannot be imported or made, or its
``set_state`` fails, a warning tells why, once, and the old code goes on. Only the file of
``module`` is looked at, not what it imports.

Two elements have objects of their own, also of the same class. What a module keeps in its globals
is shared between elements that name the module by its dotted name, not between those that name a
file.

Since: 0.1
"""
