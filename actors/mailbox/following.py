"""What follows from a decision, whichever it is: its agent's owner is told what changed, the timer stands at what is
due next, runtimes are woken (common 1.11, mesh 4.4, security 2.24).

Counted from the rows that the decision writes, so none can forget it; costs by the rows written, not by the mailbox.
What waits: tasks received and not begun (queued or delivered), and news that no reading has listed yet. A task that was
read still waits, since its sender still waits for an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from actors.decision import (
    Context,
    Decide,
    Decision,
    Delete,
    Effect,
    Message,
    Notify,
    PrincipalKind,
    Put,
    Send,
    SetTimer,
)
from actors.mailbox.rows import TIMER_ROW, Facts, Lease, Received, RequestNotice, Sent
from actors.mailbox.state import MailboxState, waits
from bus import address
from bus.limits import lease_ms
from bus.topics import deliveries_topic
from bus.value import Value

DUE: Final = "mail_due"
_TIMER: Final = "due"
_ENDED_BY_ITS_HOLDER: Final = frozenset({"mail_finish", "mail_release"})


@dataclass(slots=True)
class _Written:
    """The rows that a decision writes, as they will be; None: there is no such row any more."""

    received: dict[str, Received | None] = field(default_factory=dict)
    leases: dict[str, Lease | None] = field(default_factory=dict)
    sent: dict[str, Sent | None] = field(default_factory=dict)
    requests: dict[str, RequestNotice | None] = field(default_factory=dict)
    withdrawn: dict[str, Value] = field(default_factory=dict)
    facts: Facts | None = None

    def read(self, effect: Put | Delete) -> None:
        kind, _, id_ = effect.row.partition("/")
        value = effect.value if isinstance(effect, Put) else None
        match kind:
            case "received":
                self.received[id_] = None if value is None else Received.model_validate(value)
            case "lease":
                self.leases[id_] = None if value is None else Lease.model_validate(value)
            case "sent":
                self.sent[id_] = None if value is None else Sent.model_validate(value)
            case "request":
                self.requests[id_] = None if value is None else RequestNotice.model_validate(value)
            case "withdrawn":
                self.withdrawn[id_] = value
            case "facts":
                self.facts = Facts.model_validate(value)


def following(decide: Decide[MailboxState]) -> Decide[MailboxState]:
    """`decide`, and what follows from its effects. No decision writes one row twice."""

    def decide_and_follow(state: MailboxState, message: Message, context: Context) -> Decision:
        decision = decide(state, message, context)
        written = _Written()
        for effect in decision.effects:
            if isinstance(effect, (Put, Delete)):
                written.read(effect)
        follows = (
            *_waiting(state, written, context),
            *_working_for(state, written, context),
            *_timer(state, written, context),
            *_wake(state, written, message.verb, context),
        )
        return Decision(decision.reply, (*decision.effects, *follows)) if follows else decision

    return decide_and_follow


def _waiting(state: MailboxState, written: _Written, context: Context) -> Iterator[Effect]:
    change = 0
    for id_, row in written.received.items():
        change += waits(row) - waits(state.received.get(id_))
    for id_, mirror in written.sent.items():
        change += waits(mirror) - waits(state.sent.get(id_))
    for id_, notice in written.requests.items():
        change += waits(notice) - waits(state.requests.get(id_))
    if change:
        yield Send(address.agent(context.address.id), "waiting_changed", {"count": state.waiting + change})


def _working_for(state: MailboxState, written: _Written, context: Context) -> Iterator[Effect]:
    added: dict[str, Received] = {}
    removed: dict[str, Received] = {}
    for id_, row in written.received.items():
        former = state.received.get(id_)
        was_owed, is_owed = former is not None and former.is_owed, row is not None and row.is_owed
        if is_owed and not was_owed:
            added[id_] = cast("Received", row)
        elif was_owed and not is_owed:
            removed[id_] = cast("Received", former)
    if not added and not removed:
        return
    now = state.originators.told(state.received.get, added, removed)
    if now != state.originators.told(state.received.get, {}, {}):
        # before_reply: whoever was just shown a task makes no call that its admission does not know to be for it.
        yield Send(address.agent(context.address.id), "working_for_changed", now, before_reply=bool(added))


def _timer(state: MailboxState, written: _Written, context: Context) -> Iterator[Effect]:
    """The timer is set only when something is due before it: one that comes early finds nothing and is set anew."""
    is_over = context.principal.kind is PrincipalKind.TIMER
    # One that is long past was put aside after too many failures. One that is just due is on its way: were it set anew
    # by each decision meanwhile, a busy mailbox would never come to it.
    standing = None if is_over or (state.timer_ms or 0) <= context.now_ms - lease_ms else state.timer_ms
    touched = written.received.keys() | written.leases.keys()
    if not is_over and not touched and not written.withdrawn and written.facts is None:
        return
    wanted = _earliest(state, written, touched, context.now_ms)
    if wanted is None:
        if is_over and state.timer_ms is not None:
            yield Delete(TIMER_ROW)
        return
    due_ms = max(wanted, context.now_ms + 1)  # a timer of the millisecond that is being handled would be taken for it
    if standing is None or due_ms < standing:
        yield SetTimer(_TIMER, due_ms, DUE, {})
        yield Put(TIMER_ROW, due_ms)


def _earliest(state: MailboxState, written: _Written, touched: set[str], now_ms: int) -> int | None:
    facts = written.facts or state.facts
    if facts is not None and facts.revoked:
        gone = sum(row is None or row.has_ended for id_, row in written.received.items() if _is_open(state, id_))
        return now_ms if len(state.arrivals) > gone else None
    if _are_withdrawn(state, written, facts):
        return now_ms
    times = [
        next((time for time, id_ in order if id_ not in touched), None) for order in (state.lease_ends, state.deadlines)
    ]
    for id_ in touched:
        row = written.received[id_] if id_ in written.received else state.received.get(id_)
        lease = written.leases[id_] if id_ in written.leases else state.leases.get(id_)
        if row is not None and not row.has_ended:
            times += [row.deadline, None if lease is None else lease.until]
    return min((time for time in times if time is not None), default=None)


def _are_withdrawn(state: MailboxState, written: _Written, facts: Facts | None) -> bool:
    """Whether leases that hold no more may be left to be taken back (due.py)."""
    if any(at is not None for at in {**state.withdrawn, **written.withdrawn}.values()):
        return True
    if facts is None or facts.mesh:
        return False
    ended = sum(lease is None for id_, lease in written.leases.items() if id_ in state.leases)
    return len(state.leases) > ended


def _is_open(state: MailboxState, thread_id: str) -> bool:
    row = state.received.get(thread_id)
    return row is not None and not row.has_ended


def _wake(state: MailboxState, written: _Written, verb: str, context: Context) -> Iterator[Effect]:
    """Runtimes hear that something can be leased, or that a delivery was lost otherwise than by their own word."""
    leasable = lost = expired = False
    left = len(state.leasable)
    for id_ in written.received.keys() | written.leases.keys():
        former, former_lease = state.received.get(id_), state.leases.get(id_)
        row = written.received.get(id_, former)
        lease = written.leases.get(id_, former_lease)
        could = former is not None and former.waits and former_lease is None
        can = row is not None and row.waits and lease is None
        left += can - could
        leasable = leasable or (can and not could)
        expired = expired or (
            row is not None and row.state == "expired" and former is not None and not former.has_ended
        )
        lost = lost or (former_lease is not None and (lease is None or lease.deliveryId != former_lease.deliveryId))
    lost = lost and verb not in _ENDED_BY_ITS_HOLDER
    # While much is due nothing is leased: whoever asked meanwhile went away with nothing, though something waits.
    leasable = leasable or (verb == DUE and expired and left > 0)
    was_paused = state.facts is not None and state.facts.paused
    goes_on = was_paused and written.facts is not None and not written.facts.paused and len(state.leasable) > 0
    if leasable or lost or goes_on:
        yield Notify(deliveries_topic(context.address.id), {"leasable": leasable or goes_on, "lost": lost})
