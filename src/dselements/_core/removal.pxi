# Removing objects without the library's quadratic search, and a small pointer table.

cdef struct Slots:
    void** keys
    Py_ssize_t* values
    Py_ssize_t mask


cdef void _slots_init(Slots* table, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t size = 16
    while size < 2 * n:
        size *= 2
    table.mask = size - 1
    table.keys = <void**>calloc(size, 16)
    table.values = <Py_ssize_t*>(table.keys + size) if table.keys != NULL else NULL


cdef void _slots_free(Slots* table) noexcept nogil:
    free(table.keys)
    table.keys = NULL


cdef inline Py_ssize_t _slots_at(Slots* table, void* key) noexcept nogil:
    # Metas lie at multiples of 8 bytes in pools; the multiplier spreads them.
    cdef Py_ssize_t at = <Py_ssize_t>(((<uint64_t>key >> 3) * 11400714819323198485u) >> 20)
    at &= table.mask
    while table.keys[at] != NULL and table.keys[at] != key:
        at = (at + 1) & table.mask
    return at


cdef inline void _slots_put(Slots* table, void* key, Py_ssize_t value) noexcept nogil:
    cdef Py_ssize_t at = _slots_at(table, key)
    table.keys[at] = key
    table.values[at] = value


cdef inline Py_ssize_t _slots_get(Slots* table, void* key) noexcept nogil:
    cdef Py_ssize_t at = _slots_at(table, key)
    return table.values[at] if table.keys[at] != NULL else -1


# Below this many objects in use, ordering the lists costs more than the searches it saves.
cdef int presort_from = 200


def set_presort_threshold(int objects):
    """Objects in a batch from which on removal orders the pool's list first; returns the old one."""
    global presort_from
    old = presort_from
    presort_from = objects
    return old


cdef void _to_front(void* owner, int offset, Slots* victims, Py_ssize_t expected) noexcept nogil:
    """Move the nodes whose data is a victim to the head of a list, keeping both orders."""
    cdef GList* node = <GList*>_ptr(owner, offset)
    cdef GList* next_node
    cdef GList* first_v = NULL
    cdef GList* last_v = NULL
    cdef GList* first_k = NULL
    cdef GList* last_k = NULL
    while node != NULL:
        next_node = node.next
        if _slots_get(victims, node.data) >= 0:
            node.prev = last_v
            if last_v != NULL:
                last_v.next = node
            else:
                first_v = node
            last_v = node
        else:
            node.prev = last_k
            if last_k != NULL:
                last_k.next = node
            else:
                first_k = node
            last_k = node
        node = next_node
    if last_v != NULL:
        last_v.next = first_k
        if first_k != NULL:
            first_k.prev = last_v
    if last_k != NULL:
        last_k.next = NULL
    elif last_v != NULL:
        last_v.next = NULL
    (<void**>(<char*>owner + offset))[0] = first_v if first_v != NULL else first_k


cdef Py_ssize_t _count_victims(GList* node, Slots* victims) noexcept nogil:
    cdef Py_ssize_t n = 0
    while node != NULL:
        if _slots_get(victims, node.data) >= 0:
            n += 1
        node = node.next
    return n


cdef bint _order_pool(
    void* pool, Slots* victims, Py_ssize_t n, GList** nodes
) noexcept nogil:
    """Put the pool's nodes of the victims at its head, in the order they will be removed.

    ``nodes`` has room for n. False, with nothing changed, unless each victim is in the
    pool's list exactly once.
    """
    cdef GList* node = <GList*>_ptr(pool, POOL_FULL_LIST)
    cdef GList* head = node
    cdef GList* rest
    cdef Py_ssize_t i, place, found = 0
    memset(nodes, 0, n * sizeof(GList*))
    while node != NULL:
        place = _slots_get(victims, node.data)
        if place >= 0:
            if nodes[place] != NULL:
                return False
            nodes[place] = node
            found += 1
        node = node.next
    if found != n:
        return False
    for i in range(n):
        node = nodes[i]
        if node.prev != NULL:
            node.prev.next = node.next
        else:
            head = node.next
        if node.next != NULL:
            node.next.prev = node.prev
    rest = head
    for i in range(n):
        nodes[i].prev = nodes[i - 1] if i else NULL
        nodes[i].next = nodes[i + 1] if i + 1 < n else rest
    if rest != NULL:
        rest.prev = nodes[n - 1]
    (<void**>(<char*>pool + POOL_FULL_LIST))[0] = nodes[0]
    return True


cdef int _remove_objects(
    void* batch, void** frame, Py_ssize_t n_f, Slots* victims, Py_ssize_t n
) noexcept nogil:
    """Remove n victims (keys of the table) from the batch. 0, or 1 if one is not in the pool,
    or 3 if memory ran out; then nothing is removed.

    Children of victims lose their parent first: the library would leave it dangling.
    """
    cdef void* pool = _ptr(batch, BATCH_POOLS + 8)
    cdef void** sequence = <void**>malloc(n * 16)
    cdef GList** nodes
    cdef GList* o
    cdef void* parent
    cdef Py_ssize_t i, k = 0, start
    cdef bint presort = <int>_u32(pool, POOL_NUM_FULL) >= presort_from
    if sequence == NULL:
        return 3
    nodes = <GList**>(sequence + n)
    # The sequence: frame after frame, each in its list's order.
    for i in range(n_f):
        o = <GList*>_ptr(frame[i], FRAME_OBJECTS)
        while o != NULL:
            if _slots_get(victims, o.data) >= 0:
                if k < n:
                    sequence[k] = o.data
                    _slots_put(victims, o.data, k)
                k += 1
            o = o.next
    if k != n:
        free(sequence)
        return 1
    if presort:
        if not _order_pool(pool, victims, n, nodes):
            free(sequence)
            return 1
    elif _count_victims(<GList*>_ptr(pool, POOL_FULL_LIST), victims) != n:
        free(sequence)
        return 1
    for i in range(n_f):
        o = <GList*>_ptr(frame[i], FRAME_OBJECTS)
        while o != NULL:
            parent = _ptr(o.data, OBJECT_PARENT)
            if parent != NULL and _slots_get(victims, parent) >= 0:
                (<void**>(<char*>o.data + OBJECT_PARENT))[0] = NULL
            o = o.next
    k = 0
    for i in range(n_f):
        o = <GList*>_ptr(frame[i], FRAME_OBJECTS)
        start = k
        while o != NULL:
            if _slots_get(victims, o.data) >= 0:
                k += 1
            o = o.next
        if k > start:
            if presort:
                _to_front(frame[i], FRAME_OBJECTS, victims, k - start)
            while start < k:
                api.remove_object(frame[i], sequence[start])
                start += 1
    free(sequence)
    return 0
