# Descriptors of single fields.

@cython.final
cdef class NativeField:
    """One field of a :class:`NativeStruct`, as an attribute.

    :param kind: a name of KINDS.
    :param offset: bytes from the structure's start; a dict by SDK family where it moved.
    :param size: bytes of one element, for chars, struct and structs.
    :param count: elements, for ints and structs.
    :param cls: class of a struct, structs or reference; meta type number of a list's elements.
    :param to_python: called with what was read; for enumerations.
    :param frozen: reason why it cannot be written.
    """

    cdef int _kind
    cdef int _size
    cdef int _count
    cdef int _offset[16]
    cdef object _offsets
    cdef object _to_python
    cdef public object cls
    cdef public str name
    cdef public str kind
    cdef public str frozen
    cdef public object __doc__

    def __init__(self, str kind, offset, *, int size=0, int count=0, cls=None, to_python=None,
                 str frozen="", str doc=""):
        cdef int i
        self.kind = kind
        self._kind = KINDS[kind]
        self._offsets = offset
        self._size = size
        self._count = count
        self._to_python = to_python
        self.cls = cls
        self.frozen = frozen
        self.__doc__ = doc
        self.name = "?"
        for i in range(16):
            self._offset[i] = UNRESOLVED if isinstance(offset, dict) else <int>offset

    def __set_name__(self, owner, name):
        self.name = name

    @property
    def count(self):
        """Elements of an array; the greatest value of a counter; 0 for neither."""
        return self._count

    def offset_in(self, NativeStruct s not None):
        """Bytes from the start of a structure."""
        return self._place(s) - s._at

    cdef char* _place(self, NativeStruct s) except NULL:
        cdef int offset
        _check(s)
        offset = self._offset[s._number]
        if offset < 0:
            if offset == UNRESOLVED:
                offset = self._offsets.get(layout_names[s._number], ABSENT)
                self._offset[s._number] = offset
            if offset < 0:
                raise errors.UnsupportedFieldError(
                    f"{type(s).__name__} of the {layout_names[s._number]} family has no "
                    f"field {self.name!r}"
                )
        return s._at + offset

    def __get__(self, instance, owner):
        cdef NativeStruct s
        if instance is None:
            return self
        if not isinstance(instance, NativeStruct):
            raise TypeError(f"{self.name} is a field of native structures")
        s = instance
        if self._kind <= K_I16:
            value = self._number_of(s)
            return value if self._to_python is None else self._to_python(value)
        return _composite(self, s)

    cdef object _number_of(self, NativeStruct s):
        cdef char* at = self._place(s)
        cdef ds_life* life = _life_of(s)
        cdef int kind = self._kind
        cdef int32_t i
        cdef uint32_t u
        cdef uint64_t l
        cdef float f
        cdef double d
        cdef uint16_t h
        if kind == K_F32:
            if ds_peek(life, at, &f, 4):
                return f
        elif kind == K_I32:
            if ds_peek(life, at, &i, 4):
                return i
        elif kind == K_U32:
            if ds_peek(life, at, &u, 4):
                return u
        elif kind == K_U64:
            if ds_peek(life, at, &l, 8):
                return l
        elif kind == K_F64:
            if ds_peek(life, at, &d, 8):
                return d
        elif ds_peek(life, at, &h, 2):
            return h if kind == K_U16 else h - 65536 if h >= 32768 else h
        _gone()

    def __set__(self, instance, value):
        cdef NativeStruct s
        if not isinstance(instance, NativeStruct):
            raise TypeError(f"{self.name} is a field of native structures")
        s = instance
        if self.frozen:
            raise errors.MetadataValueError(
                f"{type(s).__name__}.{self.name} cannot be written: {self.frozen}"
            )
        if self._kind <= K_I16:
            self._set_number(s, value)
        else:
            _set_composite(self, s, value)

    cdef int _set_number(self, NativeStruct s, value) except -1:
        cdef char* at = self._place(s)
        cdef ds_life* life = _life_of(s)
        cdef int kind = self._kind
        cdef float f
        cdef double d
        cdef uint64_t bits
        cdef bint ok
        if kind == K_F32 or kind == K_F64:
            try:
                d = value
            except TypeError:
                raise errors.MetadataValueError(
                    f"{type(s).__name__}.{self.name} takes a number, not {type(value).__name__}"
                ) from None
            if d != d or d - d != 0:
                raise errors.NonFiniteValueError(
                    f"{type(s).__name__}.{self.name} cannot be {value}"
                )
            if kind == K_F32:
                f = <float>d
                if f - f != 0:
                    raise errors.MetadataValueError(f"{self.name} {value} is too large for a float")
                ok = ds_poke(life, at, &f, 4)
            else:
                ok = ds_poke(life, at, &d, 8)
        else:
            bits = _bits_of(self, s, value)
            ok = ds_poke(life, at, &bits, 4 if kind <= K_U32 else 8 if kind == K_U64 else 2)
        if not ok:
            _gone()
        return 0


cdef uint64_t _bits_of(NativeField field, NativeStruct s, value) except? 0:
    cdef int kind = field._kind
    try:
        number = value.__index__()
    except AttributeError:
        raise errors.MetadataValueError(
            f"{type(s).__name__}.{field.name} takes an integer, not {type(value).__name__}"
        ) from None
    if kind == K_I32:
        low, high = -(1 << 31), (1 << 31) - 1
    elif kind == K_U32:
        low, high = 0, (1 << 32) - 1
    elif kind == K_U64:
        low, high = 0, (1 << 64) - 1
    elif kind == K_U16:
        low, high = 0, 65535
    else:
        low, high = -32768, 32767
    if field._count and number > field._count:
        raise errors.MetadataValueError(
            f"{type(s).__name__}.{field.name} is at most {field._count}, not {number}",
            hint="take another display meta from the pool for the rest",
        )
    if number < low or number > high:
        raise errors.MetadataValueError(
            f"{type(s).__name__}.{field.name} holds {low} to {high}, not {number}",
            hint="an object without a track has object_id 0xFFFFFFFFFFFFFFFF, not -1"
            if field.name == "object_id" else None,
        )
    return <uint64_t>(number & 0xFFFFFFFFFFFFFFFF)


cdef object _composite(NativeField field, NativeStruct s):
    cdef char* at = field._place(s)
    cdef ds_life* life = _life_of(s)
    cdef int kind = field._kind
    cdef void* pointer = NULL
    cdef char* copy = NULL
    cdef char chars[129]
    cdef int i
    if kind == K_STRUCT:
        return _struct_at(field.cls, s._live, s._anchor, at, s._number)
    if kind == K_LIST:
        return _list_of(s, at, field.cls)
    if kind == K_CHARS:
        memset(chars, 0, sizeof(chars))
        if not ds_peek(life, at, chars, field._size if field._size < 129 else 128):
            _gone()
        return (<bytes>chars).decode("utf-8", "replace")
    if kind == K_STRUCTS:
        size = field._size if field._size else field.cls.size_in(layout_names[s._number])
        return [
            _struct_at(field.cls, s._live, s._anchor, at + i * <Py_ssize_t>size, s._number)
            for i in range(field._count)
        ]
    if kind == K_INTS:
        return field._to_python(s, field)
    if kind in (K_STRING, K_TEXT, K_FONT, K_BLOCK_TEXT, K_BLOCK_POINTER):
        if not ds_peek_text(life, at, &pointer, &copy):
            _gone()
        if copy == NULL:
            return None if kind == K_STRING else 0
        try:
            if kind == K_STRING:
                return (<bytes>copy).decode("utf-8", "replace")
            return _text_pointer(<uintptr_t>pointer, copy)
        finally:
            free(copy)
    if not ds_peek(life, at, &pointer, 8):
        _gone()
    if pointer == NULL:
        return None
    if kind == K_REFERENCE:
        return _referenced(field, s, pointer)
    return _pointer_at(s._live, s._anchor, pointer, 0, s._number)


cdef object _referenced(NativeField field, NativeStruct s, void* pointer):
    """What a pointer field leads to: the batch, a pool of it, or another meta of it."""
    cdef int meta_type = getattr(field.cls, "META_TYPE", 0)
    if s._live is None:
        return None
    if meta_type == TYPE_BATCH:
        return _struct_at(field.cls, s._live, s._live._anchor, pointer, s._number)
    if meta_type == 0:
        return _struct_at(field.cls, s._live, s._live._anchor, pointer, s._number)
    return _struct_at(
        field.cls, s._live, s._live.anchor_of(pointer, None, s._live._tick), pointer, s._number
    )


cdef int _set_composite(NativeField field, NativeStruct s, value) except -1:
    cdef char* at = field._place(s)
    cdef ds_life* life = _life_of(s)
    cdef int kind = field._kind
    cdef bytes text
    cdef void* new = NULL
    cdef void* old = NULL
    cdef NativeStruct other
    cdef char chars[128]
    if kind == K_CHARS:
        text = _text_bytes(value, field.name)
        text = text[: _utf8_cut(text, field._size - 1)]
        memset(chars, 0, sizeof(chars))
        memcpy(chars, PyBytes_AsString(text), len(text))
        if not ds_poke(life, at, chars, field._size):
            _gone()
    elif kind == K_TEXT or kind == K_BLOCK_TEXT:
        if value is not None and not (isinstance(value, int) and value == 0):
            text = _text_bytes(value, field.name)
            if kind == K_TEXT and s._live is not None:
                new = api.g_strdup(PyBytes_AsString(text))
            else:
                new = ds_block_new(len(text) + 1, 0)
                if new != NULL:
                    memcpy(new, PyBytes_AsString(text), len(text))
            if new == NULL:
                raise MemoryError()
        _swap_pointer(s, at, new, &old)
        if kind == K_TEXT and s._live is not None:
            api.g_free(old)
        else:
            ds_block_free(old)
    elif kind == K_FONT:
        if value is not None and not (isinstance(value, int) and value == 0):
            text = _text_bytes(value, field.name)
            new = <void*>api.g_intern_string(PyBytes_AsString(text))
        _swap_pointer(s, at, new, &old)
    elif kind == K_STRUCT:
        if not isinstance(value, NativeStruct) or type(value) is not field.cls:
            raise errors.MetadataValueError(
                f"{field.name} takes a {field.cls.__name__}, not {type(value).__name__}"
            )
        other = value
        _check(other)
        field.cls.copy_fields(_struct_at(field.cls, s._live, s._anchor, at, s._number), other)
    elif kind == K_POINTER or kind == K_BLOCK_POINTER:
        if kind == K_BLOCK_POINTER and isinstance(value, str):
            raise errors.MetadataValueError(
                f"{field.name} takes the address of alloc_buffer(), not a str"
            )
        _set_pointer(field, s, at, value)
    else:
        raise errors.MetadataValueError(
            f"{type(s).__name__}.{field.name} cannot be written",
            hint="lists are changed by the nvds_add_ and nvds_remove_ functions"
            if kind == K_LIST else None,
        )
    return 0


cdef int _swap_pointer(NativeStruct s, char* at, void* new, void** old) except -1:
    cdef ds_life* life = _life_of(s)
    if not ds_peek(life, at, old, 8) or not ds_poke(life, at, &new, 8):
        ds_block_free(new)
        old[0] = NULL
        _gone()
    return 0


cdef int _set_pointer(NativeField field, NativeStruct s, char* at, value) except -1:
    """A pointer field takes a structure, a pointer or an address, and owns a block from then on."""
    cdef void* new = NULL
    cdef void* old = NULL
    cdef NativeStruct other
    cdef size_t size = 0
    cdef int kind = 0
    if isinstance(value, NativeStruct):
        other = value
        _check(other)
        new = other._at
        if other._anchor.owned == new and other._anchor is not s._anchor:
            # From here on the structure that holds the pointer frees it.
            other._anchor.owned = NULL
            other._anchor.holder = s._anchor
            if s._live is not None:
                other._anchor.life = ds_life_keep(s._live._life)
    elif isinstance(value, NativePointer):
        _check_pointer(value)
        new = (<NativePointer>value)._at
    elif value is not None:
        new = <void*><uintptr_t>value
        if new != NULL and not ds_block_look(new, &size, &kind) and not ds_readable(<char*>new, 1):
            raise errors.MetadataValueError(f"{field.name}: {<uintptr_t>new:#x} is no readable memory")
    _swap_pointer(s, at, new, &old)
    if old != new:
        ds_block_free(old)  # does nothing unless it was a block of ours
    return 0
