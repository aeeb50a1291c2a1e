"""The directory's rows: `active`, `agent/<id>`, `removed/<id>`, `workspace/<id>`; and the indexes built from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pydantic import Field

from actors.decision import Put, RowEffect
from actors.name_index import NameIndex
from tools.base import Model

ACTIVE_ROW: Final = "active"
NOWHERE: Final = ""
"""The workspace of an agent that is pinned to none: nothing resolves for it, and nobody is its peer."""


def agent_row(agent_id: str) -> str:
    return f"agent/{agent_id}"


def removed_row(agent_id: str) -> str:
    return f"removed/{agent_id}"


def workspace_row(workspace_id: str) -> str:
    return f"workspace/{workspace_id}"


class ListedAgent(Model):
    name: str
    workspaceId: str
    """Where its calls act now: of an agent that inherits, the active workspace; NOWHERE when nothing resolves."""
    createdAt: int
    """Milliseconds since the epoch, like every time in a row."""
    inherits: bool = False
    """Whether it follows the person's active workspace (common 3.1)."""
    createdBy: str | None = None
    """The agent that asked for it (mesh 6); None: the person added it."""
    notedIn: list[str] = Field(default_factory=list)
    """The workspaces that keep it as a member of a channel or with a role on a canvas, or what it asked for, and hear
    when it is removed."""


class RemovedAgent(Model):
    """An agent that the person removed: what it made can still be looked at and undone."""

    name: str
    workspaceId: str
    at: int
    isTold: bool = False
    """Whether its owner has heard of it."""


class Deleting(Model):
    """A workspace whose owner and canvases are being told to go. It is there for nobody any more."""

    calls: list[str]
    """Those that hear when it is gone."""
    agents: list[str]
    """Those that were pinned there, in the order of their ids."""


class ListedWorkspace(Model):
    name: str
    root: str | None
    createdAt: int
    deleting: Deleting | None = None


@dataclass(slots=True)
class DirectoryState:
    """Every workspace and agent by id, and which workspace is active."""

    active: str | None = None
    agents: dict[str, ListedAgent] = field(default_factory=dict)
    workspaces: dict[str, ListedWorkspace] = field(default_factory=dict)
    """Those being deleted too."""
    workspace_names: NameIndex = field(default_factory=NameIndex)
    agent_ids: dict[str, set[str]] = field(default_factory=dict)
    """By workspace. Those that are nowhere are not in it."""
    agent_names: dict[str, NameIndex] = field(default_factory=dict)
    """By workspace."""
    inheriting: set[str] = field(default_factory=set)
    """The ids of the agents that follow the active workspace."""
    inheriting_names: NameIndex = field(default_factory=NameIndex)
    removed: dict[str, RemovedAgent] = field(default_factory=dict)
    """By id, oldest agents first."""

    def living(self, workspace_id: str) -> ListedWorkspace | None:
        """The workspace, unless there is none or it is being deleted."""
        workspace = self.workspaces.get(workspace_id)
        return None if workspace is None or workspace.deleting is not None else workspace

    def living_ids(self) -> list[str]:
        """In their order."""
        return sorted(id_ for id_, workspace in self.workspaces.items() if workspace.deleting is None)

    def agents_of(self, workspace_id: str) -> list[str]:
        """The ids of a workspace's agents, in the order of their ids."""
        return sorted(self.agent_ids.get(workspace_id, ()))

    def agent_named(self, workspace_id: str, name: str, but: str = "") -> str | None:
        """An agent of the workspace, or one that inherits and so may come there, whose name this would be taken for."""
        names = self.agent_names.get(workspace_id)
        holder = None if names is None else names.holder_of(name, but)
        return holder if holder is not None else self.inheriting_names.holder_of(name, but)

    def agent_named_anywhere(self, name: str, but: str = "") -> str | None:
        """An agent of any workspace whose name this would be taken for."""
        found = (names.holder_of(name, but) for _, names in sorted(self.agent_names.items()))
        return next((holder for holder in found if holder is not None), None)

    def has_room(self, workspace_id: str, agents_max: int, but: str = "") -> bool:
        """Whether one more agent may be in the workspace, when all that inherit come there as well."""
        present = self.agent_ids.get(workspace_id, set()) | self.inheriting
        return len(present - {but}) < agents_max


def apply(state: DirectoryState, effect: RowEffect) -> None:
    match effect.row.partition("/"), effect:
        case ("active", _, _), Put(_, value):
            state.active = str(value)
        case ("agent", _, agent_id), _:
            _forget_agent(state, agent_id)
            if isinstance(effect, Put):
                _list_agent(state, agent_id, ListedAgent.model_validate(effect.value))
        case ("removed", _, agent_id), Put(_, value):
            state.removed[agent_id] = RemovedAgent.model_validate(value)
        case ("removed", _, agent_id), _:
            state.removed.pop(agent_id, None)
        case ("workspace", _, workspace_id), _:
            former = state.workspaces.pop(workspace_id, None)
            if former is not None:
                state.workspace_names.drop(workspace_id, former.name)
            if isinstance(effect, Put):
                workspace = ListedWorkspace.model_validate(effect.value)
                state.workspaces[workspace_id] = workspace
                state.workspace_names.add(workspace_id, workspace.name)
        case _:
            raise ValueError("the directory has no such row")


def _list_agent(state: DirectoryState, agent_id: str, agent: ListedAgent) -> None:
    state.agents[agent_id] = agent
    if agent.inherits:
        state.inheriting.add(agent_id)
        state.inheriting_names.add(agent_id, agent.name)
    if agent.workspaceId != NOWHERE:
        state.agent_ids.setdefault(agent.workspaceId, set()).add(agent_id)
        state.agent_names.setdefault(agent.workspaceId, NameIndex()).add(agent_id, agent.name)


def _forget_agent(state: DirectoryState, agent_id: str) -> None:
    former = state.agents.pop(agent_id, None)
    if former is None:
        return
    if former.inherits:
        state.inheriting.discard(agent_id)
        state.inheriting_names.drop(agent_id, former.name)
    if former.workspaceId == NOWHERE:
        return
    state.agent_names[former.workspaceId].drop(agent_id, former.name)
    state.agent_ids[former.workspaceId].discard(agent_id)
    if not state.agent_ids[former.workspaceId]:
        del state.agent_ids[former.workspaceId], state.agent_names[former.workspaceId]
