# GstBuffers by address: lookup, writability, mapping, batching and pushing.

cdef enum:
    MINI_REFCOUNT = 8
    MINI_FLAGS = 16
    MAP_READ = 1
    MAP_WRITE = 2
    MAX_MEMORIES = 16  # gst_buffer_get_max_memory()


cdef void* _buffer_of(uintptr_t address) except NULL:
    _need_library()
    if address == 0:
        raise ValueError("the buffer address is 0")
    return <void*>address


def buffer_batch_meta(uintptr_t buffer):
    """Address of the NvDsBatchMeta of a GstBuffer; 0 if it has none."""
    cdef void* address = _buffer_of(buffer)
    cdef void* batch = api.buffer_batch(address)
    if batch != NULL:
        _adopt(address, batch)
    return <uintptr_t>batch


def buffer_is_writable(uintptr_t buffer):
    """What GStreamer says: PyGObject's own answer counts its wrapper's reference."""
    return bool(api.is_writable(_buffer_of(buffer)))


def buffer_refcount(uintptr_t buffer):
    """Reference count of a GstBuffer at the C level."""
    return (<int32_t*>(<char*>_buffer_of(buffer) + MINI_REFCOUNT))[0]


def buffer_info(uintptr_t buffer):
    """pts, dts, duration in ns (2**64 - 1 where unset), size in bytes, number of memories."""
    cdef GstBufferHead* head = <GstBufferHead*>_buffer_of(buffer)
    return head.pts, head.dts, head.duration, api.buffer_size(head), api.n_memory(head)


def buffer_set_times(uintptr_t buffer, uint64_t pts, uint64_t dts, uint64_t duration):
    """Set the times of a buffer that the caller owns; 2**64 - 1 unsets one."""
    cdef GstBufferHead* head = <GstBufferHead*>_buffer_of(buffer)
    head.pts = pts
    head.dts = dts
    head.duration = duration


def buffer_flags(uintptr_t buffer):
    """GstBufferFlags of a buffer."""
    return (<uint32_t*>(<char*>_buffer_of(buffer) + MINI_FLAGS))[0]


def buffer_add_flags(uintptr_t buffer, uint32_t flags):
    """Set GstBufferFlags, beside those that are set, of a buffer that the caller owns."""
    cdef uint32_t* found = <uint32_t*>(<char*>_buffer_of(buffer) + MINI_FLAGS)
    found[0] |= flags


def buffer_ref(uintptr_t buffer):
    """Take a reference to a buffer; buffer_unref() gives it up."""
    api.object_ref(_buffer_of(buffer))


def buffer_unref(uintptr_t buffer):
    """Give up a reference that the caller owns."""
    cdef void* address = _buffer_of(buffer)
    with nogil:
        api.object_unref(address)


def make_batched_buffer(buffers):
    """New GstBuffer with one GstMemory for each input buffer; pixels are shared, not copied.

    A GstBuffer holds 16 memories. More frames, all of one size, are copied one after the other
    into a single memory.

    The caller owns the result. Its memories are writable once the inputs are released.
    :raises MetadataValueError: for no buffers, and for more than 16 of different sizes.
    """
    cdef void* out
    cdef void* memory
    sources = [<uintptr_t>b for b in buffers]
    if not sources:
        raise errors.MetadataValueError("a batch needs at least one buffer", hint="")
    for b in sources:
        if api.n_memory(_buffer_of(b)) == 0:
            raise ValueError("a buffer without memory cannot be batched")
    if len(sources) > MAX_MEMORIES:
        return _one_memory(sources)
    out = api.buffer_new()
    for b in sources:
        memory = api.get_all_memory(<void*><uintptr_t>b)
        api.append_memory(out, memory)
    return <uintptr_t>out


cdef void _unmap_info(GstMapInfo* info) noexcept nogil:
    """Undo gst_buffer_map_range without the buffer, which gst_buffer_unmap insists on."""
    cdef void* memory = info.memory
    if memory != NULL:
        api.memory_unmap(memory, info)
        api.object_unref(memory)


cdef object _one_memory(list sources):
    cdef size_t size = api.buffer_size(<void*><uintptr_t>sources[0])
    cdef size_t n = len(sources), i
    cdef void* source
    cdef void* out
    cdef GstMapInfo info
    cdef bint ok = True
    for b in sources:
        if api.buffer_size(<void*><uintptr_t>b) != size:
            raise errors.MetadataValueError("frames of a batch differ in size", hint="")
    out = api.buffer_new_allocate(NULL, n * size, NULL)
    if out == NULL:
        raise MemoryError(f"{n} frames of {size} bytes")
    for i in range(n):
        source = <void*><uintptr_t>sources[i]
        with nogil:
            memset(&info, 0, sizeof(GstMapInfo))
            ok = api.buffer_map(source, 0, -1, &info, MAP_READ)
            if ok:
                api.buffer_fill(out, i * size, info.data, size)
                _unmap_info(&info)
        if not ok:
            api.object_unref(out)
            raise errors.SurfaceError("GStreamer could not map a frame's memory")
    return <uintptr_t>out


def copy_frame_to_new_buffer(
    uintptr_t buffer, uintptr_t batch, Py_ssize_t frame_row, uint32_t memory_index,
    Py_ssize_t offset=0, Py_ssize_t size=-1,
):
    """New GstBuffer with one memory of ``buffer`` and a one-frame batch that copies one frame.

    With ``size``, only that part of the memory (shared; writing to it copies it first).

    Objects keep their order and parents; pixels are shared, not copied. The copied frame's
    batch_id is 0. The caller owns the result.
    """
    cdef void* source = _buffer_of(buffer)
    cdef void* from_batch = _batch_of(batch)
    cdef Layout* layout = &layouts[_layout_index(from_batch)]
    cdef void* out
    cdef void* made
    cdef void* frame = NULL
    cdef GList* node
    cdef GList single
    cdef void* memory
    cdef Py_ssize_t i = 0
    if memory_index >= api.n_memory(source):
        raise IndexError(f"memory {memory_index} of {api.n_memory(source)}")
    if offset < 0 or (size >= 0 and <size_t>(offset + size) > api.buffer_size(source)):
        raise IndexError(f"{size} bytes at {offset} of {api.buffer_size(source)}")
    out = api.buffer_new()
    memory = api.peek_memory(source, memory_index)
    api.append_memory(
        out, api.object_ref(memory) if size < 0 else api.memory_share(memory, offset, size)
    )
    with nogil:
        made = _new_batch(1, out)
        if made != NULL:
            api.acquire_lock(from_batch)
            node = <GList*>_ptr(from_batch, BATCH_FRAMES)
            while node != NULL and i < frame_row:
                node = node.next
                i += 1
            if node != NULL and frame_row >= 0:
                frame = node.data
                single.data = frame
                single.next = NULL
                single.prev = NULL
                api.copy_frame_list(&single, made)
                node = <GList*>_ptr(made, BATCH_FRAMES)
                if node != NULL:
                    _repair_frames(&single, node, layout)
                    (<uint32_t*>(<char*>node.data + FRAME_BATCH_ID))[0] = 0
            api.release_lock(from_batch)
    if made == NULL or frame == NULL:
        api.object_unref(out)
        if made == NULL:
            raise MemoryError("the library could not create a batch metadata")
        raise IndexError(f"frame row {frame_row} of {i}")
    return <uintptr_t>out


def pad_push(uintptr_t pad, uintptr_t buffer):
    """gst_pad_push without the GIL; takes the buffer's reference; returns the GstFlowReturn."""
    cdef void* b = _buffer_of(buffer)
    cdef int flow
    if pad == 0:
        raise ValueError("the pad address is 0")
    with nogil:
        flow = api.pad_push(<void*>pad, b)
    return flow


cdef int (*finish_buffer)(void*, void*) noexcept nogil


def aggregator_finish(uintptr_t aggregator, uintptr_t buffer):
    """gst_aggregator_finish_buffer without the GIL; takes the buffer's reference."""
    global finish_buffer
    cdef void* b = _buffer_of(buffer)
    cdef void* base
    cdef int flow
    if aggregator == 0:
        raise ValueError("the aggregator address is 0")
    if finish_buffer == NULL:
        base = dlopen(b"libgstbase-1.0.so.0", RTLD_LAZY | RTLD_LOCAL)
        if base == NULL:
            raise errors.LibraryNotFoundError("libgstbase-1.0.so.0 cannot be loaded")
        _find(base, b"gst_aggregator_finish_buffer", <void**>&finish_buffer)
    with nogil:
        flow = finish_buffer(<void*>aggregator, b)
    return flow


def buffer_drop_memory(uintptr_t buffer):
    """Remove all memories of a buffer that the caller holds alone; False if it is shared.

    Whoever took references to the memories before owns them alone then, and may write to them.
    """
    cdef void* b = _buffer_of(buffer)
    if not api.is_writable(b):
        return False
    with nogil:
        api.remove_all_memory(b)
    return True


@cython.final
cdef class MemoryMap:
    """One mapped GstMemory of a buffer; unmapped by close() or when collected.

    For writing, a memory that other buffers share is copied into this buffer first.

    :raises SurfaceError: if it cannot be mapped: for writing, the buffer must be held alone.
    """

    cdef GstMapInfo _info
    cdef void* _buffer
    cdef bint _write

    def __cinit__(self, uintptr_t buffer, uint32_t index, bint write):
        cdef void* b = _buffer_of(buffer)
        cdef int ok
        if self._buffer != NULL:
            raise ValueError("already mapped")
        if index >= api.n_memory(b):
            raise errors.SurfaceError(f"the buffer has {api.n_memory(b)} memories, none at {index}")
        if write and not api.is_writable(b):
            raise errors.SurfaceError(
                "the frame is shared and cannot be written",
                hint="use surface(write=True) inside process(), where the element owns the buffer",
            )
        memset(&self._info, 0, sizeof(GstMapInfo))
        with nogil:
            ok = api.buffer_map(b, index, 1, &self._info, MAP_READ | (MAP_WRITE if write else 0))
        if not ok:
            raise errors.SurfaceError("GStreamer could not map the frame's memory")
        # The map holds a reference to the memory, not to the buffer: that one may end first.
        self._buffer = b
        self._write = write

    def __dealloc__(self):
        self._unmap()

    cdef void _unmap(self):
        cdef void* b = self._buffer
        if b != NULL:
            self._buffer = NULL
            with nogil:
                _unmap_info(&self._info)

    def close(self):
        """Unmap; further uses of the address are invalid. Safe to call again."""
        self._unmap()

    @property
    def address(self):
        if self._buffer == NULL:
            raise errors.SurfaceError("the frame's memory is not mapped any more")
        return <uintptr_t>self._info.data

    @property
    def size(self):
        return self._info.size

    @property
    def writable(self):
        return self._write

    @property
    def closed(self):
        return self._buffer == NULL
