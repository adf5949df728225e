# A list of edits, applied in one locked step.

# Row of an edit that is not of one row. No caller can pass it: -1 is a mistake to be told.
cdef Py_ssize_t NO_ROW = -(1 << 62)


cdef Py_ssize_t _utf8_cut(bytes text, Py_ssize_t limit):
    """Length of the longest prefix of at most ``limit`` bytes that splits no UTF-8 character."""
    cdef const char* s = PyBytes_AsString(text)
    cdef Py_ssize_t n = len(text)
    if n <= limit:
        return n
    n = limit
    while n > 0 and (<uint8_t>s[n] & 0xC0) == 0x80:
        n -= 1
    return n


cdef bytes _label_bytes(object label):
    if not isinstance(label, bytes):
        raise TypeError(f"a label is bytes, not {type(label).__name__}")
    if b"\0" in label:
        raise errors.MetadataValueError("a label holds a NUL byte")
    return (<bytes>label)[: _utf8_cut(label, MAX_LABEL - 1)]


@cython.final
cdef class Transaction:
    """Edits of one batch, applied together by commit() or not at all.

    Rows are rows of the snapshot; add_objects and add_frames append rows after them.
    At commit removals come first: edits of a removed row do nothing.
    """

    cdef Snapshot _snapshot
    cdef list _keep
    cdef Op* _ops
    cdef Py_ssize_t _n
    cdef Py_ssize_t _room
    cdef Py_ssize_t _new_frames
    cdef list _new_objects
    cdef Py_ssize_t _n_objects
    cdef bytearray _victims
    cdef list _dead_frames
    cdef bint _done

    def __cinit__(self, Snapshot snapshot not None):
        self._snapshot = snapshot
        self._keep = []
        self._new_objects = []
        self._dead_frames = []
        self._n_objects = snapshot._objects
        self._victims = bytearray()

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self._n):
            if self._ops[i].kind == OP_ADD_DISPLAY and self._ops[i].owned != NULL:
                _free_display(self._ops[i].owned, self._ops[i].offset)
            free(self._ops[i].owned)
        free(self._ops)

    cdef Op* _op(self, int kind, int level, Py_ssize_t row) except NULL:
        cdef Op* grown
        self._open()
        if row != NO_ROW:
            self._check_row(level, row)
        if self._n == self._room:
            grown = <Op*>realloc(self._ops, (self._room * 2 + 16) * sizeof(Op))
            if grown == NULL:
                raise MemoryError()
            self._ops = grown
            self._room = self._room * 2 + 16
        grown = &self._ops[self._n]
        memset(grown, 0, sizeof(Op))
        grown.kind = kind
        grown.level = level
        grown.row = row
        self._n += 1
        return grown

    cdef int _open(self) except -1:
        if self._done:
            raise errors.StaleMetadataError("this transaction was committed already")
        return 0

    cdef Py_ssize_t _rows(self, int level) except -1:
        if level == 0:
            return 1
        if level == 1:
            return self._snapshot._frames + self._new_frames
        if level == 2:
            return self._n_objects
        raise ValueError(f"level {level} is none of BATCH, FRAME, OBJECT")

    cdef int _check_row(self, int level, Py_ssize_t row) except -1:
        cdef Py_ssize_t n = self._rows(level)
        if row < 0 or row >= n:
            raise IndexError(f"{LEVELS[level]} row {row} of {n}")
        return 0

    def scatter(self, int level, str field, data, changed=None):
        """Write one plain field of every row, or of those whose byte in ``changed`` is not 0."""
        cdef int offset, size
        cdef Py_ssize_t n = self._rows(level)
        cdef Op* op
        offset, size = _field(self._snapshot._layout_number, level, field)
        if field in ("num_obj_meta", "num_frames_in_batch"):
            raise errors.MetadataValueError(f"{field} is counted by the library")
        if field == "max_frames_in_batch":
            # The library sizes the pools of a copy by it, and crashes if it is 0.
            raise errors.MetadataValueError(f"{field} is fixed when the batch is made")
        data = _frozen(data)
        if len(data) != n * size:
            raise errors.MetadataValueError(
                f"{field}: {len(data)} bytes for {n} rows of {size} bytes"
            )
        if changed is not None:
            changed = _frozen(changed)
        if changed is not None and len(changed) != n:
            raise errors.MetadataValueError(f"{field}: {len(changed)} change flags for {n} rows")
        op = self._op(OP_SCATTER, level, NO_ROW)
        op.offset = offset
        op.size = size
        op.n = n
        op.data = PyBytes_AsString(data)
        op.changed = PyBytes_AsString(changed) if changed is not None else NULL
        self._keep.append((data, changed))

    def set_label(self, Py_ssize_t row, label):
        """Set an object's label; cut at 127 bytes between UTF-8 characters."""
        text = _label_bytes(label)
        cdef Op* op = self._op(OP_LABEL, 2, row)
        op.data = PyBytes_AsString(text)
        self._keep.append(text)

    def set_text(self, int level, Py_ssize_t row, str field, text):
        """Set ``display_text`` (owned by the object) or ``font_name`` (kept for the process)."""
        cdef Op* op
        if level != 2 or field not in ("display_text", "font_name"):
            raise errors.UnsupportedFieldError(f"no text field {field!r} at level {level}")
        if text is not None and (not isinstance(text, bytes) or b"\0" in text):
            raise errors.MetadataValueError(f"{field} must be bytes without NUL")
        op = self._op(OP_TEXT if field == "display_text" else OP_FONT, level, row)
        if text is not None:
            op.data = PyBytes_AsString(text)
            if field == "font_name":
                op.data = <char*>api.g_intern_string(op.data)
            else:
                self._keep.append(text)

    cdef int _strings(self, int kind, codes, list strings) except -1:
        cdef Py_ssize_t n = self._n_objects, i
        cdef bytes frozen = _frozen(codes)
        cdef int32_t* code = <int32_t*>PyBytes_AsString(frozen)
        cdef Op* op
        cdef char** table
        cdef int32_t distinct = <int32_t>len(strings)
        if len(frozen) != 4 * n:
            raise errors.MetadataValueError(f"{len(frozen)} bytes of codes for {n} objects")
        for i in range(n):
            if code[i] < -1 or code[i] >= distinct:
                raise errors.MetadataValueError(f"code {code[i]} at row {i} of {distinct} strings")
        table = <char**>calloc(distinct + 1, sizeof(char*))
        if table == NULL:
            raise MemoryError()
        for i in range(distinct):
            if strings[i] is not None:
                table[i] = PyBytes_AsString(strings[i])
        try:
            op = self._op(kind, 2, NO_ROW)
        except BaseException:
            free(table)
            raise
        op.owned = table
        op.data = <char*>code
        op.n = n
        self._keep.append((frozen, strings))
        return 0

    def set_labels(self, codes, labels):
        """Set many labels: one int32 code a row, an index into ``labels``, -1 to keep."""
        self._strings(OP_LABELS, codes, [_label_bytes(label) for label in labels])

    def set_display_texts(self, codes, texts):
        """Set many display texts: one int32 code a row, an index into ``texts``, -1 to keep.

        A text of None removes it.
        """
        texts = list(texts)
        for text in texts:
            if text is not None and (not isinstance(text, bytes) or b"\0" in text):
                raise errors.MetadataValueError("display_text must be bytes without NUL")
        self._strings(OP_TEXTS, codes, texts)

    def set_mask(self, Py_ssize_t row, data, uint32_t width, uint32_t height, float threshold):
        """Set an object's mask: float32 bytes, height rows of width; None removes it."""
        cdef Op* op
        cdef void* block = NULL
        cdef Py_ssize_t size
        if data is not None:
            data = _frozen(data)
            # NvOSD_MaskParams counts bytes in 32 bits; the product itself fits 64.
            if <uint64_t>width * height >= 1 << 30:
                raise errors.MetadataValueError(f"a mask of {width}x{height} is too large")
            size = <Py_ssize_t>width * height * 4
            if size == 0 or len(data) != size:
                raise errors.MetadataValueError(
                    f"a mask of {width}x{height} needs {size} bytes, not {len(data)}"
                )
            block = malloc(size)
            if block == NULL:
                raise MemoryError()
            memcpy(block, PyBytes_AsString(data), size)
        try:
            op = self._op(OP_MASK, 2, row)
        except BaseException:
            free(block)
            raise
        op.width = width
        op.height = height
        op.threshold = threshold
        op.owned = block

    def set_parent(self, Py_ssize_t row, Py_ssize_t parent):
        """Set an object's parent to another object's row; -1 for none."""
        cdef Op* op
        if parent != -1:
            self._check_row(2, parent)
            if parent == row:
                raise errors.MetadataValueError(f"object row {row} cannot be its own parent")
        op = self._op(OP_PARENT, 2, row)
        op.n = parent

    def add_frames(self, Py_ssize_t count):
        """Append empty frames; returns the row of the first."""
        self._open()
        if count < 0 or count > 1 << 16:
            raise errors.MetadataValueError(f"cannot add {count} frames at once")
        first = self._snapshot._frames + self._new_frames
        self._new_frames += count
        return first

    def add_objects(self, frame_rows):
        """Append objects, one for each int32 frame row; untracked, otherwise zero.

        In the frame's list they come before the older objects, in the order given.
        Returns the row of the first.
        """
        cdef bytes frozen = _frozen(frame_rows)
        cdef int32_t* rows = <int32_t*>PyBytes_AsString(frozen)
        cdef Py_ssize_t n = len(frozen) // 4, i
        self._open()
        if len(frozen) % 4:
            raise errors.MetadataValueError("frame rows are int32")
        for i in range(n):
            self._check_row(1, rows[i])
        self._new_objects.append(frozen)
        first = self._n_objects
        self._n_objects += n
        return first

    def remove_objects(self, victims):
        """Remove the objects whose byte in ``victims`` is not 0; one byte a row."""
        cdef char* new = _bytes_of(victims)
        cdef char* all
        cdef Py_ssize_t i
        self._open()
        if len(victims) != self._n_objects:
            raise errors.MetadataValueError(
                f"{len(victims)} removal flags for {self._n_objects} objects"
            )
        if len(self._victims) < self._n_objects:
            self._victims.extend(bytes(self._n_objects - len(self._victims)))
        all = PyByteArray_AsString(self._victims)
        for i in range(self._n_objects):
            if new[i]:
                all[i] = 1

    def remove_frame(self, Py_ssize_t row):
        """Remove a frame with all that hangs on it."""
        self._open()
        self._check_row(1, row)
        if row not in self._dead_frames:
            self._dead_frames.append(row)

    cdef void* _labels(self, list labels) except NULL:
        cdef Py_ssize_t i
        cdef NewLabel* new = <NewLabel*>calloc(len(labels) + 1, sizeof(NewLabel))
        if new == NULL:
            raise MemoryError()
        try:
            for i, (label_id, class_id, num_classes, prob, text) in enumerate(labels):
                new[i].label_id = label_id
                new[i].class_id = class_id
                new[i].num_classes = num_classes
                new[i].prob = prob
                text = _label_bytes(text)
                memcpy(new[i].text, PyBytes_AsString(text), len(text))
        except BaseException:
            free(new)
            raise
        return new

    def add_classifier(
        self, Py_ssize_t object_row, int32_t unique_component_id, classifier_type, labels
    ):
        """Add a classifier meta: labels are (label_id, class_id, num_classes, prob, text)."""
        cdef Op* op
        cdef void* new
        cdef Py_ssize_t n
        cdef const char* kind = NULL
        labels = list(labels)
        n = len(labels)
        if classifier_type is not None:
            if not isinstance(classifier_type, bytes) or b"\0" in classifier_type:
                raise errors.MetadataValueError("classifier_type must be bytes without NUL")
            # Neither copied nor freed by the library: it must stay for the process's life.
            kind = api.g_intern_string(PyBytes_AsString(classifier_type))
        new = self._labels(labels)
        try:
            op = self._op(OP_ADD_CLASSIFIER, 2, object_row)
        except BaseException:
            free(new)
            raise
        op.owned = new
        op.n = n
        op.component = unique_component_id
        op.data = <char*>kind

    def set_label_info(self, uintptr_t label_address, uintptr_t classifier_address, values):
        """Overwrite one label of a classifier that the snapshot's batch holds."""
        cdef void* new = self._labels([values])
        cdef Op* op
        try:
            op = self._op(OP_SET_LABEL, 2, NO_ROW)
        except BaseException:
            free(new)
            raise
        op.owned = new
        op.target = <void*>label_address
        op.owner = <void*>classifier_address

    cdef int _remove(self, int kind, int level, Py_ssize_t row, uintptr_t target) except -1:
        cdef Op* op
        cdef Py_ssize_t old = self._snapshot._objects if level == 2 else self._snapshot._frames
        self._check_row(level, row)
        if level and row >= old:
            raise IndexError(f"{LEVELS[level]} row {row} is new; it holds nothing to remove")
        op = self._op(kind, level, row)
        op.target = <void*>target
        return 0

    def remove_classifier(self, Py_ssize_t object_row, uintptr_t classifier_address):
        """Remove a classifier meta with its labels."""
        self._remove(OP_REMOVE_CLASSIFIER, 2, object_row, classifier_address)

    def add_display(self, Py_ssize_t frame_row, shapes):
        """Add one display meta of at most 16 shapes of each kind to a frame."""
        cdef void* built
        cdef Op* op
        self._check_row(1, frame_row)
        built = _build_display(shapes, self._snapshot._layout)
        try:
            op = self._op(OP_ADD_DISPLAY, 1, frame_row)
        except BaseException:
            _free_display(built, self._snapshot._layout.texts)
            free(built)
            raise
        op.owned = built
        op.offset = self._snapshot._layout.texts

    def remove_display(self, Py_ssize_t frame_row, uintptr_t display_address):
        """Remove a display meta from a frame."""
        self._remove(OP_REMOVE_DISPLAY, 1, frame_row, display_address)

    def add_payload(self, int level, Py_ssize_t row, data):
        """Attach a payload (header and data, see meta/payloads.py) to the batch, a frame, an object."""
        cdef Op* op
        cdef void* block
        cdef Py_ssize_t size
        if not isinstance(data, bytes):
            raise TypeError(f"a payload is bytes, not {type(data).__name__}")
        _check_payload(data)
        size = len(data)
        self._check_row(level, row)
        block = malloc(size)
        if block == NULL:
            raise MemoryError()
        memcpy(block, PyBytes_AsString(data), size)
        try:
            op = self._op(OP_ADD_USER, level, row)
        except BaseException:
            free(block)
            raise
        op.owned = block

    def remove_user(self, int level, Py_ssize_t row, uintptr_t user_address):
        """Remove a user meta; its own release function runs."""
        self._remove(OP_REMOVE_USER, level, row, user_address)

    def commit(self):
        """Apply all edits in one locked step.

        :raises ConcurrentEditError: if the batch has changed since the snapshot; nothing was
            written then.
        :raises StaleMetadataError: if committed before.
        """
        cdef Snapshot snap = self._snapshot
        cdef Tables t
        cdef Py_ssize_t n_f = snap._frames, n_o = snap._objects
        cdef Py_ssize_t added = self._n_objects - n_o
        cdef bytes new_rows = b"".join(self._new_objects)
        cdef int32_t* new_row = <int32_t*>PyBytes_AsString(new_rows)
        cdef char* victim = NULL
        cdef int status
        cdef char* dead
        self._open()
        if len(self._victims) or self._dead_frames:
            self._victims.extend(bytes(self._n_objects - len(self._victims)))
            victim = PyByteArray_AsString(self._victims)
        t.batch = snap._batch
        t.layout = snap._layout
        t.frames = n_f + self._new_frames
        t.objects = n_o
        t.frame = <void**>calloc(t.frames + n_o + added + 1, sizeof(void*))
        dead = <char*>calloc(t.frames + 1, 1)
        if t.frame == NULL or dead == NULL:
            free(t.frame)
            free(dead)
            raise MemoryError()
        t.obj = t.frame + t.frames
        memcpy(t.frame, snap._frame, n_f * sizeof(void*))
        memcpy(t.obj, snap._object, n_o * sizeof(void*))
        for row in self._dead_frames:
            dead[<Py_ssize_t>row] = 1
        with nogil:
            api.acquire_lock(t.batch)
            status = _commit(
                &t, snap, self._ops, self._n, victim, new_row, added, dead
            )
            api.release_lock(t.batch)
        free(t.frame)
        free(dead)
        if status == CHANGED:
            raise errors.ConcurrentEditError(
                "the batch has other metadata than at its snapshot; nothing was written"
            )
        self._done = True
        if status == NO_MEMORY:
            raise MemoryError("the library ran out of metadata elements in mid-commit")
