"""The life of a thread (mesh 4.1). What is not in the table is refused and leaves the state as it was.

Nothing in this slice puts a thread to work, expires or cancels one by deadline: those states are named because the
contract names them, and their events join the table with the verbs that cause them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from tools.agent import Outcome, ThreadState
from tools.errors import Code, Refusal

ThreadEvent: TypeAlias = Literal["shown", "completed", "failed", "rejected", "recipient_removed"]

TRANSITIONS: Final[Mapping[tuple[ThreadState, ThreadEvent], ThreadState]] = {
    ("queued", "shown"): "delivered",
    ("queued", "recipient_removed"): "cancelled",
    ("delivered", "completed"): "completed",
    ("delivered", "failed"): "failed",
    ("delivered", "rejected"): "rejected",
    ("delivered", "recipient_removed"): "cancelled",
    ("working", "completed"): "completed",
    ("working", "failed"): "failed",
    ("working", "recipient_removed"): "cancelled",
}

ENDS: Final[frozenset[ThreadState]] = frozenset({"completed", "failed", "rejected", "expired", "cancelled"})

WAITS: Final[frozenset[ThreadState]] = frozenset({"queued", "delivered"})
"""States in which the recipient has not begun: what an inbox lists as deliveries."""

EVENT_OF_REPLY: Final[Mapping[Outcome, ThreadEvent]] = {
    "completed": "completed",
    "partial": "completed",  # ends completed, with the outcome partial beside it (mesh 4.1)
    "failed": "failed",
}


def after(state: ThreadState, event: ThreadEvent) -> ThreadState | Refusal:
    """The state that follows, or why this event cannot happen now: `thread_closed` with the state that won."""
    following = TRANSITIONS.get((state, event))
    if following is not None:
        return following
    if state in ENDS:
        message = "This thread has ended already, so it takes no further answer. Its state is given."
        return Refusal(Code.THREAD_CLOSED, message, details={"state": state})
    return Refusal(
        Code.WRONG_STATE,
        "The thread is not in a state that allows this. Read your inbox for its state; once at work, answer by reply.",
        details={"state": state},
    )
