"""Where agents act, and under which name, as the person says: pinned to a workspace, or following the active one.

The directory decides what must hold across agents and tells the agent's owner, whose admission goes by it, before the
person is answered (common 3.1).
"""

from __future__ import annotations

from typing import Final

from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.directory.agents import name_refusal, room_refusal
from actors.directory.channel_members import left_for
from actors.directory.state import NOWHERE, DirectoryState, ListedAgent, agent_row
from actors.parsed import parsed
from bus import address
from bus.value import Record
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal


class AgentPin(Model):
    agentId: Identifier
    workspaceId: Identifier


class AgentInherit(Model):
    agentId: Identifier
    inherits: bool


class AgentRename(Model):
    agentId: Identifier
    name: Name


def agent_pin(state: DirectoryState, body: AgentPin, context: Context) -> Decision:
    agent = state.agents.get(body.agentId)
    if agent is None or state.living(body.workspaceId) is None:
        return Decision(NOT_FOUND)
    return _placed(state, body.agentId, agent, _in(agent, body.workspaceId, inherits=False))


def agent_inherit(state: DirectoryState, body: AgentInherit, context: Context) -> Decision:
    """Switched off, the agent stays pinned where it is now."""
    agent = state.agents.get(body.agentId)
    if agent is None:
        return Decision(NOT_FOUND)
    workspace_id = (state.active or NOWHERE) if body.inherits else agent.workspaceId
    if body.inherits and workspace_id == NOWHERE:
        return Decision(Refusal(Code.WRONG_STATE, "There is no active workspace to inherit. Make a workspace first."))
    return _placed(state, body.agentId, agent, _in(agent, workspace_id, inherits=body.inherits))


def agent_rename(state: DirectoryState, body: AgentRename, context: Context) -> Decision:
    agent = state.agents.get(body.agentId)
    if agent is None:
        return Decision(NOT_FOUND)
    renamed = agent.model_copy(update={"name": body.name})
    if renamed == agent:
        return Decision(_told(body.agentId, agent))
    refusal = name_refusal(state, agent, body.name, body.agentId)
    if refusal is not None:
        return Decision(refusal)
    effects = (Put(agent_row(body.agentId), renamed.model_dump()), renaming(body.agentId, body.name))
    return Decision(_told(body.agentId, renamed), effects)


def following_active(state: DirectoryState, active: str) -> list[Effect]:
    """What takes every agent that inherits to the workspace that becomes the active one."""
    effects: list[Effect] = []
    for agent_id in sorted(state.inheriting):
        moved = _in(state.agents[agent_id], active, inherits=True)
        effects += [Put(agent_row(agent_id), moved.model_dump()), scoping(agent_id, moved)]
    return effects


def left_behind(state: DirectoryState, workspace_id: str) -> list[Effect]:
    """What leaves those that are pinned to the workspace without one."""
    effects: list[Effect] = []
    for agent_id in state.agents_of(workspace_id):
        if agent_id not in state.inheriting:
            nowhere = _in(state.agents[agent_id], NOWHERE, inherits=False)
            effects += [Put(agent_row(agent_id), nowhere.model_dump()), scoping(agent_id, nowhere)]
    return effects


def scoping(agent_id: str, agent: ListedAgent) -> Send:
    """Tell the agent's owner where its calls act. Telling it again changes nothing."""
    body: Record = {"agentId": agent_id, "workspaceId": agent.workspaceId or None, "inherits": agent.inherits}
    return Send(address.agent(agent_id), "scope_changed", body, before_reply=True)


def renaming(agent_id: str, name: str) -> Send:
    return Send(address.agent(agent_id), "renamed", {"agentId": agent_id, "name": name}, before_reply=True)


def _placed(state: DirectoryState, agent_id: str, agent: ListedAgent, placed: ListedAgent) -> Decision:
    if placed == agent:
        return Decision(_told(agent_id, agent))
    refusal = name_refusal(state, placed, agent.name, agent_id) or room_refusal(state, placed.workspaceId, agent_id)
    if refusal is None and placed.inherits:
        refusal = _room_everywhere(state, agent_id)
    if refusal is not None:
        return Decision(refusal)
    where: Record = {"agentId": agent_id, "workspaceId": placed.workspaceId, "inherits": placed.inherits}
    effects = (
        Put(agent_row(agent_id), placed.model_dump()),
        scoping(agent_id, placed),
        *left_for(state, agent_id, agent, placed),
        Event("agent.scope_changed", where),
    )
    return Decision(_told(agent_id, placed), effects)


def _room_everywhere(state: DirectoryState, agent_id: str) -> Refusal | None:
    """One that inherits may come to any workspace."""
    refusals = (room_refusal(state, workspace_id, agent_id) for workspace_id in state.living_ids())
    return next((refusal for refusal in refusals if refusal is not None), None)


def _in(agent: ListedAgent, workspace_id: str, *, inherits: bool) -> ListedAgent:
    return agent.model_copy(update={"workspaceId": workspace_id, "inherits": inherits})


def _told(agent_id: str, agent: ListedAgent) -> Record:
    return {
        "agentId": agent_id,
        "name": agent.name,
        "workspaceId": agent.workspaceId or None,
        "inherits": agent.inherits,
    }


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "agent_pin": Verb(parsed(AgentPin, agent_pin), _PERSON),
        "agent_inherit": Verb(parsed(AgentInherit, agent_inherit), _PERSON),
        "agent_rename": Verb(parsed(AgentRename, agent_rename), _PERSON),
    }
)
