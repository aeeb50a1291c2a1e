"""Parcels from one shard, handled once in effect and in order (ARCHITECTURE, Outbox).

Invariants:
- A parcel is given to its owner only when the one before it is with the journal. Commits become durable in the order
  they are submitted, so marks are written in the stream's order and the highest mark says what was handled.
- What was given out and is not durable yet is remembered; when the disk refuses any of it, a new run begins with all
  of it, and the journal refuses every effect of the older run. So no mark is written past a parcel without its effect.
- A parcel whose owner fails to decide it is given out again, `message_attempts_max` times in all, and then once more
  to become a dead letter; what was submitted before it goes on to the disk meanwhile.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from bus.envelope import Mark, Parcel
from bus.journal import Handled
from bus.limits import message_attempts_max
from bus.wire import Scheduler

RETRY_SECONDS = 0.02


class Inbound:
    """`give(parcel, handled, gives_up)` hands a parcel to its owner."""

    def __init__(
        self,
        source: int,
        durable: Mark | None,
        scheduler: Scheduler,
        give: Callable[[Parcel, Handled, bool], None],
    ) -> None:
        self.source = source
        self.durable = durable
        """The highest mark whose effect is on disk."""
        self._received = durable
        self._scheduler = scheduler
        self._give = give
        self._run = 0
        self._waiting: deque[Parcel] = deque()
        self._unsettled: deque[Parcel] = deque()
        self._given: Mark | None = None
        self._attempts = 0
        self._is_pausing = False

    def receive(self, parcel: Parcel) -> bool:
        """Take a parcel in; False for one that was taken before (it is acknowledged when durable)."""
        if self._received is not None and parcel.mark <= self._received:
            return False
        self._received = parcel.mark
        self._waiting.append(parcel)
        self._next()
        return True

    def submitted(self, handled: Handled) -> None:
        """The effect is with the journal: the next parcel may be decided."""
        if handled.run == self._run and self._given == handled.mark:
            self._given = None
            self._attempts = 0
            self._next()

    def stored(self, handled: Handled) -> None:
        """The effect is on disk."""
        self.durable = handled.mark
        while self._unsettled and self._unsettled[0].mark <= handled.mark:
            self._unsettled.popleft()

    def undecided(self, handled: Handled) -> None:
        """The owner failed to decide the parcel in hand: give it out again after a pause."""
        if handled.run == self._run and self._given == handled.mark:
            self._attempts += 1
            self._waiting.appendleft(self._unsettled.pop())
            self._given = None
            self._pause()

    def not_stored(self, handled: Handled) -> None:
        """The disk refused an effect: begin a new run with everything that is not durable."""
        if handled.run == self._run:
            self._run += 1
            self._waiting.extendleft(reversed(self._unsettled))
            self._unsettled.clear()
            self._given = None
            self._attempts = 0  # they were of the parcel in hand, which is not the first of the new run
            self._pause()

    def _pause(self) -> None:
        self._is_pausing = True
        self._scheduler.call_later(RETRY_SECONDS * (1 + self._attempts), self._resume)

    def _resume(self) -> None:
        self._is_pausing = False
        self._next()

    def _next(self) -> None:
        if self._given is not None or self._is_pausing or not self._waiting:
            return
        parcel = self._waiting.popleft()
        self._unsettled.append(parcel)
        self._given = parcel.mark
        gives_up = self._attempts >= message_attempts_max
        self._give(parcel, Handled(self.source, parcel.mark, self._run), gives_up)
