"""Which agent program the agent is run with. What may be chosen is the providers' owner's to say, and comes from it as
`provider_chosen`; whether this agent exists for whoever chose is said here (common 3.3)."""

from __future__ import annotations

from typing import Final

from actors.agent.state import AgentState
from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Send, Verb, VerbTable
from actors.parsed import Nothing, parsed, sending_owner
from bus import address
from bus.value import Record
from tools.base import Model
from tools.errors import NOT_FOUND


class ProviderChosen(Model):
    callId: str
    providerId: str
    workspaceId: str | None
    """The scope of the agent that chose; None: the person did."""


def provider_chosen(state: AgentState, body: ProviderChosen, context: Context) -> Decision:
    sending_owner(context, "providers")
    head = state.living()
    told: Record = {"callId": body.callId, "providerId": body.providerId}
    is_seen = head is not None and (
        body.workspaceId is None or (head.workspaceId != "" and head.workspaceId == body.workspaceId)
    )
    if head is None or head.is_guest or not is_seen:
        return Decision({}, (Send(address.PROVIDERS, "provider_noted", {**told, "found": False}),))
    effects: tuple[Effect, ...] = ()
    if head.provider != body.providerId:
        event = Event("agent.provider_changed", {"agentId": context.address.id, "providerId": body.providerId})
        effects = (*head.widened(provider=body.providerId), event)
    noted: Record = {**told, "found": True, "changed": bool(effects)}
    return Decision({}, (*effects, Send(address.PROVIDERS, "provider_noted", noted)))


def agent_drop_provider(state: AgentState, body: Nothing, context: Context) -> Decision:
    """Nobody has chosen one any more."""
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    reply: Record = {"agentId": context.address.id, "providerId": None, "changed": head.provider is not None}
    if head.provider is None:
        return Decision(reply)
    event = Event("agent.provider_changed", {"agentId": context.address.id, "providerId": None})
    return Decision(reply, (*head.widened(provider=None), event))


VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "provider_chosen": Verb(parsed(ProviderChosen, provider_chosen), frozenset({PrincipalKind.OWNER})),
        "agent_drop_provider": Verb(parsed(Nothing, agent_drop_provider), frozenset({PrincipalKind.PERSON})),
    }
)
