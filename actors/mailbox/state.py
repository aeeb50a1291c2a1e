"""A mailbox's rows, and the orders and counts that are built from them.

| row | holds |
| --- | --- |
| `facts` | what deliveries to this agent are decided by, as its agent owner tells it |
| `received/<thread>` | a thread sent to this agent; its state here is the authority |
| `task/<thread>` | the Task Envelope of an open one |
| `offer/<thread>` | a task on its way to the recipient's mailbox; the call that sent it is still open |
| `sent/<thread>` | the mirror of a thread that this agent opened, and whether its news was shown |
| `result/<thread>` | what the recipient answered |

Everything else in `MailboxState` depends on the rows alone and never on the order in which they came, so that a
reload and a life lead to the same state.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from actors.decision import Put, RowEffect
from actors.mailbox.thread import ENDS, WAITS
from tools.agent import Outcome, TaskEnvelope, ThreadState
from tools.base import Model
from tools.plain_json import JsonList, JsonObject
from tools.tiers import TierFacts

FACTS_ROW: Final = "facts"


def received_row(thread_id: str) -> str:
    return f"received/{thread_id}"


def task_row(thread_id: str) -> str:
    return f"task/{thread_id}"


def offer_row(thread_id: str) -> str:
    return f"offer/{thread_id}"


def sent_row(thread_id: str) -> str:
    return f"sent/{thread_id}"


def result_row(thread_id: str) -> str:
    return f"result/{thread_id}"


class Facts(Model):
    """The body of `facts_changed` and of a task's sender."""

    workspaceId: str
    name: str
    mesh: bool
    ran: bool
    revoked: bool

    def for_tiers(self, agent_id: str) -> TierFacts:
        return TierFacts(agent_id, self.workspaceId, self.mesh, self.ran, self.revoked)


class Received(Model):
    senderId: str
    senderName: str
    workspaceId: str
    """The workspace that the thread was opened in."""
    title: str
    rank: int
    """1 to 4, from the priority: lower comes first."""
    arrival: int
    """Grows among open threads; orders those of one rank (mesh 4.6)."""
    depth: int
    state: ThreadState
    queuedAt: int
    changedAt: int


class Offer(Model):
    callIds: list[str]
    """The calls that wait for the answer: repeats under the same idempotency key join the first."""
    recipientId: str
    title: str
    depth: int
    parentThreadId: str | None
    key: str | None
    """Workspace and idempotency key."""
    argumentHash: str | None
    bytes: int = 0
    """Of the task. Rows of older releases do not tell."""


class Sent(Model):
    """The originator's mirror of a thread that it opened."""

    recipientId: str
    recipientName: str
    title: str
    depth: int
    parentThreadId: str | None
    key: str | None
    argumentHash: str | None
    state: ThreadState
    outcome: Outcome | None
    reason: str | None
    openedAt: int
    changedAt: int
    bytes: int = 0
    """What is kept of it: the task while the thread is open, then the result."""
    unseen: bool
    """News that no reading of the inbox has listed yet."""

    @property
    def is_notice(self) -> bool:
        """Whether its state is one that the originator is notified of (mesh 4.3)."""
        return self.state == "working" or self.state in ENDS


class Result(Model):
    body: str
    artifacts: JsonList
    usage: JsonObject | None


Item = TypeVar("Item", str, tuple[int, str], tuple[int, int, str])


@dataclass(slots=True)
class SortedItems(Generic[Item]):
    """A sorted list of distinct items, whatever the order of adding."""

    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        insort(self.items, item)

    def remove(self, item: Item) -> None:
        del self.items[bisect_left(self.items, item)]


@dataclass(slots=True)
class MailboxState:
    """Everything in one mailbox, and the facts about its agent that decide what may be delivered."""

    facts: Facts | None = None
    received: dict[str, Received] = field(default_factory=dict)
    tasks: dict[str, TaskEnvelope] = field(default_factory=dict)
    offers: dict[str, Offer] = field(default_factory=dict)
    sent: dict[str, Sent] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """Idempotency key -> thread, from offers and sent threads."""
    queue: SortedItems[tuple[int, int, str]] = field(default_factory=SortedItems)
    """(rank, arrival, thread) of the threads that wait, in the order of delivery."""
    arrivals: SortedItems[tuple[int, str]] = field(default_factory=SortedItems)
    """(arrival, thread) of the open received threads."""
    ended: SortedItems[tuple[int, str]] = field(default_factory=SortedItems)
    """(end, thread) of the ended received threads, oldest first."""
    opened: SortedItems[tuple[int, str]] = field(default_factory=SortedItems)
    """(last change, thread) of the open sent threads."""
    notices: SortedItems[tuple[int, str]] = field(default_factory=SortedItems)
    """(last change, thread) of the sent threads that are notifications."""
    begun: SortedItems[str] = field(default_factory=SortedItems)
    """Threads that this agent offered or sent. Their ids sort by the time when that was."""
    open_by_sender: Counter[str] = field(default_factory=Counter)
    """Sender -> open received threads."""
    waiting: int = 0
    stored_bytes: int = 0
    """What is kept of the threads that this agent opened."""

    def next_arrival(self, now_ms: int) -> int:
        # From the time, so that a number is not used again when the newest thread ends and cursors stay right.
        return max(now_ms, self.arrivals.items[-1][0] + 1 if self.arrivals.items else 0)


def apply(state: MailboxState, effect: RowEffect) -> None:
    kind, _, thread_id = effect.row.partition("/")
    value = effect.value if isinstance(effect, Put) else None
    match kind:
        case "facts":
            state.facts = Facts.model_validate(value)
        case "received":
            _set_received(state, thread_id, None if value is None else Received.model_validate(value))
        case "task":
            _set(state.tasks, thread_id, None if value is None else TaskEnvelope.model_validate(value))
        case "offer":
            _set_offer(state, thread_id, None if value is None else Offer.model_validate(value))
        case "sent":
            _set_sent(state, thread_id, None if value is None else Sent.model_validate(value))
        case "result":
            _set(state.results, thread_id, None if value is None else Result.model_validate(value))
        case _:
            raise ValueError("a mailbox has no such row")


def waits(row: Received | Sent | None) -> int:
    """What one thread adds to the waiting count: a task not begun, or news not yet seen."""
    match row:
        case Received(state=thread_state):
            return int(thread_state in WAITS)
        case Sent(unseen=unseen):
            return int(unseen)
        case None:
            return 0


Row = TypeVar("Row")


def _set(rows: dict[str, Row], thread_id: str, row: Row | None) -> None:
    if row is None:
        rows.pop(thread_id, None)
    else:
        rows[thread_id] = row


def _set_received(state: MailboxState, thread_id: str, row: Received | None) -> None:
    former = state.received.get(thread_id)
    _set(state.received, thread_id, row)
    state.waiting += waits(row) - waits(former)
    if former is not None:
        if former.state in WAITS:
            state.queue.remove((former.rank, former.arrival, thread_id))
        if former.state in ENDS:
            state.ended.remove((former.changedAt, thread_id))
        else:
            state.arrivals.remove((former.arrival, thread_id))
            state.open_by_sender[former.senderId] -= 1
            if not state.open_by_sender[former.senderId]:
                del state.open_by_sender[former.senderId]
    if row is not None:
        if row.state in WAITS:
            state.queue.add((row.rank, row.arrival, thread_id))
        if row.state in ENDS:
            state.ended.add((row.changedAt, thread_id))
        else:
            state.arrivals.add((row.arrival, thread_id))
            state.open_by_sender[row.senderId] += 1


def _set_sent(state: MailboxState, thread_id: str, row: Sent | None) -> None:
    former = state.sent.get(thread_id)
    had_begun = former is not None or thread_id in state.offers
    _set(state.sent, thread_id, row)
    _note_begun(state, thread_id, had_begun)
    state.stored_bytes += (0 if row is None else row.bytes) - (0 if former is None else former.bytes)
    state.waiting += waits(row) - waits(former)
    _set_key(state, thread_id, former.key if former else None, row.key if row else None)
    if former is not None:
        if former.is_notice:
            state.notices.remove((former.changedAt, thread_id))
        if former.state not in ENDS:
            state.opened.remove((former.changedAt, thread_id))
    if row is not None:
        if row.is_notice:
            state.notices.add((row.changedAt, thread_id))
        if row.state not in ENDS:
            state.opened.add((row.changedAt, thread_id))


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
