"""One approval: what was asked, what the person saw of it, and the table of its life (common 5). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal

from pydantic import Field

from actors.agent.shortening import shortened
from actors.decision import Put
from bus.limits import approval_granted_ms, plan_arguments_kept_bytes_max
from tools.base import Model


class State(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    IN_USE = "in_use"
    """The call that it was given for has been sent on and is not settled."""
    USED = "used"
    DENIED = "denied"
    EXPIRED = "expired"
    LAPSED = "lapsed"
    """Its target is not what the person saw."""
    VOIDED = "voided"
    """Whatever asked for it is gone: the credential, the agent, or the run that waited for it."""


class Happening(StrEnum):
    APPROVE = "approve"
    DENY = "deny"
    EXPIRE = "expire"
    USE = "use"
    TOOK_EFFECT = "took_effect"
    NOTHING_HAPPENED = "nothing_happened"
    """A conflict, a rejection or a refusal does not consume it (common 5.2)."""
    CHANGED = "changed"
    REVOKE = "revoke"


TRANSITIONS: Final[Mapping[tuple[State, Happening], State]] = {
    (State.PENDING, Happening.APPROVE): State.APPROVED,
    (State.PENDING, Happening.DENY): State.DENIED,
    (State.PENDING, Happening.EXPIRE): State.EXPIRED,
    (State.PENDING, Happening.CHANGED): State.LAPSED,
    (State.PENDING, Happening.REVOKE): State.VOIDED,
    (State.APPROVED, Happening.USE): State.IN_USE,
    (State.APPROVED, Happening.EXPIRE): State.EXPIRED,
    (State.APPROVED, Happening.CHANGED): State.LAPSED,
    (State.APPROVED, Happening.REVOKE): State.VOIDED,
    (State.IN_USE, Happening.TOOK_EFFECT): State.USED,
    (State.IN_USE, Happening.NOTHING_HAPPENED): State.APPROVED,
    (State.IN_USE, Happening.CHANGED): State.LAPSED,
    (State.IN_USE, Happening.REVOKE): State.VOIDED,
}
"""What is absent does not happen: the approval stays as it is."""

OPEN: Final = frozenset({State.PENDING, State.APPROVED, State.IN_USE})


class AskedBy(Model):
    """The step of a collected plan that an approval is for; calls of the agent itself never use it."""

    planId: str
    number: int


class Approval(Model):
    """The row `approval/<id>`."""

    tool: str
    kind: Literal["write", "irreversible", "always_ask"]
    workspaceId: str
    sameCall: bytes
    """Hash of the arguments without volatile ones: what an identical call is known by (common 5.2)."""
    arguments: dict[str, Any]
    fingerprint: dict[str, Any]
    """What NEXUS knows of the target, as the card shows it; it must still hold when the call runs (common 5.3)."""
    target: str
    """The address of the owner that decides the call."""
    credential: str
    credentialMadeMs: int
    """When it was made: one of the same name that was made later is another."""
    chain: list[str]
    """The agents that led to the call, the first one first; the last is the caller."""
    chainMore: int = 0
    """How many more led to it."""
    askedMs: int
    state: State = Field(default=State.PENDING, strict=False)
    expiresMs: int
    """Of a pending or approved one."""
    decidedMs: int | None = None
    how: str | None = None
    """How the decision was made, such as `command` (common 5.5)."""
    note: str | None = None
    leftOut: dict[str, int] = Field(default_factory=dict)
    """Of one that is over: bytes of each argument that is not kept any more."""
    step: AskedBy | None = None

    def after(self, happening: Happening, now_ms: int) -> Approval | None:
        """None when that cannot happen to it now."""
        present = self.state if happening is Happening.EXPIRE else self.state_at(now_ms)
        following = TRANSITIONS.get((present, happening))
        if following is None:
            return None
        changes: dict[str, Any] = {"state": following}
        if following not in OPEN:  # nobody decides by it any more: what is kept is for the record
            changes["arguments"], changes["leftOut"] = shortened(self.arguments, plan_arguments_kept_bytes_max)
        return self.model_copy(update=changes)

    def state_at(self, now_ms: int) -> State:
        """A late timer never shows what is over as still open."""
        if self.state in (State.PENDING, State.APPROVED) and self.expiresMs <= now_ms:
            return State.EXPIRED
        return self.state

    def granted(self, how: str, now_ms: int) -> Approval | None:
        """The next identical call runs once, for a while (common 5.2)."""
        approved = self.after(Happening.APPROVE, now_ms)
        if approved is None:
            return None
        return approved.model_copy(update={"decidedMs": now_ms, "how": how, "expiresMs": now_ms + approval_granted_ms})

    def denied(self, how: str, note: str | None, now_ms: int) -> Approval | None:
        denied = self.after(Happening.DENY, now_ms)
        return denied and denied.model_copy(update={"decidedMs": now_ms, "how": how, "note": note})

    def put(self, id_: str) -> Put:
        return Put(f"approval/{id_}", self.model_dump(mode="python") | {"state": self.state.value})
