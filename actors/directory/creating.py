"""Agents that agents ask for (mesh 6): made by the person's own path and limits, and without any right.

A workspace's owner has accepted the request and passes it on. Whatever comes of it is told to the requester's mailbox
and to the workspace's owner in the same commit, so nobody waits for ever and nothing is made twice.
"""

from __future__ import annotations

from typing import Final

from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Send, Verb, VerbTable
from actors.directory.agents import entering, entry_refusal
from actors.directory.channel_members import noted
from actors.directory.state import DirectoryState, ListedAgent
from actors.parsed import parsed, sending_owner
from bus import address
from bus.identifier import made_id
from bus.limits import agents_created_by_one_max
from bus.value import Record
from tools.agent_channels import AgentKind
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, rate_limited
from tools.provider_table import PROVIDERS

_TOO_MANY: Final = rate_limited(
    "As many agents that you asked for are there as may be. The person can remove some.",
    {"limit": agents_created_by_one_max},
)
_NO_PROVIDER: Final = Refusal(
    Code.WRONG_STATE,
    "NEXUS knows no provider of that id. Leave it out: the person can choose one for the new agent.",
)


class AgentAskedFor(Model):
    requestId: Identifier
    requesterId: Identifier
    workspaceId: Identifier
    name: Name
    persona: str | None
    kind: AgentKind
    providerId: Identifier | None
    channelId: Identifier | None


def agent_asked_for(state: DirectoryState, body: AgentAskedFor, context: Context) -> Decision:
    """Mode approval, no capability, no credential: the person gives them, or nobody."""
    sender = sending_owner(context, "workspace")
    if sender != address.workspace(body.workspaceId):
        raise ValueError("a workspace's owner asks for agents of its own workspace only")
    agent_id = made_id(body.requestId, "agent")
    refusal = _refusal(state, body, agent_id)
    told: Record = {"requestId": body.requestId, "kind": "agent_create"}
    effects: list[Effect]
    if refusal is None:
        agent = ListedAgent(
            name=body.name,
            workspaceId=body.workspaceId,
            createdAt=context.now_ms,
            createdBy=body.requesterId,
            notedIn=[] if body.channelId is None else [body.workspaceId],
        )
        created: Record = {"mode": "approval", "capabilities": [], "tokenHash": None}
        created |= {"persona": body.persona, "kind": body.kind, "providerId": body.providerId}
        effects = [*entering(agent_id, agent, created)]
        told |= {"outcome": "created", "agentId": agent_id}
    else:
        data: Record = {"requestId": body.requestId, "requestedBy": body.requesterId, "code": refusal.code.value}
        effects = [Event("agent.not_created", data)]
        told |= {"outcome": "refused", "code": refusal.code.value, "note": _why(refusal)}
    ended: Record = {"requestId": body.requestId, "requesterId": body.requesterId}
    effects += [
        Send(address.mailbox(body.requesterId), "request_ended", told),
        Send(sender, "creation_ended", {**ended, "agentId": agent_id if refusal is None else None}),
        *noted(state, (body.requesterId,), body.workspaceId),
    ]
    return Decision({}, tuple(effects))


def _refusal(state: DirectoryState, body: AgentAskedFor, agent_id: str) -> Refusal | None:
    requester = state.agents.get(body.requesterId)
    if requester is None or requester.workspaceId != body.workspaceId:
        return NOT_FOUND  # removed, or moved away, since it asked
    if sum(1 for agent in state.agents.values() if agent.createdBy == body.requesterId) >= agents_created_by_one_max:
        return _TOO_MANY
    if body.providerId is not None and body.providerId not in PROVIDERS:
        return _NO_PROVIDER
    return entry_refusal(state, agent_id, body.name, body.workspaceId)


def _why(refusal: Refusal) -> str:
    """In our own words: a refusal's message, or what is wrong with the name."""
    fields = refusal.details.get("fields")
    first = fields[0] if isinstance(fields, list) and fields else None
    problem = first.get("problem") if isinstance(first, dict) else None
    return f"The name: {problem}." if isinstance(problem, str) else refusal.message


VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {"agent_asked_for": Verb(parsed(AgentAskedFor, agent_asked_for), frozenset({PrincipalKind.OWNER}))}
)
