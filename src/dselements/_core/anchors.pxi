# Whether a handle may still be followed: its batch lives, its meta was not removed.


cdef int _stale(str what) except -1:
    raise errors.StaleMetadataError(
        what, hint="keep values, not handles: copy what you need while the buffer is yours"
    )


cdef void _watched_release(void* data, void* user_data) noexcept nogil:
    """Release function of a batch that another element made and a handle points into."""
    cdef release_func_t theirs = ds_life_end(data)
    if theirs == NULL:
        theirs = api.batch_release
    theirs(data, user_data)


cdef void _watch(void* buffer, void* batch, ds_life* life) noexcept nogil:
    """Have the release of a buffer's batch end its life, whoever made it."""
    cdef NvDsGstMeta* meta = api.buffer_get_meta(buffer)
    cdef void* state = NULL
    cdef size_t kind
    cdef void* theirs
    if meta == NULL:
        return
    if meta.meta_data != batch:  # the buffer has several NvDsMeta
        kind = (<size_t*>meta.info)[0]
        while True:
            meta = <NvDsGstMeta*>api.iterate_meta(buffer, &state, kind)
            if meta == NULL:
                return
            if meta.meta_data == batch:
                break
    if meta.freefunc == _batch_release or meta.freefunc == _watched_release:
        return
    theirs = <void*>meta.freefunc
    life.release = <release_func_t>theirs
    ds_swap(<void**>&meta.freefunc, theirs, <void*>_watched_release)


@cython.final
cdef class Anchor:
    """One meta, or one block of memory, that handles point into."""

    cdef bint dead
    cdef bint attached
    cdef long born            # tick of the batch at which it came out of a pool
    cdef long died
    cdef Anchor holder        # what it hangs on: dead with it
    cdef ds_life* life        # of a block that a batch owns now
    cdef void* owned          # block to free with the anchor

    def __dealloc__(self):
        if self.owned != NULL:
            ds_block_free(self.owned)
        ds_life_drop(self.life)


@cython.final
cdef class LiveBatch:
    """A NvDsBatchMeta that handles point into, one for all of them."""

    cdef ds_life* _life
    cdef Layout* _layout
    cdef int _number
    cdef dict _anchors
    cdef Anchor _anchor
    cdef unsigned long _serial
    cdef long _tick
    cdef dict _depth          # thread: how often it holds the meta lock

    def __dealloc__(self):
        if self._life != NULL:
            if self._life.handle == <void*>self:
                self._life.handle = NULL
            ds_life_drop(self._life)

    @property
    def address(self):
        """Address of the NvDsBatchMeta."""
        return <uintptr_t>self._life.batch

    @property
    def alive(self):
        """False once the batch was released."""
        return bool(self._life.alive)

    @property
    def family(self):
        """Name of the SDK family."""
        return layout_names[self._number]

    cdef int check(self, Anchor anchor) except -1:
        """:raises StaleMetadataError: if the batch is gone or the meta was removed."""
        cdef Anchor a = anchor
        cdef unsigned long serial
        if not self._life.alive:
            _stale("this metadata belongs to a buffer that is gone")
        serial = ds_serial_of(self._life.batch)
        if serial != 0 and serial != self._serial:
            self._serial = serial
            self.resync()
        while a is not None:
            if a.dead:
                _stale("this metadata was removed from its batch")
            a = a.holder
        return 0

    cdef Anchor anchor_of(self, void* address, Anchor holder, long taken):
        """The anchor of a meta that a list held at tick ``taken``."""
        cdef object key = <uintptr_t>address
        cdef Anchor anchor = self._anchors.get(key)
        if anchor is None or (anchor.dead and anchor.died <= taken):
            anchor = Anchor()
            anchor.attached = True
            anchor.holder = holder
            self._anchors[key] = anchor
        elif anchor.holder is None:
            anchor.holder = holder
        return anchor

    cdef void kill(self, Anchor anchor):
        self._tick += 1
        anchor.dead = True
        anchor.died = self._tick

    cdef int resync(self) except -1:
        """Columns of dselements edited the batch meanwhile: find out which metas are left."""
        cdef Anchor anchor
        cdef set left = set()
        cdef Snapshot now = Snapshot(<uintptr_t>self._life.batch)
        cdef Py_ssize_t i
        for i in range(now._frames):
            left.add(<uintptr_t>now._frame[i])
        for i in range(now._objects):
            left.add(<uintptr_t>now._object[i])
        for level in range(3):
            left.update([entry[1] for entry in _gather_user(now, level)])
        left.update([entry[1] for entry in _gather_display(now)])
        for entry in _gather_classifiers(now):
            left.add(entry[1])
            left.update([label[0] for label in entry[4]])
        for address, value in self._anchors.items():
            anchor = value
            if anchor.attached and not anchor.dead and address not in left:
                self.kill(anchor)
        return 0


def live_batch(uintptr_t batch, uintptr_t buffer=0):
    """The handle of a batch that lives now; the same one for as long as somebody holds it.

    :param buffer: address of the GstBuffer that owns it, so that its end is noticed.
    """
    cdef void* address = _batch_of(batch)
    cdef LiveBatch live
    cdef ds_life* life
    _need_library()
    number = _layout_index(address)
    life = ds_life_of(address)
    if life == NULL:
        raise MemoryError()
    if buffer:
        _watch(<void*>buffer, address, life)
    if life.handle != NULL:
        live = <LiveBatch>life.handle
        ds_life_drop(life)
        return live
    live = LiveBatch()
    live._life = life
    live._number = number
    live._layout = &layouts[live._number]
    live._anchors = {}
    live._depth = {}
    live._anchor = Anchor()
    live._anchor.attached = True
    live._serial = ds_serial_of(address)
    life.handle = <void*>live
    return live


def buffer_live_batch(uintptr_t buffer):
    """Handle of the batch of a GstBuffer, or None if it has none.

    :raises MetadataValueError: if the address is no GstBuffer, as far as memory can tell.
    """
    cdef void* batch
    cdef char* head = <char*>buffer
    _need_library()
    if (
        buffer % 8 or not ds_readable(head, sizeof(GstBufferHead))
        or (<size_t*>head)[0] != api.buffer_type()
        or (<int32_t*>(head + MINI_REFCOUNT))[0] < 1
    ):
        raise errors.MetadataValueError(
            f"{buffer:#x} is not the address of a GstBuffer that is in use",
            hint="pass hash(buffer) of the Gst.Buffer of this very call",
        )
    batch = api.buffer_batch(head)
    if batch == NULL:
        return None
    _adopt(head, batch)
    return live_batch(<uintptr_t>batch, buffer)


def batch_lock(LiveBatch live not None, bint acquire):
    """Take or give back the meta lock, which is recursive; waits without the GIL.

    :raises MetadataValueError: if this thread gives back a lock that it does not hold.
    """
    cdef void* batch = live._life.batch
    import threading

    me = threading.get_ident()
    live.check(live._anchor)
    depth = live._depth.get(me, 0)
    if not acquire and depth == 0:
        raise errors.MetadataValueError(
            "this thread releases a meta lock that it does not hold",
            hint="each nvds_release_meta_lock needs a nvds_acquire_meta_lock before it",
        )
    if acquire:
        with nogil:
            api.acquire_lock(batch)
        live._depth[me] = depth + 1
    else:
        if depth == 1:
            del live._depth[me]
        else:
            live._depth[me] = depth - 1
        with nogil:
            api.release_lock(batch)
