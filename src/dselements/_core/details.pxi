# Reading what hangs on rows: texts, masks, classifiers, display and user metas.
#
# Each reader copies to the C heap under the lock and makes Python objects after it.

cdef struct LabelRecord:
    void* address
    uint32_t label_id
    uint32_t class_id
    uint32_t num_classes
    float prob
    char* text

cdef struct ClassifierRecord:
    Py_ssize_t row
    void* address
    int32_t component
    char* kind
    Py_ssize_t labels

cdef struct UserRecord:
    Py_ssize_t row
    void* address
    int32_t meta_type
    void* data


cdef object _optional(const char* text):
    return None if text == NULL else <bytes>text


cdef char* _dup_label(void* label) noexcept nogil:
    """A label's text: the long one if the element set it, else the 128-byte array."""
    cdef char* text = <char*>_ptr(label, LABEL_LONG_TEXT)
    cdef size_t n
    cdef char* copy
    if text != NULL:
        return strdup(text)
    text = <char*>label + LABEL_TEXT
    n = strnlen(text, MAX_LABEL)
    copy = <char*>malloc(n + 1)
    if copy != NULL:
        memcpy(copy, text, n)
        copy[n] = 0
    return copy


cdef void _count_classifiers(
    void** obj, Py_ssize_t n, int offset, Py_ssize_t* n_c, Py_ssize_t* n_l
) noexcept nogil:
    cdef GList* c
    cdef Py_ssize_t i
    n_c[0] = 0
    n_l[0] = 0
    for i in range(n):
        c = <GList*>_ptr(obj[i], offset)
        while c != NULL:
            n_c[0] += 1
            n_l[0] += _list_length(<GList*>_ptr(c.data, CLASSIFIER_LABELS))
            c = c.next


cdef void _fill_classifiers(
    void** obj, Py_ssize_t n, int offset, ClassifierRecord* cs, LabelRecord* ls
) noexcept nogil:
    cdef GList* c
    cdef GList* l
    cdef Py_ssize_t i, a = 0, b = 0
    cdef char* kind
    for i in range(n):
        c = <GList*>_ptr(obj[i], offset)
        while c != NULL:
            cs[a].row = i
            cs[a].address = c.data
            cs[a].component = <int32_t>_u32(c.data, CLASSIFIER_COMPONENT)
            kind = <char*>_ptr(c.data, CLASSIFIER_TYPE)
            cs[a].kind = strdup(kind) if kind != NULL else NULL
            cs[a].labels = 0
            l = <GList*>_ptr(c.data, CLASSIFIER_LABELS)
            while l != NULL:
                ls[b].address = l.data
                ls[b].label_id = _u32(l.data, LABEL_ID)
                ls[b].class_id = _u32(l.data, LABEL_CLASS)
                ls[b].num_classes = _u32(l.data, LABEL_NUM_CLASSES)
                ls[b].prob = (<float*>(<char*>l.data + LABEL_PROB))[0]
                ls[b].text = _dup_label(l.data)
                cs[a].labels += 1
                b += 1
                l = l.next
            a += 1
            c = c.next


cdef int _users_offset(Layout* layout, int level) noexcept nogil:
    if level == 0:
        return BATCH_USERS
    return FRAME_USERS if level == 1 else layout.users


cdef object _gather_text(Snapshot self, int level, str field):
    """Strings that a char* field points to: ``display_text`` and ``font_name`` of objects.

    One entry a row; None where the pointer is NULL.
    """
    cdef Py_ssize_t n = self._objects, i
    cdef int offset
    cdef char** texts
    cdef char* text
    cdef bint same
    cdef void* batch = self._batch
    if level != 2 or field not in ("display_text", "font_name"):
        raise errors.UnsupportedFieldError(f"no text field {field!r} at level {level}")
    offset = self._layout.text + (0 if field == "display_text" else 16)
    texts = <char**>calloc(n + 1, sizeof(char*))
    if texts == NULL:
        raise MemoryError()
    with nogil:
        api.acquire_lock(batch)
        same = _same(batch, self._frame, self._frames, self._object, self._objects)
        if same:
            for i in range(n):
                text = <char*>_ptr(self._object[i], offset)
                texts[i] = strdup(text) if text != NULL else NULL
        api.release_lock(batch)
    try:
        if not same:
            _changed()
        return [_optional(texts[i]) for i in range(n)]
    finally:
        for i in range(n):
            free(texts[i])
        free(texts)


cdef object _gather_mask(Snapshot self, Py_ssize_t row):
    """Mask of one object: float32 values row by row, width, height, threshold; or None."""
    cdef void* batch = self._batch
    cdef bint same
    cdef char* mask
    cdef char* copy = NULL
    cdef uint32_t width = 0, height = 0, size = 0
    cdef float threshold = 0
    if row < 0 or row >= self._objects:
        raise IndexError(f"object row {row} of {self._objects}")
    with nogil:
        api.acquire_lock(batch)
        same = _same(batch, self._frame, self._frames, self._object, self._objects)
        if same:
            mask = <char*>self._object[row] + self._layout.mask
            size = _u32(mask, 8)
            threshold = (<float*>(mask + 12))[0]
            width = _u32(mask, 16)
            height = _u32(mask, 20)
            if _ptr(mask, 0) != NULL and <uint64_t>width * height <= size >> 2:
                copy = <char*>malloc(size + 1)
                if copy != NULL:
                    memcpy(copy, _ptr(mask, 0), size)
        api.release_lock(batch)
    if not same:
        _changed()
    if copy == NULL:
        return None
    try:
        return PyBytes_FromStringAndSize(copy, 4 * <Py_ssize_t>width * height), width, height, threshold
    finally:
        free(copy)


cdef object _gather_classifiers(Snapshot self):
    """Classifier metas of all objects, in list order; see the stub for the tuple."""
    cdef void* batch = self._batch
    cdef bint same
    cdef Py_ssize_t n_c = 0, n_l = 0, a, b = 0, k
    cdef ClassifierRecord* cs = NULL
    cdef LabelRecord* ls = NULL
    with nogil:
        api.acquire_lock(batch)
        same = _same(batch, self._frame, self._frames, self._object, self._objects)
        if same:
            _count_classifiers(self._object, self._objects, self._layout.classifiers, &n_c, &n_l)
            cs = <ClassifierRecord*>calloc(n_c + 1, sizeof(ClassifierRecord))
            ls = <LabelRecord*>calloc(n_l + 1, sizeof(LabelRecord))
            if cs != NULL and ls != NULL:
                _fill_classifiers(
                    self._object, self._objects, self._layout.classifiers, cs, ls
                )
        api.release_lock(batch)
    try:
        if not same:
            _changed()
        if cs == NULL or ls == NULL:
            raise MemoryError()
        result = []
        for a in range(n_c):
            labels = []
            for k in range(cs[a].labels):
                labels.append((
                    <uintptr_t>ls[b].address, ls[b].label_id, ls[b].class_id, ls[b].num_classes,
                    ls[b].prob, _optional(ls[b].text) or b"",
                ))
                b += 1
            result.append((
                cs[a].row, <uintptr_t>cs[a].address, cs[a].component, _optional(cs[a].kind), labels
            ))
        return result
    finally:
        if cs != NULL:
            for a in range(n_c):
                free(cs[a].kind)
        if ls != NULL:
            for a in range(n_l):
                free(ls[a].text)
        free(cs)
        free(ls)


cdef object _gather_user(Snapshot self, int level):
    """User metas of a level: row, address, meta type, address of user_meta_data."""
    cdef void** table = NULL
    cdef Py_ssize_t n = self._rows(level, &table), total = 0, i, k = 0
    cdef void* batch = self._batch
    cdef int offset = _users_offset(self._layout, level)
    cdef UserRecord* found = NULL
    cdef GList* u
    cdef bint same
    with nogil:
        api.acquire_lock(batch)
        same = _same(batch, self._frame, self._frames, self._object, self._objects)
        if same:
            for i in range(n):
                total += _list_length(<GList*>_ptr(table[i], offset))
            found = <UserRecord*>calloc(total + 1, sizeof(UserRecord))
            if found != NULL:
                for i in range(n):
                    u = <GList*>_ptr(table[i], offset)
                    while u != NULL:
                        found[k].row = i
                        found[k].address = u.data
                        found[k].meta_type = <int32_t>_u32(u.data, BASE_TYPE)
                        found[k].data = _ptr(u.data, USER_DATA)
                        k += 1
                        u = u.next
        api.release_lock(batch)
    try:
        if not same:
            _changed()
        if found == NULL:
            raise MemoryError()
        return [
            (found[i].row, <uintptr_t>found[i].address, found[i].meta_type, <uintptr_t>found[i].data)
            for i in range(total)
        ]
    finally:
        free(found)


cdef tuple _color(char* at):
    cdef double* c = <double*>at
    return c[0], c[1], c[2], c[3]


cdef inline int _shapes(char* d, int offset) noexcept nogil:
    """A display meta's count of one kind, never more than its array holds."""
    cdef uint32_t n = _u32(d, offset)
    return <int>n if n < MAX_SHAPES else MAX_SHAPES


cdef dict _display_shapes(char* d, Layout* layout, char** texts):
    """Shapes of a copied display meta; ``texts`` holds text and font of each label."""
    cdef int i
    cdef char* s
    cdef uint32_t* u
    cdef float* f
    rects, labels, lines, arrows, circles = [], [], [], [], []
    for i in range(_shapes(d, 40)):
        s = d + layout.rects + i * layout.rect_size
        f = <float*>s
        rects.append((
            f[0], f[1], f[2], f[3], _u32(s, 16), _color(s + 24), _u32(s, 56), _color(s + 64)
        ))
    for i in range(_shapes(d, 44)):
        s = d + layout.texts + i * 104
        labels.append((
            _optional(texts[2 * i]), _u32(s, 8), _u32(s, 12), _optional(texts[2 * i + 1]),
            _u32(s, 24), _color(s + 32), _u32(s, 64), _color(s + 72),
        ))
    for i in range(_shapes(d, 48)):
        s = d + layout.lines + i * 56
        u = <uint32_t*>s
        lines.append((u[0], u[1], u[2], u[3], u[4], _color(s + 24)))
    for i in range(_shapes(d, 52)):
        s = d + layout.arrows + i * 64
        u = <uint32_t*>s
        arrows.append((u[0], u[1], u[2], u[3], u[4], u[5], _color(s + 24)))
    for i in range(_shapes(d, 56)):
        s = d + layout.circles + i * 96
        u = <uint32_t*>s
        circles.append((
            u[0], u[1], u[2], _color(s + 16), _u32(s, 48), _color(s + 56), _u32(s, 88)
        ))
    return {"rects": rects, "texts": labels, "lines": lines, "arrows": arrows, "circles": circles}


cdef object _gather_display(Snapshot self):
    """Display metas of all frames, in list order: frame row, address, shapes by kind."""
    cdef void* batch = self._batch
    cdef int size = self._layout.pool_sizes[3], texts_at = self._layout.texts
    cdef Py_ssize_t n = self._frames, total = 0, i, k = 0
    cdef int j
    cdef char* copies = NULL
    cdef char** texts = NULL
    cdef UserRecord* found = NULL
    cdef GList* node
    cdef char* text
    cdef bint same
    with nogil:
        api.acquire_lock(batch)
        same = _same(batch, self._frame, self._frames, self._object, self._objects)
        if same:
            for i in range(n):
                total += _list_length(<GList*>_ptr(self._frame[i], FRAME_DISPLAYS))
            copies = <char*>malloc(total * size + 1)
            texts = <char**>calloc(total * 2 * MAX_SHAPES + 1, sizeof(char*))
            found = <UserRecord*>calloc(total + 1, sizeof(UserRecord))
            if copies != NULL and texts != NULL and found != NULL:
                for i in range(n):
                    node = <GList*>_ptr(self._frame[i], FRAME_DISPLAYS)
                    while node != NULL:
                        found[k].row = i
                        found[k].address = node.data
                        memcpy(copies + k * size, node.data, size)
                        for j in range(MAX_SHAPES):
                            if <uint32_t>j >= _u32(node.data, 44):
                                break
                            text = <char*>_ptr(node.data, texts_at + 104 * j)
                            texts[(k * MAX_SHAPES + j) * 2] = strdup(text) if text != NULL else NULL
                            text = <char*>_ptr(node.data, texts_at + 104 * j + 16)
                            texts[(k * MAX_SHAPES + j) * 2 + 1] = (
                                strdup(text) if text != NULL else NULL
                            )
                        k += 1
                        node = node.next
        api.release_lock(batch)
    try:
        if not same:
            _changed()
        if copies == NULL or texts == NULL or found == NULL:
            raise MemoryError()
        return [
            (
                found[i].row, <uintptr_t>found[i].address,
                _display_shapes(copies + i * size, self._layout, texts + i * 2 * MAX_SHAPES),
            )
            for i in range(total)
        ]
    finally:
        if texts != NULL:
            for i in range(total * 2 * MAX_SHAPES):
                free(texts[i])
        free(texts)
        free(copies)
        free(found)
