# Structures in place: single fields read and written as pyds's users do it.

cdef enum:
    K_I32 = 1
    K_U32 = 2
    K_U64 = 3
    K_F32 = 4
    K_F64 = 5
    K_U16 = 6
    K_I16 = 7
    K_CHARS = 8     # char[size]
    K_STRING = 9    # const char*, given as str, not written
    K_TEXT = 10     # char*, owned, g_malloc: read as TextPointer
    K_FONT = 11     # char*, kept for the process's life
    K_BLOCK_TEXT = 12  # char*, owned, a block
    K_POINTER = 13  # void*
    K_STRUCT = 14   # embedded
    K_REFERENCE = 15  # pointer to a structure
    K_LIST = 16     # GList*
    K_INTS = 17     # int32[count]
    K_STRUCTS = 18  # embedded array
    K_BLOCK_POINTER = 19  # char* given as an address, which it then owns
    UNRESOLVED = -2
    ABSENT = -1

cdef dict KINDS = {
    "i32": K_I32, "u32": K_U32, "u64": K_U64, "f32": K_F32, "f64": K_F64, "u16": K_U16,
    "i16": K_I16, "chars": K_CHARS, "string": K_STRING, "text": K_TEXT, "font": K_FONT,
    "block_text": K_BLOCK_TEXT, "pointer": K_POINTER, "struct": K_STRUCT,
    "reference": K_REFERENCE, "list": K_LIST, "ints": K_INTS, "structs": K_STRUCTS,
    "block_pointer": K_BLOCK_POINTER,
}


class TextPointer(int):
    """Address of a text, as pyds gives it, which also knows the text it was read with."""

    text: str

    def __str__(self):
        return self.text

    def __format__(self, spec):
        return format(self.text, spec)

    def __repr__(self):
        return f"<text {self.text!r} at {int(self):#x}>"


cdef object _text_pointer(uintptr_t address, char* text):
    pointer = TextPointer.__new__(TextPointer, address)
    pointer.text = (<bytes>text).decode("utf-8", "replace")
    return pointer


cdef bytes _text_bytes(object text, str name):
    cdef bytes encoded
    if isinstance(text, TextPointer):
        text = text.text
    if not isinstance(text, str):
        raise errors.MetadataValueError(f"{name} takes a str, not {type(text).__name__}")
    encoded = (<str>text).encode("utf-8", "replace")
    if b"\0" in encoded:
        raise errors.MetadataValueError(f"{name} cannot hold a NUL character")
    return encoded


cdef class NativeStruct:
    """A structure in native memory: a place in a batch, or memory of its own.

    Subclasses declare :class:`NativeField` attributes, ``SIZES`` (bytes by SDK family) and, for
    memory of their own, ``KIND`` (a block kind).
    """

    META_TYPE = 0

    cdef LiveBatch _live
    cdef Anchor _anchor
    cdef char* _at
    cdef int _number

    @classmethod
    def cast(cls, data):
        """The structure at ``.data``, a pointer, another structure or an address; None for None.

        :raises MetadataValueError: if it leads to something else, or to no readable memory.
        :raises StaleMetadataError: if it was removed, or its buffer is gone.
        """
        cdef NativePointer pointer
        cdef int meta_type = cls.META_TYPE
        if meta_type and type(data) is NativePointer:
            pointer = data
            if pointer._meta_type == meta_type and pointer._live is not None:
                pointer._live.check(pointer._anchor)
                return _struct_at(cls, pointer._live, pointer._anchor, pointer._at, pointer._number)
        return struct_cast(cls, data, cls.size_in(""), meta_type)

    def __eq__(self, other):
        if not isinstance(other, NativeStruct) or type(other) is not type(self):
            return NotImplemented
        return self._at == (<NativeStruct>other)._at

    def __hash__(self):
        return hash(<uintptr_t>self._at)

    def __bool__(self):
        return True

    def __repr__(self):
        return f"<{type(self).__name__} at {<uintptr_t>self._at:#x}>"

    @property
    def native_address(self):
        """Address of the structure. :raises StaleMetadataError: if it is gone."""
        _check(self)
        return <uintptr_t>self._at

    @property
    def is_stale(self):
        """True once the structure cannot be used any more."""
        try:
            _check(self)
        except errors.StaleMetadataError:
            return True
        return False


cdef inline ds_life* _life_of(NativeStruct s) noexcept:
    return s._live._life if s._live is not None else s._anchor.life


cdef int _check(NativeStruct s) except -1:
    cdef Anchor a
    if s._anchor is None:
        raise errors.MetadataValueError(
            f"{type(s).__name__} was not made by its class", hint="call it, or its cast()"
        )
    if s._live is not None:
        s._live.check(s._anchor)
    else:
        a = s._anchor
        while a is not None:
            if a.dead:
                _stale("this metadata was removed from its batch")
            if a.life != NULL and not a.life.alive:
                _stale("this data belongs to a buffer that is gone")
            a = a.holder
    return 0


cdef NativeStruct _struct_at(cls, LiveBatch live, Anchor anchor, void* at, int number):
    cdef NativeStruct s = cls.__new__(cls)
    s._live = live
    s._anchor = anchor
    s._at = <char*>at
    s._number = number
    return s


cdef int _gone() except -1:
    _stale("this metadata belongs to a buffer that is gone")


cdef int library_number = -1


cdef int _library_number() except -1:
    """Number of the loaded library's family: that of structures outside of batches."""
    global library_number
    if library_number < 0:
        library_number = layout_names.index(library_family())
    return library_number


def struct_init(NativeStruct s not None, size_t size, int kind=0):
    """Give a structure zeroed memory of its own."""
    _need_library()
    s._number = _library_number()
    s._anchor = Anchor()
    s._live = None
    s._anchor.owned = ds_block_new(size, kind)
    if s._anchor.owned == NULL:
        raise MemoryError()
    s._at = <char*>s._anchor.owned


def struct_cast(cls, object data, size_t size, int meta_type=0):
    """A structure of a class at what a pointer leads to; see NativePointer for the rules.

    :param size: bytes that must be readable there.
    :param meta_type: of a pool's meta; 0 for other data.
    """
    cdef NativePointer pointer
    cdef NativeStruct s
    cdef Anchor anchor
    cdef size_t block = 0
    cdef int kind = 0
    cdef uintptr_t address
    if data is None:
        return None
    if isinstance(data, NativePointer):
        pointer = data
        _check_pointer(pointer)
        if meta_type and pointer._meta_type and meta_type != pointer._meta_type:
            raise errors.MetadataValueError(
                f"the pointer leads to a {_type_name(pointer._meta_type)}, which {cls.__name__} is not"
            )
        if not meta_type and pointer._meta_type:
            raise errors.MetadataValueError(
                f"the pointer leads to a {_type_name(pointer._meta_type)} itself, not to data",
                hint="for a user meta, cast its user_meta_data",
            )
        if not pointer._meta_type and not ds_readable(<char*>pointer._at, size):
            raise errors.MetadataValueError(
                f"{cls.__name__}.cast: there are no {size} readable bytes at "
                f"{<uintptr_t>pointer._at:#x}"
            )
        return _struct_at(cls, pointer._live, pointer._anchor, pointer._at, pointer._number)
    if isinstance(data, NativeStruct):
        s = data
        _check(s)
        if type(s) is not cls and getattr(type(s), "META_TYPE", 0) != meta_type:
            raise errors.MetadataValueError(f"{type(s).__name__} is not a {cls.__name__}")
        return _struct_at(cls, s._live, s._anchor, s._at, s._number)
    if not isinstance(data, int) or isinstance(data, bool):
        raise errors.MetadataValueError(
            f"{cls.__name__}.cast takes .data, a pointer or an address, "
            f"not {type(data).__name__}"
        )
    address = data
    if address == 0:
        return None
    if meta_type:
        return _cast_address(cls, address, size, meta_type)
    if ds_block_look(<void*>address, &block, &kind):
        if block < size:
            raise errors.MetadataValueError(
                f"{cls.__name__} needs {size} bytes, the memory at {address:#x} has {block}"
            )
    elif not ds_readable(<char*>address, size):
        raise errors.MetadataValueError(
            f"{cls.__name__}.cast: there are no {size} readable bytes at {address:#x}"
        )
    return _struct_at(cls, None, Anchor(), <void*>address, _library_number())


cdef object _cast_address(cls, uintptr_t address, size_t size, int meta_type):
    """A pool's meta by its bare address: its head must name a batch that lives."""
    cdef void* batch
    cdef LiveBatch live
    cdef Anchor anchor
    # The library leaves the head of a batch unset; its six pools tell what it is.
    if not ds_readable(<char*>address, size) or address % 8 or (
        meta_type != TYPE_BATCH and <int32_t>_u32(<void*>address, BASE_TYPE) != meta_type
    ):
        raise errors.MetadataValueError(f"there is no {cls.__name__} at {address:#x}")
    batch = <void*>address if meta_type == TYPE_BATCH else _ptr(<void*>address, BASE_BATCH)
    if not ds_readable(<char*>batch, 192) or _layout_quiet_safe(batch) == NULL:
        raise errors.MetadataValueError(f"the {cls.__name__} at {address:#x} is in no batch")
    live = live_batch(<uintptr_t>batch)
    if meta_type == TYPE_BATCH:
        anchor = live._anchor
    else:
        anchor = live.anchor_of(<void*>address, None, live._tick)
    return _struct_at(cls, live, anchor, <void*>address, live._number)


cdef Layout* _layout_quiet_safe(void* batch) noexcept nogil:
    cdef int k
    for k in range(6):
        if not ds_readable(<char*>_ptr(batch, BATCH_POOLS + 8 * k), 56):
            return NULL
    return _layout_quiet(batch)


cdef str _type_name(int meta_type):
    names = ("?", "NvDsBatchMeta", "NvDsFrameMeta", "NvDsObjectMeta", "NvDsDisplayMeta",
             "NvDsClassifierMeta", "NvDsLabelInfo", "NvDsUserMeta")  # fmt: skip
    return names[meta_type] if 0 < meta_type < len(names) else f"meta of type {meta_type}"


def struct_bytes(NativeStruct s not None, Py_ssize_t offset, size_t size):
    """Copy of bytes of a structure. The caller vouches for the range."""
    _check(s)
    out = PyByteArray_FromStringAndSize(NULL, <Py_ssize_t>size)
    if not ds_peek(_life_of(s), s._at + offset, PyByteArray_AsString(out), size):
        _gone()
    return bytes(out)


def struct_write(NativeStruct s not None, Py_ssize_t offset, bytes data not None):
    """Write bytes into a structure. The caller vouches for the range."""
    _check(s)
    if not ds_poke(_life_of(s), s._at + offset, PyBytes_AsString(data), len(data)):
        _gone()


def struct_replace_mask(NativeStruct s not None, size_t size):
    """Give a NvOSD_MaskParams ``size`` zeroed bytes; the old ones are freed."""
    cdef void* new
    cdef void* old = NULL
    _check(s)
    if s._live is None:
        new = ds_block_new(size, 0)
    else:
        new = calloc(1, size if size else 1)  # the library frees it with the object
    if new == NULL:
        raise MemoryError()
    _swap_pointer(s, s._at, new, &old)
    if s._live is None:
        ds_block_free(old)
    else:
        api.g_free(old)


def struct_follow(NativeStruct s not None, Py_ssize_t offset, size_t size):
    """Copy of ``size`` bytes that a pointer of a structure leads to; None for NULL.

    :raises MetadataValueError: if they cannot be read.
    """
    cdef void* pointer = NULL
    _check(s)
    if not ds_peek(_life_of(s), s._at + offset, &pointer, 8):
        _gone()
    if pointer == NULL:
        return None
    if size and not ds_readable(<char*>pointer, size):
        raise errors.MetadataValueError(
            f"{type(s).__name__} leads to {<uintptr_t>pointer:#x}, where {size} bytes cannot be read"
        )
    out = PyByteArray_FromStringAndSize(NULL, <Py_ssize_t>size)
    if not ds_peek(_life_of(s), pointer, PyByteArray_AsString(out), size):
        _gone()
    return bytes(out)


def struct_fill(NativeStruct s not None, Py_ssize_t offset, bytes data not None):
    """Write bytes to the memory that a pointer of a structure leads to. The caller vouches for it."""
    cdef void* pointer = NULL
    _check(s)
    if not ds_peek(_life_of(s), s._at + offset, &pointer, 8) or (
        pointer != NULL and not ds_poke(_life_of(s), pointer, PyBytes_AsString(data), len(data))
    ):
        _gone()


def struct_element(cls, NativeStruct s not None, uintptr_t address, size_t size):
    """A structure at an address that ``s`` holds a pointer to; good for as long as ``s`` is.

    :raises MetadataValueError: if the memory cannot be read.
    """
    _check(s)
    if not ds_readable(<char*>address, size):
        raise errors.MetadataValueError(
            f"{type(s).__name__} leads to {address:#x}, where there is no {cls.__name__}"
        )
    return _struct_at(cls, s._live, s._anchor, <void*>address, s._number)


def struct_family(NativeStruct s not None):
    """Name of the SDK family whose layout a structure has."""
    return layout_names[s._number]


def struct_live(NativeStruct s not None):
    """The batch that a structure lies in; None for memory of its own."""
    return s._live
