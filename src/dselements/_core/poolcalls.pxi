# Taking metas from their pools, hanging them up and giving them back, one by one.

cdef int FRAMES = 0
cdef int OBJECTS = 1
cdef int CLASSIFIERS = 2
cdef int DISPLAYS = 3
cdef int USERS = 4
cdef int LABELS = 5
cdef tuple POOL_TYPES = (2, 3, 5, 4, 7, 6)  # NvDsMetaType of each pool


def pool_acquire(cls, LiveBatch live not None, int pool):
    """A meta from a pool of the batch, not hung up yet.

    :param pool: 0 frame, 1 object, 2 classifier, 3 display, 4 user, 5 label.
    """
    cdef void* batch = live._life.batch
    cdef void* meta = NULL
    cdef Anchor anchor
    live.check(live._anchor)
    if pool < 0 or pool > 5:
        raise ValueError(f"no pool {pool}")
    with nogil:
        api.acquire_lock(batch)
        if pool == 0:
            meta = api.acquire_frame(batch)
        elif pool == 1:
            meta = api.acquire_object(batch)
        elif pool == 2:
            meta = api.acquire_classifier(batch)
        elif pool == 3:
            meta = api.acquire_display(batch)
        elif pool == 4:
            meta = api.acquire_user(batch)
        else:
            meta = api.acquire_label(batch)
        api.release_lock(batch)
    if meta == NULL:
        raise MemoryError("the library has no metadata element left")
    anchor = Anchor()
    live._tick += 1
    anchor.born = live._tick
    live._anchors[<uintptr_t>meta] = anchor
    return _struct_at(cls, live, anchor, meta, live._number)


cdef int _holder_level(NativeStruct holder) except -1:
    """0 batch, 1 frame, 2 object, 3 classifier."""
    cdef int kind = getattr(type(holder), "META_TYPE", 0)
    if kind == 1:
        return 0
    if kind == 2:
        return 1
    if kind == 3:
        return 2
    if kind == 5:
        return 3
    raise errors.MetadataValueError(f"nothing can hang on a {type(holder).__name__}")


cdef int _list_place(NativeStruct holder, int pool) except -1:
    """Offset of the list of ``holder`` that takes metas of a pool."""
    cdef int level = _holder_level(holder)
    cdef Layout* layout = holder._live._layout
    if pool == 0 and level == 0:
        return BATCH_FRAMES
    if pool == 1 and level == 1:
        return FRAME_OBJECTS
    if pool == 2 and level == 2:
        return layout.classifiers
    if pool == 3 and level == 1:
        return FRAME_DISPLAYS
    if pool == 4 and level <= 2:
        return _users_offset(layout, level)
    if pool == 5 and level == 3:
        return CLASSIFIER_LABELS
    raise errors.MetadataValueError(f"a {POOLS[pool]} meta does not hang on a {type(holder).__name__}")


cdef int _pair(NativeStruct holder, NativeStruct meta, int pool) except -1:
    _check(holder)
    _check(meta)
    if holder._live is None or meta._live is not holder._live:
        raise errors.MetadataValueError(
            f"the {type(meta).__name__} belongs to another batch than the {type(holder).__name__}",
            hint="acquire it from the pool of this very batch",
        )
    if getattr(type(meta), "META_TYPE", 0) != POOL_TYPES[pool]:
        raise errors.MetadataValueError(f"a {type(meta).__name__} is no {POOLS[pool]} meta")
    return 0


cdef void _count_edit(LiveBatch live, unsigned long before):
    """Let open transactions of the batch know that its frames or objects were edited here."""
    ds_count_commit(live._life.batch)
    if before == 0 or before == live._serial:
        live._serial = ds_serial_of(live._life.batch)


def meta_add(int pool, NativeStruct holder not None, NativeStruct meta not None, parent=None):
    """Hang an acquired meta on a batch, frame, object or classifier.

    :raises MetadataValueError: if it hangs somewhere already, or is of another batch.
    """
    cdef void* h
    cdef void* m
    cdef void* p = NULL
    cdef void* batch
    cdef int level
    _pair(holder, meta, pool)
    _list_place(holder, pool)
    level = _holder_level(holder)
    if meta._anchor.attached:
        raise errors.MetadataValueError(
            f"this {type(meta).__name__} hangs somewhere already",
            hint="each one can be added once; acquire another from the pool",
        )
    if parent is not None:
        _pair(holder, parent, pool)
        p = (<NativeStruct>parent)._at
        if p == meta._at:
            raise errors.MetadataValueError("an object cannot be its own parent")
    h = holder._at
    m = meta._at
    batch = holder._live._life.batch
    serial = ds_serial_of(batch)
    with nogil:
        api.acquire_lock(batch)
        if pool == 0:
            api.add_frame(h, m)
        elif pool == 1:
            api.add_object(h, m, p)
        elif pool == 2:
            api.add_classifier(h, m)
        elif pool == 3:
            api.add_display(h, m)
        elif pool == 5:
            api.add_label(h, m)
        elif level == 0:
            api.add_user_batch(h, m)
        elif level == 1:
            api.add_user_frame(h, m)
        else:
            api.add_user_object(h, m)
        api.release_lock(batch)
    meta._anchor.attached = True
    meta._anchor.holder = holder._anchor
    if pool <= 1:
        _count_edit(holder._live, serial)


def meta_remove(int pool, NativeStruct holder not None, NativeStruct meta not None):
    """Take a meta down and give it back to its pool. Its handles become stale.

    Objects whose parent it was lose their parent: the library would leave it dangling.

    :raises StaleMetadataError: if it was removed already.
    :raises MetadataValueError: if it does not hang on ``holder``.
    """
    cdef void* h
    cdef void* m
    cdef void* batch
    cdef GList* node
    cdef int place, level
    cdef bint found
    _pair(holder, meta, pool)
    place = _list_place(holder, pool)
    level = _holder_level(holder)
    h = holder._at
    m = meta._at
    batch = holder._live._life.batch
    serial = ds_serial_of(batch)
    with nogil:
        api.acquire_lock(batch)
        found = _in_list(<GList*>_ptr(h, place), m)
        if found:
            if pool == 1:
                node = <GList*>_ptr(h, FRAME_OBJECTS)
                while node != NULL:
                    if _ptr(node.data, OBJECT_PARENT) == m:
                        (<void**>(<char*>node.data + OBJECT_PARENT))[0] = NULL
                    node = node.next
                api.remove_object(h, m)
            elif pool == 0:
                api.remove_frame(h, m)
            elif pool == 2:
                api.remove_classifier(h, m)
            elif pool == 3:
                api.remove_display(h, m)
            elif pool == 5:
                api.remove_label(h, m)
            elif level == 0:
                api.remove_user_batch(h, m)
            elif level == 1:
                api.remove_user_frame(h, m)
            else:
                api.remove_user_object(h, m)
        api.release_lock(batch)
    if not found:
        raise errors.MetadataValueError(
            f"this {type(meta).__name__} does not hang on this {type(holder).__name__}",
            hint="remove it from the one that holds it",
        )
    holder._live.kill(meta._anchor)
    if pool <= 1:
        _count_edit(holder._live, serial)


def meta_at(cls, NativeStruct holder not None, uintptr_t address):
    """Handle of a meta that a list of ``holder`` holds."""
    cdef LiveBatch live = holder._live
    _check(holder)
    return _struct_at(
        cls, live, live.anchor_of(<void*>address, holder._anchor, live._tick), <void*>address,
        live._number,
    )


def meta_is_attached(NativeStruct meta not None):
    """False for a meta that was acquired and not added yet."""
    return bool(meta._anchor.attached)


def batch_struct(cls, LiveBatch live not None):
    """The batch itself as a structure."""
    live.check(live._anchor)
    return _struct_at(cls, live, live._anchor, live._life.batch, live._number)
