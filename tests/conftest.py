"""What holds for every test."""

from __future__ import annotations

import os
import signal

import pytest
import structlog
from hypothesis import settings

from tests.support import left_behind

# How long an example takes depends on what else the machine does; no test is judged by time.
settings.register_profile("nexus", deadline=None)
settings.load_profile("nexus")

# Rich's tracebacks, with the values of every frame, cost most of a second each.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)
_RUN = pytest.StashKey[str]()


def _shares_the_tests() -> bool:
    """Whether this is one of the processes that pytest-xdist starts, and not the one that starts them."""
    return "PYTEST_XDIST_WORKER" in os.environ


def pytest_configure(config: pytest.Config) -> None:
    if not _shares_the_tests():
        config.stash[_RUN] = left_behind.mark()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _shares_the_tests():
        left_behind.end_what_is_left(config.stash[_RUN])


def pytest_keyboard_interrupt() -> None:
    """xdist interrupts its processes once more when they are to end; that must not cut short what they end."""
    if _shares_the_tests():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
