# One locked pass over a batch into columns.

@cython.final
cdef class Snapshot:
    """What a batch held at one moment: row tables of frames and objects.

    Reading more (gather…) checks first that every row is still where it was, and raises
    ConcurrentEditError if not. A batch that was destroyed cannot be told from a live one:
    whoever owns the snapshot must not use it after the buffer is gone.
    """

    cdef void* _batch
    cdef int _layout_number
    cdef Layout* _layout
    cdef Py_ssize_t _frames
    cdef Py_ssize_t _objects
    cdef unsigned long _serial
    cdef void** _frame
    cdef void** _object
    cdef readonly bytearray frame_index
    cdef readonly bytearray class_id
    cdef readonly bytearray object_id
    cdef readonly bytearray confidence
    cdef readonly bytearray rect

    def __cinit__(self, uintptr_t batch):
        cdef void* address = _batch_of(batch)
        cdef Py_ssize_t room_f, room_o, n_f = 0, n_o = 0
        cdef char* p_index
        cdef char* p_class
        cdef char* p_id
        cdef char* p_conf
        cdef char* p_rect
        cdef bint fits
        _need_library()
        self._layout_number = _layout_index(address)
        self._layout = &layouts[self._layout_number]
        self._batch = address
        with nogil:
            api.acquire_lock(address)
            _hint(address, &n_f, &n_o)
            api.release_lock(address)
        while True:
            room_f = n_f
            room_o = n_o
            # The tables of addresses stay on the C heap: a bytearray is Python's to change.
            free(self._frame)
            self._frame = <void**>malloc(8 * (room_f + room_o) + 8)
            if self._frame == NULL:
                raise MemoryError()
            self._object = self._frame + room_f
            self.frame_index = PyByteArray_FromStringAndSize(NULL, 4 * room_o)
            self.class_id = PyByteArray_FromStringAndSize(NULL, 4 * room_o)
            self.object_id = PyByteArray_FromStringAndSize(NULL, 8 * room_o)
            self.confidence = PyByteArray_FromStringAndSize(NULL, 4 * room_o)
            self.rect = PyByteArray_FromStringAndSize(NULL, 16 * room_o)
            p_index = PyByteArray_AsString(self.frame_index)
            p_class = PyByteArray_AsString(self.class_id)
            p_id = PyByteArray_AsString(self.object_id)
            p_conf = PyByteArray_AsString(self.confidence)
            p_rect = PyByteArray_AsString(self.rect)
            with nogil:
                api.acquire_lock(address)
                fits = _walk(
                    address, room_f, room_o, &n_f, &n_o, self._frame, self._object,
                    <int32_t*>p_index, <int32_t*>p_class, <uint64_t*>p_id, <float*>p_conf,
                    <float*>p_rect,
                )
                self._serial = ds_serial_of(address)
                api.release_lock(address)
            if fits:
                break
        if n_o != room_o:
            for column, size in (
                (self.frame_index, 4), (self.class_id, 4), (self.object_id, 8),
                (self.confidence, 4), (self.rect, 16),
            ):
                PyByteArray_Resize(column, size * n_o)
        self._frames = n_f
        self._objects = n_o

    def __dealloc__(self):
        free(self._frame)

    @property
    def batch(self):
        """Address of the NvDsBatchMeta."""
        return <uintptr_t>self._batch

    @property
    def family(self):
        """Name of the SDK family."""
        return layout_names[self._layout_number]

    @property
    def frame_address(self):
        """Addresses of the NvDsFrameMeta, uint64 [n_frames]."""
        return PyByteArray_FromStringAndSize(<char*>self._frame, 8 * self._frames)

    @property
    def object_address(self):
        """Addresses of the NvDsObjectMeta, uint64 [n_objects]."""
        return PyByteArray_FromStringAndSize(<char*>self._object, 8 * self._objects)

    @property
    def n_frames(self):
        return self._frames

    @property
    def n_objects(self):
        return self._objects

    cdef Py_ssize_t _rows(self, int level, void*** table) except -1:
        if level == 0:
            table[0] = &self._batch
            return 1
        if level == 1:
            table[0] = self._frame
            return self._frames
        if level == 2:
            table[0] = self._object
            return self._objects
        raise ValueError(f"level {level} is none of BATCH, FRAME, OBJECT")

    def gather(self, int level, str field):
        """One plain field of every row, C-contiguous.

        :raises UnsupportedFieldError: if this SDK family has no such field.
        :raises ConcurrentEditError: if rows have changed since the snapshot.
        """
        cdef void** table = NULL
        cdef Py_ssize_t n = self._rows(level, &table)
        cdef int offset, size
        cdef char* out
        cdef bint same
        cdef void* batch = self._batch
        offset, size = _field(self._layout_number, level, field)
        column = PyByteArray_FromStringAndSize(NULL, n * size)
        out = PyByteArray_AsString(column)
        with nogil:
            api.acquire_lock(batch)
            same = _same(batch, self._frame, self._frames, self._object, self._objects)
            if same:
                _gather(table, n, offset, size, out)
            api.release_lock(batch)
        if not same:
            _changed()
        return column

    def gather_labels(self):
        """Object labels as int32 codes and the list of distinct labels they index."""
        cdef Py_ssize_t n = self._objects
        cdef void* batch = self._batch
        cdef int label = self._layout.label
        cdef char* text
        cdef int32_t* code
        cdef int32_t* slots
        cdef Py_ssize_t* first
        cdef Py_ssize_t mask = 16
        cdef int32_t distinct, i
        cdef bint same
        while mask < 2 * n:
            mask *= 2
        codes = PyByteArray_FromStringAndSize(NULL, 4 * n)
        code = <int32_t*>PyByteArray_AsString(codes)
        text = <char*>malloc(n * MAX_LABEL + 1)
        slots = <int32_t*>malloc(mask * sizeof(int32_t))
        if text == NULL or slots == NULL:
            free(text)
            free(slots)
            raise MemoryError()
        distinct = 0
        with nogil:
            api.acquire_lock(batch)
            same = _same(batch, self._frame, self._frames, self._object, self._objects)
            if same:
                distinct = _encode_labels(self._object, n, label, text, code, slots, mask - 1)
            api.release_lock(batch)
        try:
            if not same:
                _changed()
            unique = []
            for i in range(distinct):
                unique.append(
                    PyBytes_FromStringAndSize(
                        text + i * MAX_LABEL, strnlen(text + i * MAX_LABEL, MAX_LABEL)
                    )
                )
            return codes, unique
        finally:
            free(text)
            free(slots)

    def gather_parents(self):
        """Row of each object's parent: int32, -1 for none, -2 for one not in this batch."""
        cdef Py_ssize_t n = self._objects, i, row, last
        cdef void* batch = self._batch
        cdef int32_t* out
        cdef void* parent
        cdef bint same
        column = PyByteArray_FromStringAndSize(NULL, 4 * n)
        out = <int32_t*>PyByteArray_AsString(column)
        cdef Slots found
        _slots_init(&found, n)
        if found.keys == NULL:
            raise MemoryError()
        with nogil:
            api.acquire_lock(batch)
            same = _same(batch, self._frame, self._frames, self._object, self._objects)
            if same:
                for i in range(n):
                    if _ptr(self._object[i], OBJECT_PARENT) != NULL:
                        break
                else:
                    i = n
                if i < n:
                    for row in range(n):
                        _slots_put(&found, self._object[row], row)
                for row in range(n):
                    parent = _ptr(self._object[row], OBJECT_PARENT)
                    if parent == NULL:
                        out[row] = -1
                    else:
                        last = _slots_get(&found, parent)
                        out[row] = <int32_t>last if last >= 0 else -2
            api.release_lock(batch)
        _slots_free(&found)
        if not same:
            _changed()
        return column

    def gather_text(self, int level, str field):
        """Strings that a char* field points to: ``display_text`` and ``font_name`` of objects.

        One entry a row; None where the pointer is NULL.
        """
        return _gather_text(self, level, field)

    def gather_mask(self, Py_ssize_t row):
        """Mask of one object: float32 bytes row by row, width, height, threshold; or None."""
        return _gather_mask(self, row)

    def gather_classifiers(self):
        """Classifier metas of all objects, in list order; see the stub for the tuple."""
        return _gather_classifiers(self)

    def gather_user(self, int level):
        """User metas of a level: row, address, meta type, address of user_meta_data."""
        return _gather_user(self, level)

    def gather_display(self):
        """Display metas of all frames, in list order: frame row, address, shapes by kind."""
        return _gather_display(self)


cdef int _changed() except -1:
    raise errors.ConcurrentEditError("the batch has other frames or objects than at its snapshot")


cdef void _hint(void* batch, Py_ssize_t* n_f, Py_ssize_t* n_o) noexcept nogil:
    cdef GList* f = <GList*>_ptr(batch, BATCH_FRAMES)
    n_f[0] = 0
    n_o[0] = 0
    while f != NULL:
        n_f[0] += 1
        n_o[0] += _u32(f.data, FRAME_NUM_OBJECTS)
        f = f.next
    if n_o[0] > 1 << 24:  # a corrupt counter must not ask for gigabytes: the walk counts truly
        n_o[0] = 0


cdef bint _walk(
    void* batch, Py_ssize_t room_f, Py_ssize_t room_o, Py_ssize_t* n_f, Py_ssize_t* n_o,
    void** frame, void** obj, int32_t* index, int32_t* class_id, uint64_t* object_id,
    float* confidence, float* rect,
) noexcept nogil:
    """Fill the columns; False (with the true counts) if there is not enough room."""
    cdef GList* f = <GList*>_ptr(batch, BATCH_FRAMES)
    cdef GList* o
    cdef char* d
    cdef Py_ssize_t i = 0, k = 0
    while f != NULL:
        if i < room_f:
            frame[i] = f.data
        o = <GList*>_ptr(f.data, FRAME_OBJECTS)
        while o != NULL:
            if k < room_o:
                d = <char*>o.data
                obj[k] = d
                index[k] = <int32_t>i
                class_id[k] = (<int32_t*>(d + OBJECT_CLASS))[0]
                object_id[k] = (<uint64_t*>(d + OBJECT_ID))[0]
                confidence[k] = (<float*>(d + OBJECT_CONFIDENCE))[0]
                memcpy(rect + 4 * k, d + OBJECT_RECT, 16)
            k += 1
            o = o.next
        i += 1
        f = f.next
    n_f[0] = i
    n_o[0] = k
    return i <= room_f and k <= room_o


cdef bint _same(
    void* batch, void** frame, Py_ssize_t n_f, void** obj, Py_ssize_t n_o
) noexcept nogil:
    """True if the batch's lists hold exactly these frames and objects in this order."""
    cdef GList* f = <GList*>_ptr(batch, BATCH_FRAMES)
    cdef GList* o
    cdef Py_ssize_t i = 0, k = 0
    while f != NULL:
        if i >= n_f or frame[i] != f.data:
            return False
        o = <GList*>_ptr(f.data, FRAME_OBJECTS)
        while o != NULL:
            if k >= n_o or obj[k] != o.data:
                return False
            k += 1
            o = o.next
        i += 1
        f = f.next
    return i == n_f and k == n_o


cdef void _gather(void** table, Py_ssize_t n, int offset, int size, char* out) noexcept nogil:
    cdef Py_ssize_t i
    if size == 4:
        for i in range(n):
            (<uint32_t*>out)[i] = (<uint32_t*>(<char*>table[i] + offset))[0]
    elif size == 8:
        for i in range(n):
            (<uint64_t*>out)[i] = (<uint64_t*>(<char*>table[i] + offset))[0]
    else:
        for i in range(n):
            memcpy(out + i * size, <char*>table[i] + offset, size)


cdef int32_t _encode_labels(
    void** obj, Py_ssize_t n, int offset, char* text, int32_t* code, int32_t* slots,
    Py_ssize_t mask,
) noexcept nogil:
    """Dictionary-encode labels: ``text`` receives the distinct ones, 128 bytes each."""
    cdef Py_ssize_t i, k, length
    cdef char* s
    cdef uint64_t h
    cdef int32_t distinct = 0
    for i in range(mask + 1):
        slots[i] = -1
    for i in range(n):
        s = <char*>obj[i] + offset
        h = 14695981039346656037u  # FNV-1a, 64 bits
        length = 0
        while length < MAX_LABEL and s[length] != 0:
            h = (h ^ <uint8_t>s[length]) * 1099511628211u
            length += 1
        k = <Py_ssize_t>(h & <uint64_t>mask)
        while True:
            if slots[k] < 0:
                memset(text + distinct * MAX_LABEL, 0, MAX_LABEL)
                memcpy(text + distinct * MAX_LABEL, s, length)
                slots[k] = distinct
                distinct += 1
                break
            if memcmp(text + slots[k] * MAX_LABEL, s, length) == 0 and (
                length == MAX_LABEL or text[slots[k] * MAX_LABEL + length] == 0
            ):
                break
            k = (k + 1) & mask
        code[i] = slots[k]
    return distinct
