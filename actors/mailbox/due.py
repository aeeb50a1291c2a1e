"""What time does to a mailbox: leases end, deadlines come (mesh 4.2, 4.4). One timer, `due`, stands at the earliest.

A turn settles a bounded number; what is left over sets the timer anew at once (following.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final, Literal, TypeAlias

from actors.decision import Context, Decision, PrincipalKind, Verb, VerbTable
from actors.mailbox.changes import Changes
from actors.mailbox.ending import EXHAUSTED, EXPIRED, REMOVED, Ending, end
from actors.mailbox.following import DUE, following
from actors.mailbox.rows import Dated, Lease, Received
from actors.mailbox.sorted_items import SortedItems
from actors.mailbox.state import MailboxState
from actors.parsed import Nothing, parsed
from bus.limits import due_a_turn_max, lease_attempts_max, lease_late_ms, lease_ms

LossCause: TypeAlias = Literal["lapsed", "given_up", "redelivered", "credential_ended", "mesh_lost"]


def is_live(lease: Lease, now_ms: int) -> bool:
    """Whether it holds. One that ended a while ago and is still here was not seen to end: the clock has jumped, or
    nothing ran. It holds for once, so that a runtime that was there all the time can renew it."""
    return now_ms < lease.until or _ended_unseen(lease, now_ms)


def settle_due(changes: Changes) -> bool:
    """End what is over, a bounded part of it; whether more is over than that."""
    left = due_a_turn_max
    facts = changes.state.facts
    if facts is not None and facts.revoked:
        cancel_of_removed(changes)
        return len(changes.state.arrivals) > left
    overdue = [*islice(_due(changes.state.deadlines, changes.now_ms), left + 1)]
    for thread_id in overdue[:left]:
        end(changes, thread_id, EXPIRED)
    left -= len(overdue)
    left -= take_withdrawn(changes, max(left, 0))
    if left < 0:
        return True
    still_leased = (id_ for id_ in _due(changes.state.lease_ends, changes.now_ms) if changes.lease(id_) is not None)
    lapsed = [*islice(still_leased, left + 1)]
    for thread_id in lapsed[:left]:
        _lapse(changes, thread_id)
    return len(lapsed) > left


def cancel_of_removed(changes: Changes) -> None:
    """The open threads of an agent that was removed, the oldest first; the timer goes on with what is left."""
    for _, thread_id in islice(changes.state.arrivals, due_a_turn_max):
        end_unless_expired(changes, thread_id, REMOVED)


def end_unless_expired(changes: Changes, thread_id: str, ending: Ending) -> Received:
    """The thread ends so; by its deadline if that came before, though the timer did not: one that runtimes and
    its recipient hear to be expired has no other end."""
    is_overdue = changes.open_thread(thread_id).is_overdue(changes.now_ms)
    return end(changes, thread_id, EXPIRED if is_overdue else ending)


def withdrawn(changes: Changes, lease: Lease) -> LossCause | None:
    """Why the lease holds no more, though its turn to be taken may not have come."""
    if changes.facts is not None and not changes.facts.mesh:
        return "mesh_lost"
    ended_ms = changes.withdrawn(lease.credential)
    return "credential_ended" if ended_ms is not None and lease.since <= ended_ms else None


def take_withdrawn(changes: Changes, left: int) -> int:
    """Take back up to `left` of the leases that hold no more. How many there are; `left + 1`: more than that, which the
    timer goes on with."""
    if (changes.facts is None or changes.facts.mesh) and not changes.has_withdrawn():
        return 0
    leased = ((id_, changes.lease(id_)) for id_ in changes.state.leases)
    causes = ((id_, withdrawn(changes, lease)) for id_, lease in leased if lease is not None)
    found = [*islice(((id_, cause) for id_, cause in causes if cause is not None), left + 1)]
    for thread_id, cause in found[:left]:
        take_back(changes, thread_id, cause)
    if len(found) <= left:
        changes.all_withdrawn_are_taken()
    return len(found)


def take_back(changes: Changes, thread_id: str, cause: LossCause) -> None:
    """The lease ends though its holder is there. What was not begun uses no attempt."""
    lose_lease(changes, thread_id, cause, uses_attempt=changes.open_thread(thread_id).state == "working")


def lose_lease(changes: Changes, thread_id: str, cause: LossCause, *, uses_attempt: bool) -> Received:
    """The thread waits again in its old place, or ends when this was its last delivery or its deadline has come."""
    lease = changes.lease_of(thread_id)
    changes.leases[thread_id] = None
    if changes.open_thread(thread_id).is_overdue(changes.now_ms):
        return end(changes, thread_id, EXPIRED)
    attempts = lease.attempt if uses_attempt else changes.open_thread(thread_id).attempts
    if attempts >= lease_attempts_max:
        changes.received[thread_id] = changes.open_thread(thread_id).model_copy(update={"attempts": attempts})
        return end(changes, thread_id, EXHAUSTED)
    row = changes.step(thread_id, "lease_lost", attempts=attempts)
    name = "thread.lease_lost" if uses_attempt else "thread.released"
    changes.event(name, thread_id, attempt=lease.attempt, cause=cause)
    return row


def mail_due(state: MailboxState, body: Nothing, context: Context) -> Decision:
    changes = Changes(state, context)
    settle_due(changes)
    return changes.decision()


def _lapse(changes: Changes, thread_id: str) -> None:
    lease = changes.lease_of(thread_id)
    if _ended_unseen(lease, changes.now_ms):
        once_more = {"until": changes.now_ms + lease_ms, "isGrace": True}
        changes.leases[thread_id] = lease.model_copy(update=once_more)
    else:
        lose_lease(changes, thread_id, "lapsed", uses_attempt=True)


def _ended_unseen(lease: Lease, now_ms: int) -> bool:
    return not lease.isGrace and now_ms - lease.until > lease_late_ms


def _due(order: SortedItems[Dated], now_ms: int) -> Iterator[str]:
    return (thread_id for _, thread_id in takewhile(lambda item: item[0] <= now_ms, order))


VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {DUE: Verb(following(parsed(Nothing, mail_due)), frozenset({PrincipalKind.TIMER}))}
)
