"""What an agent is: made and removed by the directory, read by its workspace, changed by itself.

A new name belongs to the directory to grant: the call stays open as a `claim/<call id>` row until `name_claimed` or
`name_refused` comes back. The change is all or nothing: persona and color wait with the name. Where the agent acts is
the directory's to say too (`scope_changed`), and what the person calls it (`renamed`).
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from actors.agent import approvals
from actors.agent.plan_run import abandoned
from actors.agent.state import (
    DEFAULT_CREDENTIAL,
    HEAD_ROW,
    WAITING_ROW,
    AgentState,
    Claim,
    Credential,
    Head,
    claim_row,
    credential_row,
)
from actors.credential import TokenHash
from actors.decision import (
    Answer,
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    Notify,
    PrincipalKind,
    Put,
    Send,
    Verb,
    VerbTable,
)
from actors.parsed import DONE, Nothing, parsed, sending_owner
from bus import address
from bus.topics import mailbox_topic
from bus.value import Record, Value
from tools.agent import AgentGetInput, AgentUpdateSelfInput
from tools.autonomy import ModeName
from tools.base import Model, Name
from tools.errors import NOT_FOUND, Refusal, invalid_arguments
from tools.fence import fenced
from tools.setting_catalogue import SURFACES_PER_HOUR
from tools.times import rfc3339

_PALETTE: Final = ("#1971c2", "#2f9e44", "#e8590c", "#9c36b5", "#0c8599", "#e03131", "#f08c00", "#6741d9")

_NAME_TAKEN: Final = invalid_arguments(
    {"name": "another agent has this name or one that looks like it; choose one that differs clearly"}
)


class AgentCreated(Model):
    name: Name
    workspaceId: str
    mode: ModeName
    capabilities: list[Literal["mesh"]]
    tokenHash: TokenHash | None
    """None: it has no credential until the person gives it one (mesh 6)."""
    persona: str | None = None
    kind: str = "agent"
    providerId: str | None = None


class NameClaimed(Model):
    callId: str
    name: str


class NameRefused(Model):
    callId: str


class AgentRemoved(Model):
    agentId: str = ""


class ScopeChanged(Model):
    agentId: str
    workspaceId: str | None
    inherits: bool


class Renamed(Model):
    agentId: str
    name: Name


class WaitingChanged(Model):
    count: int = Field(ge=0)


def agent_created(state: AgentState, body: AgentCreated, context: Context) -> Decision:
    sending_owner(context, "app")
    if state.head is not None:
        return DONE
    head = Head(
        name=body.name,
        persona=body.persona,
        kind=body.kind,
        color=_PALETTE[context.number("color") % len(_PALETTE)],
        workspaceId=body.workspaceId,
        createdAt=context.now_ms,
        mode=body.mode,
        capabilities=body.capabilities,
        ran=False,
        version=1,
        removed=False,
        provider=body.providerId,
    )
    effects = [Put(HEAD_ROW, head.model_dump())]
    if body.tokenHash is not None:
        credential = Credential(hash=body.tokenHash, createdAt=context.now_ms)
        effects.append(Put(credential_row(DEFAULT_CREDENTIAL), credential.model_dump()))
    return Decision({}, tuple(effects))


def agent_removed(state: AgentState, body: AgentRemoved, context: Context) -> Decision:
    """Every credential stops working with this commit, and so does what it asked for and the plan that it has open;
    what the agent was stays for the records, and what it made can still be undone."""
    sending_owner(context, "app")
    head = state.living()
    noted = Send(address.DIRECTORY, "removal_noted", {"agentId": context.address.id})
    if head is None:
        return Decision({}, (noted,)) if state.head is not None else DONE
    after = head.model_copy(update={"removed": True})
    effects: tuple[Effect, ...] = (
        *head.narrowed(context.address.id, removed=True),
        *(gone for name in sorted({*state.credentials, *state.lapsed}) for gone in state.without(name)),
        *approvals.voided({id_: each for id_, each in state.approvals.items() if each.step is None}, context),
        *abandoned(state, context),
        noted,
        Send(address.mailbox(context.address.id), "facts_changed", after.mailbox_facts(), before_reply=True),
    )
    return Decision({}, effects)


def agent_get(state: AgentState, body: AgentGetInput, context: Context) -> Decision:
    """But for the channels, which the workspace's owner knows (nexus/gateway/compose.py)."""
    head = _visible(state, context)
    if head is None:
        return Decision(NOT_FOUND)
    is_self = context.principal.agent_id == context.address.id
    return Decision({**_identity(head, context.address.id), "isSelf": is_self})


def agent_facts(state: AgentState, body: Nothing, context: Context) -> Decision:
    """What tiers depend on, for those who may see the agent; the person is told its authority as well."""
    head = _visible(state, context)
    if head is None:
        return Decision(NOT_FOUND)
    facts: Record = {"agentId": context.address.id, **head.mailbox_facts()}
    if context.principal.kind is not PrincipalKind.PERSON:  # whom else the person has blocked is not the caller's
        facts["blocked"] = [caller] if (caller := context.principal.agent_id) in head.blocked else []
        del facts["mode"]
    if context.principal.kind is PrincipalKind.PERSON or context.principal.agent_id == context.address.id:
        facts["inherits"] = head.inherits
    if context.principal.kind is PrincipalKind.PERSON:
        facts |= {
            "kind": head.kind,
            "color": head.color,
            "persona": head.persona,
            "provider": head.provider,
            "createdAt": rfc3339(head.createdAt),
            "mode": head.mode,
            "capabilities": [*head.capabilities],
            "credentials": _credentials(state),
            "withheld": [{"tool": tool, "by": by} for tool, by in sorted(state.withheld.items())],
            "budget": _budget(state, context),
            "version": head.version,
            "waiting": state.waiting,
            "workingFor": state.working_for.model_dump(),
        }
    return Decision(facts)


def _credentials(state: AgentState) -> list[Value]:
    return [
        {
            "name": name,
            "createdAt": rfc3339(credential.createdAt),
            "lastUsedAt": None if credential.usedAt is None else rfc3339(credential.usedAt),
            "families": None if credential.families is None else [*credential.families],
            **({} if credential.lentBy is None else {"isLent": True}),
        }
        for name, credential in sorted(state.credentials.items())
    ]


def _budget(state: AgentState, context: Context) -> Record:
    return {
        "usedLifetime": state.budget.lifetime,
        "lifetime": state.budget.lifetime_cap(context.settings),
        "usedThisHour": len(state.budget.used_within_the_hour(context.now_ms)),
        "perHour": context.settings.of(SURFACES_PER_HOUR),
    }


def agent_update_self(state: AgentState, body: AgentUpdateSelfInput, context: Context) -> Decision:
    head = state.living()
    agent_id = context.address.id
    if head is None or context.principal.agent_id != agent_id:
        return Decision(NOT_FOUND)
    if body.name is None or body.name == head.name:
        return _changed(head, Claim(name=head.name, persona=body.persona, color=body.color), context)
    claim = Claim(name=body.name, persona=body.persona, color=body.color)
    effects = (
        Put(claim_row(context.call_id), claim.model_dump()),
        Send(address.DIRECTORY, "claim_name", {"name": body.name, "callId": context.call_id}),
    )
    return Decision(None, effects)


def name_claimed(state: AgentState, body: NameClaimed, context: Context) -> Decision:
    sending_owner(context, "app")
    claim, head = state.claims.get(body.callId), state.head
    if claim is None or head is None:
        return DONE
    change = _changed(head, claim, context)
    assert change.reply is not None
    effects: tuple[Effect, ...] = (Delete(claim_row(body.callId)), *change.effects, Answer(body.callId, change.reply))
    return Decision({}, effects)


def name_refused(state: AgentState, body: NameRefused, context: Context) -> Decision:
    sending_owner(context, "app")
    if body.callId not in state.claims:
        return DONE
    refusal: Refusal = NOT_FOUND if state.living() is None else _NAME_TAKEN
    return Decision({}, (Delete(claim_row(body.callId)), Answer(body.callId, refusal)))


def scope_changed(state: AgentState, body: ScopeChanged, context: Context) -> Decision:
    """Stamps of the former scope end with it: every host hears of the new authority (0009, Narrowing)."""
    sending_owner(context, "app")
    head = state.living()
    if head is None:
        return DONE
    moved = head.model_copy(update={"workspaceId": body.workspaceId or "", "inherits": body.inherits})
    if moved == head:
        return DONE
    agent_id = context.address.id
    left = {id_: each for id_, each in state.approvals.items() if each.step is None}
    has_moved = moved.workspaceId != head.workspaceId
    effects: tuple[Effect, ...] = (
        *head.narrowed(agent_id, workspaceId=moved.workspaceId, inherits=moved.inherits),
        *(approvals.voided(left, context) if has_moved else ()),  # they were for calls in the former scope
        # before_reply: what is sent to it from now on is decided by where it is now.
        Send(address.mailbox(agent_id), "facts_changed", moved.mailbox_facts(), before_reply=True),
    )
    return Decision({}, effects)


def renamed(state: AgentState, body: Renamed, context: Context) -> Decision:
    """The directory has given it this name already."""
    sending_owner(context, "app")
    head = state.living()
    if head is None or head.name == body.name:
        return DONE
    claim = Claim(name=body.name, persona=None, color=None)
    return Decision({}, _changed(head, claim, context).effects)


def waiting_changed(state: AgentState, body: WaitingChanged, context: Context) -> Decision:
    if sending_owner(context, "mailbox").id != context.address.id:
        raise ValueError("only an agent's own mailbox tells what waits for it")
    if body.count == state.waiting:
        return DONE
    notice = Notify(mailbox_topic(context.address.id), {"waiting": body.count})
    return Decision({}, (Put(WAITING_ROW, body.count), notice))


def _changed(head: Head, claim: Claim, context: Context) -> Decision:
    """The identity after `claim`, with what of it is new. Nothing new has no effects."""
    wanted = {"name": claim.name, "persona": claim.persona, "color": claim.color}
    former = {"name": head.name, "persona": head.persona, "color": head.color}
    new = {key: value for key, value in wanted.items() if value is not None and value != former[key]}
    changed = head.model_copy(update=new)
    agent_id = context.address.id
    reply: Record = {**_identity(changed, agent_id), "changed": [*new]}
    if not new:
        return Decision(reply)
    effects: list[Effect] = [Put(HEAD_ROW, changed.model_dump())]
    if "name" in new:
        # before_reply: the next task that the agent sends carries its new name.
        facts = changed.mailbox_facts()
        effects.append(Send(address.mailbox(agent_id), "facts_changed", facts, before_reply=True))
        effects.append(Event("agent.renamed", {"agentId": agent_id}))
    if new.keys() - {"name"}:
        effects.append(Event("agent.profile_changed", {"agentId": agent_id}))
    return Decision(reply, tuple(effects))


def _visible(state: AgentState, context: Context) -> Head | None:
    """The agent if the caller may know of it: an agent of another workspace looks like none (common 3.3)."""
    head, principal = state.living(), context.principal
    if head is None or principal.kind is PrincipalKind.PERSON:
        return head
    return head if head.workspaceId and principal.workspace_id == head.workspaceId else None


def _identity(head: Head, agent_id: str) -> Record:
    persona = None if not head.persona else fenced("agent persona", head.persona)
    return {
        "agentId": agent_id,
        "name": head.name,
        "persona": persona,
        "kind": head.kind,
        "color": head.color,
        "defaultProvider": head.provider,
    }


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_OWNER: Final = frozenset({PrincipalKind.OWNER})
_READERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "agent_created": Verb(parsed(AgentCreated, agent_created), _OWNER),
        "agent_removed": Verb(parsed(AgentRemoved, agent_removed), _OWNER),
        "name_claimed": Verb(parsed(NameClaimed, name_claimed), _OWNER),
        "name_refused": Verb(parsed(NameRefused, name_refused), _OWNER),
        "scope_changed": Verb(parsed(ScopeChanged, scope_changed), _OWNER),
        "renamed": Verb(parsed(Renamed, renamed), _OWNER),
        "waiting_changed": Verb(parsed(WaitingChanged, waiting_changed), _OWNER),
        "agent_facts": Verb(parsed(Nothing, agent_facts), _READERS),
        "agent_get": Verb(parsed(AgentGetInput, agent_get), _READERS),
        "agent_update_self": Verb(parsed(AgentUpdateSelfInput, agent_update_self), _AGENT),
    }
)
