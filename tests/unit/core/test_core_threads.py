"""The meta lock and the GIL never wait for each other; streaming threads keep their state."""

from __future__ import annotations

import _thread
import ctypes
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from core_tools import batch_of, classes, i32, ints

from dselements._core import _native

WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def in_one_foreign_thread(lib: ctypes.CDLL, call: Callable[[], None], times: int) -> None:
    """Call a function several times from one thread that Python did not start, then end it."""
    errors: list[BaseException] = []
    # A pool may be given a thread that GLib kept from a pipeline, and that one is pinned already.
    assert unpinned(lib, 0)

    def guarded(data: int, user: int) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 -- nothing may leave a C callback
            errors.append(error)

    function = WORKER(guarded)
    pool = lib.g_thread_pool_new(ctypes.cast(function, ctypes.c_void_p), None, 1, 1, None)
    for k in range(times):
        lib.g_thread_pool_push(pool, k + 1, None)
    lib.g_thread_pool_free(pool, 0, 1)  # waits for the calls, not for the thread
    assert errors == []


def settled(lib: ctypes.CDLL, done: Callable[[], bool]) -> bool:
    """Wait for something that happens when threads end."""
    deadline = time.monotonic() + 10
    while not done() and time.monotonic() < deadline:
        lib.g_thread_pool_stop_unused_threads()  # GLib would keep them for another pool
        time.sleep(0.01)
    return done()


def unpinned(lib: ctypes.CDLL, count: int) -> bool:
    return settled(lib, lambda: _native.pinned_threads() == count)


def wait_for(event: threading.Event) -> None:
    assert event.wait(10)


# Each of these waits for the meta lock.
WAITERS = {
    "snapshot": lambda batch, s, t: _native.Snapshot(batch),
    "gather": lambda batch, s, t: s.gather(_native.OBJECT, "border_width"),
    "labels": lambda batch, s, t: s.gather_labels(),
    "parents": lambda batch, s, t: s.gather_parents(),
    "texts": lambda batch, s, t: s.gather_text(_native.OBJECT, "display_text"),
    "mask": lambda batch, s, t: s.gather_mask(0),
    "classifiers": lambda batch, s, t: s.gather_classifiers(),
    "display": lambda batch, s, t: s.gather_display(),
    "user": lambda batch, s, t: s.gather_user(_native.OBJECT),
    "commit": lambda batch, s, t: t.commit(),
}


@pytest.mark.parametrize("name", WAITERS)
def test_waiting_for_the_lock_lets_other_threads_run(lib: ctypes.CDLL, name: str) -> None:
    """The holder needs the GIL to let go: a waiter that kept it would deadlock."""
    with batch_of([0, 0]) as batch:
        s = _native.Snapshot(batch)
        t = _native.Transaction(s)
        t.set_label(0, b"x")
        held, waiting = threading.Event(), threading.Event()
        order: list[str] = []

        def hold() -> None:
            lib.nvds_acquire_meta_lock(batch)
            held.set()
            wait_for(waiting)
            time.sleep(0.05)
            order.append("let go")
            lib.nvds_release_meta_lock(batch)

        holder = threading.Thread(target=hold)
        holder.start()
        wait_for(held)
        waiting.set()
        WAITERS[name](batch, s, t)
        order.append("got it")
        holder.join(10)
        assert order == ["let go", "got it"]


def test_readers_and_writers_in_many_threads(lib: ctypes.CDLL) -> None:
    """Edits are whole or refused; readers see one state, never half of one."""
    from dselements.errors import ConcurrentEditError

    with batch_of([0] * 50) as batch:
        outcomes = {"done": 0, "refused": 0}
        counted = threading.Lock()
        torn: list[list[int]] = []

        def write(value: int) -> None:
            for _ in range(40):
                s = _native.Snapshot(batch)
                t = _native.Transaction(s)
                t.add_objects(i32(0))
                t.scatter(_native.OBJECT, "class_id", i32(*[value] * (s.n_objects + 1)))
                t.remove_objects(b"\1" + bytes(s.n_objects))
                try:
                    t.commit()
                    result = "done"
                except ConcurrentEditError:
                    result = "refused"
                with counted:
                    outcomes[result] += 1

        def read() -> None:
            for _ in range(100):
                seen = classes(batch)
                # Of the start (all different) or of one writer (all the same).
                if len(seen) != 50 or len(set(seen)) not in (1, 2, 50):
                    torn.append(seen)

        threads = [threading.Thread(target=write, args=(k,)) for k in (1000, 2000, 3000)]
        threads += [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert torn == []
        assert outcomes["done"] + outcomes["refused"] == 120
        assert outcomes["done"] >= 1
        assert _native.pool_counters(batch)["object"][2] == 50


def test_a_pinned_thread_keeps_its_python_state(lib: ctypes.CDLL) -> None:
    assert unpinned(lib, 0)  # threads of earlier pipelines
    before = _native.pinned_threads()
    kept = threading.local()

    def count(pin: bool, seen: list[tuple[int, int]]) -> None:
        if pin:
            assert _native.pin_thread() is True
        kept.calls = getattr(kept, "calls", 0) + 1
        seen.append((kept.calls, _native.pinned_threads() - before))

    # Without: a new state, hence new thread-local values, for each call.
    plain: list[tuple[int, int]] = []
    in_one_foreign_thread(lib, lambda: count(False, plain), 3)
    assert plain == [(1, 0)] * 3
    pinned: list[tuple[int, int]] = []
    in_one_foreign_thread(lib, lambda: count(True, pinned), 3)
    assert pinned == [(1, 1), (2, 1), (3, 1)]
    assert unpinned(lib, before)


def test_the_state_of_an_ended_thread_is_freed(lib: ctypes.CDLL) -> None:
    """What a thread-local holds lives exactly as long as the state."""
    import weakref

    class Value:
        pass

    kept = threading.local()
    alive: list[weakref.ref[Value]] = []

    def fill() -> None:
        _native.pin_thread()
        value = Value()
        kept.value = value
        alive.append(weakref.ref(value))

    before = _native.pinned_threads()
    for _ in range(5):
        in_one_foreign_thread(lib, fill, 1)
    assert unpinned(lib, before)
    assert len(alive) == 5
    assert settled(lib, lambda: not any(ref() for ref in alive))


def test_pythons_own_threads_are_not_pinned() -> None:
    before = _native.pinned_threads()
    assert _native.pin_thread() is False  # the main thread
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(_native.pin_thread()))
    thread.start()
    thread.join()
    assert results == [False]
    assert _native.pinned_threads() == before


def test_a_thread_that_asked_for_current_thread_is_foreign_still(lib: ctypes.CDLL) -> None:
    """threading then knows it as a dummy."""
    results: list[bool] = []

    def ask() -> None:
        threading.current_thread()
        results.append(_native.pin_thread())

    before = _native.pinned_threads()
    in_one_foreign_thread(lib, ask, 1)
    assert results == [True]
    assert unpinned(lib, before)


def test_a_thread_of_the_low_level_module_survives_a_pin(lib: ctypes.CDLL) -> None:
    """``_thread`` deletes the thread's state itself, whoever else counts on it."""
    before = _native.pinned_threads()
    done = threading.Event()

    def run() -> None:
        _native.pin_thread()
        done.set()

    _thread.start_new_thread(run, ())
    wait_for(done)
    assert unpinned(lib, before)


EXIT = """
import ctypes, sys, threading
sys.path.insert(0, {tools!r})
from dselements._core import _native, load
load()
from core_tools import functions
lib = functions()
done = threading.Event()
WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
@WORKER
def work(data, user):
    _native.pin_thread()
    done.set()
pool = lib.g_thread_pool_new(ctypes.cast(work, ctypes.c_void_p), None, {threads}, {own}, None)
for k in range({threads}):
    lib.g_thread_pool_push(pool, k + 1, None)
done.wait(10)
if {end}:
    lib.g_thread_pool_free(pool, 1, 0)
    lib.g_thread_pool_stop_unused_threads()  # the threads end while the interpreter does
print("end", _native.pinned_threads() >= 0)
"""


@pytest.mark.parametrize(("own", "end"), [(1, 0), (1, 1), (0, 0)])
def test_the_interpreter_ends_with_pinned_threads_about(own: int, end: int) -> None:
    from pathlib import Path

    code = EXIT.format(tools=str(Path(__file__).parent), threads=8, own=own, end=end)
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "end True\n", "")


def test_copies_of_a_batch_that_changes_are_whole(lib: ctypes.CDLL) -> None:
    """Objects of even class hang on the one before them. A copy whose parents were mended
    against a later state of the source would have them on the odd ones.

    The writer waits for the library's own copy to end, and so strikes right after it. It locks
    by itself, as the library's removal clears an object before it locks.
    """
    size = 1000
    stop = threading.Event()
    with batch_of([], frames=1) as batch:
        frame = int.from_bytes(_native.Snapshot(batch).frame_address, "little")
        alive: list[int] = []

        def add(number: int) -> None:
            address = lib.nvds_acquire_obj_meta_from_pool(batch)
            ctypes.c_int32.from_address(address + 52).value = number
            above = alive[-1] if number % 2 == 0 else None
            lib.nvds_add_obj_meta_to_frame(frame, address, above)
            alive.append(address)

        def write() -> None:
            number = size
            while not stop.is_set():
                number += 1
                lib.nvds_acquire_meta_lock(batch)
                add(number)
                if number % 2 == 0:  # a pair came, the oldest pair goes, the child first
                    for place in (1, 0):
                        lib.nvds_remove_obj_meta_from_frame(frame, alive.pop(place))
                lib.nvds_release_meta_lock(batch)

        for number in range(1, size + 1):
            add(number)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(100):
                copy = _native.copy_batch(batch)
                s = _native.Snapshot(copy)
                numbers, above = ints(s.class_id), ints(s.gather_parents())
                _native.destroy_batch(copy)
                expected = [
                    row + 1 if number % 2 == 0 else -1 for row, number in enumerate(numbers)
                ]
                assert numbers == sorted(numbers, reverse=True)
                assert above == expected
        finally:
            stop.set()
            writer.join(20)
