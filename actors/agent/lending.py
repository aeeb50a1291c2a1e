"""Credentials that are lent to a process for as long as its connection to a gateway lasts (decision 0012).

Invariants: a lent credential names the gateway and the connection that hold it, counts only through that gateway
(access.py), and ends only by that connection or when another gateway has taken over. What ends so has lapsed: it admits
nothing, and its cards are void; but whoever has its token is lent the same again, because a process may have lived on
while its connection did not. One that the person revoked is gone for good. Lending the same one again while it is held
only changes who holds it: what it asked for goes on.
"""

from __future__ import annotations

import hmac
from typing import Final

from actors.agent.authority import credential_revoke_effects
from actors.agent.state import AgentState, Credential, Head, LapsedLease, credential_row, lapsed_row
from actors.credential import TokenHash
from actors.decision import Context, Decision, Delete, Effect, Event, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import parsed
from bus.limits import credentials_per_agent_max, leases_lapsed_max, leases_per_agent_max
from bus.value import Record
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments, unavailable

_TOO_MANY: Final = Refusal(
    Code.WRONG_STATE,
    "The agent has as many credentials as it may have, or as many lent ones. End some of its clients, or revoke one.",
    details={"limit": leases_per_agent_max},
)
_NO_ROOM_YET: Final = unavailable("The agent has as many lent credentials as it may have. One of them must end first.")
_ANOTHER: Final = invalid_arguments({"name": "this agent has another credential of this name"})


class CredentialLend(Model):
    name: Name
    tokenHash: TokenHash
    gateway: Identifier
    connection: Identifier
    again: bool
    """Only one that there is, or that has lapsed; it is not made anew."""


class LeaseEnd(Model):
    name: Name
    gateway: Identifier
    connection: Identifier


class LeasesEnd(Model):
    gateway: Identifier
    """The one that lends now."""
    spared: list[Name]
    """Those that are being asked for again."""


def credential_lend(state: AgentState, body: CredentialLend, context: Context) -> Decision:
    """A new one, or the same again to whoever has its token. Never one that the person made."""
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    reply: Record = {"agentId": context.address.id, "name": head.name, "credential": body.name}
    known, lapsed = state.credentials.get(body.name), state.lapsed.get(body.name)
    if known is not None:
        if known.lentBy is None or not hmac.compare_digest(known.hash, body.tokenHash):
            return Decision(_ANOTHER)
        lent = known.model_copy(update={"lentBy": body.gateway, "lentTo": body.connection})
        return Decision(reply, () if lent == known else (Put(credential_row(body.name), lent.model_dump()),))
    if body.again and lapsed is None:
        return Decision(NOT_FOUND)
    if lapsed is not None and not hmac.compare_digest(lapsed.credential.hash, body.tokenHash):
        return Decision(_ANOTHER)
    lent_ones = sum(credential.lentBy is not None for credential in state.credentials.values())
    if lent_ones >= leases_per_agent_max or len(state.credentials) >= credentials_per_agent_max:
        return Decision(_NO_ROOM_YET if body.again else _TOO_MANY)
    made_ms, families = context.now_ms, None
    if lapsed is not None:  # another than before: what that one had asked for is void
        made_ms, families = max(made_ms, lapsed.credential.createdAt + 1), lapsed.credential.families
    credential = Credential(
        hash=body.tokenHash, createdAt=made_ms, families=families, lentBy=body.gateway, lentTo=body.connection
    )
    effects: tuple[Effect, ...] = (
        *state.without(body.name),
        Put(credential_row(body.name), credential.model_dump()),
        Event("agent.credential_added", {"agentId": context.address.id, "credential": body.name, "isLent": True}),
    )
    return Decision(reply, effects)


def lease_end(state: AgentState, body: LeaseEnd, context: Context) -> Decision:
    """Its connection has ended. One that another connection holds by now goes on."""
    head, known = state.living(), state.credentials.get(body.name)
    if head is None or known is None or (known.lentBy, known.lentTo) != (body.gateway, body.connection):
        return Decision({"agentId": context.address.id, "ended": 0})
    return Decision({"agentId": context.address.id, "ended": 1}, _lapses(state, head, body.name, context))


def leases_end(state: AgentState, body: LeasesEnd, context: Context) -> Decision:
    """Of what former gateways lent one ends, and `left` says how many there are yet: two may have asked for cards of
    one plan. Those that are being asked for count as left, since whoever asks may still leave."""
    head = state.living()
    stale = [name for name, one in sorted(state.credentials.items()) if one.lentBy not in (None, body.gateway)]
    ending = next((name for name in stale if name not in body.spared), None)
    if head is None or ending is None:
        return Decision({"agentId": context.address.id, "ended": 0, "left": len(stale)})
    effects = _lapses(state, head, ending, context)
    return Decision({"agentId": context.address.id, "ended": 1, "left": len(stale) - 1}, effects)


def _lapses(state: AgentState, head: Head, name: str, context: Context) -> tuple[Effect, ...]:
    """Nobody holds it any more. Of those that have lapsed only the latest are kept."""
    oldest_first = sorted(state.lapsed, key=lambda other: (state.lapsed[other].at, other))
    surplus = oldest_first[: max(0, len(oldest_first) + 1 - leases_lapsed_max)]
    lapsed = LapsedLease(credential=state.credentials[name], at=context.now_ms)
    return (
        *credential_revoke_effects(state, head, name, context),
        *(Delete(lapsed_row(other)) for other in surplus),
        Put(lapsed_row(name), lapsed.model_dump()),
    )


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "credential_lend": Verb(parsed(CredentialLend, credential_lend), _PERSON),
        "lease_end": Verb(parsed(LeaseEnd, lease_end), _PERSON),
        "leases_end": Verb(parsed(LeasesEnd, leases_end), _PERSON),
    }
)
