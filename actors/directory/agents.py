"""Agents in the directory: unique names in a workspace, a bounded number, which of them share a workspace."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from actors.credential import TokenHash
from actors.decision import Context, Decision, Delete, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.directory.channel_members import removed_everywhere
from actors.directory.state import NOWHERE, DirectoryState, ListedAgent, RemovedAgent, agent_row, removed_row
from actors.name_index import SHOWS_NOTHING, taken_by_another
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.limits import agents_per_workspace_max, page_items_max, removed_agents_kept_max
from bus.value import Record, Value
from tools.autonomy import ModeName
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments
from tools.names import name_keys


class AgentAdd(Model):
    agentId: Identifier
    name: Name
    workspaceId: Identifier
    mode: ModeName
    capabilities: list[Literal["mesh"]]
    tokenHash: TokenHash


class AgentRemove(Model):
    agentId: Identifier


class AgentsInScope(Model):
    after: str | None = None
    limit: int = Field(ge=1, le=page_items_max)


class ClaimName(Model):
    name: Name
    callId: str


def agent_add(state: DirectoryState, body: AgentAdd, context: Context) -> Decision:
    refusal = entry_refusal(state, body.agentId, body.name, body.workspaceId)
    if refusal is not None:
        return Decision(refusal)
    agent = ListedAgent(name=body.name, workspaceId=body.workspaceId, createdAt=context.now_ms)
    created: Record = {"mode": body.mode, "capabilities": [*body.capabilities], "tokenHash": body.tokenHash}
    reply: Record = {"agentId": body.agentId, "name": body.name, "workspaceId": body.workspaceId}
    return Decision(reply, entering(body.agentId, agent, created))


def entering(agent_id: str, agent: ListedAgent, created: Record) -> tuple[Effect, ...]:
    """What makes an agent that may be there. `created` is what its owner begins with, but for name and workspace."""
    where: Record = {"name": agent.name, "workspaceId": agent.workspaceId}
    capabilities = created["capabilities"]
    is_in_mesh = isinstance(capabilities, list) and "mesh" in capabilities
    facts: Record = {**where, "mesh": is_in_mesh, "ran": False, "revoked": False}
    facts["mode"] = created["mode"]
    told: Record = {"agentId": agent_id, "workspaceId": agent.workspaceId}
    if agent.createdBy is not None:
        told["requestedBy"] = agent.createdBy
    # before_reply: the token that the person is now shown works at once, and the mailbox takes tasks.
    return (
        Put(agent_row(agent_id), agent.model_dump()),
        Send(address.agent(agent_id), "agent_created", {**where, **created}, before_reply=True),
        Send(address.mailbox(agent_id), "facts_changed", facts, before_reply=True),
        Event("agent.created", told),
    )


def agent_remove(state: DirectoryState, body: AgentRemove, context: Context) -> Decision:
    agent = state.agents.get(body.agentId)
    if agent is None:
        return Decision(NOT_FOUND)
    removed = RemovedAgent(name=agent.name, workspaceId=agent.workspaceId, at=context.now_ms)
    effects: tuple[Effect, ...] = (
        Delete(agent_row(body.agentId)),
        *_forgotten(state),
        Put(removed_row(body.agentId), removed.model_dump()),
        removing(body.agentId),
        *removed_everywhere(state, body.agentId, agent),
        Send(address.TEAMS, "agent_gone", {"agentId": body.agentId}, before_reply=True),
        Event("agent.removed", {"agentId": body.agentId, "workspaceId": agent.workspaceId}),
    )
    return Decision({"agentId": body.agentId, "name": agent.name}, effects)


def removing(agent_id: str) -> Send:
    """Its owner stops every credential, and answers by `removal_noted`; it is told until it has."""
    return Send(address.agent(agent_id), "agent_removed", {"agentId": agent_id}, before_reply=True)


def removal_noted(state: DirectoryState, body: AgentRemove, context: Context) -> Decision:
    if sending_owner(context, "agent").id != body.agentId:
        raise ValueError("an agent's owner speaks for itself")
    removed = state.removed.get(body.agentId)
    if removed is None or removed.isTold:
        return DONE
    told = removed.model_copy(update={"isTold": True})
    return Decision({}, (Put(removed_row(body.agentId), told.model_dump()),))


def _forgotten(state: DirectoryState) -> tuple[Delete, ...]:
    """The oldest of too many removed agents; never one whose owner has not heard of it."""
    surplus = len(state.removed) + 1 - removed_agents_kept_max
    told = [agent_id for agent_id, removed in state.removed.items() if removed.isTold]
    return tuple(Delete(removed_row(agent_id)) for agent_id in told[: max(0, surplus)])


def agents_in_scope(state: DirectoryState, body: AgentsInScope, context: Context) -> Decision:
    """One page of the agents of the caller's own workspace, in the order of their ids."""
    following = [
        agent_id for agent_id in state.agents_of(context.principal.workspace_id) if agent_id > (body.after or "")
    ]
    page = following[: body.limit]
    agents: list[Value] = [{"agentId": agent_id, "name": state.agents[agent_id].name} for agent_id in page]
    return Decision({"agents": agents, "nextAfter": page[-1] if len(following) > len(page) else None})


def claim_name(state: DirectoryState, body: ClaimName, context: Context) -> Decision:
    """An agent's owner asks for a new name; the answer goes back to it as `name_claimed` or `name_refused`."""
    sender = sending_owner(context, "agent")
    agent = state.agents.get(sender.id)
    if agent is None or name_refusal(state, agent, body.name, sender.id) is not None:
        return Decision({}, (Send(sender, "name_refused", {"callId": body.callId}),))
    renamed = agent.model_copy(update={"name": body.name})
    effects = (
        Put(agent_row(sender.id), renamed.model_dump()),
        Send(sender, "name_claimed", {"callId": body.callId, "name": body.name}),
    )
    return Decision({}, effects)


def entry_refusal(state: DirectoryState, agent_id: str, name: str, workspace_id: str) -> Refusal | None:
    """Why no agent of this id and name can be made in the workspace."""
    if state.living(workspace_id) is None:
        return NOT_FOUND
    if not address.is_id(agent_id):
        return invalid_arguments({"agentId": "is not an id that an owner can have"})
    if agent_id in state.agents:
        return Refusal(Code.WRONG_STATE, "An agent with this id exists already. Leave the id to the command.")
    new = ListedAgent(name=name, workspaceId=workspace_id, createdAt=0)
    return name_refusal(state, new, name, agent_id) or room_refusal(state, workspace_id, agent_id)


def name_refusal(state: DirectoryState, agent: ListedAgent, name: str, agent_id: str) -> Refusal | None:
    """Why the agent, in its place, cannot have this name. Says nothing about who has it, which may be private."""
    if not name_keys(name):
        return _INVISIBLE
    if agent.inherits:
        return None if state.agent_named_anywhere(name, agent_id) is None else _TAKEN_SOMEWHERE
    if agent.workspaceId == NOWHERE:
        return None  # it is asked again when the agent is pinned
    return None if state.agent_named(agent.workspaceId, name, agent_id) is None else _TAKEN


def room_refusal(state: DirectoryState, workspace_id: str, agent_id: str) -> Refusal | None:
    if state.has_room(workspace_id, agents_per_workspace_max, agent_id):
        return None
    return Refusal(
        Code.WRONG_STATE,
        "The workspace has as many agents as it can hold, those that inherit counted. Remove one first.",
        details={"limit": agents_per_workspace_max},
    )


_INVISIBLE: Final = invalid_arguments({"name": SHOWS_NOTHING})
_TAKEN: Final = invalid_arguments({"name": taken_by_another("agent")})
_TAKEN_SOMEWHERE: Final = invalid_arguments(
    {
        "name": "an agent that inherits the active workspace needs a name that no agent of any workspace has, "
        "nor one that looks like it; rename one of the two"
    }
)
_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "agent_add": Verb(parsed(AgentAdd, agent_add), _PERSON),
        "removal_noted": Verb(parsed(AgentRemove, removal_noted), frozenset({PrincipalKind.OWNER})),
        "agent_remove": Verb(parsed(AgentRemove, agent_remove), _PERSON),
        "agents_in_scope": Verb(parsed(AgentsInScope, agents_in_scope), frozenset({PrincipalKind.AGENT})),
        "claim_name": Verb(parsed(ClaimName, claim_name), frozenset({PrincipalKind.OWNER})),
    }
)
