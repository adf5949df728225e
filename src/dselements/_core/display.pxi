# Building a NvDsDisplayMeta outside the pools; a commit copies it into one.

cdef tuple SHAPES = ("rects", "texts", "lines", "arrows", "circles")


cdef bytes _c_string(object text):
    if not isinstance(text, str):
        raise TypeError(f"display text and font are str or None, not {type(text).__name__}")
    if "\0" in text:
        raise errors.MetadataValueError("display text or font holds a NUL character")
    return text.encode("utf-8", "replace")


cdef void _free_display(void* built, int texts_at) noexcept nogil:
    cdef int i
    for i in range(MAX_SHAPES):
        api.g_free(_ptr(built, texts_at + 104 * i))


cdef int _put_color(char* at, color) except -1:
    cdef double* c = <double*>at
    c[0], c[1], c[2], c[3] = color
    return 0


cdef void* _build_display(shapes, Layout* layout) except NULL:
    """A NvDsDisplayMeta on the C heap from the shapes of the stub's description."""
    cdef char* d
    cdef char* s
    cdef uint32_t* u
    cdef float* f
    cdef int i, count, kind = 0
    for name in shapes:
        if name not in SHAPES:
            raise errors.MetadataValueError(f"no display shape is called {name!r}")
    # Own lists: their lengths cannot change while they are read.
    shapes = {name: list(shapes[name]) for name in shapes}
    for name, values in shapes.items():
        if len(values) > MAX_SHAPES:
            raise errors.MetadataValueError(f"{len(values)} {name}; a display meta holds 16")
    d = <char*>calloc(1, layout.pool_sizes[3])
    if d == NULL:
        raise MemoryError()
    try:
        for i, r in enumerate(shapes.get("rects", ())):
            s = d + layout.rects + i * layout.rect_size
            f = <float*>s
            f[0], f[1], f[2], f[3], width, border, has_bg, fill = r
            (<uint32_t*>(s + 16))[0] = width
            _put_color(s + 24, border)
            (<uint32_t*>(s + 56))[0] = has_bg
            _put_color(s + 64, fill)
        for i, r in enumerate(shapes.get("texts", ())):
            s = d + layout.texts + i * 104
            text, x, y, font, size, color, has_bg, fill = r
            if text is not None:
                (<void**>s)[0] = api.g_strdup(PyBytes_AsString(_c_string(text)))
            (<uint32_t*>(s + 8))[0] = x
            (<uint32_t*>(s + 12))[0] = y
            if font is not None:
                (<void**>(s + 16))[0] = <void*>api.g_intern_string(
                    PyBytes_AsString(_c_string(font))
                )
            (<uint32_t*>(s + 24))[0] = size
            _put_color(s + 32, color)
            (<uint32_t*>(s + 64))[0] = has_bg
            _put_color(s + 72, fill)
        for i, r in enumerate(shapes.get("lines", ())):
            s = d + layout.lines + i * 56
            u = <uint32_t*>s
            u[0], u[1], u[2], u[3], u[4], color = r
            _put_color(s + 24, color)
        for i, r in enumerate(shapes.get("arrows", ())):
            s = d + layout.arrows + i * 64
            u = <uint32_t*>s
            u[0], u[1], u[2], u[3], u[4], u[5], color = r
            _put_color(s + 24, color)
        for i, r in enumerate(shapes.get("circles", ())):
            s = d + layout.circles + i * 96
            u = <uint32_t*>s
            u[0], u[1], u[2], color, has_bg, fill, width = r
            _put_color(s + 16, color)
            (<uint32_t*>(s + 48))[0] = has_bg
            _put_color(s + 56, fill)
            (<uint32_t*>(s + 88))[0] = width
        for name in SHAPES:
            (<uint32_t*>(d + 40 + 4 * kind))[0] = len(shapes.get(name, ()))
            kind += 1
    except BaseException:
        _free_display(d, layout.texts)
        free(d)
        raise
    return d
