# DLPack capsules for uint8 arrays in any memory. Layout: dlpack.h of DLPack 1.0 (dmlc.github.io).

cdef enum:
    DL_UINT = 1
    DL_FLAG_READ_ONLY = 1
    DL_MAX_DIMS = 8

cdef struct DLTensor:
    void* data
    int32_t device_type
    int32_t device_id
    int32_t ndim
    uint8_t code
    uint8_t bits
    uint16_t lanes
    int64_t* shape
    int64_t* strides
    uint64_t byte_offset

cdef struct DLManagedTensor:
    DLTensor tensor
    void* manager_ctx
    void (*deleter)(DLManagedTensor*) noexcept nogil

cdef struct DLManagedTensorVersioned:
    uint32_t major
    uint32_t minor
    void* manager_ctx
    void (*deleter)(DLManagedTensorVersioned*) noexcept nogil
    uint64_t flags
    DLTensor tensor

# What manager_ctx points to: the dimensions, and the owner whose reference is held.
cdef struct DLContext:
    int64_t shape[DL_MAX_DIMS]
    int64_t strides[DL_MAX_DIMS]
    PyObject* owner

cdef extern from "Python.h":
    ctypedef struct PyObject:
        pass
    object PyCapsule_New(void*, const char*, void (*)(PyObject*) noexcept)
    int PyCapsule_IsValid(PyObject*, const char*)
    void* PyCapsule_GetPointer(PyObject*, const char*)
    void Py_IncRef(PyObject*)
    void Py_DecRef(PyObject*)
    int Py_IsInitialized() nogil

cdef void _dl_release(void* context) noexcept nogil:
    """From any thread; after the interpreter's end the owner is left to the process's end."""
    cdef DLContext* held = <DLContext*>context
    if Py_IsInitialized():
        with gil:
            Py_DecRef(held.owner)
    free(held)

cdef void _dl_delete(DLManagedTensor* managed) noexcept nogil:
    _dl_release(managed.manager_ctx)
    free(managed)

cdef void _dl_delete_versioned(DLManagedTensorVersioned* managed) noexcept nogil:
    _dl_release(managed.manager_ctx)
    free(managed)

# A capsule that nobody consumed still has its first name.
cdef void _dl_capsule_end(PyObject* capsule) noexcept:
    cdef DLManagedTensor* managed
    if PyCapsule_IsValid(capsule, b"dltensor"):
        managed = <DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor")
        managed.deleter(managed)

cdef void _dl_capsule_end_versioned(PyObject* capsule) noexcept:
    cdef DLManagedTensorVersioned* managed
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        managed = <DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        managed.deleter(managed)


def dlpack_capsule(
    uintptr_t data,
    tuple shape,
    tuple strides,
    int32_t device_type,
    int32_t device_id,
    object owner,
    bint read_only,
    bint versioned,
):
    """A DLPack capsule of a uint8 array; it keeps ``owner`` until its consumer is done.

    ``strides`` are in bytes. ``read_only`` can be told in a versioned capsule only.
    """
    cdef DLContext* context
    cdef DLManagedTensor* plain = NULL
    cdef DLManagedTensorVersioned* modern = NULL
    cdef DLTensor* tensor
    cdef int ndim = len(shape)
    if ndim < 1 or ndim > DL_MAX_DIMS or len(strides) != ndim or data == 0:
        raise ValueError("an array needs an address, 1 to 8 dimensions, and a stride for each")
    context = <DLContext*>calloc(1, sizeof(DLContext))
    if versioned:
        modern = <DLManagedTensorVersioned*>calloc(1, sizeof(DLManagedTensorVersioned))
    else:
        plain = <DLManagedTensor*>calloc(1, sizeof(DLManagedTensor))
    if context == NULL or (modern == NULL and plain == NULL):
        free(context)
        free(modern)
        free(plain)
        raise MemoryError()
    tensor = &modern.tensor if versioned else &plain.tensor
    try:
        for i in range(ndim):
            context.shape[i] = shape[i]
            context.strides[i] = strides[i]
    except BaseException:
        free(context)
        free(modern)
        free(plain)
        raise
    tensor.data = <void*>data
    tensor.device_type = device_type
    tensor.device_id = device_id
    tensor.ndim = ndim
    tensor.code = DL_UINT
    tensor.bits = 8
    tensor.lanes = 1
    tensor.shape = context.shape
    tensor.strides = context.strides
    context.owner = <PyObject*>owner
    Py_IncRef(context.owner)
    if versioned:
        modern.major = 1
        modern.minor = 0
        modern.flags = DL_FLAG_READ_ONLY if read_only else 0
        modern.manager_ctx = context
        modern.deleter = _dl_delete_versioned
        return PyCapsule_New(modern, b"dltensor_versioned", _dl_capsule_end_versioned)
    plain.manager_ctx = context
    plain.deleter = _dl_delete
    return PyCapsule_New(plain, b"dltensor", _dl_capsule_end)
