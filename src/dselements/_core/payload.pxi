# User payloads: bytes on the C heap with copy and release in C, safe in any thread.

cdef enum:
    PAYLOAD_HEAD = 16
    PAYLOAD_VERSION = 1

cdef struct PayloadHead:
    uint32_t magic
    uint16_t version
    uint8_t encoding
    uint8_t flags
    uint32_t name_length
    uint32_t data_length

cdef uint32_t PAYLOAD_MAGIC = 0x50455344  # "DSEP", little-endian
cdef long payloads_alive = 0


cdef inline size_t _payload_size(void* block) noexcept nogil:
    cdef PayloadHead* head = <PayloadHead*>block
    return PAYLOAD_HEAD + <size_t>head.name_length + 1 + <size_t>head.data_length


cdef void* _payload_copy(void* data, void* user_data) noexcept nogil:
    """NvDsMetaCopyFunc: ``data`` is the NvDsUserMeta of the source."""
    cdef void* block = _ptr(data, USER_DATA)
    cdef size_t size
    cdef void* copy
    if block == NULL:
        return NULL
    size = _payload_size(block)
    copy = malloc(size)
    if copy != NULL:
        memcpy(copy, block, size)
        DS_ADD(payloads_alive, 1)
    return copy


cdef void _payload_release(void* data, void* user_data) noexcept nogil:
    cdef void** slot = <void**>(<char*>data + USER_DATA)
    if slot[0] != NULL:
        free(slot[0])
        slot[0] = NULL
        DS_ADD(payloads_alive, -1)


def live_payloads():
    """Payload blocks that are attached to metadata now, in this process."""
    return DS_GET(payloads_alive)


def payload_meta_type():
    """NvDsMetaType of our payloads: nvds_get_user_meta_type("DSELEMENTS.PAYLOAD")."""
    _need_library()
    return payload_type


def read_payload(uintptr_t user_address):
    """Copy of a payload's bytes (header included), or None if the user meta is not ours.

    The address must come from a gather of a batch that is still alive.
    """
    cdef void* user = <void*>user_address
    cdef void* block
    cdef PayloadHead* head
    _need_library()
    if user == NULL or <int32_t>_u32(user, BASE_TYPE) != payload_type:
        return None
    block = _ptr(user, USER_DATA)
    if block == NULL:
        return None
    head = <PayloadHead*>block
    if head.magic != PAYLOAD_MAGIC or head.version != PAYLOAD_VERSION:
        return None
    return PyBytes_FromStringAndSize(<char*>block, <Py_ssize_t>_payload_size(block))


cdef int _check_payload(bytes data) except -1:
    cdef PayloadHead* head
    if len(data) < PAYLOAD_HEAD + 1:
        raise errors.PayloadError(f"a payload of {len(data)} bytes is shorter than its header")
    head = <PayloadHead*>PyBytes_AsString(data)
    if head.magic != PAYLOAD_MAGIC or head.version != PAYLOAD_VERSION:
        raise errors.PayloadError("payload header has another magic or version")
    if _payload_size(head) != <size_t>len(data):
        raise errors.PayloadError(
            f"payload header tells {_payload_size(head)} bytes, there are {len(data)}"
        )
    if data[PAYLOAD_HEAD + head.name_length] != 0:
        raise errors.PayloadError("the payload's name does not end with NUL")
    return 0


def read_memory(uintptr_t address, Py_ssize_t size):
    """Copy of ``size`` bytes at ``address``. The caller vouches for both."""
    if address == 0 or size < 0:
        raise ValueError(f"cannot read {size} bytes at {address:#x}")
    return PyBytes_FromStringAndSize(<char*>address, size)
