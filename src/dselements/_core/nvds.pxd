"""C declarations: the libc functions used, GLib's list node, and NVIDIA's functions as pointers.

Structures are not declared: their fields are reached by the offsets of layouts.py.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* path, int mode)
    void* dlsym(void* handle, const char* name)
    char* dlerror()
    int RTLD_NOW
    int RTLD_LOCAL
    int RTLD_NOLOAD
    int RTLD_LAZY


cdef extern from "<string.h>" nogil:
    size_t strnlen(const char*, size_t)
    char* strdup(const char*)


cdef extern from *:
    """
    #define DS_ADD(target, value) __atomic_add_fetch(&(target), (value), __ATOMIC_SEQ_CST)
    #define DS_GET(target) __atomic_load_n(&(target), __ATOMIC_SEQ_CST)
    static int ds_swap(void **slot, void *from, void *to) {
        return __atomic_compare_exchange_n(slot, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    """
    int ds_swap(void** slot, void* from_, void* to) noexcept nogil
    long DS_ADD(long target, long value) noexcept nogil
    long DS_GET(long target) noexcept nogil


ctypedef struct GList:
    void* data
    GList* next
    GList* prev


ctypedef void* (*copy_func_t)(void*, void*) noexcept nogil
ctypedef void (*release_func_t)(void*, void*) noexcept nogil
ctypedef void (*one_t)(void*) noexcept nogil
ctypedef void (*two_t)(void*, void*) noexcept nogil
ctypedef void (*three_t)(void*, void*, void*) noexcept nogil
ctypedef void* (*get_t)(void*) noexcept nogil
ctypedef int (*test_t)(void*) noexcept nogil

# The parts of NvDsMeta (the GstMeta) that gst_buffer_add_nvds_meta leaves undefined.
ctypedef struct NvDsGstMeta:
    uint32_t flags
    void* info
    void* meta_data
    void* user_data
    int32_t meta_type
    copy_func_t copyfunc
    release_func_t freefunc
    copy_func_t to_nvds_transform
    release_func_t to_nvds_release

ctypedef struct GstMapInfo:
    void* memory
    int32_t flags
    uint8_t* data
    size_t size
    size_t maxsize
    void* user_data[4]
    void* reserved[4]

# GstBuffer's public head: GstMiniObject (64 bytes), pool, times.
ctypedef struct GstBufferHead:
    uint8_t mini_object[64]
    void* pool
    uint64_t pts
    uint64_t dts
    uint64_t duration
    uint64_t offset
    uint64_t offset_end

ctypedef struct Api:
    # libnvds_meta
    one_t acquire_lock
    one_t release_lock
    void* (*create_batch)(uint32_t) noexcept nogil
    int (*destroy_batch)(void*) noexcept nogil
    get_t acquire_frame
    two_t add_frame
    two_t remove_frame
    get_t acquire_object
    three_t add_object
    two_t remove_object
    get_t acquire_classifier
    two_t add_classifier
    two_t remove_classifier
    get_t acquire_label
    two_t add_label
    two_t remove_label
    get_t acquire_display
    two_t add_display
    two_t remove_display
    get_t acquire_user
    two_t add_user_batch
    two_t add_user_frame
    two_t add_user_object
    two_t remove_user_batch
    two_t remove_user_frame
    two_t remove_user_object
    copy_func_t batch_copy
    release_func_t batch_release
    two_t copy_frame_list
    int32_t (*user_meta_type)(char*) noexcept nogil
    # libnvdsgst_meta
    NvDsGstMeta* (*buffer_add_meta)(void*, void*, void*, copy_func_t, release_func_t) noexcept nogil
    get_t buffer_batch
    NvDsGstMeta* (*buffer_get_meta)(void*) noexcept nogil
    # GLib
    char* (*g_strdup)(const char*) noexcept nogil
    void (*g_free)(void*) noexcept nogil
    const char* (*g_intern_string)(const char*) noexcept nogil
    # GStreamer
    test_t is_writable
    get_t object_copy
    void* (*add_parent)(void*, void*) noexcept nogil
    size_t (*parent_api)() noexcept nogil
    void* (*iterate_meta)(void*, void**, size_t) noexcept nogil
    void* (*peek_memory)(void*, uint32_t) noexcept nogil
    uint32_t (*n_memory)(void*) noexcept nogil
    int (*buffer_map)(void*, uint32_t, int, GstMapInfo*, int) noexcept nogil
    void (*memory_unmap)(void*, GstMapInfo*) noexcept nogil
    void (*remove_all_memory)(void*) noexcept nogil
    get_t object_ref
    one_t object_unref
    size_t (*buffer_type)() noexcept nogil
    void* (*buffer_new)() noexcept nogil
    void (*append_memory)(void*, void*) noexcept nogil
    get_t get_all_memory
    void* (*memory_share)(void*, Py_ssize_t, Py_ssize_t) noexcept nogil
    void* (*buffer_new_allocate)(void*, size_t, void*) noexcept nogil
    size_t (*buffer_fill)(void*, size_t, const void*, size_t) noexcept nogil
    size_t (*buffer_size)(void*) noexcept nogil
    int (*pad_push)(void*, void*) noexcept nogil
    # debug log
    void* (*debug_category_new)(const char*, uint32_t, const char*) noexcept nogil
    int (*debug_threshold)(void*) noexcept nogil
    void (*debug_log)(
        void*, int, const char*, const char*, int, void*, const char*
    ) noexcept nogil
