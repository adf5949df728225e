# Making, copying and releasing batches of our own.

cdef long batches_alive = 0
cdef long batches_created = 0
cdef long batches_unbalanced = 0


cdef int _list_length(GList* node) noexcept nogil:
    cdef int n = 0
    while node != NULL:
        n += 1
        node = node.next
    return n


cdef void _reverse(void* owner, int offset) noexcept nogil:
    """Reverse the list whose head is at ``offset`` of ``owner``, in place."""
    cdef GList* node = <GList*>_ptr(owner, offset)
    cdef GList* last = NULL
    cdef GList* next_node
    while node != NULL:
        next_node = node.next
        node.next = node.prev
        node.prev = next_node
        last = node
        node = next_node
    if last != NULL:
        (<void**>(<char*>owner + offset))[0] = last


cdef void _repair_frames(GList* source, GList* copy, Layout* layout) noexcept nogil:
    """Give copied frames the order and the parents of their sources, pair by pair.

    The library copies lists by prepending, which reverses them, and keeps a parent
    only if it came before its child. Both batches must be locked or not yet shared.
    """
    cdef GList* f
    cdef GList* g
    cdef GList* a
    cdef GList* b
    cdef Slots copies
    cdef Py_ssize_t n = 0
    cdef void* parent
    cdef bint parents = False
    f = source
    g = copy
    while f != NULL and g != NULL:
        _reverse(g.data, FRAME_OBJECTS)
        _reverse(g.data, FRAME_DISPLAYS)
        _reverse(g.data, FRAME_USERS)
        a = <GList*>_ptr(f.data, FRAME_OBJECTS)
        b = <GList*>_ptr(g.data, FRAME_OBJECTS)
        while a != NULL and b != NULL:
            _reverse(b.data, layout.classifiers)
            _reverse(b.data, layout.users)
            _repair_classifiers(a.data, b.data, layout)
            parents = parents or _ptr(a.data, OBJECT_PARENT) != NULL
            n += 1
            a = a.next
            b = b.next
        f = f.next
        g = g.next
    memset(&copies, 0, sizeof(Slots))
    if parents:
        _slots_init(&copies, n)
    for k in range(2):  # first every object's copy is noted, then the parents are set
        f = source
        g = copy
        while f != NULL and g != NULL:
            a = <GList*>_ptr(f.data, FRAME_OBJECTS)
            b = <GList*>_ptr(g.data, FRAME_OBJECTS)
            while a != NULL and b != NULL:
                if k == 0 and copies.keys != NULL:
                    _slots_put(&copies, a.data, <Py_ssize_t>b.data)
                elif k == 1:
                    parent = _ptr(a.data, OBJECT_PARENT)
                    if parent != NULL and copies.keys != NULL:
                        parent = <void*>_slots_get(&copies, parent)
                        if <Py_ssize_t>parent == -1:
                            parent = NULL
                    else:
                        parent = NULL
                    (<void**>(<char*>b.data + OBJECT_PARENT))[0] = parent
                a = a.next
                b = b.next
            f = f.next
            g = g.next
    _slots_free(&copies)


cdef void _repair_classifiers(void* source, void* copy, Layout* layout) noexcept nogil:
    """Order of the labels, and the type, which the library leaves out of copies."""
    cdef GList* a = <GList*>_ptr(source, layout.classifiers)
    cdef GList* b = <GList*>_ptr(copy, layout.classifiers)
    cdef void* kind
    while a != NULL and b != NULL:
        _reverse(b.data, CLASSIFIER_LABELS)
        kind = _ptr(a.data, CLASSIFIER_TYPE)
        if kind != NULL:
            # Interned: whoever set it may be gone before the copy is.
            (<void**>(<char*>b.data + CLASSIFIER_TYPE))[0] = <void*>api.g_intern_string(<char*>kind)
        a = a.next
        b = b.next


cdef void* _batch_copy(void* data, void* user_data) noexcept nogil:
    """NvDsMetaCopyFunc of our batches: the library's copy, with order and parents mended."""
    cdef void* copy
    cdef Layout* layout
    # The library locks the source too (the lock is recursive). Held until the end, so that
    # source and copy still pair up.
    api.acquire_lock(data)
    copy = api.batch_copy(data, user_data)
    if copy != NULL:
        DS_ADD(batches_created, 1)
        _own(copy, _u32(data, BATCH_MAX_FRAMES))
        layout = _layout_quiet(copy)
        if layout != NULL:
            _repair_frames(
                <GList*>_ptr(data, BATCH_FRAMES), <GList*>_ptr(copy, BATCH_FRAMES), layout
            )
    api.release_lock(data)
    return copy


cdef void _adopt(void* buffer, void* batch) noexcept nogil:
    """Take back a copy of one of our batches.

    When GStreamer copies a buffer, the library calls our copy function but gives the copy's
    NvDsMeta its own ones: a copy of the copy would lose order and parents, and its release
    would not be counted.
    """
    cdef NvDsGstMeta* meta
    cdef void* theirs
    if (<copy_func_t*>(<char*>batch + BASE_COPY))[0] != _batch_copy:
        return
    meta = api.buffer_get_meta(buffer)
    if meta == NULL or meta.meta_data != batch or meta.freefunc == _batch_release:
        return
    theirs = <void*>meta.freefunc
    if ds_swap(<void**>&meta.freefunc, theirs, <void*>_batch_release):
        meta.copyfunc = _batch_copy
        DS_ADD(batches_alive, 1)


cdef bint _balanced(void* batch, Layout* layout) noexcept nogil:
    """True if every meta that the pools count as in use hangs in one of the batch's lists."""
    cdef GList* f = <GList*>_ptr(batch, BATCH_FRAMES)
    cdef GList* o
    cdef GList* c
    cdef uint32_t used[6]
    cdef int k
    memset(used, 0, sizeof(used))
    used[4] = _list_length(<GList*>_ptr(batch, BATCH_USERS))
    while f != NULL:
        used[0] += 1
        used[3] += _list_length(<GList*>_ptr(f.data, FRAME_DISPLAYS))
        used[4] += _list_length(<GList*>_ptr(f.data, FRAME_USERS))
        o = <GList*>_ptr(f.data, FRAME_OBJECTS)
        while o != NULL:
            used[1] += 1
            used[4] += _list_length(<GList*>_ptr(o.data, layout.users))
            c = <GList*>_ptr(o.data, layout.classifiers)
            while c != NULL:
                used[2] += 1
                used[5] += _list_length(<GList*>_ptr(c.data, CLASSIFIER_LABELS))
                c = c.next
            o = o.next
        f = f.next
    for k in range(6):
        if used[k] != _u32(_ptr(batch, BATCH_POOLS + 8 * k), POOL_NUM_FULL):
            return False
    return True


cdef void _batch_release(void* data, void* user_data) noexcept nogil:
    cdef Layout* layout = _layout_quiet(data)
    ds_life_end(data)
    if layout != NULL and not _balanced(data, layout):
        DS_ADD(batches_unbalanced, 1)
    DS_ADD(batches_alive, -1)
    api.batch_release(data, user_data)


cdef void _own(void* batch, uint32_t max_frames) noexcept nogil:
    """Set what the library leaves unset in a batch."""
    (<void**>(<char*>batch + BASE_BATCH))[0] = batch
    (<int32_t*>(<char*>batch + BASE_TYPE))[0] = TYPE_BATCH
    (<copy_func_t*>(<char*>batch + BASE_COPY))[0] = _batch_copy
    (<release_func_t*>(<char*>batch + BASE_RELEASE))[0] = _batch_release
    # Left 0 by the library; copying the batch would then crash.
    (<uint32_t*>(<char*>batch + BATCH_MAX_FRAMES))[0] = max_frames


cdef NvDsGstMeta* _attach(void* buffer, void* batch) noexcept nogil:
    cdef NvDsGstMeta* meta = api.buffer_add_meta(buffer, batch, NULL, _batch_copy, _batch_release)
    if meta != NULL:
        meta.meta_type = TYPE_BATCH_GST
        meta.user_data = NULL
        meta.copyfunc = _batch_copy
        meta.freefunc = _batch_release
        meta.to_nvds_transform = NULL
        meta.to_nvds_release = NULL
    return meta


cdef void* _new_batch(uint32_t max_frames, void* buffer) noexcept nogil:
    cdef void* batch = api.create_batch(max_frames)
    if batch == NULL:
        return NULL
    _own(batch, max_frames)
    DS_ADD(batches_alive, 1)
    DS_ADD(batches_created, 1)
    if buffer != NULL and _attach(buffer, batch) == NULL:
        _batch_release(batch, NULL)
        return NULL
    return batch


# Addresses that destroy_batch() may free: made here, owned by no buffer. Touched under the GIL.
cdef set unowned = set()


def create_batch(int max_frames, uintptr_t buffer=0):
    """New, empty NvDsBatchMeta for up to ``max_frames`` frames; returns its address.

    With ``buffer`` (address of a GstBuffer) it is attached as NVDS_BATCH_GST_META and the
    buffer owns it; without, destroy_batch() must free it.
    """
    cdef void* batch
    _need_library()
    if max_frames < 1 or max_frames > 1 << 16:
        raise errors.MetadataValueError(f"max_frames {max_frames} is outside 1 to 65536")
    if buffer and not api.is_writable(<void*>buffer):
        # gst_buffer_add_nvds_meta() would attach it all the same, behind the other owner's back.
        raise errors.MetadataValueError("the buffer is shared; nothing can be attached to it")
    if buffer and api.buffer_batch(<void*>buffer) != NULL:
        raise errors.MetadataValueError("the buffer has a batch metadata already")
    with nogil:
        batch = _new_batch(max_frames, <void*>buffer)
    if batch == NULL:
        raise MemoryError("the library could not create or attach a batch metadata")
    if buffer == 0:
        unowned.add(<uintptr_t>batch)
    return <uintptr_t>batch


def destroy_batch(uintptr_t batch):
    """Free a batch that create_batch() or copy_batch() returned and no buffer owns.

    :raises MetadataValueError: for any other address, also one that was freed already.
    """
    cdef void* address = _batch_of(batch)
    if batch not in unowned:
        raise errors.MetadataValueError(
            f"{batch:#x} is no batch that was made without a buffer and still lives"
        )
    unowned.discard(batch)
    with nogil:
        _batch_release(address, NULL)


def copy_batch(uintptr_t batch):
    """Deep copy, with the order and the parents of the source's objects; returns its address."""
    cdef void* address = _batch_of(batch)
    cdef void* copy
    _need_library()
    _layout_index(address)
    if _u32(address, BATCH_MAX_FRAMES) == 0:
        raise errors.MetadataValueError(
            "the batch has max_frames_in_batch 0; copying it would crash the library"
        )
    with nogil:
        copy = _batch_copy(address, NULL)
        if copy != NULL:
            DS_ADD(batches_alive, 1)
    if copy == NULL:
        raise MemoryError("the library could not copy the batch metadata")
    unowned.add(<uintptr_t>copy)
    return <uintptr_t>copy


def live_batches():
    """Batches made or copied by dselements that are not released yet, in this process."""
    return DS_GET(batches_alive)


def made_batches():
    """Batches made or copied by dselements since the process began."""
    return DS_GET(batches_created)


def unbalanced_batches():
    """Batches whose pools and lists disagreed when they were released: each is a lost meta."""
    return DS_GET(batches_unbalanced)


def pool_counters(uintptr_t batch):
    """For each pool: elements in all, unused, in use."""
    cdef void* address = _batch_of(batch)
    cdef void* pool
    _layout_index(address)
    result = {}
    for k in range(6):
        pool = _ptr(address, BATCH_POOLS + 8 * k)
        result[POOLS[k]] = (
            _u32(pool, POOL_MAX), _u32(pool, POOL_NUM_EMPTY), _u32(pool, POOL_NUM_FULL)
        )
    return result
