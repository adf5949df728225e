# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: auto_pickle=False, autotestdict=False
"""Native core: reads and edits NvDs metadata through NVIDIA's own library."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from .nvds cimport *

import os

from dselements import errors

cdef extern from "Python.h":
    object PyBytes_FromStringAndSize(const char*, Py_ssize_t)
    object PyByteArray_FromStringAndSize(const char*, Py_ssize_t)
    char* PyByteArray_AsString(object) except NULL
    int PyByteArray_Resize(object, Py_ssize_t) except -1
    char* PyBytes_AsString(object) except NULL
    int PyBytes_Check(object)
    int PyByteArray_Check(object)

include "library.pxi"
include "lives.pxi"
include "layout.pxi"
include "payload.pxi"
include "batches.pxi"
include "snapshot.pxi"
include "details.pxi"
include "edits.pxi"
include "removal.pxi"
include "display.pxi"
include "commit.pxi"
include "transaction.pxi"
include "buffers.pxi"
include "blocks.pxi"
include "anchors.pxi"
include "direct.pxi"
include "fields.pxi"
include "chains.pxi"
include "poolcalls.pxi"
include "callbacks.pxi"
include "dlpack.pxi"
include "sharing.pxi"
include "threads.pxi"
include "logging.pxi"
