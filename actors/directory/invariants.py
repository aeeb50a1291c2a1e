"""What holds of the directory after every commit; `nexus-bus doctor` asks this."""

from __future__ import annotations

from actors.directory.state import DirectoryState
from bus.limits import agents_per_workspace_max, workspaces_max
from tools.names import name_key


def problems(state: DirectoryState) -> list[str]:
    """Every invariant that does not hold, as a sentence; empty for a sound directory."""
    found = []
    names = [name_key(workspace.name) for workspace in state.workspaces.values()]
    if len(set(names)) != len(names):
        found.append("two workspaces have the same name")
    pairs = [(agent.workspaceId, name_key(agent.name)) for agent in state.agents.values()]
    if len(set(pairs)) != len(pairs):
        found.append("two agents of a workspace have the same name")
    found += [
        f"agent {agent_id} belongs to a workspace that is not there"
        for agent_id, agent in state.agents.items()
        if agent.workspaceId not in state.workspaces
    ]
    if state.workspaces and state.active not in state.workspaces:
        found.append("the active workspace is not there")
    if len(state.workspaces) > workspaces_max:
        found.append("there are more workspaces than there may be")
    found += [
        f"workspace {workspace_id} has more agents than it may have"
        for workspace_id in state.workspaces
        if len(state.agents_of(workspace_id)) > agents_per_workspace_max
    ]
    return found
