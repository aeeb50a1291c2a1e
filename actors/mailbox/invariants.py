"""What holds of every mailbox after every commit (mesh 4); `nexus-bus doctor` asks this."""

from __future__ import annotations

from collections.abc import Iterator

from actors.mailbox.state import MailboxState, waits
from actors.mailbox.thread import ENDS


def problems(state: MailboxState) -> list[str]:
    """Every invariant that does not hold, as a sentence with the thread's id; empty for a sound mailbox."""
    return [*_of_received(state), *_of_sent(state), *_of_count(state)]


def _of_received(state: MailboxState) -> Iterator[str]:
    if state.received and state.facts is None:
        yield "there are threads, but nothing is known about the mailbox's agent"
    for thread_id, row in state.received.items():
        if row.state not in ENDS and thread_id not in state.tasks:
            yield f"thread {thread_id} is open, but its task is gone"
    for thread_id in state.tasks:
        if thread_id not in state.received or state.received[thread_id].state in ENDS:
            yield f"a task is kept for thread {thread_id}, which is not open here"
    arrivals = [arrival for arrival, _ in state.arrivals.items]
    if len(set(arrivals)) != len(arrivals):
        yield "two open threads have the same place in the order of arrival"


def _of_sent(state: MailboxState) -> Iterator[str]:
    for thread_id in state.offers.keys() & state.sent.keys():
        yield f"thread {thread_id} is still on offer, though it was sent"
    for thread_id in state.results:
        if thread_id not in state.sent:
            yield f"a result is kept for thread {thread_id}, which was never sent"


def _of_count(state: MailboxState) -> Iterator[str]:
    waiting = sum(waits(row) for row in state.received.values()) + sum(waits(row) for row in state.sent.values())
    if state.waiting != waiting:
        yield "the waiting count is not that of the threads"
    if state.stored_bytes != sum(row.bytes for rows in (state.offers, state.sent) for row in rows.values()):
        yield "the sum of what is kept is not that of the threads"
