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


cdef int _prepare_output_buffer(void* transform, void* buffer, void** out) noexcept nogil:
    """GstBaseTransform's own, and a copy of an NVMM buffer keeps what it was copied from."""
    cdef int flow = prepare_before(transform, buffer, out)
    cdef size_t size
    if flow != 0 or out[0] == NULL or out[0] == buffer or not api_ready:
        return flow
    if api.n_memory(buffer) != 1 or api.n_memory(out[0]) != 1:
        return flow
    size = api.buffer_size(buffer)
    if (size == NVBUF_SMALL or size == NVBUF_LARGE) and (
        api.peek_memory(buffer, 0) != api.peek_memory(out[0], 0)
    ):
        api.add_parent(out[0], buffer)
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
