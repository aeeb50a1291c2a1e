"""Workspaces in the directory: unique names, a bounded number, exactly one active once there is one."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.directory.state import ACTIVE_ROW, DirectoryState, ListedWorkspace, workspace_row
from actors.parsed import Nothing, parsed
from bus import address
from bus.limits import path_characters_max, workspaces_max
from bus.value import Record, Value
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments
from tools.names import name_key
from tools.times import rfc3339


class WorkspaceAdd(Model):
    workspaceId: Identifier
    name: Name
    root: str | None = Field(default=None, min_length=1, max_length=path_characters_max)


class WorkspaceUse(Model):
    workspaceId: Identifier


def workspace_add(state: DirectoryState, body: WorkspaceAdd, context: Context) -> Decision:
    refusal = _add_refusal(state, body)
    if refusal is not None:
        return Decision(refusal)
    becomes_active = state.active is None
    row = ListedWorkspace(name=body.name, root=body.root, createdAt=context.now_ms)
    effects: list[Effect] = [Put(workspace_row(body.workspaceId), row.model_dump())]
    if becomes_active:
        effects.append(Put(ACTIVE_ROW, body.workspaceId))
    created: Record = {"name": body.name, "root": body.root, "createdAt": context.now_ms}
    # before_reply: whoever was answered may use the workspace at once.
    effects.append(Send(address.workspace(body.workspaceId), "workspace_created", created, before_reply=True))
    effects.append(Event("workspace.created", {"workspaceId": body.workspaceId}))
    reply: Record = {"workspaceId": body.workspaceId, "name": body.name, "isActive": becomes_active}
    return Decision(reply, tuple(effects))


def workspace_use(state: DirectoryState, body: WorkspaceUse, context: Context) -> Decision:
    workspace = state.workspaces.get(body.workspaceId)
    if workspace is None:
        return Decision(NOT_FOUND)
    effects: tuple[Effect, ...] = ()
    if state.active != body.workspaceId:
        effects = (
            Put(ACTIVE_ROW, body.workspaceId),
            Event("workspace.activated", {"workspaceId": body.workspaceId}),
        )
    return Decision({"workspaceId": body.workspaceId, "name": workspace.name}, effects)


def workspaces_seen(state: DirectoryState, body: Nothing, context: Context) -> Decision:
    """Every workspace by id and name, for an agent; roots are paths and stay here (common 7.4)."""
    seen: list[Value] = [
        {"workspaceId": workspace_id, "name": state.workspaces[workspace_id].name}
        for workspace_id in sorted(state.workspaces)
    ]
    return Decision({"workspaces": seen, "activeWorkspaceId": state.active})


def directory_list(state: DirectoryState, body: Nothing, context: Context) -> Decision:
    """All of it, for the person."""
    workspaces: list[Value] = [
        {
            "workspaceId": workspace_id,
            "name": workspace.name,
            "root": workspace.root,
            "createdAt": rfc3339(workspace.createdAt),
            "isActive": workspace_id == state.active,
            "agents": len(state.agent_names.get(workspace_id, {})),
        }
        for workspace_id, workspace in sorted(state.workspaces.items())
    ]
    agents: list[Value] = [
        {
            "agentId": agent_id,
            "name": agent.name,
            "workspaceId": agent.workspaceId,
            "createdAt": rfc3339(agent.createdAt),
        }
        for agent_id, agent in sorted(state.agents.items())
    ]
    return Decision({"workspaces": workspaces, "agents": agents, "activeWorkspaceId": state.active})


def _add_refusal(state: DirectoryState, body: WorkspaceAdd) -> Refusal | None:
    if not address.is_id(body.workspaceId):
        return invalid_arguments({"workspaceId": "is not an id that an owner can have"})
    if body.workspaceId in state.workspaces:
        return Refusal(Code.WRONG_STATE, "A workspace with this id exists already. Leave the id to the command.")
    if name_key(body.name) in state.workspace_names:
        return invalid_arguments({"name": "another workspace has this name; choose one that differs in its letters"})
    if len(state.workspaces) >= workspaces_max:
        return Refusal(
            Code.WRONG_STATE,
            "There are as many workspaces as NEXUS keeps. Use one of those that exist.",
            details={"limit": workspaces_max},
        )
    return None


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "workspace_add": Verb(parsed(WorkspaceAdd, workspace_add), _PERSON),
        "workspace_use": Verb(parsed(WorkspaceUse, workspace_use), _PERSON),
        "directory_list": Verb(parsed(Nothing, directory_list), _PERSON),
        "workspaces_seen": Verb(parsed(Nothing, workspaces_seen), frozenset({PrincipalKind.AGENT})),
    }
)
