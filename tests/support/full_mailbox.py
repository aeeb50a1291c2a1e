"""A mailbox with any number of waiting threads, made of rows as a restart would read them."""

from __future__ import annotations

from actors import mailbox
from actors.decision import Put
from actors.mailbox.rows import FACTS_ROW, Facts, Received, received_row, task_row
from actors.mailbox.state import MailboxState
from bus import address
from bus.identifier import derived_id
from tests.support.bench import OwnerBench

FACTS = Facts(workspaceId="w1", name="Eve", mesh=True, ran=True, revoked=False)


def thread_id_of(number: int) -> str:
    return derived_id(1_800_000_000_000 - 10_000_000 + number, "thread", str(number))


def full_mailbox(count: int, agent_id: str = "a2") -> OwnerBench[MailboxState]:
    """`count` queued threads of 50 senders, the oldest first; checks of invariants are left to the test."""
    bench: OwnerBench[MailboxState] = OwnerBench(mailbox.RULES, address.mailbox(agent_id))
    mailbox.RULES.apply(bench.state, Put(FACTS_ROW, FACTS.model_dump()))
    for number in range(count):
        thread_id, at = thread_id_of(number), 1_800_000_000_000 - count + number
        row = Received(
            senderId=f"s{number % 50}",
            senderName="Ada",
            workspaceId="w1",
            title="Count",
            rank=3,
            arrival=at,
            depth=1,
            state="queued",
            queuedAt=at,
            changedAt=at,
        )
        mailbox.RULES.apply(bench.state, Put(received_row(thread_id), row.model_dump()))
        mailbox.RULES.apply(bench.state, Put(task_row(thread_id), {"title": "Count", "instructions": "Count."}))
    return bench
