"""The rows of a mailbox, as models. Fields with a default are younger than others: older rows lack them.

| row | holds |
| --- | --- |
| `facts` | what deliveries to this agent are decided by, as its agent owner tells it |
| `received/<thread>` | a thread sent to this agent; its state here is the authority |
| `task/<thread>` | the Task Envelope of an open one, and of an exhausted one that can be put into a new thread |
| `lease/<thread>` | who has it for a while, and until when |
| `withdrawn/<credential>` | when that credential ended, in milliseconds, until all leased by it is taken back |
| `timer` | when the timer `due` stands, in milliseconds since the epoch |
| `request/<id>` | what became of something that the agent asked for |
| `offer/<thread>` | a task on its way to the recipient's mailbox; the call that sent it is still open |
| `sent/<thread>` | the mirror of a thread that this agent opened, and whether its news was shown |
| `result/<thread>` | what the recipient answered |
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import Field

from actors.mailbox.thread import ENDS, OWED, WAITS
from tools.autonomy import ModeName
from tools.base import Model
from tools.plain_json import JsonList, JsonObject
from tools.task import EndCause, Outcome, ThreadState
from tools.tiers import TierFacts

FACTS_ROW: Final = "facts"
TIMER_ROW: Final = "timer"

Turn: TypeAlias = tuple[int, int, str]
"""(rank, arrival, thread): a place in the order of delivery."""
Dated: TypeAlias = tuple[int, str]
"""(a time or an arrival, thread)."""


def received_row(thread_id: str) -> str:
    return f"received/{thread_id}"


def task_row(thread_id: str) -> str:
    return f"task/{thread_id}"


def lease_row(thread_id: str) -> str:
    return f"lease/{thread_id}"


def withdrawn_row(credential: str) -> str:
    return f"withdrawn/{credential}"


def request_row(request_id: str) -> str:
    return f"request/{request_id}"


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
    paused: bool = False
    blocked: list[str] = Field(default=[])
    """The agents that may not send to it."""
    mode: ModeName = "auto"

    def for_tiers(self, agent_id: str) -> TierFacts:
        return TierFacts(
            agent_id, self.workspaceId, self.mesh, self.ran, self.revoked, self.paused, frozenset(self.blocked)
        )


class ChainLink(Model):
    """One agent of those that led to a thread (security 2.24), under the name that it had."""

    agentId: str
    name: str


class Received(Model):
    """A thread that was sent to this agent."""

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
    deadline: int | None = None
    """Milliseconds since the epoch."""
    chain: list[ChainLink] = Field(default=[])
    chainMore: int = 0
    """How many more agents led to it than the chain names."""
    strictest: ModeName = "auto"
    """The strictest mode of those that led to it, at the time they sent."""
    attempts: int = 0
    """Deliveries to runtimes that used an attempt; once it has ended, with the one that it ended in."""
    deliveries: int = 0
    """All deliveries to runtimes, also those that were given back or taken and used no attempt."""
    isBegun: bool = False
    """Whether its originator was told of work begun, which is told once."""
    outcome: Outcome | None = None
    cause: EndCause | None = None
    reason: str | None = None
    deliveryId: str | None = None
    """The delivery that ended it: what repeats of that end are known by."""
    finish: str | None = None
    """Digest of what that delivery said at the end. Rows of older releases do not tell."""
    keepsTask: bool = False
    """Of an exhausted one: its task is kept for requeueing."""
    requeuedFrom: str | None = None
    requeuedAs: str | None = None

    @property
    def originators(self) -> list[ChainLink]:
        """The agents that led to it, the first one first; rows of older releases know the sender alone."""
        return self.chain or [ChainLink(agentId=self.senderId, name=self.senderName)]

    @property
    def waits(self) -> bool:
        return self.state in WAITS

    @property
    def is_owed(self) -> bool:
        return self.state in OWED

    @property
    def has_ended(self) -> bool:
        return self.state in ENDS

    def is_overdue(self, now_ms: int) -> bool:
        """Whether its deadline has come, though the timer may not have."""
        return self.deadline is not None and self.deadline <= now_ms


class Lease(Model):
    deliveryId: str
    """`<thread>.<id>`, so that one that is over still names its thread."""
    runtimeId: str
    credential: str
    attempt: int
    """From 1."""
    since: int
    renewedAt: int
    until: int
    isGrace: bool = False
    """It was given once more after it ended unseen; renewing ends that."""


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
    cause: EndCause | None = None
    requeuedFrom: str | None = None

    @property
    def is_notice(self) -> bool:
        """Whether its state is one that the originator is notified of (mesh 4.3)."""
        return self.state == "working" or self.state in ENDS


class Result(Model):
    body: str
    artifacts: JsonList
    usage: JsonObject | None


class RequestEnd(Model):
    """What became of a request of the agent's, as the owner that had it tells (mesh 6)."""

    requestId: str
    kind: Literal["channel_invite", "agent_create"]
    outcome: Literal["joined", "declined", "created", "refused"]
    agentId: str | None = None
    channelId: str | None = None
    channelName: str | None = None
    code: str | None = None
    note: str | None = None


class RequestNotice(RequestEnd):
    endedAt: int
    unseen: bool
