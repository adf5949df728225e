"""A clock that stands still until the test moves it."""

from __future__ import annotations

import time
from typing import Any

import gi

from ..errors import HarnessError, MissingExtraError

__all__ = ["TestClock"]


class TestClock:
    """For live elements: time-outs and waits end when the test says so.

    ::

        clock = TestClock()
        with ElementHarness("dsmux", pads=["sink_0", "sink_1"], clock=clock.clock) as h: ...

    :raises MissingExtraError: without GStreamer's check library for Python.
    """

    __test__ = False  # pytest would take it for a test

    def __init__(self) -> None:
        try:
            gi.require_version("GstCheck", "1.0")
            gi.require_version("Gst", "1.0")
            from gi.repository import Gst, GstCheck
        except (ImportError, ValueError) as error:
            raise MissingExtraError(
                f"GstTestClock cannot be had: {error}", hint="apt-get install gir1.2-gstreamer-1.0"
            ) from error
        Gst.init(None)
        self._gst: Any = Gst
        self.clock: Any = GstCheck.TestClock.new()
        """The Gst.Clock."""

    @property
    def time(self) -> int:
        """Nanoseconds."""
        return int(self.clock.get_time())

    def set(self, ns: int) -> None:
        """Move to a time, and wake those who waited for it.

        :raises HarnessError: if that is in the past.
        """
        if ns < self.time:
            raise HarnessError(f"the clock cannot go back from {self.time} to {ns} ns")
        self.clock.set_time(ns)
        # Setting the time alone wakes nobody.
        while True:
            waiting, first = self.clock.peek_next_pending_id()
            if not waiting or self._gst.Clock.id_get_time(first) > ns:
                return
            self.clock.process_next_clock_id()

    def advance(self, ns: int) -> None:
        """Move on. :raises HarnessError: if that is back."""
        self.set(self.time + ns)

    def wait_for_waiters(self, count: int = 1, timeout_s: float = 5.0) -> None:
        """Until somebody waits for this clock. :raises HarnessError: if nobody comes."""
        end = time.monotonic() + timeout_s
        while self.clock.peek_id_count() < count:
            if time.monotonic() > end:
                raise HarnessError(
                    f"{self.clock.peek_id_count()} of {count} wait for the clock at {self.time} ns"
                )
            time.sleep(0.002)

    def crank(self, timeout_s: float = 5.0) -> int:
        """Wait for a waiter, and move to the time it waits for; returns that time (ns).

        :raises HarnessError: if nobody waits.
        """
        self.wait_for_waiters(1, timeout_s)
        if not self.clock.crank():
            raise HarnessError("the one who waited for the clock has gone")
        return self.time
