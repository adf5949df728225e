# A lasting Python thread state for streaming threads.
#
# A thread that Python did not start gets a new thread state for every call into Python, and
# loses it after. One extra PyGILState_Ensure keeps it: a callback then costs a quarter.

cdef extern from "Python.h" nogil:
    ctypedef enum PyGILState_STATE:
        pass
    PyGILState_STATE PyGILState_Ensure()
    void PyGILState_Release(PyGILState_STATE)
    int Py_IsInitialized()

cdef extern from *:
    """
    static void ds_unpin(void *value) {
        /* Runs in the ending thread. The interpreter may be gone by then. */
        if (value == NULL || !Py_IsInitialized() || *(volatile int *)value == 0) return;
        PyGILState_STATE state = PyGILState_Ensure();
        PyGILState_Release(state);
        PyGILState_Release(PyGILState_UNLOCKED);
    }
    """
    void ds_unpin(void*) noexcept nogil

cdef pthread_key_t pin_key
cdef bint pin_ready = False
cdef long threads_pinned = 0
cdef int interpreter_alive = 1


cdef void _unpin(void* value) noexcept nogil:
    DS_ADD(threads_pinned, -1)
    ds_unpin(value)


def _forget_threads():
    """At interpreter exit: threads that end later must not touch Python."""
    global interpreter_alive
    interpreter_alive = 0


def pin_thread():
    """Give the calling foreign thread a lasting Python thread state; True if it has one now.

    Does nothing in the main thread and in threads that ``threading`` started: those have
    one already. It is released when the thread ends.
    """
    global pin_ready
    if pin_ready and pthread_getspecific(pin_key) != NULL:
        return True
    import threading

    known = threading._active.get(threading.get_ident())
    if known is not None and not isinstance(known, threading._DummyThread):
        return False
    if not pin_ready:
        import atexit

        if pthread_key_create(&pin_key, _unpin) != 0:
            return False
        atexit.register(_forget_threads)
        pin_ready = True
    if pthread_setspecific(pin_key, <void*>&interpreter_alive) != 0:
        return False
    PyGILState_Ensure()
    DS_ADD(threads_pinned, 1)
    return True


def pinned_threads():
    """Threads that hold a lasting thread state now."""
    return DS_GET(threads_pinned)
