# Copies of NVMM buffers: GStreamer copies the NvBufSurface struct, but both structs name the same
# pixels, which the first one's pool hands out again as soon as that buffer is free.

cdef enum:
    NVBUF_SMALL = 64  # NvBufSurface of 6.x
    NVBUF_LARGE = 72  # of 7.x to 9.x

ctypedef int (*prepare_t)(void*, void*, void**) noexcept nogil

cdef struct GstParentBufferMeta:
    uint32_t flags
    void* info
    void* buffer

cdef prepare_t prepare_before = NULL


cdef void _keep_parent(void* copy, void* buffer) noexcept nogil:
    """A copy of an NVMM buffer keeps what it was copied from.

    The struct's memory may be the same one: a first copy has plain memory, which GStreamer
    shares between further copies.
    """
    cdef size_t size = api.buffer_size(buffer)
    if size != NVBUF_SMALL and size != NVBUF_LARGE:
        return
    if api.n_memory(buffer) == 1 and api.n_memory(copy) == 1:
        api.add_parent(copy, buffer)


cdef int _prepare_output_buffer(void* transform, void* buffer, void** out) noexcept nogil:
    """GstBaseTransform's own, and the copy that it may make keeps its original's pixels."""
    cdef int flow = prepare_before(transform, buffer, out)
    if flow == 0 and out[0] != NULL and out[0] != buffer and api_ready:
        _keep_parent(out[0], buffer)
    return flow


def keep_parents(uintptr_t class_address, size_t offset):
    """Have a GstBaseTransform class, and those made from it later, keep the parents of copies.

    :param class_address: of the class struct.
    :param offset: of its ``prepare_output_buffer``.
    """
    global prepare_before
    cdef prepare_t* slot = <prepare_t*>(class_address + offset)
    if class_address == 0 or slot[0] == NULL:
        raise ValueError("the class has no prepare_output_buffer")
    if slot[0] != _prepare_output_buffer:
        prepare_before = slot[0]
        slot[0] = _prepare_output_buffer


def buffer_parents(uintptr_t buffer):
    """Addresses of the buffers that this one is kept to come from (GstParentBufferMeta)."""
    cdef void* b = _buffer_of(buffer)
    cdef void* state = NULL
    cdef GstParentBufferMeta* meta
    found = []
    while True:
        meta = <GstParentBufferMeta*>api.iterate_meta(b, &state, api.parent_api())
        if meta == NULL:
            return found
        if meta.buffer != NULL:
            found.append(<uintptr_t>meta.buffer)


# GstPadProbeInfo of gstpad.h.
cdef struct GstPadProbeInfo:
    uint32_t type
    unsigned long id
    void* data
    uint64_t offset
    uint32_t size
    uint32_t padding  # what follows is a union with pointers
    int flow_ret


def probe_buffer(uintptr_t info):
    """Address of a probe's buffer, after a copy took its place if others hold it too.

    :param info: address of the GstPadProbeInfo.
    """
    cdef GstPadProbeInfo* p = <GstPadProbeInfo*>info
    cdef void* copy
    _need_library()
    if info == 0 or p.data == NULL:
        raise ValueError("the probe has no buffer")
    if not api.is_writable(p.data):
        with nogil:
            copy = api.object_copy(p.data)
            if copy != NULL:
                _keep_parent(copy, p.data)
                api.object_unref(p.data)
        if copy == NULL:
            raise MemoryError()
        p.data = copy
    return <uintptr_t>p.data


def probe_refuse(uintptr_t info, int flow):
    """Take the buffer out of a probe that answers GST_PAD_PROBE_HANDLED; ``flow`` is the answer."""
    cdef GstPadProbeInfo* p = <GstPadProbeInfo*>info
    cdef void* buffer
    _need_library()
    if info == 0 or p.data == NULL:
        raise ValueError("the probe has no buffer")
    buffer = p.data
    p.data = NULL
    p.flow_ret = flow
    with nogil:
        api.object_unref(buffer)
