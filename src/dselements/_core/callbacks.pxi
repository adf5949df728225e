# Copy and release functions in Python for user metas; each meta has its own.
#
# The library calls them in whatever thread copies or frees a buffer, and holds the meta lock.
# Nobody waits for that lock with the GIL, so taking the GIL here cannot end in a deadlock.

cdef extern from "Python.h":
    int Py_IsInitialized() noexcept nogil

cdef dict user_functions = {}     # address of a NvDsUserMeta, or of its data: (copy, release)
cdef bint callbacks_open = True
cdef bint exit_hooked = False


cdef object _functions_of(void* meta):
    found = user_functions.get(<uintptr_t>meta)
    if found is None:
        found = user_functions.get(<uintptr_t>_ptr(meta, USER_DATA))
    return found


cdef object _call(object function, void* meta, object argument):
    """Call a user's function with a pointer that is good until it returns."""
    cdef Anchor anchor = Anchor()
    cdef NativePointer pointer = _pointer_at(None, anchor, meta, 7, library_number)
    try:
        return function(pointer, argument)  # an error is told by the caller, as unraisable
    finally:
        anchor.dead = True


cdef uintptr_t _result_address(object result):
    cdef uintptr_t address = 0
    if isinstance(result, NativeStruct):
        address = <uintptr_t>(<NativeStruct>result)._at
        (<NativeStruct>result)._anchor.owned = NULL  # the new meta owns it
    elif isinstance(result, NativePointer):
        address = <uintptr_t>(<NativePointer>result)._at
    elif isinstance(result, int):
        address = result
    return address


# Errors of the user's functions end here: ``noexcept`` hands them to sys.unraisablehook.

cdef void* _user_copy_with_gil(void* meta) noexcept with gil:
    cdef uintptr_t address
    functions = _functions_of(meta)
    if functions is None or functions[0] is None:
        return ds_block_copy(_ptr(meta, USER_DATA))
    address = _result_address(_call(functions[0], meta, None))
    if address:
        user_functions[address] = functions
    return <void*>address


cdef void _user_release_with_gil(void* meta) noexcept with gil:
    cdef uintptr_t data = <uintptr_t>_ptr(meta, USER_DATA)
    functions = user_functions.pop(<uintptr_t>meta, None)
    by_data = user_functions.pop(data, None)
    functions = functions if functions is not None else by_data
    if functions is not None and functions[1] is not None:
        _call(functions[1], meta, None)


cdef void* _user_copy(void* data, void* user_data) noexcept nogil:
    """NvDsMetaCopyFunc that calls Python."""
    if not callbacks_open or not Py_IsInitialized():
        return ds_block_copy(_ptr(data, USER_DATA))
    return _user_copy_with_gil(data)


cdef void _user_release(void* data, void* user_data) noexcept nogil:
    cdef void* block = _ptr(data, USER_DATA)
    if callbacks_open and Py_IsInitialized():
        _user_release_with_gil(data)
    # What the function left, and only if it is a block of ours.
    if _ptr(data, USER_DATA) == block:
        ds_block_free(block)


def _close_callbacks():
    global callbacks_open
    callbacks_open = False
    user_functions.clear()


def user_functions_set(NativeStruct meta not None, copy=None, release=None):
    """Give a user meta functions ``f(pointer, None)``; None keeps what it has.

    ``copy`` returns the data of the new meta: a structure, a pointer or an address.
    """
    global exit_hooked
    cdef char* at
    _check(meta)
    _library_number()
    if not exit_hooked:
        import atexit

        atexit.register(_close_callbacks)
        exit_hooked = True
    at = meta._at
    for function in (copy, release):
        if function is not None and not callable(function):
            raise errors.MetadataValueError(f"{function!r} cannot be called")
    old = user_functions.get(<uintptr_t>at, (None, None))
    if (<copy_func_t*>(at + BASE_COPY))[0] != _user_copy and (
        (<release_func_t*>(at + BASE_RELEASE))[0] != _user_release
    ):
        old = (None, None)  # left by a meta that had this place in the pool before
    new = (copy if copy is not None else old[0], release if release is not None else old[1])
    user_functions[<uintptr_t>at] = new
    (<release_func_t*>(at + BASE_RELEASE))[0] = _user_release
    if new[0] is not None:
        (<copy_func_t*>(at + BASE_COPY))[0] = _user_copy


def user_functions_clear():
    """Forget all functions: metas that have some are copied and freed as plain blocks."""
    user_functions.clear()


def user_block_functions(NativeStruct meta not None):
    """Have a user meta copy and free its data, a block, in C."""
    _check(meta)
    user_functions.pop(<uintptr_t>meta._at, None)
    (<copy_func_t*>(meta._at + BASE_COPY))[0] = _block_copy_func
    (<release_func_t*>(meta._at + BASE_RELEASE))[0] = _block_release_func


def user_meta_type(bytes name not None):
    """Number of a user's own meta type, by its name."""
    _need_library()
    if b"\0" in name or not name:
        raise errors.MetadataValueError("a meta type's name is not empty and holds no NUL")
    return api.user_meta_type(PyBytes_AsString(name))
