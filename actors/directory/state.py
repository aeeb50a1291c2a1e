"""The directory's rows: `active`, `agent/<id>`, `workspace/<id>`, and the indexes that are built from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from actors.decision import Put, RowEffect
from tools.base import Model
from tools.names import name_key

ACTIVE_ROW: Final = "active"


def agent_row(agent_id: str) -> str:
    return f"agent/{agent_id}"


def workspace_row(workspace_id: str) -> str:
    return f"workspace/{workspace_id}"


class ListedAgent(Model):
    name: str
    workspaceId: str
    createdAt: int
    """Milliseconds since the epoch, like every time in a row."""


class ListedWorkspace(Model):
    name: str
    root: str | None
    createdAt: int


@dataclass(slots=True)
class DirectoryState:
    """Every workspace and agent by id, and which workspace is active."""

    active: str | None = None
    agents: dict[str, ListedAgent] = field(default_factory=dict)
    workspaces: dict[str, ListedWorkspace] = field(default_factory=dict)
    workspace_names: dict[str, str] = field(default_factory=dict)
    """Key of the name -> workspace id."""
    agent_names: dict[str, dict[str, str]] = field(default_factory=dict)
    """Workspace id -> key of the name -> agent id."""

    def agents_of(self, workspace_id: str) -> list[str]:
        """The ids of a workspace's agents, in the order of their ids."""
        return sorted(self.agent_names.get(workspace_id, {}).values())

    def agent_named(self, workspace_id: str, name: str) -> str | None:
        """The id of the agent that holds this name in the workspace."""
        return self.agent_names.get(workspace_id, {}).get(name_key(name))


def apply(state: DirectoryState, effect: RowEffect) -> None:
    match effect.row.partition("/"), effect:
        case ("active", _, _), Put(_, value):
            state.active = str(value)
        case ("agent", _, agent_id), _:
            _forget_agent(state, agent_id)
            if isinstance(effect, Put):
                _list_agent(state, agent_id, ListedAgent.model_validate(effect.value))
        case ("workspace", _, workspace_id), _:
            former = state.workspaces.pop(workspace_id, None)
            if former is not None:
                del state.workspace_names[name_key(former.name)]
            if isinstance(effect, Put):
                workspace = ListedWorkspace.model_validate(effect.value)
                state.workspaces[workspace_id] = workspace
                state.workspace_names[name_key(workspace.name)] = workspace_id
        case _:
            raise ValueError("the directory has no such row")


def _list_agent(state: DirectoryState, agent_id: str, agent: ListedAgent) -> None:
    state.agents[agent_id] = agent
    state.agent_names.setdefault(agent.workspaceId, {})[name_key(agent.name)] = agent_id


def _forget_agent(state: DirectoryState, agent_id: str) -> None:
    former = state.agents.pop(agent_id, None)
    if former is None:
        return
    names = state.agent_names[former.workspaceId]
    del names[name_key(former.name)]
    if not names:
        del state.agent_names[former.workspaceId]
