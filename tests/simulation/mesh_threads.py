"""The life of every thread, read from the journals: what its recipient's mailbox decided, in the order of its commits.

A thread is free or leased. Of two that are free the one of higher priority goes first, then the one that came first;
who has lost its lease stands where it stood before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.mailbox.rows import Received
from bus.address import Address
from bus.codec import unpack_row
from bus.limits import lease_attempts_max
from bus.value import Record
from tests.simulation.invariants import demand
from tests.simulation.mesh_watch import MeshWatch
from tests.simulation.short_leases import LEASE_LATE_MS

_ENDS: Final = frozenset(
    f"thread.{end}" for end in ("completed", "partial", "failed", "rejected", "expired", "cancelled")
)


KINDS: Final = _ENDS | frozenset(
    f"thread.{kind}"
    for kind in ("queued", "requeued", "delivered", "redelivered", "started", "progress", "lease_lost", "released")
)
_SLOW_MS: Final = 1_000
"""Between a decision and the making of its commit other threads may run, so long at most."""


@dataclass(slots=True)
class LeaseLived:
    delivery: str
    attempt: int
    is_begun: bool = False


@dataclass(slots=True)
class Life:
    """One thread, up to where the journal has been read."""

    place: tuple[int, int]
    """Its priority, and how many came before it."""
    deadline: int | None
    deliveries: int = 0
    lost: int = 0
    """Deliveries that used an attempt."""
    lease: LeaseLived | None = None
    is_begun: bool = False
    end: str | None = None

    @property
    def is_free(self) -> bool:
        return self.end is None and self.lease is None


@dataclass(slots=True)
class Lives:
    """Reads one mailbox's events. Raises Violation at the first that may not be.

    A journal tells when a commit was made, which is after it was decided; the rows tell that.
    """

    rows: Mapping[str, Received]
    watch: MeshWatch | None
    """Without it times are not judged, nor by which delivery a thread was ended."""
    finished: Mapping[str, str]
    """A call that said the end of a delivery -> the delivery."""
    lives: dict[str, Life] = field(default_factory=dict)

    def read(self, kind: str, data: Record, call: str, at_ms: int) -> None:
        thread_id = str(data["threadId"])
        if kind == "thread.requeued":
            return  # and is queued in the same commit
        if kind == "thread.queued":
            demand(thread_id not in self.lives, "a thread is queued once", thread_id)
            row = self.rows[thread_id]
            self.lives[thread_id] = Life((row.rank, len(self.lives)), row.deadline)
            return
        life = self.lives[thread_id]
        demand(life.end is None, "nothing happens to a thread that has ended", thread_id, kind, str(life.end))
        match kind:
            case "thread.delivered" | "thread.redelivered" if "attempt" in data:
                self._leased(thread_id, life, data["attempt"], at_ms)
            case "thread.started" | "thread.progress":
                demand(life.lease is not None, "only who has a thread leased works on it", thread_id, kind)
                assert life.lease is not None
                life.lease.is_begun = life.lease.is_begun or kind == "thread.started"
                life.is_begun = life.is_begun or kind == "thread.started"
            case "thread.lease_lost" | "thread.released":
                self._lost(thread_id, life, data, uses_attempt=kind == "thread.lease_lost", at_ms=at_ms)
            case _ if kind in _ENDS:
                self._ended(thread_id, life, kind, data, call)

    def _leased(self, thread_id: str, life: Life, attempt: object, at_ms: int) -> None:
        demand(life.lease is None, "no two live leases of one thread", thread_id, life)
        assert isinstance(attempt, int)
        demand(attempt == life.lost + 1, "attempts count what was lost", thread_id, attempt, life)
        demand(attempt <= lease_attempts_max, "attempts are at most five", thread_id, attempt)
        delivery_id, since = "", at_ms
        if self.watch is not None:
            delivery_id = self.watch.deliveries[thread_id][life.deliveries]
            since = self.watch.since[delivery_id]
        is_over = life.deadline is not None and life.deadline <= since
        demand(not is_over, "nothing is offered after its deadline", thread_id, life, since)
        free = (
            (other.place, other_id)
            for other_id, other in self.lives.items()
            if other.is_free and (other.deadline is None or other.deadline > since)
        )
        first = min(free)
        demand(first[1] == thread_id, "the order is priority, then arrival", thread_id, life, f"before {first}")
        life.deliveries += 1
        life.lease = LeaseLived(delivery_id, attempt)

    def _lost(self, thread_id: str, life: Life, data: Record, *, uses_attempt: bool, at_ms: int) -> None:
        demand(life.lease is not None, "only what is leased is lost", thread_id, life)
        assert life.lease is not None
        cause, delivery_id = data["cause"], life.lease.delivery
        if cause == "lapsed" and self.watch is not None:
            late_ms = at_ms - self.watch.until[delivery_id]
            demand(late_ms >= 0, "a lease lasts as long as it was given", thread_id, life, late_ms)
            is_seen = late_ms < LEASE_LATE_MS + _SLOW_MS or delivery_id in self.watch.grace
            demand(is_seen, "a lease that was not seen to end holds for once", thread_id, life, late_ms)
        expected = cause == "lapsed" or (life.lease.is_begun and cause != "redelivered")
        demand(uses_attempt == expected, "what was begun and given up uses an attempt", thread_id, life, data)
        life.lost = life.lease.attempt if uses_attempt else life.lost
        life.lease = None

    def _ended(self, thread_id: str, life: Life, kind: str, data: Record, call: str) -> None:
        cause, at_ms = data["cause"], self.rows[thread_id].changedAt
        demand(cause is not None, "every end has a reason", thread_id, data)
        if cause == "mail_finish" and self.watch is not None:
            self._finished(thread_id, life, self.finished[call], self.watch.until, at_ms)
        elif cause == "deadline":
            is_over = life.deadline is not None and life.deadline <= at_ms
            demand(is_over, "a thread expires at its deadline, not before", thread_id, life, at_ms)
        elif cause == "delivery_exhausted":
            is_last = life.lease is not None and life.lease.attempt == lease_attempts_max
            demand(is_last, "a thread is given up after its fifth delivery", thread_id, life)
        life.end, life.lease = kind, None

    def _finished(self, thread_id: str, life: Life, delivery_id: str, until: Mapping[str, int], at_ms: int) -> None:
        """A stale lease acknowledges nothing (mesh 4.4)."""
        is_it = life.lease is not None and life.lease.delivery == delivery_id
        demand(is_it, "a lease that is over acknowledges nothing", thread_id, life, delivery_id)
        late_ms = at_ms - until[delivery_id]
        is_held = late_ms < 0 or late_ms > LEASE_LATE_MS  # then it was not seen to end, and holds for once
        demand(is_held, "a lease that is over acknowledges nothing", delivery_id, f"{late_ms} ms late")


def thread_events(journal: Iterable[bytes]) -> Iterator[tuple[str, str, Record, str, int]]:
    """(agent, kind, data, call, time) of what mailboxes tell of threads that they took in, in the journal's order."""
    for stored in journal:
        record = unpack_row(stored)
        assert isinstance(record, dict)
        owner = Address.parse(str(record["owner"]))
        call, at_ms, events = str(record["call"]), record["at"], record["events"]
        assert isinstance(at_ms, int)
        assert isinstance(events, list)
        for event in events if owner.kind == "mailbox" else ():
            assert isinstance(event, list)
            kind, data = event
            if isinstance(data, dict) and data.get("to") == owner.id and kind in KINDS:
                yield owner.id, str(kind), data, call, at_ms
