# One edit, and its application. Everything here runs without the GIL, under the meta lock.

cdef enum:
    OP_SCATTER = 1
    OP_LABEL = 2
    OP_TEXT = 3
    OP_FONT = 4
    OP_MASK = 5
    OP_PARENT = 6
    OP_ADD_CLASSIFIER = 7
    OP_SET_LABEL = 8
    OP_REMOVE_CLASSIFIER = 9
    OP_ADD_DISPLAY = 10
    OP_REMOVE_DISPLAY = 11
    OP_ADD_USER = 12
    OP_REMOVE_USER = 13
    OP_LABELS = 14
    OP_TEXTS = 15

cdef enum:
    DONE = 0
    CHANGED = 1
    NO_MEMORY = 2

cdef uint64_t UNTRACKED_ID = 0xFFFFFFFFFFFFFFFF

cdef struct NewLabel:
    uint32_t label_id
    uint32_t class_id
    uint32_t num_classes
    float prob
    char text[128]

cdef struct Op:
    int kind
    int level
    Py_ssize_t row
    int offset
    int size
    Py_ssize_t n
    char* data          # borrowed from a Python object that the transaction keeps
    char* changed       # likewise, or NULL
    void* owned         # C heap; given away when applied, freed with the transaction otherwise
    void* target        # address of an existing meta
    void* owner         # address of the meta that holds the target
    int32_t component
    uint32_t width
    uint32_t height
    float threshold

cdef struct Tables:
    void* batch
    Layout* layout
    void** frame        # NULL where removed or never added
    Py_ssize_t frames
    void** obj
    Py_ssize_t objects


cdef bint _in_list(GList* node, void* data) noexcept nogil:
    while node != NULL:
        if node.data == data:
            return True
        node = node.next
    return False


cdef void* _row(Tables* t, int level, Py_ssize_t row) noexcept nogil:
    if level == 0:
        return t.batch
    return t.frame[row] if level == 1 else t.obj[row]


cdef bint _still_held(Op* op, Tables* t) noexcept nogil:
    """True unless the op removes an existing meta that hangs no longer where it was."""
    cdef void* holder
    if op.kind == OP_REMOVE_CLASSIFIER:
        holder = t.obj[op.row]
        return _in_list(<GList*>_ptr(holder, t.layout.classifiers), op.target)
    if op.kind == OP_REMOVE_DISPLAY:
        return _in_list(<GList*>_ptr(t.frame[op.row], FRAME_DISPLAYS), op.target)
    if op.kind == OP_REMOVE_USER:
        holder = _row(t, op.level, op.row)
        return _in_list(<GList*>_ptr(holder, _users_offset(t.layout, op.level)), op.target)
    return True


cdef int _targets_in_place(Op* ops, Py_ssize_t n_ops, Tables* t) noexcept nogil:
    """DONE if every meta that the ops name by address hangs where it was; else CHANGED."""
    cdef Slots known
    cdef GList* c
    cdef Py_ssize_t i, n = 0
    cdef int status = DONE
    cdef bint labels = False
    for i in range(n_ops):
        if not _still_held(&ops[i], t):
            return CHANGED
        labels = labels or ops[i].kind == OP_SET_LABEL
    if not labels:
        return DONE
    # One table of all classifiers: searching the objects for each label would be quadratic.
    for i in range(t.objects):
        n += _list_length(<GList*>_ptr(t.obj[i], t.layout.classifiers))
    _slots_init(&known, n)
    if known.keys == NULL:
        return NO_MEMORY
    for i in range(t.objects):
        c = <GList*>_ptr(t.obj[i], t.layout.classifiers)
        while c != NULL:
            _slots_put(&known, c.data, i)
            c = c.next
    for i in range(n_ops):
        if ops[i].kind != OP_SET_LABEL:
            continue
        ops[i].row = _slots_get(&known, ops[i].owner)
        if ops[i].row < 0 or not _in_list(
            <GList*>_ptr(ops[i].owner, CLASSIFIER_LABELS), ops[i].target
        ):
            status = CHANGED
            break
    _slots_free(&known)
    return status


cdef void _scatter(Op* op, Tables* t) noexcept nogil:
    cdef Py_ssize_t i
    cdef void* d
    for i in range(op.n):
        if op.changed != NULL and op.changed[i] == 0:
            continue
        d = _row(t, op.level, i)
        if d == NULL:
            continue
        if op.size == 4:
            (<uint32_t*>(<char*>d + op.offset))[0] = (<uint32_t*>op.data)[i]
        else:
            memcpy(<char*>d + op.offset, op.data + i * op.size, op.size)


cdef void _write_label_text(void* at, const char* text) noexcept nogil:
    """Fill a 128-byte label: no byte of a longer, older one may stay behind."""
    cdef size_t n = strnlen(text, MAX_LABEL - 1)
    memset(at, 0, MAX_LABEL)
    memcpy(at, text, n)


cdef void _write_strings(Op* op, Tables* t) noexcept nogil:
    """Labels or display texts of many rows: int32 codes into an array of strings, -1 keeps."""
    cdef int32_t* code = <int32_t*>op.data
    cdef char** strings = <char**>op.owned
    cdef void** slot
    cdef char* text
    cdef Py_ssize_t i
    for i in range(op.n):
        if code[i] < 0 or t.obj[i] == NULL:
            continue
        text = strings[code[i]]
        if op.kind == OP_LABELS:
            _write_label_text(<char*>t.obj[i] + t.layout.label, text)
        else:
            slot = <void**>(<char*>t.obj[i] + t.layout.text)
            if slot[0] != NULL:
                api.g_free(slot[0])
            slot[0] = api.g_strdup(text) if text != NULL else NULL


cdef void _set_mask(Op* op, void* d, Layout* layout) noexcept nogil:
    cdef char* mask = <char*>d + layout.mask
    cdef void** slot = <void**>mask
    if slot[0] != NULL:
        api.g_free(slot[0])
    slot[0] = op.owned
    op.owned = NULL
    (<uint32_t*>(mask + 8))[0] = op.width * op.height * 4 if slot[0] != NULL else 0
    (<float*>(mask + 12))[0] = op.threshold
    (<uint32_t*>(mask + 16))[0] = op.width if slot[0] != NULL else 0
    (<uint32_t*>(mask + 20))[0] = op.height if slot[0] != NULL else 0


cdef void _write_label_info(void* label, NewLabel* new) noexcept nogil:
    cdef void** long_text = <void**>(<char*>label + LABEL_LONG_TEXT)
    if long_text[0] != NULL:  # owned by the label, and read before the short text
        api.g_free(long_text[0])
        long_text[0] = NULL
    (<uint32_t*>(<char*>label + LABEL_NUM_CLASSES))[0] = new.num_classes
    (<uint32_t*>(<char*>label + LABEL_CLASS))[0] = new.class_id
    (<uint32_t*>(<char*>label + LABEL_ID))[0] = new.label_id
    (<float*>(<char*>label + LABEL_PROB))[0] = new.prob
    _write_label_text(<char*>label + LABEL_TEXT, new.text)


cdef int _add_classifier(Op* op, void* d, void* batch) noexcept nogil:
    cdef void* c = api.acquire_classifier(batch)
    cdef void* l
    cdef Py_ssize_t i
    cdef NewLabel* labels = <NewLabel*>op.owned
    if c == NULL:
        return NO_MEMORY
    (<int32_t*>(<char*>c + CLASSIFIER_COMPONENT))[0] = op.component
    (<void**>(<char*>c + CLASSIFIER_TYPE))[0] = op.data
    # The library prepends: backwards here, so that the list reads as given.
    for i in range(op.n - 1, -1, -1):
        l = api.acquire_label(batch)
        if l == NULL:
            return NO_MEMORY
        _write_label_info(l, &labels[i])
        api.add_label(c, l)
    api.add_classifier(d, c)
    return DONE


cdef int _add_display(Op* op, void* d, Tables* t) noexcept nogil:
    """``owned`` is a whole NvDsDisplayMeta with its texts already on the heap."""
    cdef void* m = api.acquire_display(t.batch)
    cdef int head = 40  # NvDsBaseMeta stays the library's
    if m == NULL:
        return NO_MEMORY
    memcpy(<char*>m + head, <char*>op.owned + head, t.layout.pool_sizes[3] - head)
    free(op.owned)
    op.owned = NULL
    api.add_display(d, m)
    return DONE


cdef int _add_user(Op* op, void* d, void* batch) noexcept nogil:
    cdef void* u = api.acquire_user(batch)
    if u == NULL:
        return NO_MEMORY
    (<void**>(<char*>u + USER_DATA))[0] = op.owned
    op.owned = NULL
    (<int32_t*>(<char*>u + BASE_TYPE))[0] = payload_type
    (<copy_func_t*>(<char*>u + BASE_COPY))[0] = _payload_copy
    (<release_func_t*>(<char*>u + BASE_RELEASE))[0] = _payload_release
    DS_ADD(payloads_alive, 1)
    if op.level == 0:
        api.add_user_batch(d, u)
    elif op.level == 1:
        api.add_user_frame(d, u)
    else:
        api.add_user_object(d, u)
    return DONE


cdef int _apply(Op* op, Tables* t) noexcept nogil:
    cdef void* d
    cdef void* parent
    cdef void** slot
    if op.kind == OP_SCATTER:
        _scatter(op, t)
        return DONE
    if op.kind == OP_LABELS or op.kind == OP_TEXTS:
        _write_strings(op, t)
        return DONE
    d = _row(t, op.level, op.row)
    # The row, or the meta itself, was removed by the same transaction: nothing is left to do.
    # The library would take a second removal silently and lose count.
    if d == NULL or not _still_held(op, t):
        return DONE
    if op.kind == OP_SET_LABEL:
        if _in_list(<GList*>_ptr(d, t.layout.classifiers), op.owner):
            _write_label_info(op.target, <NewLabel*>op.owned)
    elif op.kind == OP_LABEL:
        _write_label_text(<char*>d + t.layout.label, op.data)
    elif op.kind == OP_TEXT:
        slot = <void**>(<char*>d + t.layout.text)
        if slot[0] != NULL:
            api.g_free(slot[0])
        slot[0] = api.g_strdup(op.data) if op.data != NULL else NULL
    elif op.kind == OP_FONT:
        (<void**>(<char*>d + t.layout.text + 16))[0] = op.data
    elif op.kind == OP_MASK:
        _set_mask(op, d, t.layout)
    elif op.kind == OP_PARENT:
        parent = t.obj[op.n] if op.n >= 0 else NULL
        (<void**>(<char*>d + OBJECT_PARENT))[0] = parent
    elif op.kind == OP_ADD_CLASSIFIER:
        return _add_classifier(op, d, t.batch)
    elif op.kind == OP_REMOVE_CLASSIFIER:
        api.remove_classifier(d, op.target)
    elif op.kind == OP_ADD_DISPLAY:
        return _add_display(op, d, t)
    elif op.kind == OP_REMOVE_DISPLAY:
        api.remove_display(d, op.target)
    elif op.kind == OP_ADD_USER:
        return _add_user(op, d, t.batch)
    elif op.kind == OP_REMOVE_USER:
        if op.level == 0:
            api.remove_user_batch(d, op.target)
        elif op.level == 1:
            api.remove_user_frame(d, op.target)
        else:
            api.remove_user_object(d, op.target)
    return DONE
