"""What one decision changes, step by step, so that a step sees what the steps before it did.

Each row is written once, however often it was changed: what is reported of a decision is counted from its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from actors.decision import Context, Decision, Delete, Effect, Event, Put, Send
from actors.mailbox.keeping import drop_surplus_dead_letters, forget_old_ends
from actors.mailbox.rows import (
    FACTS_ROW,
    Facts,
    Lease,
    Received,
    Turn,
    lease_row,
    received_row,
    task_row,
    withdrawn_row,
)
from actors.mailbox.state import MailboxState, turn_of
from actors.mailbox.thread import ThreadEvent, state_after
from bus import address
from bus.value import Record, Value
from tools.errors import Refusal


@dataclass(slots=True)
class Changes:
    """Begin one with the state and context of a decision; `decision` ends it."""

    state: MailboxState
    context: Context
    received: dict[str, Received | None] = field(default_factory=dict)
    leases: dict[str, Lease | None] = field(default_factory=dict)
    tasks: dict[str, Record | None] = field(default_factory=dict)
    withdrawals: dict[str, int | None] = field(default_factory=dict)
    """Credential -> when it ended, in milliseconds since the epoch; None: what was leased by it is taken."""
    new_facts: Facts | None = None
    told: list[Effect] = field(default_factory=list)

    @property
    def now_ms(self) -> int:
        return self.context.now_ms

    @property
    def facts(self) -> Facts | None:
        return self.new_facts or self.state.facts

    def withdrawn(self, credential: str) -> int | None:
        """When that credential ended, while leases by it may be left."""
        known = self.withdrawals if credential in self.withdrawals else self.state.withdrawn
        return known.get(credential)

    def has_withdrawn(self) -> bool:
        return any(at is not None for at in {**self.state.withdrawn, **self.withdrawals}.values())

    def all_withdrawn_are_taken(self) -> None:
        self.withdrawals = dict.fromkeys((*self.state.withdrawn, *self.withdrawals))

    def thread(self, thread_id: str) -> Received | None:
        return self.received[thread_id] if thread_id in self.received else self.state.received.get(thread_id)

    def lease(self, thread_id: str) -> Lease | None:
        return self.leases[thread_id] if thread_id in self.leases else self.state.leases.get(thread_id)

    def open_thread(self, thread_id: str) -> Received:
        """A thread that is known to be here."""
        row = self.thread(thread_id)
        assert row is not None
        return row

    def lease_of(self, thread_id: str) -> Lease:
        """The lease of a thread that is known to have one."""
        lease = self.lease(thread_id)
        assert lease is not None
        return lease

    def step(self, thread_id: str, event: ThreadEvent, **changed: object) -> Received:
        """The thread's step by the table. Raises ValueError, a defect of ours, for one that is not there."""
        row = self.open_thread(thread_id)
        state = state_after(row.state, event)
        now = row.model_copy(update={"state": state, "changedAt": self.now_ms, **changed})
        self.received[thread_id] = now
        return now

    def drop_task(self, thread_id: str) -> None:
        """An exhausted thread cannot be requeued any more."""
        self.received[thread_id] = self.open_thread(thread_id).model_copy(update={"keepsTask": False})
        self.tasks[thread_id] = None

    def growth(self, is_counted: Callable[[Received], bool]) -> int:
        """By how many more threads are counted after this decision than before."""
        former = (self.state.received.get(thread_id) for thread_id in self.received)
        after = sum(row is not None and is_counted(row) for row in self.received.values())
        return after - sum(row is not None and is_counted(row) for row in former)

    def forget(self, thread_id: str) -> None:
        """Of an ended thread nothing is kept any more."""
        row = self.thread(thread_id)
        self.received[thread_id] = None
        if row is not None and row.keepsTask:
            self.tasks[thread_id] = None

    def event(self, type_: str, thread_id: str, **data: Value) -> None:
        row = self.open_thread(thread_id)
        about: Record = {"threadId": thread_id, "from": row.senderId, "to": self.context.address.id}
        self.told.append(Event(type_, {**about, **data}))

    def tell_originator(self, thread_id: str, news: Record, *, before_reply: bool = False) -> None:
        row = self.open_thread(thread_id)
        self.told.append(Send(address.mailbox(row.senderId), "thread_changed", news, before_reply))

    def leasable_count(self) -> int:
        """How many threads wait and are not leased after this decision."""
        touched = self.received.keys() | self.leases.keys()
        before = sum(_can_be_leased(self.state.received.get(id_), self.state.leases.get(id_)) for id_ in touched)
        after = sum(_can_be_leased(self.thread(id_), self.lease(id_)) for id_ in touched)
        return len(self.state.leasable) + after - before

    def lease_count(self) -> int:
        """How many are leased after it."""
        before = sum(thread_id in self.state.leases for thread_id in self.leases)
        return len(self.state.leases) + sum(lease is not None for lease in self.leases.values()) - before

    def freed(self) -> list[Turn]:
        """In order, the threads that wait and whose lease has ended in this decision."""
        ended = (thread_id for thread_id, lease in self.leases.items() if lease is None)
        return sorted(turn for thread_id in ended if (turn := turn_of(thread_id, self.thread(thread_id))) is not None)

    def decision(self, reply: Record | Refusal | None = None) -> Decision:
        """The decision so far, and what is forgotten because of it. Without a reply it is an empty one."""
        drop_surplus_dead_letters(self)
        forget_old_ends(self)
        effects: list[Effect] = []
        if self.new_facts is not None:
            effects.append(Put(FACTS_ROW, self.new_facts.model_dump()))
        for credential, ended_ms in self.withdrawals.items():
            if ended_ms is not None or credential in self.state.withdrawn:
                effects.append(_written(withdrawn_row(credential), ended_ms))
        for thread_id, row in self.received.items():
            effects.append(_written(received_row(thread_id), None if row is None else row.model_dump()))
        for thread_id, lease in self.leases.items():
            if lease is not None or thread_id in self.state.leases:
                effects.append(_written(lease_row(thread_id), None if lease is None else lease.model_dump()))
        for thread_id, task in self.tasks.items():
            effects.append(_written(task_row(thread_id), task))
        return Decision({} if reply is None else reply, (*effects, *self.told))


def _can_be_leased(row: Received | None, lease: Lease | None) -> bool:
    return row is not None and row.waits and lease is None


def _written(row: str, value: Value) -> Put | Delete:
    return Delete(row) if value is None else Put(row, value)
