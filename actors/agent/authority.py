"""What the person decides about one agent: mode, capabilities, tools, credentials, budget (common 2, 4).

Invariants: whatever narrows or revokes raises the authority version, and every shard host has heard of it before the
person is answered, so nothing goes on under the former authority; what widens leaves calls that are under way alone; a
tool that an agent gave up comes back only by the person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

from pydantic import Field

from actors.agent import approvals, plan_run
from actors.agent.approval import Approval, State
from actors.agent.budget import BUDGET_ROW, Budget
from actors.agent.state import (
    DEFAULT_CREDENTIAL,
    AgentState,
    Credential,
    Head,
    credential_row,
    withheld_row,
)
from actors.credential import TokenHash
from actors.decision import (
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    PrincipalKind,
    Put,
    Send,
    TellHosts,
    Verb,
    VerbTable,
)
from actors.parsed import parsed
from bus import address
from bus.admitted import AUTHORITY_CHANGED
from bus.limits import (
    credentials_per_agent_max,
    identifier_characters_max,
    surfaces_lifetime_max,
    withheld_tools_max,
)
from bus.value import Record
from tools.autonomy import Mode, ModeName
from tools.base import Families, Family, Model, Name, family_names
from tools.catalogue import BY_NAME
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments, unavailable
from tools.tool import ToolSetEnabledInput

_NOT_YET: Final = unavailable(
    "The change is decided, but the agent's owner has not heard of it yet. Look at the agent before you rely on it."
)
SWITCH: Final = "tool_set_enabled"

ToolName = Annotated[str, Field(min_length=1, max_length=identifier_characters_max)]


class SetMode(Model):
    mode: ModeName


class SetCapability(Model):
    capability: Literal["mesh"]
    held: bool


class SetWithheld(Model):
    tool: ToolName
    withheld: bool


class SetBudget(Model):
    lifetime: int | None = Field(default=None, ge=0, le=surfaces_lifetime_max)
    reset: bool = False


class AuthorityTell(Model):
    """What must hold of the agent before the person is told that it does."""

    isRemoved: bool = False
    workspaceId: str | None = None
    notWorkspaceId: str | None = None


class CredentialAdd(Model):
    name: Name
    tokenHash: TokenHash
    families: Families | None = None


class CredentialNarrow(Model):
    name: Name
    families: Families | None
    """None: every family."""


class CredentialRevoke(Model):
    name: Name


class TokenReplace(Model):
    tokenHash: TokenHash


def set_mode(state: AgentState, body: SetMode, context: Context) -> Decision:
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    effects: tuple[Effect, ...] = ()
    if head.mode != body.mode:
        event = Event("agent.mode_changed", {"agentId": context.address.id, "mode": body.mode, "former": head.mode})
        mode = Mode(body.mode)
        is_narrower = mode.is_narrower_than(head.autonomy)
        changed = head.narrowed(context.address.id, mode=mode.value) if is_narrower else head.widened(mode=mode.value)
        # What needed approval for its mode alone needs none now: a card left open would let the call run once more.
        needless = {id_: each for id_, each in state.approvals.items() if each.kind == "write" and each.step is None}
        ended = approvals.voided(needless, context) if mode is Mode.AUTO else ()
        # before_reply: the next task that the agent sends carries its new mode.
        facts = head.model_copy(update={"mode": mode.value}).mailbox_facts()
        told = Send(address.mailbox(context.address.id), "facts_changed", facts, before_reply=True)
        effects = (*changed, *ended, told, event)
    return _done(head, context, effects)


def set_capability(state: AgentState, body: SetCapability, context: Context) -> Decision:
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    if (body.capability in head.capabilities) == body.held:
        return _done(head, context)
    others = [held for held in head.capabilities if held != body.capability]
    capabilities = [*others, body.capability] if body.held else others
    facts = head.model_copy(update={"capabilities": capabilities}).mailbox_facts()
    data: Record = {"agentId": context.address.id, "capability": body.capability, "held": body.held}
    changed = (
        head.widened(capabilities=capabilities)
        if body.held
        else head.narrowed(context.address.id, capabilities=capabilities)
    )
    effects = (
        *changed,
        Send(address.mailbox(context.address.id), "facts_changed", facts, before_reply=True),
        Event("agent.capability_changed", data),
    )
    return _done(head, context, effects)


def set_withheld(state: AgentState, body: SetWithheld, context: Context) -> Decision:
    """The person takes a tool away or gives it back, whoever took it away."""
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    if (body.tool in state.withheld) == body.withheld:
        return _done(head, context)
    if body.withheld:
        return _done(head, context, _withheld(state, head, body.tool, "person", context))
    effects = (
        Delete(withheld_row(body.tool)),
        Event("agent.tool_restored", {"agentId": context.address.id, "tool": body.tool}),
    )
    return _done(head, context, effects)


def tool_set_enabled(state: AgentState, body: ToolSetEnabledInput, context: Context) -> Decision:
    """The agent narrows itself (work-plan-tool, tool_set_enabled)."""
    head = state.living()
    if head is None or context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    if body.enabled:
        problem = "must be false or absent: you can only give a tool up. Ask the person to give one back"
        return Decision(invalid_arguments({"enabled": problem}))
    # A tool of a family that the credential is not served is unknown to it, here too (common 1.3).
    if body.tool not in BY_NAME or not state.serves(context.principal.credential, body.tool):
        return Decision(invalid_arguments({"tool": "no tool has this name; tools/list names them all"}))
    changed = body.tool not in state.withheld
    effects = _withheld(state, head, body.tool, "agent", context) if changed else ()
    return Decision({"tool": body.tool, "enabled": False, "changed": changed}, effects)


def set_budget(state: AgentState, body: SetBudget, context: Context) -> Decision:
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    budget = Budget(cap=state.budget.cap) if body.reset else state.budget
    if body.lifetime is not None:
        budget = budget.model_copy(update={"cap": body.lifetime})
    if budget == state.budget:
        return _done(head, context)
    event = Event("agent.budget_changed", {"agentId": context.address.id})
    return _done(head, context, (Put(BUDGET_ROW, budget.model_dump()), event))


def credential_add(state: AgentState, body: CredentialAdd, context: Context) -> Decision:
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    if body.name in state.credentials:
        return Decision(
            invalid_arguments({"name": "this agent has a credential of this name; revoke it, or choose another"})
        )
    if len(state.credentials) >= credentials_per_agent_max:
        return Decision(
            Refusal(
                Code.WRONG_STATE,
                "The agent has as many credentials as it may have. Revoke one first.",
                details={"limit": credentials_per_agent_max},
            )
        )
    credential = Credential(hash=body.tokenHash, createdAt=context.now_ms, families=_ordered(body.families))
    effects = (
        Put(credential_row(body.name), credential.model_dump()),
        Event("agent.credential_added", {"agentId": context.address.id, "credential": body.name}),
    )
    return Decision({"agentId": context.address.id, "name": head.name, "credential": body.name}, effects)


def credential_narrow(state: AgentState, body: CredentialNarrow, context: Context) -> Decision:
    """From now on it is served these families alone, and what it asked for of others ends (common 1.3, 2.1)."""
    head, credential = state.living(), state.credentials.get(body.name)
    if head is None or head.is_guest or credential is None:
        return Decision(NOT_FOUND)
    families = _ordered(body.families)
    told: Record = {"agentId": context.address.id, "credential": body.name}
    reply: Record = {**told, "name": head.name, "families": None if families is None else [*families]}
    if credential.families == families:
        return Decision({**reply, "changed": False})

    def is_lost(approval: Approval) -> bool:
        tool = BY_NAME.get(approval.tool)
        is_served = families is None or (tool is not None and tool.family.value in families)
        return approval.credential == body.name and not is_served

    is_wider = families is None or (credential.families is not None and {*families} >= {*credential.families})
    changed = head.told(context.address.id) if is_wider else head.narrowed(context.address.id)
    effects: tuple[Effect, ...] = (
        Put(credential_row(body.name), credential.model_copy(update={"families": families}).model_dump()),
        *_voided(state, is_lost, context, Code.NOT_FOUND),
        *(() if families is None or Family.AGENT.value in families else (_leases_end(body.name, context),)),
        *changed,
        Event("agent.credential_narrowed", told),
    )
    return Decision({**reply, "changed": True}, effects)


def credential_revoke(state: AgentState, body: CredentialRevoke, context: Context) -> Decision:
    """It stops with this commit, and so does what it asked for (common 2.1)."""
    head = state.living()
    if head is None or not state.without(body.name):
        return Decision(NOT_FOUND)
    effects = credential_revoke_effects(state, head, body.name, context)
    return Decision({"agentId": context.address.id, "name": head.name, "credential": body.name}, effects)


def credential_revoke_effects(state: AgentState, head: Head, name: str, context: Context) -> tuple[Effect, ...]:
    """What ends with one credential of the agent's."""
    return (
        *state.without(name),
        *_voided(state, _asked_by(name), context),
        _leases_end(name, context),
        *head.narrowed(context.address.id),
        Event("agent.credential_revoked", {"agentId": context.address.id, "credential": name}),
    )


def token_replace(state: AgentState, body: TokenReplace, context: Context) -> Decision:
    """The former token of the default credential stops working with this commit. What it was narrowed to stays."""
    head = state.living()
    if head is None:
        return Decision(NOT_FOUND)
    former = state.credentials.get(DEFAULT_CREDENTIAL)
    families = None if former is None else former.families
    made_ms = context.now_ms if former is None else max(context.now_ms, former.createdAt + 1)
    credential = Credential(hash=body.tokenHash, createdAt=made_ms, families=families)
    effects = (
        Put(credential_row(DEFAULT_CREDENTIAL), credential.model_dump()),
        *_voided(state, _asked_by(DEFAULT_CREDENTIAL), context),
        _leases_end(DEFAULT_CREDENTIAL, context),
        *head.narrowed(context.address.id),
        Event("agent.credential_replaced", {"agentId": context.address.id, "credential": DEFAULT_CREDENTIAL}),
    )
    return Decision({"agentId": context.address.id, "name": head.name, "version": head.version + 1}, effects)


def authority_tell(state: AgentState, body: AuthorityTell, context: Context) -> Decision:
    """Answered when every host honours nothing older than the present authority. The person's verbs ask this after a
    change that came by way of the directory, whose own answer waits for the agent's owner, bounded, and not for the
    hosts."""
    head = state.head
    if head is None:
        return Decision(NOT_FOUND)
    has_come = (
        (head.removed or not body.isRemoved)
        and body.workspaceId in (None, head.workspaceId)
        and (body.notWorkspaceId is None or body.notWorkspaceId != head.workspaceId)
    )
    if not has_come:
        return Decision(_NOT_YET)
    told: Record = {"agentId": context.address.id, "version": head.version}
    return Decision(told, (TellHosts(AUTHORITY_CHANGED, told),))


def _withheld(state: AgentState, head: Head, tool: str, by: str, context: Context) -> tuple[Effect, ...]:
    assert len(state.withheld) < withheld_tools_max, "there are not so many tools"
    return (
        Put(withheld_row(tool), by),
        *head.narrowed(context.address.id),
        Event("agent.tool_withheld", {"agentId": context.address.id, "tool": tool, "by": by}),
    )


def _leases_end(credential: str, context: Context) -> Send:
    """What a runtime has leased by a credential that is over is offered again at once (security 2.10)."""
    body: Record = {"credential": credential}
    return Send(address.mailbox(context.address.id), "credential_ended", body, before_reply=True)


def _ordered(families: list[str] | None) -> list[str] | None:
    return None if families is None else family_names(families)


def _asked_by(credential: str) -> Callable[[Approval], bool]:
    return lambda approval: approval.credential == credential


def _voided(
    state: AgentState,
    is_meant: Callable[[Approval], bool],
    context: Context,
    code: Code = Code.UNIDENTIFIED_CALLER,
) -> tuple[Effect, ...]:
    """These approvals end, and with them, by `code`, a run that waits for one of their cards."""
    meant = {id_: approval for id_, approval in state.approvals.items() if is_meant(approval)}
    effects = [*approvals.voided(meant, context)]
    for approval in meant.values():
        if approval.step is not None and approval.state is State.PENDING:
            plan_id, number = approval.step.planId, approval.step.number
            effects += plan_run.step_denied(state, plan_id, number, context, code)
    return tuple(effects)


def _done(head: Head, context: Context, effects: tuple[Effect, ...] = ()) -> Decision:
    reply: Record = {"agentId": context.address.id, "name": head.name, "changed": bool(effects)}
    return Decision(reply, effects)


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "agent_set_mode": Verb(parsed(SetMode, set_mode), _PERSON),
        "agent_set_capability": Verb(parsed(SetCapability, set_capability), _PERSON),
        "agent_set_withheld": Verb(parsed(SetWithheld, set_withheld), _PERSON),
        "agent_set_budget": Verb(parsed(SetBudget, set_budget), _PERSON),
        "credential_add": Verb(parsed(CredentialAdd, credential_add), _PERSON),
        "credential_narrow": Verb(parsed(CredentialNarrow, credential_narrow), _PERSON),
        "credential_revoke": Verb(parsed(CredentialRevoke, credential_revoke), _PERSON),
        "token_replace": Verb(parsed(TokenReplace, token_replace), _PERSON),
        "authority_tell": Verb(parsed(AuthorityTell, authority_tell), _PERSON),
        SWITCH: Verb(parsed(ToolSetEnabledInput, tool_set_enabled), frozenset({PrincipalKind.AGENT})),
    }
)
