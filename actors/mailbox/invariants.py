"""What holds of every mailbox after every commit (mesh 4, security 2.24); `nexus-bus doctor` asks this."""

from __future__ import annotations

from collections.abc import Iterator

from actors.mailbox.originators import Originators
from actors.mailbox.state import MailboxState, waits
from bus.limits import dead_letter_tasks_kept_max, lease_attempts_max, leases_per_mailbox_max


def problems(state: MailboxState) -> list[str]:
    """Every invariant that does not hold, as a sentence with the thread's id; empty for a sound mailbox."""
    return [*_of_received(state), *_of_tasks(state), *_of_leases(state), *_of_sent(state), *_of_counts(state)]


def _of_received(state: MailboxState) -> Iterator[str]:
    if state.received and state.facts is None:
        yield "there are threads, but nothing is known about the mailbox's agent"
    arrivals = [arrival for arrival, _ in state.arrivals]
    if len(set(arrivals)) != len(arrivals):
        yield "two open threads have the same place in the order of arrival"
    for thread_id, row in state.received.items():
        if row.attempts > lease_attempts_max or (row.attempts == lease_attempts_max and not row.has_ended):
            yield f"thread {thread_id} was delivered more often than a thread may be"
        if row.has_ended and row.cause == "delivery_exhausted" and row.state != "failed":
            yield f"thread {thread_id} is exhausted, but did not fail"
        if row.keepsTask and (row.cause != "delivery_exhausted" or not row.has_ended):
            yield f"thread {thread_id} keeps a task for requeueing, but was not given up"
        if row.state == "working" and thread_id not in state.leases:
            yield f"thread {thread_id} is at work, but nobody has it"


def _of_tasks(state: MailboxState) -> Iterator[str]:
    for thread_id, row in state.received.items():
        if (not row.has_ended or row.keepsTask) and thread_id not in state.tasks:
            yield f"thread {thread_id} is open or can be requeued, but its task is gone"
    for thread_id in state.tasks:
        kept = state.received.get(thread_id)
        if kept is None or (kept.has_ended and not kept.keepsTask):
            yield f"a task is kept for thread {thread_id}, which neither is open here nor can be requeued"
    if len(state.dead_letters) > dead_letter_tasks_kept_max:
        yield "more tasks of exhausted threads are kept than may be"


def _of_leases(state: MailboxState) -> Iterator[str]:
    if len(state.leases) > leases_per_mailbox_max:
        yield "more deliveries are leased than may be"
    for thread_id, lease in state.leases.items():
        row = state.received.get(thread_id)
        if row is None or row.has_ended or row.state == "queued":
            yield f"thread {thread_id} is leased, but is not with its recipient"
        elif lease.attempt > lease_attempts_max or lease.attempt <= row.attempts:
            yield f"thread {thread_id} is leased under an attempt that cannot be"
    if state.timer_ms is None and (state.leases or state.deadlines or state.withdrawn):
        yield "something is due, but no timer was set for it"


def _of_sent(state: MailboxState) -> Iterator[str]:
    for thread_id in state.offers.keys() & state.sent.keys():
        yield f"thread {thread_id} is still on offer, though it was sent"
    for thread_id in state.results:
        if thread_id not in state.sent:
            yield f"a result is kept for thread {thread_id}, which was never sent"


def _of_counts(state: MailboxState) -> Iterator[str]:
    received = sum(waits(row) for row in state.received.values())
    news = sum(waits(row) for row in state.sent.values()) + sum(waits(row) for row in state.requests.values())
    if state.waiting != received + news:
        yield "the waiting count is not that of the threads"
    if state.stored_bytes != sum(row.bytes for rows in (state.offers, state.sent) for row in rows.values()):
        yield "the sum of what is kept is not that of the threads"
    originators = Originators()
    for thread_id, row in state.received.items():
        if row.is_owed:
            originators.add(thread_id, row)
    if originators != state.originators:
        yield "whom the agent works for is not what the threads say"
