"""Time and randomness as things that are handed in, so that rules stay pure and tests need not wait.

Host time never runs backwards: leases, stamps and ids are judged by it (ARCHITECTURE, Owners). A host begins no
earlier than its last journal record, and tells its time in each Welcome, so a machine whose clock was set back makes
no ids that are older than what is stored.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
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
    """The machine's clock. Safe from any thread.

    When the machine's clock is set back, time here goes on at half its speed until the machine has caught up: were it
    to stand still, no lease would end, no timer ring and no dead link be noticed for as long as it was set back.
    """

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._random = random
        self._latest_ns = 0
        self._asked_ns = monotonic_ns()
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        now_ms = self._wall_ns() // 1_000_000
        if now_ms == self._latest_ns // 1_000_000:  # asked often in one millisecond: nothing moves, so no lock
            return now_ms
        with self._lock:
            asked_ns = self._monotonic_ns()
            slowed_ns = self._latest_ns + (asked_ns - self._asked_ns) // 2
            self._latest_ns, self._asked_ns = max(self._wall_ns(), slowed_ns), asked_ns
            return self._latest_ns // 1_000_000

    def new_id(self) -> str:
        return time_ordered_id(self.now_ms(), self._random(10))

    def not_before(self, milliseconds: int) -> None:
        with self._lock:
            self._latest_ns = max(self._latest_ns, milliseconds * 1_000_000)


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
