# Opening NVIDIA's libraries and looking their functions up.

BATCH = 0
FRAME = 1
OBJECT = 2

cdef Api api
cdef bint api_ready = False
cdef void* handle_meta = NULL
cdef void* handle_gst = NULL
cdef int32_t payload_type = -1


cdef int _find(void* handle, const char* name, void** slot) except -1:
    slot[0] = dlsym(handle, name)
    if slot[0] == NULL:
        raise errors.LibraryNotFoundError(
            f"{(<bytes>name).decode()} is missing from the metadata libraries"
        )
    return 0


cdef void* _open(str path, bint loaded) except NULL:
    cdef bytes name = os.fsencode(path)
    # RTLD_LOCAL: with RTLD_GLOBAL the libraries' libunwind would shadow libgcc's unwinder
    # and C++ exceptions elsewhere in the process would abort.
    # RTLD_NOLOAD: a library that is in the process already must not come in twice.
    cdef void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | (RTLD_NOLOAD if loaded else 0))
    cdef char* text
    if handle == NULL:
        text = dlerror()
        raise errors.LibraryNotFoundError(
            f"cannot load {path}: "
            f"{(<bytes>text).decode('utf-8', 'replace') if text else 'it is not in the process'}"
        )
    return handle


def library_is_open():
    """True once open_library() has succeeded in this process."""
    return bool(api_ready)


def open_library(str meta_path, str gst_meta_path, bint loaded=False):
    """Load both libraries, RTLD_LOCAL, and look every function up. Later calls do nothing.

    :param loaded: the first is in the process already and must not be loaded again.
    :raises LibraryNotFoundError: if a library cannot be loaded or lacks a function.
    """
    global api_ready, handle_meta, handle_gst, payload_type
    cdef void* m
    cdef void* g
    if api_ready:
        return
    m = _open(meta_path, loaded)
    g = _open(gst_meta_path, False)
    _find(m, b"nvds_acquire_meta_lock", <void**>&api.acquire_lock)
    _find(m, b"nvds_release_meta_lock", <void**>&api.release_lock)
    _find(m, b"nvds_create_batch_meta", <void**>&api.create_batch)
    _find(m, b"nvds_destroy_batch_meta", <void**>&api.destroy_batch)
    _find(m, b"nvds_acquire_frame_meta_from_pool", <void**>&api.acquire_frame)
    _find(m, b"nvds_add_frame_meta_to_batch", <void**>&api.add_frame)
    _find(m, b"nvds_remove_frame_meta_from_batch", <void**>&api.remove_frame)
    _find(m, b"nvds_acquire_obj_meta_from_pool", <void**>&api.acquire_object)
    _find(m, b"nvds_add_obj_meta_to_frame", <void**>&api.add_object)
    _find(m, b"nvds_remove_obj_meta_from_frame", <void**>&api.remove_object)
    _find(m, b"nvds_acquire_classifier_meta_from_pool", <void**>&api.acquire_classifier)
    _find(m, b"nvds_add_classifier_meta_to_object", <void**>&api.add_classifier)
    _find(m, b"nvds_remove_classifier_meta_from_obj", <void**>&api.remove_classifier)
    _find(m, b"nvds_acquire_label_info_meta_from_pool", <void**>&api.acquire_label)
    _find(m, b"nvds_add_label_info_meta_to_classifier", <void**>&api.add_label)
    _find(m, b"nvds_remove_label_info_meta_from_classifier", <void**>&api.remove_label)
    _find(m, b"nvds_acquire_display_meta_from_pool", <void**>&api.acquire_display)
    _find(m, b"nvds_add_display_meta_to_frame", <void**>&api.add_display)
    _find(m, b"nvds_remove_display_meta_from_frame", <void**>&api.remove_display)
    _find(m, b"nvds_acquire_user_meta_from_pool", <void**>&api.acquire_user)
    _find(m, b"nvds_add_user_meta_to_batch", <void**>&api.add_user_batch)
    _find(m, b"nvds_add_user_meta_to_frame", <void**>&api.add_user_frame)
    _find(m, b"nvds_add_user_meta_to_obj", <void**>&api.add_user_object)
    _find(m, b"nvds_remove_user_meta_from_batch", <void**>&api.remove_user_batch)
    _find(m, b"nvds_remove_user_meta_from_frame", <void**>&api.remove_user_frame)
    _find(m, b"nvds_remove_user_meta_from_object", <void**>&api.remove_user_object)
    _find(m, b"nvds_batch_meta_copy_func", <void**>&api.batch_copy)
    _find(m, b"nvds_batch_meta_release_func", <void**>&api.batch_release)
    _find(m, b"nvds_copy_frame_meta_list", <void**>&api.copy_frame_list)
    _find(m, b"nvds_get_user_meta_type", <void**>&api.user_meta_type)
    _find(g, b"gst_buffer_add_nvds_meta", <void**>&api.buffer_add_meta)
    _find(g, b"gst_buffer_get_nvds_batch_meta", <void**>&api.buffer_batch)
    _find(g, b"gst_buffer_get_nvds_meta", <void**>&api.buffer_get_meta)
    # A handle also finds the functions of the libraries it depends on: the very GLib and
    # GStreamer that the process already uses.
    _find(g, b"g_strdup", <void**>&api.g_strdup)
    _find(g, b"g_free", <void**>&api.g_free)
    _find(g, b"g_intern_string", <void**>&api.g_intern_string)
    _find(g, b"gst_mini_object_is_writable", <void**>&api.is_writable)
    _find(g, b"gst_mini_object_copy", <void**>&api.object_copy)
    _find(g, b"gst_buffer_add_parent_buffer_meta", <void**>&api.add_parent)
    _find(g, b"gst_parent_buffer_meta_api_get_type", <void**>&api.parent_api)
    _find(g, b"gst_buffer_iterate_meta_filtered", <void**>&api.iterate_meta)
    _find(g, b"gst_buffer_peek_memory", <void**>&api.peek_memory)
    _find(g, b"gst_buffer_n_memory", <void**>&api.n_memory)
    _find(g, b"gst_buffer_map_range", <void**>&api.buffer_map)
    _find(g, b"gst_memory_unmap", <void**>&api.memory_unmap)
    _find(g, b"gst_buffer_remove_all_memory", <void**>&api.remove_all_memory)
    _find(g, b"gst_mini_object_ref", <void**>&api.object_ref)
    _find(g, b"gst_mini_object_unref", <void**>&api.object_unref)
    _find(g, b"gst_buffer_get_type", <void**>&api.buffer_type)
    _find(g, b"gst_buffer_new", <void**>&api.buffer_new)
    _find(g, b"gst_buffer_append_memory", <void**>&api.append_memory)
    _find(g, b"gst_buffer_get_all_memory", <void**>&api.get_all_memory)
    _find(g, b"gst_memory_share", <void**>&api.memory_share)
    _find(g, b"gst_buffer_new_allocate", <void**>&api.buffer_new_allocate)
    _find(g, b"gst_buffer_fill", <void**>&api.buffer_fill)
    _find(g, b"gst_buffer_get_size", <void**>&api.buffer_size)
    _find(g, b"gst_pad_push", <void**>&api.pad_push)
    _find(g, b"_gst_debug_category_new", <void**>&api.debug_category_new)
    _find(g, b"gst_debug_category_get_threshold", <void**>&api.debug_threshold)
    _find(g, b"gst_debug_log_literal", <void**>&api.debug_log)
    handle_meta = m
    handle_gst = g
    payload_type = api.user_meta_type(b"DSELEMENTS.PAYLOAD")
    api_ready = True


cdef int _need_library() except -1:
    if not api_ready:
        raise errors.LibraryNotFoundError("the metadata library is not loaded; call load() first")
    return 0


cdef inline char* _bytes_of(object data) except NULL:
    if PyBytes_Check(data):
        return PyBytes_AsString(data)
    if PyByteArray_Check(data):
        return PyByteArray_AsString(data)
    raise TypeError(f"bytes or bytearray needed, not {type(data).__name__}")


cdef bytes _frozen(object data):
    """The same bytes, safe to point into: a bytearray could be resized by its owner."""
    if PyBytes_Check(data):
        return data
    if PyByteArray_Check(data):
        return bytes(data)
    raise TypeError(f"bytes or bytearray needed, not {type(data).__name__}")
