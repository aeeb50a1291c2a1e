"""An agent's rows: `head`, `credential/<name>`, `lapsed/<name>`, `waiting`, `workingFor`, `claim/<call id>`,
`key/<time>/<digest>`, `stored/<place>`; of its authority `withheld/<tool>`, `budget`, `approval/<id>`,
`dispatched/<call id>`; and of its plans (plan_book.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from actors.agent.approval import Approval
from actors.agent.budget import Budget
from actors.agent.keys import UsedKey, UsedKeys, digest_in
from actors.agent.plan_book import PlanBook
from actors.agent.stored_book import StoredBook
from actors.decision import Delete, Effect, Notify, Put, RowEffect, TellHosts
from bus.admitted import AUTHORITY_CHANGED
from bus.topics import authority_topic
from bus.value import Record
from tools.autonomy import GUEST_ID, Mode, ModeName
from tools.base import Model
from tools.catalogue import BY_NAME

HEAD_ROW: Final = "head"
WAITING_ROW: Final = "waiting"
WORKING_FOR_ROW: Final = "workingFor"
DEFAULT_CREDENTIAL: Final = "default"


def credential_row(name: str) -> str:
    return f"credential/{name}"


def lapsed_row(name: str) -> str:
    return f"lapsed/{name}"


def claim_row(call_id: str) -> str:
    return f"claim/{call_id}"


def withheld_row(tool: str) -> str:
    return f"withheld/{tool}"


def dispatched_row(call_id: str) -> str:
    return f"dispatched/{call_id}"


class Head(Model):
    """The row `head`: everything of the agent but its credentials."""

    name: str
    persona: str | None
    kind: str
    color: str
    workspaceId: str
    """Where its calls act; empty when nothing resolves."""
    createdAt: int
    mode: ModeName
    capabilities: list[Literal["mesh"]]
    ran: bool
    """Whether any credential was ever used (mesh 2.1)."""
    version: int
    """Of its authority: raised by whatever revokes or narrows, so that older stamps are known to be old."""
    removed: bool
    paused: bool = False
    """Whether the person has paused it: it is offered no tasks."""
    blocked: list[str] = Field(default=[])
    """The agents that may not send to it, by the person's word."""
    inherits: bool = False
    """Whether it follows the person's active workspace (common 3.1). The directory tells its workspace either way."""
    provider: str | None = None
    """The agent program that it is run with, by id; None until somebody chooses one."""

    def mailbox_facts(self) -> Record:
        """What its mailbox decides deliveries by: the body of `facts_changed`."""
        return {
            "workspaceId": self.workspaceId,
            "name": self.name,
            "mesh": "mesh" in self.capabilities,
            "ran": self.ran,
            "revoked": self.removed,
            "paused": self.paused,
            "blocked": [*self.blocked],
            "mode": self.mode,
        }

    @property
    def autonomy(self) -> Mode:
        return Mode(self.mode)

    @property
    def is_guest(self) -> bool:
        return self.kind == GUEST_ID

    def widened(self, **changes: object) -> tuple[Effect, ...]:
        """The row with `changes` that take nothing away: what is under way goes on."""
        return (Put(HEAD_ROW, self.model_copy(update=changes).model_dump()),)

    def told(self, agent_id: str) -> tuple[Effect, ...]:
        """Whoever listens judges anew what the agent is served; what is under way goes on."""
        return (Notify(authority_topic(agent_id), {"version": self.version}),)

    def narrowed(self, agent_id: str, **changes: object) -> tuple[Effect, ...]:
        """The row with `changes` and one version more, which every host hears of before anyone is answered (0009)."""
        head = self.model_copy(update={**changes, "version": self.version + 1})
        return (
            Put(HEAD_ROW, head.model_dump()),
            TellHosts(AUTHORITY_CHANGED, {"agentId": agent_id, "version": head.version}),
            Notify(authority_topic(agent_id), {"version": head.version}),
        )


class Credential(Model):
    hash: bytes
    createdAt: int
    usedAt: int | None = None
    """When it was last used, to the minute."""
    families: list[str] | None = None
    """The families that it is narrowed to; None: it is served every one (common 1.3)."""
    lentBy: str | None = None
    """Of one that is lent for as long as a connection lasts: the incarnation of the gateway that holds it."""
    lentTo: str | None = None
    """And the connection of that gateway."""


class LapsedLease(Model):
    """What is left of a lent credential when nobody holds it: whoever shows its token to the person's socket is lent
    the same again, as narrow as it was. Until then it admits nothing."""

    credential: Credential
    at: int


class Claim(Model):
    """A change of identity that waits for the directory to grant its name."""

    name: str
    persona: str | None
    color: str | None


class ChainLink(Model):
    agentId: str
    name: str


class WorkingFor(Model):
    """The row `workingFor`: for whom the agent has tasks that it was given and did not end (security 2.24)."""

    originators: list[ChainLink] = Field(default=[])
    """Those of the oldest task first."""
    more: int = 0
    """How many there are beyond those."""
    strictest: ModeName = "auto"
    """The strictest of the modes under which they sent."""


class DispatchedCall(Model):
    """The row of a call that was committed with its admission and is not settled yet (0009)."""

    target: str
    """The owner that settles it."""
    approvalId: str | None = None
    keyDigest: str | None = None


@dataclass(slots=True)
class AgentState:
    """What an agent owner knows; no head means that the agent was never created."""

    head: Head | None = None
    credentials: dict[str, Credential] = field(default_factory=dict)
    lapsed: dict[str, LapsedLease] = field(default_factory=dict)
    waiting: int = 0
    working_for: WorkingFor = field(default_factory=WorkingFor)
    claims: dict[str, Claim] = field(default_factory=dict)
    keys: UsedKeys = field(default_factory=UsedKeys)
    withheld: dict[str, str] = field(default_factory=dict)
    """Tool -> who took it away: `agent` (itself) or `person`."""
    budget: Budget = field(default_factory=Budget)
    approvals: dict[str, Approval] = field(default_factory=dict)
    """By the part of their id after the agent's, oldest first."""
    dispatched: dict[str, DispatchedCall] = field(default_factory=dict)
    plans: PlanBook = field(default_factory=PlanBook)
    stored: StoredBook = field(default_factory=StoredBook)

    def holds(self, credential: str, made_ms: int) -> bool:
        """Whether that credential is still there: one that was replaced, or made anew under its name, is another."""
        known = self.credentials.get(credential)
        return known is not None and known.createdAt == made_ms

    def without(self, name: str) -> tuple[Delete, ...]:
        """The credential of that name is gone, also one that lapsed; empty when there is none."""
        held = (Delete(credential_row(name)),) if name in self.credentials else ()
        return (*held, *((Delete(lapsed_row(name)),) if name in self.lapsed else ()))

    def serves(self, credential: str, tool: str) -> bool:
        """Whether that credential, if it is there, is served the family of the tool (common 1.3)."""
        known, declared = self.credentials.get(credential), BY_NAME.get(tool)
        if known is None or known.families is None:
            return known is not None
        return declared is not None and declared.family.value in known.families

    def living(self) -> Head | None:
        """The agent, unless it never was or was removed."""
        return None if self.head is None or self.head.removed else self.head


def apply(state: AgentState, effect: RowEffect) -> None:
    match effect.row.partition("/"), effect:
        case ("head", _, _), Put(_, value):
            state.head = Head.model_validate(value)
        case ("waiting", _, _), Put(_, int() as count):
            state.waiting = count
        case (row, _, _), Put(_, value) if row == WORKING_FOR_ROW:
            state.working_for = WorkingFor.model_validate(value)
        case ("credential", _, name), Put(_, value):
            state.credentials[name] = Credential.model_validate(value)
        case ("credential", _, name), _:
            state.credentials.pop(name, None)
        case ("lapsed", _, name), Put(_, value):
            state.lapsed[name] = LapsedLease.model_validate(value)
        case ("lapsed", _, name), _:
            state.lapsed.pop(name, None)
        case ("claim", _, call_id), Put(_, value):
            state.claims[call_id] = Claim.model_validate(value)
        case ("claim", _, call_id), _:
            state.claims.pop(call_id, None)
        case ("plan" | "step", _, _), _:
            state.plans.apply(effect)
        case ("stored", _, _), _:
            state.stored.apply(effect)
        case ("key", _, name), Put(_, value):
            state.keys.put(digest_in(name), UsedKey.model_validate(value))
        case ("key", _, name), _:
            state.keys.drop(digest_in(name))
        case _:
            _apply_authority(state, effect)


def _apply_authority(state: AgentState, effect: RowEffect) -> None:
    match effect.row.partition("/"), effect:
        case ("withheld", _, tool), Put(_, str() as by):
            state.withheld[tool] = by
        case ("withheld", _, tool), _:
            state.withheld.pop(tool, None)
        case ("budget", _, _), Put(_, value):
            state.budget = Budget.model_validate(value)
        case ("approval", _, id_), Put(_, value):
            state.approvals[id_] = Approval.model_validate(value)
        case ("approval", _, id_), _:
            state.approvals.pop(id_, None)
        case ("dispatched", _, call_id), Put(_, value):
            state.dispatched[call_id] = DispatchedCall.model_validate(value)
        case ("dispatched", _, call_id), _:
            state.dispatched.pop(call_id, None)
        case _:
            raise ValueError("an agent has no such row")


def problems(state: AgentState) -> list[str]:
    """What should hold of every agent and does not (actors/agent/__init__.py)."""
    found = []
    if state.head is None and (
        state.credentials or state.lapsed or state.claims or state.approvals or state.dispatched
    ):
        found.append("there are rows without a head")
    if state.head is not None and state.head.removed and (state.credentials or state.lapsed):
        found.append("a removed agent still has a credential")
    if state.waiting < 0:
        found.append("the waiting count is below zero")
    if any(len(credential.hash) != 32 for credential in state.credentials.values()):
        found.append("a credential holds something else than a hash")
    used = {call.approvalId for call in state.dispatched.values()}
    if any((approval.state == "in_use") != (id_ in used) for id_, approval in state.approvals.items()):
        found.append("an approval is in use by no call, or a call uses one that is not in use")
    return [*found, *state.plans.problems()]
