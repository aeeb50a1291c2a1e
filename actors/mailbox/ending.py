"""How a thread ends: once, with an event that says by what, and its originator told (mesh 4.2, 4.3, 4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from actors.mailbox.changes import Changes
from actors.mailbox.rows import Received, Result
from actors.mailbox.thread import ThreadEvent
from bus.value import Record
from tools.base import Model
from tools.task import EndCause, Outcome, ThreadState


class ThreadChanged(Model):
    """What the recipient's mailbox tells the originator's."""

    threadId: str
    state: ThreadState
    outcome: Outcome | None = None
    reason: str | None = None
    result: Result | None = None
    cause: EndCause | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """By what a thread ends, and what its originator is told of it."""

    event: ThreadEvent
    cause: EndCause
    outcome: Outcome | None = None
    reason: str | None = None
    result: Result | None = None
    delivery_id: str | None = None
    finish: str | None = None
    """Digest of what that delivery said."""


_EVENT_OF_END: Final[Mapping[ThreadState, str]] = {
    "completed": "thread.completed",
    "failed": "thread.failed",
    "rejected": "thread.rejected",
    "cancelled": "thread.cancelled",
    "expired": "thread.expired",
}

EXPIRED: Final = Ending("expired", "deadline", reason="The deadline of this task passed before it was answered.")
REMOVED: Final = Ending(
    "recipient_removed", "recipient_removed", reason="The agent that this task was sent to has been removed."
)
EXHAUSTED: Final = Ending(
    "exhausted",
    "delivery_exhausted",
    reason="The task was delivered as often as it may be, and no delivery of it was answered.",
)


def end(changes: Changes, thread_id: str, ending: Ending) -> Received:
    """The thread ends by an event that its state allows. Raises ValueError, a defect of ours, for another."""
    is_exhausted = ending.cause == "delivery_exhausted"
    lease = changes.lease(thread_id)
    row = changes.step(
        thread_id,
        ending.event,
        outcome=ending.outcome,
        cause=ending.cause,
        reason=ending.reason,
        deliveryId=ending.delivery_id,
        finish=ending.finish,
        keepsTask=is_exhausted,
        attempts=changes.open_thread(thread_id).attempts if lease is None else lease.attempt,
    )
    if lease is not None:
        changes.leases[thread_id] = None
    if not is_exhausted:
        changes.tasks[thread_id] = None
    news = ThreadChanged(
        threadId=thread_id,
        state=row.state,
        outcome=ending.outcome,
        reason=ending.reason,
        result=ending.result,
        cause=ending.cause,
    )
    # before_reply: whoever was answered finds the end in the originator's inbox.
    changes.tell_originator(thread_id, news.model_dump(), before_reply=True)
    told: Record = {"workspaceId": row.workspaceId, "cause": ending.cause, "outcome": ending.outcome}
    name = "thread.partial" if ending.outcome == "partial" else _EVENT_OF_END[row.state]
    changes.event(name, thread_id, **told)
    return row
