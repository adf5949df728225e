# A lasting Python thread state for streaming threads.
#
# A thread that Python did not start gets a new thread state for every call into Python, and
# loses it after. One extra PyGILState_Ensure keeps it: a callback then costs a quarter.

cdef extern from *:
    """
    #include <unistd.h>
    extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
    static __thread int ds_pinned;
    static int ds_interpreter_alive = 1;
    static long ds_threads_pinned;
    static long ds_unpinning;

    /* Runs in the ending thread, while its thread-specific values still stand: a pthread key's
       destructor would find Python's own key cleared already. */
    static void ds_unpin(void *unused) {
        (void)unused;
        DS_ADD(ds_threads_pinned, -1);
        DS_ADD(ds_unpinning, 1);
        /* No state: the thread was Python's own (_thread), which has deleted it already. */
        if (__atomic_load_n(&ds_interpreter_alive, __ATOMIC_SEQ_CST) && Py_IsInitialized() &&
            PyGILState_GetThisThreadState() != NULL) {
            PyGILState_Ensure();
            PyGILState_Release(PyGILState_LOCKED);    /* this call's own */
            PyGILState_Release(PyGILState_UNLOCKED);  /* the one of ds_pin */
        }
        DS_ADD(ds_unpinning, -1);
    }
    static int ds_pin(void) {
        if (ds_pinned) return 1;
        if (__cxa_thread_atexit_impl(ds_unpin, NULL, &ds_interpreter_alive)) return 0;
        PyGILState_Ensure();
        ds_pinned = 1;
        DS_ADD(ds_threads_pinned, 1);
        return 1;
    }
    static int ds_is_pinned(void) { return ds_pinned; }
    static long ds_pinned_threads(void) { return DS_GET(ds_threads_pinned); }
    static void ds_forget_threads(void) {
        __atomic_store_n(&ds_interpreter_alive, 0, __ATOMIC_SEQ_CST);
        while (DS_GET(ds_unpinning)) usleep(100);  /* those that saw it alive */
    }
    """
    int ds_pin()
    int ds_is_pinned()
    long ds_pinned_threads()
    void ds_forget_threads() noexcept nogil

cdef bint pin_ready = False


def pin_thread():
    """Give the calling foreign thread a lasting Python thread state; True if it has one now.

    Does nothing in the main thread and in threads that ``threading`` started: those have
    one already. It is released when the thread ends.
    """
    global pin_ready
    if ds_is_pinned():
        return True
    import threading

    known = threading._active.get(threading.get_ident())
    if known is not None and not isinstance(known, threading._DummyThread):
        return False
    if not pin_ready:
        import atexit

        # At interpreter exit: threads that end later must not touch Python.
        atexit.register(_forget_threads)
        pin_ready = True
    return bool(ds_pin())


def _forget_threads():
    # Without the GIL: a thread that is releasing its state waits for it.
    with nogil:
        ds_forget_threads()


def pinned_threads():
    """Threads that hold a lasting thread state now."""
    return ds_pinned_threads()
