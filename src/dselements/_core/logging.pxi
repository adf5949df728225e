# GStreamer's debug log: categories by name, messages of an element.


def debug_category(str name, str description):
    """Address of the GstDebugCategory of that name, made if need be; it lasts for the process."""
    cdef bytes n = name.encode(), d = description.encode()
    cdef const char* label
    cdef const char* text
    _need_library()
    label = api.g_intern_string(n)
    text = api.g_intern_string(d)
    return <uintptr_t>api.debug_category_new(label, 0, text)


def debug_threshold(uintptr_t category):
    """Highest level that is logged (GstDebugLevel)."""
    return api.debug_threshold(<void*>category) if category else 0


def debug_log(uintptr_t category, int level, uintptr_t gst_object, str function, str message):
    """Log a message of a GObject (its address, or 0) if the category's threshold allows it."""
    cdef bytes f, m
    cdef const char* fp
    cdef const char* mp
    if not category or level > api.debug_threshold(<void*>category):
        return
    f = function.encode("utf-8", "replace")
    m = message.encode("utf-8", "replace").replace(b"\0", b"?")
    fp = f
    mp = m
    with nogil:
        api.debug_log(<void*>category, level, b"python", fp, 0, <void*>gst_object, mp)
