"""What holds of the directory after every commit; `nexus-bus doctor` asks this."""

from __future__ import annotations

from actors.directory.state import NOWHERE, DirectoryState
from bus.limits import agents_per_workspace_max, workspaces_max


def problems(state: DirectoryState) -> list[str]:
    """Every invariant that does not hold, as a sentence; empty for a sound directory."""
    found = []
    if any(state.workspace_names.holder_of(one.name, id_) is not None for id_, one in state.workspaces.items()):
        found.append("two workspaces have the same name, or names that look alike")
    if any(
        one.workspaceId != NOWHERE and state.agent_named(one.workspaceId, one.name, id_) is not None
        for id_, one in state.agents.items()
    ):
        found.append("two agents of a workspace have the same name, or names that look alike")
    found += [
        f"agent {agent_id} belongs to a workspace that is not there"
        for agent_id, agent in state.agents.items()
        if agent.workspaceId != NOWHERE and state.living(agent.workspaceId) is None
    ]
    if any(state.agents[agent_id].workspaceId != state.active for agent_id in state.inheriting):
        found.append("an agent that inherits is not in the active workspace")
    if state.living_ids() and (state.active is None or state.living(state.active) is None):
        found.append("the active workspace is not there")
    if len(state.workspaces) > workspaces_max:
        found.append("there are more workspaces than there may be")
    found += [
        f"workspace {workspace_id} has more agents than it may have"
        for workspace_id in state.living_ids()
        if len(state.agents_of(workspace_id)) > agents_per_workspace_max
    ]
    return found
