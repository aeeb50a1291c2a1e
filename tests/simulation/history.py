"""What clients asked and what they were told: the record that invariants are judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from bus.address import Address
from bus.envelope import Reply
from bus.value import Record


class Violation(AssertionError):
    """An invariant does not hold. Ends the run."""


class Fate(Enum):
    """What a client knows of its call."""

    OPEN = "open"
    ANSWERED = "answered"
    REFUSED = "refused"
    """Told that nothing was changed, and it never asked again."""
    UNKNOWN = "unknown"
    """Nobody waits any more: it may have happened, once, or not."""


Heard: TypeAlias = Callable[["CallRecord"], None]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing to ask. `agent_id` and `workspace_id` are set for an agent's call; else its link is the caller."""

    to: Address
    verb: str
    body: Record
    has_effects: bool
    """Whether a success may have effects, so that its answer is kept and a repeat must hear the same."""
    by_gateway: bool = False
    agent_id: str = ""
    workspace_id: str = ""
    heard: Heard | None = None
    """Told once, when the fate is known."""
    call_id: str = ""
    """Of a call that a purse sends on; empty: an id of its own."""
    stamp: Record | None = None
    """As a purse gave it, or of a join; it is never made anew."""
    via: Address | None = None
    """The purse whose admission the call rides on."""
    attempts_max: int = 25
    """Enough for every fault that ends; what is damaged for good is given up."""

    @property
    def is_gateways(self) -> bool:
        return self.by_gateway or bool(self.agent_id) or self.stamp is not None or self.via is not None


@dataclass(slots=True)
class CallRecord:
    """A call from its beginning to its fate."""

    id: str
    operation: Operation
    client: int
    begun_us: int
    fate: Fate = Fate.OPEN
    reply: Reply | None = None
    heard_us: int = 0
    attempts: int = 0
    copies: int = 0
    """How many envelopes were sent under its id."""
    copies_in_session: int = 0
    """How many of them in the present session of the link."""
    deadline_ms: int = 0
    """Of the first copy."""
    admission_id: str = ""
    """Of the admission that it rides on in the present attempt."""
    floor: int = 0
    """What an answer must show at least, by what was acknowledged before it was first sent (invariants.py)."""

    @property
    def ok(self) -> Record | None:
        return None if self.reply is None else self.reply.ok

    @property
    def code(self) -> str:
        if self.reply is None or self.reply.error is None:
            return ""
        return str(self.reply.error["code"])

    def describe(self) -> str:
        asked = f"{self.operation.verb} at {self.operation.to} {self.operation.body}"
        return f"call {self.id} ({asked}) by client {self.client}: {self.fate.value}, {self.reply}"


@dataclass(slots=True)
class History:
    """Every call of a run, in the order in which they began."""

    calls: list[CallRecord] = field(default_factory=list)

    @property
    def all_are_settled(self) -> bool:
        return all(call.fate is not Fate.OPEN for call in self.calls)
