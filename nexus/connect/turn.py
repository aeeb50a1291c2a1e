"""One `nexus connect` or `disconnect` at a time on a home, from its first look to its last write.

Two at once would each make the credential that the other has just made anew, and one token file would hold the token
that had stopped. The lock is a file in the home's `run/`, released by the kernel however the process ends.
"""

from __future__ import annotations

import fcntl
import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bus.limits import call_deadline_ms_default, look_again_ms
from nexus.config import Home

wait_ms_default: Final = 2 * call_deadline_ms_default
"""Whoever has the turn asks NEXUS a few questions, each answered within a call's deadline."""
_NAME: Final = "connect.lock"


class NotOurTurn(Exception):
    """Another one is at work. The text is for the person."""


@contextmanager
def turn(home: Home, wait_ms: int = wait_ms_default) -> Iterator[None]:
    """Alone on this home while it lasts; waits at most `wait_ms`. Raises NotOurTurn and OSError."""
    descriptor = os.open(home.path / "run" / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not take(descriptor, wait_ms):
            raise NotOurTurn(
                f"Another `nexus connect` or `nexus disconnect` is at work on the home {home.path}. "
                "Let it end and try again."
            )
        yield
    finally:
        os.close(descriptor)


def take(descriptor: int, wait_ms: int) -> bool:
    """Whether the open file could be locked within `wait_ms`. Raises OSError where files cannot be locked."""
    deadline = time.monotonic() + wait_ms / 1000
    while not _is_taken(descriptor):
        if time.monotonic() >= deadline:
            return False
        select.select([], [], [], look_again_ms / 1000)
    return True


def _is_taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
