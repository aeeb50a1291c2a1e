"""Time and randomness as things that are handed in, so that rules stay pure and tests need not wait.

Host time never runs backwards: leases, stamps and ids are judged by it (ARCHITECTURE, Owners). A host begins no
earlier than its last journal record, and tells its time in each Welcome, so a machine whose clock was set back makes
no ids that are older than what is stored.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol

from bus.identifier import time_ordered_id


class Clock(Protocol):
    """What is handed to everything that needs time or ids."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, never less than what was answered before."""
        ...

    def new_id(self) -> str:
        """A time-ordered id never answered before."""
        ...

    def not_before(self, milliseconds: int) -> None:
        """Somebody of this home has seen that time already: never answer less, whatever the machine's clock says."""
        ...


class SystemClock:
    """The machine's clock. Safe from any thread."""

    def __init__(self) -> None:
        self._latest_ms = 0
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        with self._lock:
            self._latest_ms = max(self._latest_ms, time.time_ns() // 1_000_000)
            return self._latest_ms

    def new_id(self) -> str:
        return time_ordered_id(self.now_ms(), os.urandom(10))

    def not_before(self, milliseconds: int) -> None:
        with self._lock:
            self._latest_ms = max(self._latest_ms, milliseconds)


class ManualClock:
    """A clock that moves only when told to; ids count up. For tests and the simulation."""

    def __init__(self, start_ms: int = 1_800_000_000_000) -> None:
        self._now_ms = start_ms
        self._made = 0

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, milliseconds: int) -> None:
        self._now_ms += milliseconds

    def new_id(self) -> str:
        self._made += 1
        return time_ordered_id(self._now_ms, self._made.to_bytes(10, "big"))

    def not_before(self, milliseconds: int) -> None:
        self._now_ms = max(self._now_ms, milliseconds)
