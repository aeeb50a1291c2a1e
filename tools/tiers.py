"""How far one agent may reach another, and why not further (mesh 2).

One pure function, used where peers are listed and where a delivery is decided, so the list never promises what a
trigger refuses. Whether the two share a workspace is not decided here: an agent of another workspace is not named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bus.value import Record, Value
from tools.errors import Code, Refusal

Tier: TypeAlias = Literal["reference", "read", "deliver"]
"""`reference` can be named and listed, `read` has a state that can be read, `deliver` can be sent tasks."""

WithheldReason: TypeAlias = Literal[
    "caller_lacks_mesh",
    "callee_lacks_mesh",
    "callee_paused",
    "callee_never_ran",
    "blocked_by_person",
    "self",
    "identity_revoked",
]
"""Closed."""

_ABOVE_REFERENCE: Final[tuple[Tier, ...]] = ("read", "deliver")

_DETAIL: Final[Mapping[WithheldReason, str]] = {
    "caller_lacks_mesh": "You do not have the mesh capability; only the person can give it.",
    "callee_lacks_mesh": "That agent does not have the mesh capability; only the person can give it.",
    "callee_paused": "The person has paused that agent.",
    "callee_never_ran": "That agent has never connected, so nothing would read what you send.",
    "blocked_by_person": "The person does not let you send to that agent.",
    "self": "That agent is you.",
    "identity_revoked": "The person has removed that agent's identity.",
}


@dataclass(frozen=True, slots=True)
class TierFacts:
    """What a tier depends on, as an agent's owner tells it (`agent_facts`, `facts_changed`)."""

    agent_id: str
    workspace_id: str
    mesh: bool
    ran: bool
    revoked: bool
    paused: bool = False
    blocked: frozenset[str] = frozenset()
    """The agents that may not send to it."""

    @classmethod
    def from_record(cls, agent_id: str, record: Record) -> TierFacts:
        """Read an `agent_facts` reply. Raises KeyError if a fact is missing that was always there."""
        blocked = record.get("blocked")
        return cls(
            agent_id,
            str(record["workspaceId"]),
            record["mesh"] is True,
            record["ran"] is True,
            record["revoked"] is True,
            record.get("paused") is True,
            frozenset(map(str, blocked)) if isinstance(blocked, list) else frozenset(),
        )


@dataclass(frozen=True, slots=True)
class Withheld:
    """One tier that is not reached, and the first reason why."""

    tier: Tier
    reason: WithheldReason

    def to_record(self) -> Record:
        return {"tier": self.tier, "reason": self.reason, "detail": _DETAIL[self.reason]}


def capability_tier(caller: TierFacts, callee: TierFacts) -> tuple[Tier, tuple[Withheld, ...]]:
    """The highest tier both sides support, and one entry for each tier above it, lowest first."""
    reached: Tier = "reference"
    withheld: list[Withheld] = []
    for tier in _ABOVE_REFERENCE:
        reason = _reason_against(tier, caller, callee)
        if reason is None:
            reached = tier
        else:
            withheld.append(Withheld(tier, reason))
    return reached, tuple(withheld)


def delivery_refusal(caller: TierFacts, callee: TierFacts) -> Refusal | None:
    """Why a task of `caller` is not delivered to `callee` (mesh 2); whether they share a workspace is not judged."""
    tier, withheld = capability_tier(caller, callee)
    if tier == "deliver":
        return None
    message = "A task cannot be delivered to that agent now, so it was not queued. The reasons are given."
    return Refusal(Code.DELIVERY_WITHHELD, message, details={"withheld": withheld_records(withheld)})


def withheld_records(withheld: tuple[Withheld, ...]) -> list[Value]:
    """As results and refusals carry it."""
    return [entry.to_record() for entry in withheld]


def _reason_against(tier: Tier, caller: TierFacts, callee: TierFacts) -> WithheldReason | None:
    # What withholds `read` withholds `deliver` too, so the tiers stay an order.
    if caller.revoked or callee.revoked:
        return "identity_revoked"
    if not caller.mesh:
        return "caller_lacks_mesh"
    if not callee.mesh:
        return "callee_lacks_mesh"
    return _reason_against_delivery(caller, callee) if tier == "deliver" else None


def _reason_against_delivery(caller: TierFacts, callee: TierFacts) -> WithheldReason | None:
    if caller.agent_id == callee.agent_id:
        return "self"
    if caller.agent_id in callee.blocked:
        return "blocked_by_person"
    if callee.paused:
        return "callee_paused"
    return None if callee.ran else "callee_never_ran"
