"""May this call go on? The one function that decides it, before anything is routed (common 4.1).

In order: known tool, identity, arguments, scope, withheld tool, required capability, stopped plan, autonomy, creation
budget, stored bytes. A bad token comes before all of them (common 2.3), so an unauthenticated caller learns nothing
about tools. `outlook` asks the same function for tool_list, so what is listed is what would happen.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from actors.agent.plan_book import COLLECTED_MESSAGE
from tools.autonomy import Mode
from tools.base import Capability, Kind, Model, Scope
from tools.errors import APPROVAL_REQUIRED, Code, Refusal, invalid_arguments

_FOR_GUESTS: Final = "tool_list"
"""The one tool that needs a capability and that a guest may read (common 2.3)."""


class CallFacts(Model):
    """What the gateway found out about a call, and the declaration of its tool."""

    tool: str
    arguments: Literal["valid", "invalid", "unknown_tool"]
    kind: Literal["read", "write", "irreversible", "always_ask"] | None = None
    """None only for an unknown tool, like `scope`."""
    scope: Literal["workspace", "app", "agent"] | None = None
    capability: Literal["mesh"] | None = None
    workspaceId: str | None = None
    """The scope that the caller claims, when the tool takes it as a check and not as its target (common 3.2)."""
    family: str | None = None
    isBudgeted: bool = False
    passesWhenStopped: bool = False
    freesSpace: bool = False


PlanPhase: TypeAlias = Literal["none", "running", "stopped", "collecting", "executing"]


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What the agent's owner knows about a caller that proved who it is."""

    workspace_id: str
    """Empty when nothing resolves."""
    capabilities: frozenset[str] = frozenset()
    mode: Mode = Mode.AUTO
    is_guest: bool = False
    withheld: frozenset[str] = frozenset()
    """Tools given up by the agent or taken away by the person."""
    plan: PlanPhase = "none"
    budget: Refusal | None = None
    """Why it may create no surface now."""
    storage: Refusal | None = None
    """Why it may store nothing now."""
    cards_are_full: bool = False
    """Whether as many cards wait for the person as may."""
    families: frozenset[str] | None = None
    """What the credential that calls is narrowed to; None: it is served every family (common 1.3)."""

    def is_served(self, family: str | None) -> bool:
        """A narrowed credential knows the tools of its own families alone."""
        return self.families is None or family in self.families


class Verdict(StrEnum):
    """What becomes of a call that is not refused."""

    RUNS = "runs"
    ASKS = "asks"
    COLLECTED = "collected"


@dataclass(frozen=True, slots=True)
class Admission:
    """Neither verdict nor refusal: no such tool, or none that this credential knows, which the gateway answers itself
    (-32602, common 6.1), or, unauthenticated, 401."""

    authenticated: bool
    verdict: Verdict | None = None
    refusal: Refusal | None = None


BY_MODE: Final[Mapping[tuple[Mode, Kind], Verdict | None]] = {
    (Mode.AUTO, Kind.WRITE): Verdict.RUNS,
    (Mode.AUTO, Kind.IRREVERSIBLE): Verdict.ASKS,
    (Mode.AUTO, Kind.ALWAYS_ASK): Verdict.ASKS,
    (Mode.APPROVAL, Kind.WRITE): Verdict.ASKS,
    (Mode.APPROVAL, Kind.IRREVERSIBLE): Verdict.ASKS,
    (Mode.APPROVAL, Kind.ALWAYS_ASK): Verdict.ASKS,
    (Mode.PLAN, Kind.WRITE): None,
    (Mode.PLAN, Kind.IRREVERSIBLE): None,
    (Mode.PLAN, Kind.ALWAYS_ASK): None,
    (Mode.PLAN_COLLECT, Kind.WRITE): Verdict.COLLECTED,
    (Mode.PLAN_COLLECT, Kind.IRREVERSIBLE): Verdict.COLLECTED,
    (Mode.PLAN_COLLECT, Kind.ALWAYS_ASK): Verdict.COLLECTED,
}
"""The table of common 4.2; None is refused. Reads run in every mode."""

CARDS_ARE_FULL: Final = (
    "As many of your calls wait for the person as may. Wait until some are decided, or repeat one that waits."
)
_BLOCKED: Final = Refusal(
    Code.BLOCKED_BY_AUTONOMY,
    "In your autonomy mode, plan, you may read but change nothing. Tell the person what you would do; only the person "
    "changes the mode.",
)
_UNIDENTIFIED: Final = Refusal(
    Code.UNIDENTIFIED_CALLER,
    "You call with the guest token, which may read but change nothing. Ask the person for an agent's token.",
)
_WITHHELD: Final = Refusal(
    Code.CAPABILITY_DISABLED,
    "This tool is switched off for you. Only the person can switch it on again.",
)
_CAPABILITY_MISSING: Final = Refusal(
    Code.CAPABILITY_MISSING,
    "This tool needs the mesh capability, which you do not have. Only the person can give it.",
    details={"capability": Capability.MESH.value},
)
_STOPPED: Final = Refusal(
    Code.PLAN_STOPPED,
    "The person has stopped your plan, so its remaining writes do not run. Tell the person where you are, and call "
    "plan_end.",
)
_SCOPE_UNRESOLVED: Final = Refusal(
    Code.SCOPE_UNRESOLVED,
    "You are pinned to no workspace, so there is nothing to look in. Ask the person to pin you to one.",
)
_SCOPE_MISMATCH: Final = Refusal(
    Code.SCOPE_MISMATCH,
    "The workspaceId that you gave is not your own workspace. Leave it out, or call workspace_current.",
)


def admit(agent: AgentFacts | None, call: CallFacts) -> Admission:
    """`agent` is None when no credential matched."""
    if agent is None:
        return Admission(authenticated=False)
    if call.arguments == "unknown_tool" or not agent.is_served(call.family):
        return Admission(authenticated=True)
    if call.kind is None or call.scope is None:
        raise ValueError("a known tool declares its kind and scope")
    kind = Kind(call.kind)
    refusal = _refusal_by_caller(agent, call, kind) or _refusal_by_rights(agent, call)
    if refusal is not None:
        return Admission(authenticated=True, refusal=refusal)
    if kind is Kind.READ:
        return Admission(authenticated=True, verdict=Verdict.RUNS)
    return _admit_write(agent, call, kind)


@dataclass(frozen=True, slots=True)
class Outlook:
    """How one tool stands for this caller: `status` and the reason of tool_list."""

    status: Literal[
        "available", "capability_disabled", "requires_approval", "blocked_by_autonomy", "collected_not_executed"
    ]
    reason: str | None = field(default=None)


def outlook(agent: AgentFacts, call: CallFacts) -> Outlook:
    """What a call of this tool with valid arguments would meet. Has no effect (work-plan-tool, tool_list)."""
    admission = admit(agent, call)
    if admission.refusal is not None:
        missing = admission.refusal.code in (Code.CAPABILITY_MISSING, Code.CAPABILITY_DISABLED)
        return Outlook("capability_disabled" if missing else "blocked_by_autonomy", admission.refusal.message)
    match admission.verdict:
        case Verdict.ASKS:
            return Outlook("requires_approval", CARDS_ARE_FULL if agent.cards_are_full else APPROVAL_REQUIRED)
        case Verdict.COLLECTED:
            return Outlook("collected_not_executed", COLLECTED_MESSAGE)
        case _:
            return Outlook("available")


def matching_credential(credentials: Mapping[str, bytes], token_hash: bytes) -> str | None:
    """The name of the credential whose hash this is. Takes as long whichever matches, so timing tells nothing."""
    found: str | None = None
    for name, known in credentials.items():
        if hmac.compare_digest(known, token_hash):
            found = name
    return found


def _refusal_by_caller(agent: AgentFacts, call: CallFacts, kind: Kind) -> Refusal | None:
    """Identity, arguments, scope."""
    if agent.is_guest and kind is not Kind.READ:
        return _UNIDENTIFIED
    if call.arguments == "invalid":
        return invalid_arguments({})  # the gateway, which validated them, adds the fields
    if call.scope == Scope.WORKSPACE.value:
        if not agent.workspace_id:
            return _SCOPE_UNRESOLVED
        if call.workspaceId not in (None, agent.workspace_id):
            return _SCOPE_MISMATCH
    return None


def _refusal_by_rights(agent: AgentFacts, call: CallFacts) -> Refusal | None:
    """Withheld tool, required capability."""
    # What ends a stopped plan passes always (common 4.3): an agent that gave it up could do nothing any more.
    if call.tool in agent.withheld and not (agent.plan == "stopped" and call.passesWhenStopped):
        return _WITHHELD
    is_held = call.capability is None or call.capability in agent.capabilities
    return None if is_held or (agent.is_guest and call.tool == _FOR_GUESTS) else _CAPABILITY_MISSING


def _admit_write(agent: AgentFacts, call: CallFacts, kind: Kind) -> Admission:
    """Stopped plan, autonomy, creation budget, stored bytes."""
    is_stopped = agent.plan == "stopped"
    if is_stopped and not call.passesWhenStopped:
        return Admission(authenticated=True, refusal=_STOPPED)
    verdict = Verdict.RUNS if is_stopped else BY_MODE[agent.mode, kind]
    if verdict is None:
        return Admission(authenticated=True, refusal=_BLOCKED)
    if call.isBudgeted and agent.budget is not None:
        return Admission(authenticated=True, refusal=agent.budget)
    if agent.storage is not None and not (call.freesSpace or call.passesWhenStopped):
        return Admission(authenticated=True, refusal=agent.storage)
    return Admission(authenticated=True, verdict=verdict)
