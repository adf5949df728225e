"""The pytest plugin: fixtures ``ds_harness``, ``ds_no_leaks`` and ``ds_clock``; golden files."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .clock import TestClock
    from .harness import ElementHarness

UPDATE_VARIABLE = "DSELEMENTS_UPDATE_GOLDEN"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--ds-update-golden``."""
    parser.getgroup("dselements").addoption(
        "--ds-update-golden",
        action="store_true",
        help="write the golden files of dselements.testing.assert_matches_golden",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Pass the option on to processes that the tests start."""
    if config.getoption("--ds-update-golden"):
        os.environ[UPDATE_VARIABLE] = "1"


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note that a test failed: its traceback then holds what it made."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


@pytest.fixture
def ds_harness() -> Iterator[Callable[..., ElementHarness]]:
    """Makes started :class:`ElementHarness`; all are stopped at the end of the test."""
    from .harness import ElementHarness

    made: list[ElementHarness] = []

    def make(element: Any, *args: Any, **properties: Any) -> ElementHarness:
        harness = ElementHarness(element, *args, **properties)
        made.append(harness)
        return harness.start()

    yield make
    while made:
        made.pop().close()


@pytest.fixture
def ds_no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """The test must leave no metadata and no GStreamer object behind. Name it first.

    Not looked at when the test failed.
    """
    from .leaks import LeakCheck

    check = LeakCheck()
    yield
    if not request.node.stash.get(_FAILED, False):
        check.done()


@pytest.fixture
def ds_clock() -> TestClock:
    """A clock that the test moves."""
    from .clock import TestClock

    return TestClock()
