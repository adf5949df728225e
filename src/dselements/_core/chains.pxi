# Lists and bare pointers, as pyds hands them out.

@cython.final
cdef class NativePointer:
    """A ``void*`` of pyds: what ``.data`` and ``user_meta_data`` give and ``cast()`` takes."""

    cdef LiveBatch _live
    cdef Anchor _anchor
    cdef void* _at
    cdef int _meta_type       # of a pool's meta; 0 for other data
    cdef int _number

    @property
    def native_address(self):
        """The address. :raises StaleMetadataError: if what held it is gone."""
        _check_pointer(self)
        return <uintptr_t>self._at

    def __eq__(self, other):
        if isinstance(other, NativePointer):
            return self._at == (<NativePointer>other)._at
        if isinstance(other, NativeStruct):
            return <char*>self._at == (<NativeStruct>other)._at
        return NotImplemented

    def __hash__(self):
        return hash(<uintptr_t>self._at)

    def __repr__(self):
        return f"<pointer {<uintptr_t>self._at:#x}>"


cdef NativePointer _pointer_at(LiveBatch live, Anchor anchor, void* at, int meta_type, int number):
    cdef NativePointer pointer = NativePointer.__new__(NativePointer)
    pointer._live = live
    pointer._anchor = anchor
    pointer._at = at
    pointer._meta_type = meta_type
    pointer._number = number
    return pointer


cdef int _check_pointer(NativePointer pointer) except -1:
    cdef Anchor a
    if pointer._live is not None:
        return pointer._live.check(pointer._anchor)
    a = pointer._anchor
    while a is not None:
        if a.dead:
            _stale("this metadata was removed from its batch")
        if a.life != NULL and not a.life.alive:
            _stale("this data belongs to a buffer that is gone")
        a = a.holder
    return 0


@cython.final
cdef class _Chain:
    """What a list held when it was read."""

    cdef LiveBatch live
    cdef Anchor holder
    cdef void** items
    cdef Py_ssize_t n
    cdef long taken
    cdef int meta_type

    def __dealloc__(self):
        free(self.items)

    cdef bint left(self, Py_ssize_t k):
        """True unless the item was removed since the list was read."""
        cdef Anchor anchor = self.live._anchors.get(<uintptr_t>self.items[k])
        if anchor is None:
            return True
        return not (anchor.dead and anchor.died > self.taken) and anchor.born <= self.taken

    cdef NativeList node(self, Py_ssize_t k, int step):
        """The next entry from k on that is still there, or None."""
        cdef NativeList node
        while 0 <= k < self.n and not self.left(k):
            k += step
        if k < 0 or k >= self.n:
            return None
        node = NativeList.__new__(NativeList)
        node._chain = self
        node._k = k
        return node


@cython.final
cdef class NativeList:
    """One entry of a GList as it was read: ``data``, ``next``, ``prev``.

    The list is read once. ``next`` passes over entries that were removed meanwhile, so that
    removing inside of a loop, in any order, is legal.
    """

    cdef _Chain _chain
    cdef Py_ssize_t _k

    @property
    def data(self):
        """Pointer to the meta, for its class's cast()."""
        cdef _Chain c = self._chain
        cdef void* at
        cdef Anchor anchor
        if c is None:
            return None
        c.live.check(c.holder)
        at = c.items[self._k]
        anchor = c.live.anchor_of(at, c.holder, c.taken)
        return _pointer_at(c.live, anchor, at, c.meta_type, c.live._number)

    @property
    def next(self):
        """The entry after this one, or None."""
        if self._chain is None:
            return None
        self._chain.live.check(self._chain.holder)
        return self._chain.node(self._k + 1, 1)

    @property
    def prev(self):
        """The entry before this one, or None."""
        if self._chain is None:
            return None
        self._chain.live.check(self._chain.holder)
        return self._chain.node(self._k - 1, -1)


cdef object _list_of(NativeStruct s, char* at, int meta_type):
    """The head of a GList* field, or None for an empty list."""
    cdef _Chain chain
    cdef GList* node
    cdef Py_ssize_t n = 0
    cdef void* batch
    if s._live is None:
        return None
    chain = _Chain.__new__(_Chain)
    batch = s._live._life.batch
    with nogil:
        api.acquire_lock(batch)
        node = (<GList**>at)[0]
        n = _list_length(node)
        chain.items = <void**>malloc((n + 1) * sizeof(void*))
        if chain.items != NULL:
            chain.n = n
            n = 0
            while node != NULL:
                chain.items[n] = node.data
                n += 1
                node = node.next
        api.release_lock(batch)
    if chain.items == NULL:
        raise MemoryError()
    chain.live = s._live
    chain.holder = s._anchor
    chain.taken = s._live._tick
    chain.meta_type = meta_type
    return chain.node(0, 1)


def list_addresses(NativeList first):
    """Addresses of the metas from an entry on that are still there."""
    cdef Py_ssize_t k
    if first is None:
        return []
    first._chain.live.check(first._chain.holder)
    return [
        <uintptr_t>first._chain.items[k]
        for k in range(first._k, first._chain.n) if first._chain.left(k)
    ]
