"""Who proves to be this agent, and what becomes of its calls (docs/decisions/0009-authority.md).

An admission without anything to charge, record or consume has no effects, so the hot path never waits for the disk.
One with effects commits them together with the call itself, as a `Dispatch`, and asks the gateway first for what it
needs to know: the `call` (arguments and target), and a `look` at what its target would say when a card or a collected
step is due.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from actors.agent import keys
from actors.agent.admission import CallFacts, Verdict, admit, matching_credential, outlook
from actors.agent.effectful import Admitting, GivenCall, Look, asks, collects, dispatches
from actors.agent.keys import GivenKey, UsedKey
from actors.agent.standing import standing
from actors.agent.state import HEAD_ROW, AgentState, Head, credential_row
from actors.credential import TokenHash
from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.parsed import parsed
from bus import address
from bus.admitted import STAMP_DISPATCHED
from bus.limits import credential_use_noted_ms
from bus.value import Record, Value
from tools.base import Model
from tools.errors import NOT_FOUND, Refusal
from tools.setting_catalogue import CALLS_PER_MINUTE, CONNECTIONS, Snapshot


class Authenticate(Model):
    tokenHash: TokenHash


class Admit(CallFacts):
    tokenHash: TokenHash
    idempotency: GivenKey | None = None
    """For a write that carries a key; the answer then names the call id to send it under."""
    call: GivenCall | None = None
    look: Look | None = None


class Outlooks(Model):
    tools: Annotated[list[CallFacts], Field(max_length=1_000)]


def authenticate(state: AgentState, body: Authenticate, context: Context) -> Decision:
    head, credential = _caller(state, body.tokenHash, context)
    if head is None or credential is None:
        return Decision({"authenticated": False})
    reply: Record = {
        "authenticated": True,
        "agentId": context.address.id,
        "workspaceId": head.workspaceId,
        "waiting": state.waiting,
    }
    limits = _limits(context.settings)
    if limits:
        reply["limits"] = limits
    families = state.credentials[credential].families
    if families is not None:
        reply["families"] = [*families]
    return Decision(reply, _noted_use(state, head, credential, context))


def admit_call(state: AgentState, body: Admit, context: Context) -> Decision:
    """Judges the token first, like `authenticate`, which the gateway asked a moment ago and which noted its use.
    Answers {authenticated, waiting} with one of: isUnknownTool (to this credential); refusal; stamp; needs and a
    stamp for a look; stamp and callId of a dispatched call; answer, of a collected one; asLooked, when what the look
    said is the answer."""
    head, credential = _caller(state, body.tokenHash, context)
    if head is None or credential is None:
        return Decision({"authenticated": False, "waiting": 0})
    facts = standing(state, head, state.credentials[credential], context, is_budgeted=body.isBudgeted)
    admission = admit(facts, body)
    if admission.verdict is None:
        refused: Record = {"refusal": admission.refusal.to_record()} if admission.refusal else {"isUnknownTool": True}
        return _answered(state, refused)
    admitting = Admitting(state, head, credential, body, body.call, body.look, context)
    first_use: UsedKey | Refusal | None = None
    if body.idempotency is not None and body.kind != "read":
        first_use = keys.known(state.keys, head.workspaceId, body.tool, body.idempotency, context.now_ms)
    if isinstance(first_use, Refusal):
        return _answered(state, {"refusal": first_use.to_record()})
    if first_use is not None:
        return _answered(state, _repeated(admitting, first_use, admission.verdict))
    reply, effects = _decided(admitting, admission.verdict, body.idempotency)
    return _answered(state, reply, effects)


def outlooks(state: AgentState, body: Outlooks, context: Context) -> Decision:
    """What tool_list tells of each tool that the credential knows (work-plan-tool, tool_*). The caller's own; without
    effects."""
    head, credential = state.living(), state.credentials.get(context.principal.credential)
    if head is None or credential is None or context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    budgeted = standing(state, head, credential, context, is_budgeted=True, counts_cards=True)
    tools: list[Value] = []
    for call in body.tools:
        if not budgeted.is_served(call.family):
            continue
        seen = outlook(budgeted, call)
        is_held = call.capability is None or call.capability in head.capabilities
        tools.append({"name": call.tool, "status": seen.status, "reason": seen.reason, "isHeld": is_held})
    return Decision({"autonomyMode": budgeted.mode.value, "tools": tools})


def _decided(admitting: Admitting, verdict: Verdict, idempotency: GivenKey | None) -> tuple[Record, tuple[Effect, ...]]:
    match verdict:
        case Verdict.ASKS:
            return asks(admitting, idempotency)
        case Verdict.COLLECTED:
            return collects(admitting, idempotency)
        case Verdict.RUNS if admitting.has_effects:
            return dispatches(admitting, idempotency)
        case Verdict.RUNS:
            stamp = admitting.stamp()
            if idempotency is None:
                return {"stamp": stamp}, ()
            stamp["keep"] = True  # the first answer, whatever it is
            effects = keys.kept(admitting.state.keys, admitting.key_digest(idempotency), idempotency, admitting.now_ms)
            return {"stamp": stamp, "callId": idempotency.callId}, effects


def _repeated(admitting: Admitting, first: UsedKey, verdict: Verdict) -> Record:
    """A repeat under a key gets the first answer (common 8.2). Where it would not run now it must not run anew: then it
    only joins."""
    if first.answer is not None:
        return {"answer": first.answer}
    joins = first.isDispatched or verdict is not Verdict.RUNS or admitting.has_effects
    flag = STAMP_DISPATCHED if joins else "keep"
    return {"stamp": {**admitting.stamp(), flag: True}, "callId": first.callId}


def _answered(state: AgentState, reply: Record, effects: tuple[Effect, ...] = ()) -> Decision:
    return Decision({"authenticated": True, "waiting": state.waiting, **reply}, effects)


def _caller(state: AgentState, token_hash: bytes, context: Context) -> tuple[Head | None, str | None]:
    """The agent and the credential it used; both None unless the token is one of its own. A lent one counts only
    through the gateway that holds it: of what a former gateway lent nobody knows whether its process is still there."""
    gateway = context.principal.gateway
    known = {name: one.hash for name, one in state.credentials.items() if one.lentBy in (None, gateway)}
    credential = matching_credential(known, token_hash)
    head = state.living()
    return (head, credential) if head is not None and credential is not None else (None, None)


def _noted_use(state: AgentState, head: Head, name: str, context: Context) -> tuple[Effect, ...]:
    """The first use of any credential sets `ran`; when each was last used is noted once a minute."""
    credential = state.credentials[name]
    if credential.usedAt is not None and credential.usedAt + credential_use_noted_ms > context.now_ms:
        return ()
    used = credential.model_copy(update={"usedAt": context.now_ms})
    noted = Put(credential_row(name), used.model_dump())
    if head.ran:
        return (noted,)
    ran = head.model_copy(update={"ran": True})
    agent_id = context.address.id
    effects: tuple[Effect, ...] = (noted, Put(HEAD_ROW, ran.model_dump()))
    if head.is_guest:
        return effects
    return (
        *effects,
        Send(address.mailbox(agent_id), "facts_changed", ran.mailbox_facts()),
        Event("agent.first_seen", {"agentId": agent_id}),
    )


def _limits(settings: Snapshot) -> Record:
    """Of the gateway, when the person has changed them (common 8.5)."""
    limits = {"callsPerMinute": CALLS_PER_MINUTE, "connections": CONNECTIONS}
    return {name: settings.of(limit) for name, limit in limits.items() if settings.of(limit) != limit.default}


_GATEWAY: Final = frozenset({PrincipalKind.GATEWAY})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        # It notes the use of a credential once a minute; without that no agent could even read on a full disk.
        "authenticate": Verb(parsed(Authenticate, authenticate), _GATEWAY, writes_on_full_disk=True),
        "admit": Verb(parsed(Admit, admit_call), _GATEWAY),
        "outlooks": Verb(parsed(Outlooks, outlooks), frozenset({PrincipalKind.AGENT})),
    }
)
