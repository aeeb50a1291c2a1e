"""Waiting for a condition, with a bound: what tests do instead of sleeping."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def eventually(look: Callable[[], Found | None], *, seconds: float = 40.0, what: str = "the condition") -> Found:
    """What `look` answers once it is true. Fails the test after `seconds`."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        pause.wait(0.01)
