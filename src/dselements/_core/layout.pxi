# SDK families: offsets that the native loops follow, filled from layouts.py.

# Structures that are the same in every family (offsets in bytes).
cdef enum:
    BASE_BATCH = 0
    BASE_TYPE = 8
    BASE_COPY = 24
    BASE_RELEASE = 32
    BATCH_MAX_FRAMES = 40
    BATCH_NUM_FRAMES = 44
    BATCH_POOLS = 48          # frame, object, classifier, display, user, label: six pointers
    BATCH_FRAMES = 96
    BATCH_USERS = 104
    POOL_ELEMENT_SIZE = 8
    POOL_NUM_EMPTY = 12
    POOL_NUM_FULL = 16
    POOL_MAX = 4
    POOL_EMPTY_LIST = 24
    POOL_FULL_LIST = 32
    FRAME_BATCH_ID = 44
    FRAME_NUM_OBJECTS = 96
    FRAME_OBJECTS = 104
    FRAME_DISPLAYS = 112
    FRAME_USERS = 120
    OBJECT_PARENT = 40
    OBJECT_CLASS = 52
    OBJECT_ID = 56
    OBJECT_CONFIDENCE = 96
    OBJECT_RECT = 104
    CLASSIFIER_COMPONENT = 44
    CLASSIFIER_LABELS = 48
    CLASSIFIER_TYPE = 56
    LABEL_NUM_CLASSES = 40
    LABEL_TEXT = 44
    LABEL_LONG_TEXT = 176
    LABEL_CLASS = 184
    LABEL_ID = 188
    LABEL_PROB = 192
    USER_DATA = 40
    MAX_LABEL = 128
    MAX_SHAPES = 16
    TYPE_BATCH = 1
    TYPE_BATCH_GST = 4097

cdef struct Layout:
    int object_size
    int frame_size
    int mask
    int text
    int label
    int classifiers
    int users
    int rects
    int texts
    int lines
    int arrows
    int circles
    int rect_size
    int pool_sizes[6]

cdef enum:
    MAX_LAYOUTS = 16

cdef Layout layouts[MAX_LAYOUTS]
cdef int n_layouts = 0
cdef list layout_names = []
cdef list layout_fields = []
cdef tuple POOLS = ("frame", "object", "classifier", "display", "user", "label")
cdef tuple LEVELS = ("batch", "frame", "object")


def add_layout(str family, sizes, offsets, fields):
    """Register one SDK family, once; see layouts.py for the meaning of the tables."""
    global n_layouts
    cdef Layout* layout
    if family in layout_names:
        return
    if n_layouts >= MAX_LAYOUTS:
        raise errors.UnsupportedLayoutError("too many layouts registered")
    layout = &layouts[n_layouts]
    layout.object_size = sizes["object"]
    layout.frame_size = sizes["frame"]
    layout.mask = offsets["object.mask"]
    layout.text = offsets["object.text"]
    layout.label = offsets["object.label"]
    layout.classifiers = offsets["object.classifiers"]
    layout.users = offsets["object.users"]
    layout.rects = offsets["display.rects"]
    layout.texts = offsets["display.texts"]
    layout.lines = offsets["display.lines"]
    layout.arrows = offsets["display.arrows"]
    layout.circles = offsets["display.circles"]
    layout.rect_size = offsets["rect.size"]
    for i, name in enumerate(POOLS):
        layout.pool_sizes[i] = sizes[name]
    layout_names.append(family)
    layout_fields.append({level: dict(table) for level, table in fields.items()})
    n_layouts += 1


cdef inline void* _ptr(void* base, int offset) noexcept nogil:
    return (<void**>(<char*>base + offset))[0]


cdef inline uint32_t _u32(void* base, int offset) noexcept nogil:
    return (<uint32_t*>(<char*>base + offset))[0]


cdef Layout* _layout_quiet(void* batch) noexcept nogil:
    """The family whose sizes all six pools have; NULL if there is none."""
    cdef int i, k
    cdef void* pool
    cdef bint same
    for i in range(n_layouts):
        same = True
        for k in range(6):
            pool = _ptr(batch, BATCH_POOLS + 8 * k)
            if pool == NULL or <int>_u32(pool, POOL_ELEMENT_SIZE) != layouts[i].pool_sizes[k]:
                same = False
                break
        if same:
            return &layouts[i]
    return NULL


cdef int _layout_index(void* batch) except -1:
    """Number of the batch's family. :raises UnsupportedLayoutError: if there is none."""
    cdef int k
    cdef void* pool
    cdef Layout* layout = _layout_quiet(batch)
    if layout != NULL:
        return <int>(layout - layouts)
    found = []
    for k in range(6):
        pool = _ptr(batch, BATCH_POOLS + 8 * k)
        found.append(f"{POOLS[k]} {_u32(pool, POOL_ELEMENT_SIZE) if pool != NULL else 'none'}")
    raise errors.UnsupportedLayoutError(
        f"no known SDK has metadata of these sizes in bytes: {', '.join(found)}"
    )


cdef void* _batch_of(uintptr_t address) except NULL:
    if address == 0:
        raise errors.NoBatchMetaError("the batch metadata address is 0")
    return <void*>address


def layout_of(uintptr_t batch):
    """Name of the SDK family of a batch. :raises UnsupportedLayoutError: for unknown sizes."""
    _need_library()
    return layout_names[_layout_index(_batch_of(batch))]


cdef tuple _field(int layout, int level, str field):
    if level < 0 or level > 2:
        raise ValueError(f"level {level} is none of BATCH, FRAME, OBJECT")
    try:
        return layout_fields[layout][LEVELS[level]][field]
    except KeyError:
        raise errors.UnsupportedFieldError(
            f"{LEVELS[level]} metadata of the {layout_names[layout]} family has no field {field!r}"
        ) from None


def library_family():
    """Name of the SDK family whose layout the loaded library itself has.

    :raises UnsupportedLayoutError: for unknown sizes.
    """
    cdef void* batch
    _need_library()
    batch = api.create_batch(1)
    if batch == NULL:
        raise MemoryError("the library could not create a batch metadata")
    try:
        return layout_names[_layout_index(batch)]
    finally:
        api.destroy_batch(batch)
