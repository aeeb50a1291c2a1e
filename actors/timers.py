"""Timers of a shard: rows by due time, delivered to their owners as ordinary messages (docs/decisions/0004).

Invariants:
- A timer is delivered only when it is due, and has its effect once: the commit that handles it removes its rows.
- What is delivered and not yet settled is not delivered again; when its effect was not stored it comes again.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable

from bus.address import Address
from bus.clock import Clock
from bus.limits import message_attempts_max, timer_retry_ms, timers_a_turn_max
from bus.store import Store, timer_of
from bus.wire import Scheduler, Timer

_WAIT_MS_MAX = 3_600_000
"""Looked at anew at least this often: the machine may have slept."""


class Timers:
    """`give(owner, name, due_ms, gives_up)` hands a due timer to its owner."""

    def __init__(
        self, store: Store, clock: Clock, scheduler: Scheduler, give: Callable[[Address, str, int, bool], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._scheduler = scheduler
        self._give = give
        self._given: set[tuple[int, Address, str]] = set()
        self._attempts: dict[tuple[int, Address, str], int] = {}
        self._wake: Timer | None = None
        self._wake_ms = 0

    def start(self) -> None:
        """Begin with what is stored."""
        self._look()

    def set_for(self, due_ms: int) -> None:
        """A timer was stored that may be due before the one that is waited for."""
        if self._wake is None or due_ms < self._wake_ms:
            self._wake_at(due_ms)

    def settled(self, owner: Address, name: str, due_ms: int) -> None:
        """Its effect is on disk, or it was found to be out of date."""
        self._given.discard((due_ms, owner, name))
        self._attempts.pop((due_ms, owner, name), None)

    def failed(self, owner: Address, name: str, due_ms: int, is_defect: bool) -> None:
        """Its owner could not decide it, or the disk refused the effect: it comes again after a pause."""
        key = (due_ms, owner, name)
        self._given.discard(key)
        if is_defect:
            self._attempts[key] = self._attempts.get(key, 0) + 1
        self._wake_at(self._clock.now_ms() + timer_retry_ms)

    def _look(self) -> None:
        self._wake = None
        now_ms = self._clock.now_ms()
        next_ms = now_ms + _WAIT_MS_MAX
        for key, _ in self._store.scan(b"t", limit=len(self._given) + timers_a_turn_max):
            due_ms, owner, name = timer_of(key)
            if due_ms > now_ms:
                next_ms = min(next_ms, due_ms)
                break
            if (due_ms, owner, name) not in self._given:
                self._given.add((due_ms, owner, name))
                gives_up = self._attempts.get((due_ms, owner, name), 0) >= message_attempts_max
                self._give(owner, name, due_ms, gives_up)
                next_ms = now_ms  # there may be more than this turn's share
        self._wake_at(next_ms)

    def _wake_at(self, at_ms: int) -> None:
        if self._wake is not None:
            if self._wake_ms <= at_ms:
                return
            self._wake.cancel()
        self._wake_ms = at_ms
        self._wake = self._scheduler.call_later(max(0, at_ms - self._clock.now_ms()) / 1000, self._look)
