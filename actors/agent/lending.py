"""Credentials that are lent to a process for as long as its connection to a gateway lasts (decision 0012).

Invariants: a lent credential names the gateway that holds it; whatever gateway starts revokes those of the gateways
before it, so that none outlives both its process and its gateway. Lending the same one again under its own secret
only changes who holds it: what it asked for goes on.
"""

from __future__ import annotations

import hmac
from typing import Final

from actors.agent.authority import credential_revoke_effects
from actors.agent.state import AgentState, Credential, credential_row
from actors.credential import TokenHash
from actors.decision import Context, Decision, Event, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import parsed
from bus.limits import credentials_per_agent_max, leases_per_agent_max
from bus.value import Value
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments

_TOO_MANY: Final = Refusal(
    Code.WRONG_STATE,
    "The agent has as many credentials as it may have, or as many lent ones. End some of its clients, or revoke one.",
    details={"limit": leases_per_agent_max},
)


class CredentialLend(Model):
    name: Name
    tokenHash: TokenHash
    gateway: Identifier
    again: bool
    """Only the one that there is; it is not made anew."""


class LeaseEnd(Model):
    name: Name
    gateway: Identifier


class LeasesEnd(Model):
    gateway: Identifier
    """The one that lends now."""


def credential_lend(state: AgentState, body: CredentialLend, context: Context) -> Decision:
    """A new one, or the same again to whoever has its token. Never one that the person made."""
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    reply: dict[str, Value] = {"agentId": context.address.id, "name": head.name, "credential": body.name}
    known = state.credentials.get(body.name)
    if known is not None:
        if known.lentBy is None or not hmac.compare_digest(known.hash, body.tokenHash):
            return Decision(invalid_arguments({"name": "this agent has another credential of this name"}))
        lent = known.model_copy(update={"lentBy": body.gateway})
        return Decision(reply, () if lent == known else (Put(credential_row(body.name), lent.model_dump()),))
    if body.again:
        return Decision(NOT_FOUND)
    lent_ones = sum(credential.lentBy is not None for credential in state.credentials.values())
    if lent_ones >= leases_per_agent_max or len(state.credentials) >= credentials_per_agent_max:
        return Decision(_TOO_MANY)
    credential = Credential(hash=body.tokenHash, createdAt=context.now_ms, lentBy=body.gateway)
    effects = (
        Put(credential_row(body.name), credential.model_dump()),
        Event("agent.credential_added", {"agentId": context.address.id, "credential": body.name, "isLent": True}),
    )
    return Decision(reply, effects)


def lease_end(state: AgentState, body: LeaseEnd, context: Context) -> Decision:
    """Its process has left this gateway. One that another gateway lends by now goes on."""
    head, known = state.living(), state.credentials.get(body.name)
    if head is None or known is None or known.lentBy != body.gateway:
        return Decision({"agentId": context.address.id, "revoked": 0})
    effects = credential_revoke_effects(state, head, body.name, context)
    return Decision({"agentId": context.address.id, "revoked": 1}, effects)


def leases_end(state: AgentState, body: LeasesEnd, context: Context) -> Decision:
    """Of what former gateways lent one is revoked, and `left` says how many there are yet: two may have asked for cards
    of one plan. Whoever still held one has been lent it again by now, or is gone."""
    head = state.living()
    stale = [name for name, one in sorted(state.credentials.items()) if one.lentBy not in (None, body.gateway)]
    if head is None or not stale:
        return Decision({"agentId": context.address.id, "revoked": 0, "left": 0})
    effects = credential_revoke_effects(state, head, stale[0], context)
    return Decision({"agentId": context.address.id, "revoked": 1, "left": len(stale) - 1}, effects)


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "credential_lend": Verb(parsed(CredentialLend, credential_lend), _PERSON),
        "lease_end": Verb(parsed(LeaseEnd, lease_end), _PERSON),
        "leases_end": Verb(parsed(LeasesEnd, leases_end), _PERSON),
    }
)
