# Applying a transaction: runs without the GIL, under the meta lock.

# The number of the last commit to each batch. An address alone does not tell: a removed
# object's memory is given to the next one that is added, at the same place in the list. A slot
# that another batch has taken tells nothing; then the addresses decide.
cdef extern from *:
    """
    enum { DS_SERIALS = 4096 };
    static struct { void *batch; unsigned long number; } ds_serials[DS_SERIALS];
    static unsigned long ds_last_serial;

    static size_t ds_serial_slot(void *batch) {
        return (size_t)(((unsigned long)batch >> 4) * 11400714819323198485ul >> 40) % DS_SERIALS;
    }
    /* 0 if the slot belongs to another batch, or is being changed. */
    static unsigned long ds_serial_of(void *batch) {
        size_t k = ds_serial_slot(batch);
        void *before = __atomic_load_n(&ds_serials[k].batch, __ATOMIC_SEQ_CST);
        unsigned long number = __atomic_load_n(&ds_serials[k].number, __ATOMIC_SEQ_CST);
        void *after = __atomic_load_n(&ds_serials[k].batch, __ATOMIC_SEQ_CST);
        return before == batch && after == batch ? number : 0;
    }
    static void ds_count_commit(void *batch) {
        size_t k = ds_serial_slot(batch);
        __atomic_store_n(&ds_serials[k].batch, NULL, __ATOMIC_SEQ_CST);
        __atomic_store_n(&ds_serials[k].number, DS_ADD(ds_last_serial, 1), __ATOMIC_SEQ_CST);
        __atomic_store_n(&ds_serials[k].batch, batch, __ATOMIC_SEQ_CST);
    }
    """
    unsigned long ds_serial_of(void* batch) noexcept nogil
    void ds_count_commit(void* batch) noexcept nogil


cdef bint _committed_since(void* batch, unsigned long serial) noexcept nogil:
    """True if another commit to the batch is known since the serial was read; under its lock."""
    cdef unsigned long now = ds_serial_of(batch)
    return now != 0 and now != serial


cdef int _commit(
    Tables* t, Snapshot snap, Op* ops, Py_ssize_t n_ops, char* victim, int32_t* new_row,
    Py_ssize_t added, char* dead,
) noexcept nogil:
    """Verify, then apply; the meta lock is held. ``victim`` (by object row) may be NULL only if
    no frame is ``dead`` (by frame row): the objects of a dead frame become victims here."""
    cdef Py_ssize_t i, k = 0, n = 0, n_o = snap._objects
    cdef Slots victims
    cdef GList* o
    cdef int status
    cdef void* d
    if _committed_since(t.batch, snap._serial):
        return CHANGED
    if not _same(t.batch, snap._frame, snap._frames, snap._object, snap._objects):
        return CHANGED
    status = _targets_in_place(ops, n_ops, t)
    if status:
        return status
    if victim != NULL:
        for i in range(snap._frames):
            o = <GList*>_ptr(t.frame[i], FRAME_OBJECTS)
            while o != NULL:
                victim[k] |= dead[i]
                k += 1
                o = o.next
        for i in range(added):
            victim[n_o + i] |= dead[new_row[i]]
        for i in range(n_o):
            n += victim[i] != 0
    if n:
        _slots_init(&victims, n)
        if victims.keys == NULL:
            return NO_MEMORY
        for i in range(n_o):
            if victim[i]:
                _slots_put(&victims, t.obj[i], 0)
        status = _remove_objects(t.batch, snap._frame, snap._frames, &victims, n)
        _slots_free(&victims)
        if status:
            return CHANGED if status == 1 else NO_MEMORY
        for i in range(n_o):
            if victim[i]:
                t.obj[i] = NULL
    for i in range(snap._frames, t.frames):
        if dead[i]:
            continue
        d = api.acquire_frame(t.batch)
        if d == NULL:
            return NO_MEMORY
        api.add_frame(t.batch, d)
        t.frame[i] = d
    # The library prepends: backwards, so that the list reads in the order of the rows, and
    # parents, which are added first, come before their children (a copy keeps those only).
    for i in range(added - 1, -1, -1):
        if victim != NULL and victim[n_o + i]:
            continue
        d = api.acquire_object(t.batch)
        if d == NULL:
            return NO_MEMORY
        (<uint64_t*>(<char*>d + OBJECT_ID))[0] = UNTRACKED_ID
        api.add_object(t.frame[new_row[i]], d, NULL)
        t.obj[n_o + i] = d
    for i in range(n_ops):
        status = _apply(&ops[i], t)
        if status:
            return status
    for i in range(snap._frames):
        if dead[i]:
            api.remove_frame(t.batch, t.frame[i])
    ds_count_commit(t.batch)
    return DONE
