"""A mailbox's state: its rows (rows.py), and the orders and counts that are built from them.

Everything beside the rows depends on the rows alone and never on the order in which they came, so that a reload and a
life lead to the same state. Each row costs about the same to apply, however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from actors.decision import Put, RowEffect
from actors.mailbox.originators import Originators
from actors.mailbox.rows import (
    Dated,
    Facts,
    Lease,
    Offer,
    Received,
    RequestNotice,
    Result,
    Sent,
    Turn,
)
from actors.mailbox.sorted_items import SortedItems
from actors.mailbox.thread import ENDS
from bus.limits import mailbox_shed_at_once
from bus.value import Record, Value
from tools.task import ThreadState

STATES: Final[tuple[ThreadState, ...]] = (
    "queued",
    "delivered",
    "working",
    "completed",
    "failed",
    "rejected",
    "expired",
    "cancelled",
)


@dataclass(slots=True)
class MailboxState:
    """Everything in one mailbox, and the facts about its agent that decide what may be delivered."""

    facts: Facts | None = None
    timer_ms: int | None = None
    received: dict[str, Received] = field(default_factory=dict)
    tasks: dict[str, Record] = field(default_factory=dict)
    """As stored: they were judged when they came."""
    leases: dict[str, Lease] = field(default_factory=dict)
    withdrawn: dict[str, int] = field(default_factory=dict)
    """Credential -> when it ended, while leases by it may be left."""
    requests: dict[str, RequestNotice] = field(default_factory=dict)
    offers: dict[str, Offer] = field(default_factory=dict)
    sent: dict[str, Sent] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """Idempotency key -> thread, from offers and sent threads."""
    queue: SortedItems[Turn] = field(default_factory=SortedItems)
    """The threads that wait, in the order of delivery, leased or not."""
    leasable: SortedItems[Turn] = field(default_factory=SortedItems)
    """Those of them that nobody has leased."""
    delivered: SortedItems[Turn] = field(default_factory=SortedItems)
    """Those of the queue that were shown or leased before."""
    arrivals: SortedItems[Dated] = field(default_factory=SortedItems)
    """(arrival, thread) of the open received threads."""
    owed: SortedItems[Dated] = field(default_factory=SortedItems)
    """(last change, thread) of the received threads that are delivered or working."""
    ended: SortedItems[Dated] = field(default_factory=SortedItems)
    """(end, thread) of the ended received threads, oldest first."""
    dead_letters: SortedItems[Dated] = field(default_factory=SortedItems)
    """(end, thread) of the exhausted ones whose task is kept."""
    deadlines: SortedItems[Dated] = field(default_factory=SortedItems)
    """(deadline, thread) of the open received threads that have one."""
    lease_ends: SortedItems[Dated] = field(default_factory=SortedItems)
    """(end of the lease, thread)."""
    by_state: Mapping[ThreadState, SortedItems[Dated]] = field(
        default_factory=lambda: {state: SortedItems() for state in STATES}
    )
    """(when it was queued, thread) of the received threads in each state."""
    opened: SortedItems[Dated] = field(default_factory=SortedItems)
    """(last change, thread) of the open sent threads."""
    notices: SortedItems[Dated] = field(default_factory=SortedItems)
    """(last change, thread) of the sent threads that are notifications."""
    request_ends: SortedItems[Dated] = field(default_factory=SortedItems)
    """(end, request)."""
    begun: SortedItems[str] = field(default_factory=SortedItems)
    """Threads that this agent offered or sent. Their ids sort by the time when that was."""
    open_by_sender: Counter[str] = field(default_factory=Counter)
    """Sender -> open received threads."""
    originators: Originators = field(default_factory=Originators)
    """Of the threads that are delivered or working."""
    waiting: int = 0
    stored_bytes: int = 0
    """What is kept of the threads that this agent opened."""

    def next_arrival(self, now_ms: int) -> int:
        # From the time, so that a number is not used again when the newest thread ends and cursors stay right.
        newest = self.arrivals.last()
        return max(now_ms, 0 if newest is None else newest[0] + 1)

    def shed(self) -> bool:
        """Let go of some of a state that nobody uses any more, a bounded number of each of its tables and orders;
        whether nothing is left that grows with the threads."""
        rows = (self.tasks, self.received, self.leases, self.requests, self.offers, self.sent, self.results, self.keys)
        counts = (self.withdrawn, self.open_by_sender)
        orders = (self.queue, self.leasable, self.delivered, self.arrivals, self.owed, self.ended, self.dead_letters)
        more = (self.deadlines, self.opened, self.notices, self.request_ends, self.lease_ends, *self.by_state.values())
        for table in cast("tuple[dict[str, object], ...]", (*rows, *counts)):
            for _ in range(min(mailbox_shed_at_once, len(table))):
                table.popitem()
        for order in (*orders, *more):
            order.drop_some(mailbox_shed_at_once)  # type: ignore[attr-defined]
        self.begun.drop_some(mailbox_shed_at_once)
        has_originators = not self.originators.shed(mailbox_shed_at_once)
        return not (has_originators or any((*rows, *counts, *orders, *more, self.begun)))


def apply(state: MailboxState, effect: RowEffect) -> None:
    kind, _, id_ = effect.row.partition("/")
    value = effect.value if isinstance(effect, Put) else None
    match kind:
        case "facts":
            state.facts = Facts.model_validate(value)
        case "timer":
            assert value is None or isinstance(value, int)
            state.timer_ms = value
        case "received":
            _set_received(state, id_, None if value is None else Received.model_validate(value))
        case "task":
            _set(state.tasks, id_, _task(value))
        case "lease":
            _set_lease(state, id_, None if value is None else Lease.model_validate(value))
        case "withdrawn":
            assert value is None or isinstance(value, int)
            _set(state.withdrawn, id_, value)
        case "request":
            _set_request(state, id_, None if value is None else RequestNotice.model_validate(value))
        case "offer":
            _set_offer(state, id_, None if value is None else Offer.model_validate(value))
        case "sent":
            _set_sent(state, id_, None if value is None else Sent.model_validate(value))
        case "result":
            _set(state.results, id_, None if value is None else Result.model_validate(value))
        case _:
            raise ValueError("a mailbox has no such row")


def waits(row: Received | Sent | RequestNotice | None) -> int:
    """What one row adds to the waiting count: a task not begun, or news not yet seen."""
    match row:
        case Received():
            return int(row.waits)
        case Sent(unseen=unseen) | RequestNotice(unseen=unseen):
            return int(unseen)
        case None:
            return 0


def turn_of(thread_id: str, row: Received | None) -> Turn | None:
    """Its place in the order of delivery, while it waits."""
    return (row.rank, row.arrival, thread_id) if row is not None and row.waits else None


Row = TypeVar("Row")


def _task(value: Value) -> Record | None:
    if value is not None and not isinstance(value, dict):
        raise ValueError("a task is an object")
    return value


def _set(rows: dict[str, Row], id_: str, row: Row | None) -> None:
    if row is None:
        rows.pop(id_, None)
    else:
        rows[id_] = row


def _set_received(state: MailboxState, thread_id: str, row: Received | None) -> None:
    former = state.received.get(thread_id)
    _set(state.received, thread_id, row)
    state.waiting += waits(row) - waits(former)
    is_leased = thread_id in state.leases
    turn, turn_before = turn_of(thread_id, row), turn_of(thread_id, former)
    state.queue.move(turn_before, turn)
    state.leasable.move(None if is_leased else turn_before, None if is_leased else turn)
    state.delivered.move(_if_shown(turn_before, former), _if_shown(turn, row))
    if former is not None:
        _place(state, thread_id, former, is_here=False)
    if row is not None:
        _place(state, thread_id, row, is_here=True)


def _if_shown(turn: Turn | None, row: Received | None) -> Turn | None:
    return turn if row is not None and row.state == "delivered" else None


def _place(state: MailboxState, thread_id: str, row: Received, *, is_here: bool) -> None:
    """Put the thread into the orders that it belongs to, or take it out of them."""

    def set_in(order: SortedItems[Dated], at: int) -> None:
        (order.add if is_here else order.remove)((at, thread_id))

    set_in(state.by_state[row.state], row.queuedAt)
    if row.has_ended:
        set_in(state.ended, row.changedAt)
        if row.keepsTask:
            set_in(state.dead_letters, row.changedAt)
        return
    set_in(state.arrivals, row.arrival)
    if row.deadline is not None:
        set_in(state.deadlines, row.deadline)
    if row.is_owed:
        set_in(state.owed, row.changedAt)
        (state.originators.add if is_here else state.originators.remove)(thread_id, row)
    state.open_by_sender[row.senderId] += 1 if is_here else -1
    if not state.open_by_sender[row.senderId]:
        del state.open_by_sender[row.senderId]


def _set_lease(state: MailboxState, thread_id: str, row: Lease | None) -> None:
    former = state.leases.get(thread_id)
    _set(state.leases, thread_id, row)
    ends = [None if lease is None else (lease.until, thread_id) for lease in (former, row)]
    state.lease_ends.move(*ends)
    turn = turn_of(thread_id, state.received.get(thread_id))
    state.leasable.move(turn if former is None else None, turn if row is None else None)


def _set_request(state: MailboxState, request_id: str, row: RequestNotice | None) -> None:
    former = state.requests.get(request_id)
    _set(state.requests, request_id, row)
    state.waiting += waits(row) - waits(former)
    state.request_ends.move(
        None if former is None else (former.endedAt, request_id), None if row is None else (row.endedAt, request_id)
    )


def _set_sent(state: MailboxState, thread_id: str, row: Sent | None) -> None:
    former = state.sent.get(thread_id)
    had_begun = former is not None or thread_id in state.offers
    _set(state.sent, thread_id, row)
    _note_begun(state, thread_id, had_begun)
    state.stored_bytes += (0 if row is None else row.bytes) - (0 if former is None else former.bytes)
    state.waiting += waits(row) - waits(former)
    _set_key(state, thread_id, former.key if former else None, row.key if row else None)
    is_news = [sent is not None and sent.is_notice for sent in (former, row)]
    is_open = [sent is not None and sent.state not in ENDS for sent in (former, row)]
    dates = [None if sent is None else (sent.changedAt, thread_id) for sent in (former, row)]
    state.notices.move(*(date if news else None for date, news in zip(dates, is_news, strict=True)))
    state.opened.move(*(date if opened else None for date, opened in zip(dates, is_open, strict=True)))


def _set_offer(state: MailboxState, thread_id: str, row: Offer | None) -> None:
    former = state.offers.get(thread_id)
    had_begun = former is not None or thread_id in state.sent
    _set(state.offers, thread_id, row)
    _note_begun(state, thread_id, had_begun)
    state.stored_bytes += (0 if row is None else row.bytes) - (0 if former is None else former.bytes)
    _set_key(state, thread_id, former.key if former else None, row.key if row else None)


def _note_begun(state: MailboxState, thread_id: str, had_begun: bool) -> None:
    has_begun = thread_id in state.offers or thread_id in state.sent
    if has_begun and not had_begun:
        state.begun.add(thread_id)
    elif had_begun and not has_begun:
        state.begun.remove(thread_id)


def _set_key(state: MailboxState, thread_id: str, former: str | None, key: str | None) -> None:
    if former is not None and former != key:
        state.keys.pop(former, None)
    if key is not None:
        state.keys[key] = thread_id
