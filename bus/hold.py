"""A stop of a journal's writer: everything before it is on disk, nothing after it is, until it is released.

Used for the moment in which all shards of a home stand still for a backup (docs/decisions/0005). Whoever holds must
release; a writer that is not released goes on by itself after `backup_hold_ms_max`, and the holder is told so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from bus.limits import backup_hold_ms_max


class Hold(Protocol):
    """One stop. `release` is called once, from any thread."""

    def release(self) -> int | None:
        """Let the writer go on: how long it stood in microseconds, or None if it had gone on by itself before."""
        ...


class ThreadHold:
    """Between a writer that waits on its own thread and a holder on another one."""

    def __init__(self, held: Callable[[], None]) -> None:
        self._held = held
        self._lock = threading.Lock()
        self._goes_on = threading.Event()
        self._since_ns = 0
        self._is_over = False

    def stand(self) -> None:
        """The writer's part: say that it holds, then wait. `held` must not raise."""
        self._since_ns = time.monotonic_ns()
        self._held()
        if not self._goes_on.wait(backup_hold_ms_max / 1000):
            with self._lock:
                self._is_over = True

    def release(self) -> int | None:
        with self._lock:
            if self._is_over:
                return None
            self._is_over = True
        stood_ns = time.monotonic_ns() - self._since_ns
        self._goes_on.set()
        return stood_ns // 1_000


class InlineHold:
    """For a journal without threads: what is submitted meanwhile waits, and is written by `release`."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        self._go_on: Callable[[], None] | None = go_on

    def release(self) -> int | None:
        go_on, self._go_on = self._go_on, None
        if go_on is None:
            return None
        go_on()
        return 0
