"""Who proves to be this agent, and which of its calls go on.

The first use of any credential sets `ran`, and a new idempotency key is kept; every other authentication and admission
has no effects, so the hot path never waits for the disk.
"""

from __future__ import annotations

from typing import Final

from actors.agent.admission import Admission, AgentFacts, CallFacts, admit, matching_credential
from actors.agent.keys import GivenKey, Use, use
from actors.agent.state import DEFAULT_CREDENTIAL, HEAD_ROW, AgentState, Credential, Head, credential_row
from actors.credential import TokenHash
from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.parsed import parsed
from bus import address
from bus.value import Record
from tools.base import Model
from tools.errors import NOT_FOUND, Refusal


class Authenticate(Model):
    tokenHash: TokenHash


class Admit(CallFacts):
    tokenHash: TokenHash
    idempotency: GivenKey | None = None
    """For a write that carries a key; the answer then names the call id to send it under."""


class TokenReplace(Model):
    tokenHash: TokenHash


def authenticate(state: AgentState, body: Authenticate, context: Context) -> Decision:
    head, credential = _caller(state, body.tokenHash)
    if head is None or credential is None:
        return Decision({"authenticated": False})
    reply: Record = {
        "authenticated": True,
        "agentId": context.address.id,
        "workspaceId": head.workspaceId,
        "waiting": state.waiting,
    }
    return Decision(reply, _first_use(head, context))


def admit_call(state: AgentState, body: Admit, context: Context) -> Decision:
    head, credential = _caller(state, body.tokenHash)
    facts = None if head is None else AgentFacts(head.workspaceId, frozenset(head.capabilities))
    admission = admit(facts, body)
    key_use = _key_use(state, head, admission, body, context)
    refusal = key_use if isinstance(key_use, Refusal) else admission.refusal
    reply: Record = {
        "authenticated": admission.authenticated,
        "refusal": None if refusal is None else refusal.to_record(),
        "stamp": None,
        "waiting": state.waiting if admission.authenticated else 0,
    }
    if head is None:
        return Decision(reply)
    if admission.admitted and refusal is None:
        reply["stamp"] = {
            "agentId": context.address.id,
            "workspaceId": head.workspaceId,
            "credential": credential,
            "version": head.version,
            "issuedMs": context.now_ms,
        }
    if not isinstance(key_use, Use):
        return Decision(reply, _first_use(head, context))
    reply["callId"] = key_use.call_id
    if isinstance(reply["stamp"], dict):
        reply["stamp"]["keep"] = True  # the first answer, whatever it is
    return Decision(reply, (*key_use.effects, *_first_use(head, context)))


def _key_use(
    state: AgentState, head: Head | None, admission: Admission, body: Admit, context: Context
) -> Use | Refusal | None:
    """Only an admitted write uses its key up: what is refused may be mended and sent again under it."""
    if head is None or body.idempotency is None or not admission.admitted or body.kind == "read":
        return None
    return use(state.keys, head.workspaceId, body.tool, body.idempotency, context.now_ms)


def token_replace(state: AgentState, body: TokenReplace, context: Context) -> Decision:
    """The former token of the default credential stops working with this commit."""
    head = state.living()
    if head is None:
        return Decision(NOT_FOUND)
    narrowed = head.model_copy(update={"version": head.version + 1})
    credential = Credential(hash=body.tokenHash, createdAt=context.now_ms)
    effects = (
        Put(HEAD_ROW, narrowed.model_dump()),
        Put(credential_row(DEFAULT_CREDENTIAL), credential.model_dump()),
        Event("agent.credential_replaced", {"agentId": context.address.id, "credential": DEFAULT_CREDENTIAL}),
    )
    return Decision({"agentId": context.address.id, "name": head.name, "version": narrowed.version}, effects)


def _caller(state: AgentState, token_hash: bytes) -> tuple[Head | None, str | None]:
    """The agent and the credential it used; both None unless the token is one of its own."""
    known = {name: credential.hash for name, credential in state.credentials.items()}
    credential = matching_credential(known, token_hash)
    head = state.living()
    return (head, credential) if head is not None and credential is not None else (None, None)


def _first_use(head: Head, context: Context) -> tuple[Effect, ...]:
    if head.ran:
        return ()
    ran = head.model_copy(update={"ran": True})
    agent_id = context.address.id
    return (
        Put(HEAD_ROW, ran.model_dump()),
        Send(address.mailbox(agent_id), "facts_changed", ran.mailbox_facts()),
        Event("agent.first_seen", {"agentId": agent_id}),
    )


_GATEWAY: Final = frozenset({PrincipalKind.GATEWAY})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "authenticate": Verb(parsed(Authenticate, authenticate), _GATEWAY),
        "admit": Verb(parsed(Admit, admit_call), _GATEWAY),
        "token_replace": Verb(parsed(TokenReplace, token_replace), frozenset({PrincipalKind.PERSON})),
    }
)
