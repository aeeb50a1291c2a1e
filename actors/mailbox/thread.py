"""The life of a thread (mesh 4.1). What is not in the table is refused and leaves the state as it was.

`working` to `delivered` is the one step back: a lease was lost, and the thread waits again in its old place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from tools.errors import Code, Refusal
from tools.task import Outcome, ThreadState

ThreadEvent: TypeAlias = Literal[
    "shown",
    "leased",
    "started",
    "lease_lost",
    "completed",
    "failed",
    "rejected",
    "expired",
    "cancelled",
    "recipient_removed",
    "exhausted",
]

TRANSITIONS: Final[Mapping[tuple[ThreadState, ThreadEvent], ThreadState]] = {
    ("queued", "shown"): "delivered",
    ("queued", "leased"): "delivered",
    ("queued", "expired"): "expired",
    ("queued", "cancelled"): "cancelled",
    ("queued", "recipient_removed"): "cancelled",
    ("delivered", "leased"): "delivered",
    ("delivered", "started"): "working",
    ("delivered", "lease_lost"): "delivered",
    ("delivered", "completed"): "completed",
    ("delivered", "failed"): "failed",
    ("delivered", "rejected"): "rejected",
    ("delivered", "expired"): "expired",
    ("delivered", "cancelled"): "cancelled",
    ("delivered", "recipient_removed"): "cancelled",
    ("delivered", "exhausted"): "failed",
    ("working", "lease_lost"): "delivered",
    ("working", "completed"): "completed",
    ("working", "failed"): "failed",
    ("working", "expired"): "expired",
    ("working", "cancelled"): "cancelled",
    ("working", "recipient_removed"): "cancelled",
    ("working", "exhausted"): "failed",
}

ENDS: Final[frozenset[ThreadState]] = frozenset({"completed", "failed", "rejected", "expired", "cancelled"})

WAITS: Final[frozenset[ThreadState]] = frozenset({"queued", "delivered"})
"""States in which the recipient has not begun: what an inbox lists as deliveries."""

OWED: Final[frozenset[ThreadState]] = frozenset({"delivered", "working"})
"""States in which the recipient has the task and owes an answer."""

EVENT_OF_REPLY: Final[Mapping[Outcome, ThreadEvent]] = {
    "completed": "completed",
    "partial": "completed",  # ends completed, with the outcome partial beside it (mesh 4.1)
    "failed": "failed",
}


_NOT_READ: Final = (
    "This task has not been delivered to you yet: read your inbox first (agent_inbox), then answer it. An answer is to "
    "what was read."
)


def after(state: ThreadState, event: ThreadEvent) -> ThreadState | Refusal:
    """The state that follows, or why this event cannot happen now: `thread_closed` with the state that won."""
    following = TRANSITIONS.get((state, event))
    if following is not None:
        return following
    if state in ENDS:
        return thread_closed(state)
    if state == "queued":
        return Refusal(Code.WRONG_STATE, _NOT_READ, details={"state": state})
    return Refusal(
        Code.WRONG_STATE,
        "The thread is not in a state that allows this. Read your inbox for its state; once at work, answer by reply.",
        details={"state": state},
    )


def state_after(state: ThreadState, event: ThreadEvent) -> ThreadState:
    """`after` where nothing but the table's own step can come. Raises ValueError, a defect of ours, otherwise."""
    following = TRANSITIONS.get((state, event))
    if following is None:
        raise ValueError(f"a thread that is {state} cannot be {event}")
    return following


def thread_closed(state: ThreadState) -> Refusal:
    message = "This thread has ended already, so it takes no further answer. Its state is given."
    return Refusal(Code.THREAD_CLOSED, message, details={"state": state})
