# Data of user metas on the C heap: what pyds's alloc functions give, copied and freed in C.
#
# Every block is in one table with its kind. Freeing one that is not there does nothing, so that
# a pointer freed twice, or freed by a user's release function too, does no harm.

cdef extern from *:
    """
    enum { DS_BLOCKS = 4096, DS_BLOCK_KINDS = 16, DS_BLOCK_SLOTS = 8 };
    typedef struct ds_block {
        void *at;
        size_t size;
        int kind;
        struct ds_block *next;
    } ds_block;
    static pthread_mutex_t ds_blocks_lock = PTHREAD_MUTEX_INITIALIZER;
    static ds_block *ds_blocks[DS_BLOCKS];
    static long ds_blocks_alive;
    /* For each kind: where the pointers lie that it owns, ended by -1. */
    static int ds_block_slots[DS_BLOCK_KINDS][DS_BLOCK_SLOTS + 1];
    static int ds_block_kinds;

    static void *ds_block_new(size_t size, int kind) {
        ds_block *block = malloc(sizeof(ds_block));
        void *at = calloc(1, size ? size : 1);
        size_t k;
        if (!block || !at) {
            free(block);
            free(at);
            return NULL;
        }
        block->at = at;
        block->size = size;
        block->kind = kind;
        pthread_mutex_lock(&ds_blocks_lock);
        k = ds_hash(at, DS_BLOCKS);
        block->next = ds_blocks[k];
        ds_blocks[k] = block;
        ds_blocks_alive++;
        pthread_mutex_unlock(&ds_blocks_lock);
        return at;
    }
    /* 1 and its size and kind if ``at`` is a block. */
    static int ds_block_look(void *at, size_t *size, int *kind) {
        ds_block *block;
        pthread_mutex_lock(&ds_blocks_lock);
        block = ds_blocks[ds_hash(at, DS_BLOCKS)];
        while (block && block->at != at) block = block->next;
        if (block) {
            *size = block->size;
            *kind = block->kind;
        }
        pthread_mutex_unlock(&ds_blocks_lock);
        return block != NULL;
    }
    static int ds_block_slot(int kind, size_t size, int i) {
        int at = kind > 0 && kind <= ds_block_kinds ? ds_block_slots[kind - 1][i] : -1;
        return at >= 0 && (size_t)at + sizeof(void *) <= size ? at : -1;
    }
    /* Frees a block with the blocks that it owns; 0 if there was none. */
    static int ds_block_free(void *at) {
        ds_block *block, **link;
        int i, slot;
        if (!at) return 0;
        pthread_mutex_lock(&ds_blocks_lock);
        link = &ds_blocks[ds_hash(at, DS_BLOCKS)];
        while (*link && (*link)->at != at) link = &(*link)->next;
        block = *link;
        if (block) {
            *link = block->next;
            ds_blocks_alive--;
        }
        pthread_mutex_unlock(&ds_blocks_lock);
        if (!block) return 0;
        for (i = 0; (slot = ds_block_slot(block->kind, block->size, i)) >= 0; i++)
            ds_block_free(*(void **)((char *)at + slot));
        free(at);
        free(block);
        return 1;
    }
    /* Copy of a block and of what it owns; NULL if it is none or memory ran out. */
    static void *ds_block_copy(void *at) {
        size_t size;
        int kind, i, slot;
        char *copy;
        if (!at || !ds_block_look(at, &size, &kind) || !(copy = ds_block_new(size, kind)))
            return NULL;
        memcpy(copy, at, size);
        for (i = 0; (slot = ds_block_slot(kind, size, i)) >= 0; i++) {
            void **own = (void **)(copy + slot);
            void *its = ds_block_copy(*own);
            if (its) *own = its;  /* else: memory of somebody else, shared as it was */
        }
        return copy;
    }
    static int ds_block_define(const int *slots) {
        int i;
        if (ds_block_kinds >= DS_BLOCK_KINDS) return 0;
        for (i = 0; i <= DS_BLOCK_SLOTS; i++) ds_block_slots[ds_block_kinds][i] = slots[i];
        return ++ds_block_kinds;
    }
    static long ds_blocks_now(void) {
        long n;
        pthread_mutex_lock(&ds_blocks_lock);
        n = ds_blocks_alive;
        pthread_mutex_unlock(&ds_blocks_lock);
        return n;
    }
    """
    int ds_block_define(const int* slots) noexcept nogil
    void* ds_block_new(size_t size, int kind) noexcept nogil
    bint ds_block_look(void* at, size_t* size, int* kind) noexcept nogil
    bint ds_block_free(void* at) noexcept nogil
    void* ds_block_copy(void* at) noexcept nogil
    long ds_blocks_now() noexcept nogil


cdef void* _block_copy_func(void* data, void* user_data) noexcept nogil:
    """NvDsMetaCopyFunc: ``data`` is the NvDsUserMeta of the source."""
    return ds_block_copy(_ptr(data, USER_DATA))


cdef void _block_release_func(void* data, void* user_data) noexcept nogil:
    cdef void** slot = <void**>(<char*>data + USER_DATA)
    if ds_block_free(slot[0]):
        slot[0] = NULL


def live_blocks():
    """Blocks of user data that are allocated now, in this process."""
    return ds_blocks_now()


def block_kind(slots):
    """Number of a new kind of block, whose pointers at these offsets it owns."""
    cdef int places[9]
    cdef int i, kind
    slots = list(slots)
    for i in range(9):
        places[i] = slots[i] if i < len(slots) else -1
    kind = ds_block_define(places) if len(slots) <= 8 else 0
    if kind == 0:
        raise ValueError("too many kinds of blocks, or pointers in one")
    return kind


def block_new(size_t size, int kind=0):
    """Address of a new block of zeros; block_free() frees it."""
    cdef void* at = ds_block_new(size, kind)
    if at == NULL:
        raise MemoryError(f"{size} bytes")
    return <uintptr_t>at


def block_size(uintptr_t address):
    """Size of a block in bytes, -1 if the address is none."""
    cdef size_t size = 0
    cdef int kind = 0
    return <Py_ssize_t>size if ds_block_look(<void*>address, &size, &kind) else -1


def block_free(uintptr_t address):
    """Free a block with all that it owns; False if the address is none."""
    return bool(ds_block_free(<void*>address))


def block_copy(uintptr_t address):
    """Address of a deep copy of a block, 0 if the address is none."""
    return <uintptr_t>ds_block_copy(<void*>address)


def block_write(uintptr_t address, bytes data not None):
    """Write bytes to the head of a block. :raises MetadataValueError: if they do not fit."""
    cdef size_t size = 0
    cdef int kind = 0
    if not ds_block_look(<void*>address, &size, &kind) or <size_t>len(data) > size:
        raise errors.MetadataValueError(f"no block of {len(data)} bytes at {address:#x}")
    memcpy(<void*>address, PyBytes_AsString(data), len(data))


def is_readable(uintptr_t address, size_t size):
    """True if these bytes are mapped and readable now."""
    return bool(ds_readable(<char*>address, size))


def read_text(uintptr_t address, size_t limit=65536):
    """The bytes from an address up to their NUL, at most ``limit``.

    :raises MetadataValueError: if the memory cannot be read.
    """
    cdef size_t n = 0
    cdef size_t step
    cdef char* at = <char*>address
    while n < limit:
        step = 4096 - (address + n) % 4096  # up to the end of the page
        if step > limit - n:
            step = limit - n
        if not ds_readable(at + n, step):
            raise errors.MetadataValueError(f"no text at {address:#x}: the memory cannot be read")
        found = strnlen(at + n, step)
        n += found
        if found < step:
            break
    return PyBytes_FromStringAndSize(at, n)
