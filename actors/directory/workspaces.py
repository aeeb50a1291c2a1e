"""Workspaces in the directory: unique names, a bounded number, exactly one active once there is one.

The directory decides and keeps what must hold across workspaces; the rest of a change goes on to the workspace's owner,
before the caller is answered. How one ends is in deletion.py.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.decision import Context, Decision, Effect, Event, Message, PrincipalKind, Put, Send, Verb, VerbTable
from actors.directory.scopes import following_active
from actors.directory.state import ACTIVE_ROW, DirectoryState, ListedWorkspace, workspace_row
from actors.name_index import SHOWS_NOTHING, taken_by_another
from actors.parsed import Nothing, parsed
from bus import address
from bus.identifier import made_id
from bus.limits import path_characters_max, workspaces_max
from bus.value import Record, Value
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments
from tools.names import name_keys
from tools.setting_catalogue import GRID_COLUMNS
from tools.times import rfc3339
from tools.workspace import WorkspaceCreateInput, WorkspaceUpdateInput


class WorkspaceAdd(Model):
    workspaceId: Identifier
    name: Name
    root: str | None = Field(default=None, min_length=1, max_length=path_characters_max)


class WorkspaceUse(Model):
    workspaceId: Identifier


def workspace_add(state: DirectoryState, body: WorkspaceAdd, context: Context) -> Decision:
    if not address.is_id(body.workspaceId):
        return Decision(invalid_arguments({"workspaceId": "is not an id that an owner can have"}))
    if body.workspaceId in state.workspaces:
        message = "A workspace with this id exists already. Leave the id to the command."
        return Decision(Refusal(Code.WRONG_STATE, message))
    refusal = _new_refusal(state, body.name)
    if refusal is not None:
        return Decision(refusal)
    reply: Record = {"workspaceId": body.workspaceId, "name": body.name, "isActive": state.active is None}
    row = ListedWorkspace(name=body.name, root=body.root, createdAt=context.now_ms)
    return Decision(reply, _made(state, body.workspaceId, row, None, context))


def workspace_create(state: DirectoryState, body: WorkspaceCreateInput, context: Context) -> Decision:
    """In the background: the active workspace stays, and so does the caller's scope, outside the new workspace."""
    refusal = _new_refusal(state, body.name)
    if refusal is not None:
        return Decision(refusal)
    workspace_id = made_id(context.call_id, "workspace")
    row = ListedWorkspace(name=body.name, root=None, createdAt=context.now_ms)
    effects = _made(state, workspace_id, row, body, context)
    return Decision({"id": workspace_id, "name": body.name}, effects)


def workspace_update(state: DirectoryState, body: WorkspaceUpdateInput, context: Context) -> Decision:
    principal = context.principal
    if principal.kind is PrincipalKind.AGENT and principal.workspace_id != body.workspaceId:
        message = "You can change only the workspace that you are in. Call workspace_current for its id."
        return Decision(Refusal(Code.SCOPE_MISMATCH, message))
    workspace = state.living(body.workspaceId)
    if workspace is None:
        return Decision(NOT_FOUND)
    wanted: Record = {"name": body.name, "color": body.color, "gridColumns": body.gridColumns}
    told: Record = {field: value for field, value in wanted.items() if value is not None}
    if told.get("name") == workspace.name:
        del told["name"]
    renamed = workspace.model_copy(update={"name": told.get("name", workspace.name)})
    reply: Record = {"id": body.workspaceId, "name": renamed.name, "updated": [*told]}
    if not told:
        return Decision(reply)
    refusal = _name_refusal(state, renamed.name, body.workspaceId) if "name" in told else None
    if refusal is not None:
        return Decision(refusal)
    effects: list[Effect] = [
        # before_reply: whoever was answered reads it so.
        Send(address.workspace(body.workspaceId), "workspace_changed", told, before_reply=True),
        Event("workspace.updated", {"workspaceId": body.workspaceId, "fields": [*told]}),
    ]
    if renamed != workspace:
        effects.append(Put(workspace_row(body.workspaceId), renamed.model_dump()))
    return Decision(reply, tuple(effects))


def workspace_use(state: DirectoryState, body: WorkspaceUse, context: Context) -> Decision:
    """Agents that inherit come along, before the person is answered."""
    workspace = state.living(body.workspaceId)
    if workspace is None:
        return Decision(NOT_FOUND)
    effects: tuple[Effect, ...] = ()
    if state.active != body.workspaceId:
        effects = tuple(activating(state, body.workspaceId))
    return Decision({"workspaceId": body.workspaceId, "name": workspace.name}, effects)


def activating(state: DirectoryState, workspace_id: str) -> list[Effect]:
    return [
        Put(ACTIVE_ROW, workspace_id),
        *following_active(state, workspace_id),
        Event("workspace.activated", {"workspaceId": workspace_id}),
    ]


def workspaces_seen(state: DirectoryState, body: Nothing, context: Context) -> Decision:
    """Every workspace by id and name, for an agent; roots are paths and stay here (common 7.4)."""
    seen: list[Value] = [
        {"workspaceId": workspace_id, "name": state.workspaces[workspace_id].name}
        for workspace_id in state.living_ids()
    ]
    return Decision({"workspaces": seen, "activeWorkspaceId": state.active})


def directory_list(state: DirectoryState, body: Nothing, context: Context) -> Decision:
    """All of it, for the person."""
    workspaces: list[Value] = [
        {
            "workspaceId": workspace_id,
            "name": state.workspaces[workspace_id].name,
            "root": state.workspaces[workspace_id].root,
            "createdAt": rfc3339(state.workspaces[workspace_id].createdAt),
            "isActive": workspace_id == state.active,
            "agents": len(state.agents_of(workspace_id)),
        }
        for workspace_id in state.living_ids()
    ]
    deleting: list[Value] = [
        {"workspaceId": workspace_id, "name": workspace.name}
        for workspace_id, workspace in sorted(state.workspaces.items())
        if workspace.deleting is not None
    ]
    agents: list[Value] = [
        {
            "agentId": agent_id,
            "name": agent.name,
            "workspaceId": agent.workspaceId or None,
            "inherits": agent.inherits,
            "createdAt": rfc3339(agent.createdAt),
            "createdBy": agent.createdBy,
        }
        for agent_id, agent in sorted(state.agents.items())
    ]
    removed: list[Value] = [
        {"agentId": agent_id, "name": agent.name, "workspaceId": agent.workspaceId or None, "at": rfc3339(agent.at)}
        for agent_id, agent in state.removed.items()
    ]
    listed: Record = {"workspaces": workspaces, "deleting": deleting, "agents": agents, "removed": removed}
    return Decision({**listed, "activeWorkspaceId": state.active})


def shown_of(state: DirectoryState, message: Message, context: Context) -> Record:
    """What a card shows of the workspace that is to be changed or deleted, and what may not change meanwhile."""
    workspace_id = str(message.body.get("workspaceId"))
    workspace = state.living(workspace_id)
    return {} if workspace is None else {"name": workspace.name, "workspaceId": workspace_id}


def _made(
    state: DirectoryState, workspace_id: str, row: ListedWorkspace, look: WorkspaceCreateInput | None, context: Context
) -> tuple[Effect, ...]:
    created: Record = {"name": row.name, "root": row.root, "createdAt": row.createdAt}
    created["color"] = None if look is None else look.color
    created["gridColumns"] = (look and look.gridColumns) or context.settings.of(GRID_COLUMNS)
    return (
        Put(workspace_row(workspace_id), row.model_dump()),
        *([Put(ACTIVE_ROW, workspace_id)] if state.active is None else []),
        # before_reply: whoever was answered may use the workspace at once.
        Send(address.workspace(workspace_id), "workspace_created", created, before_reply=True),
        Event("workspace.created", {"workspaceId": workspace_id}),
    )


def _new_refusal(state: DirectoryState, name: str) -> Refusal | None:
    refusal = _name_refusal(state, name)
    if refusal is None and len(state.workspaces) >= workspaces_max:
        return Refusal(
            Code.WRONG_STATE,
            "There are as many workspaces as NEXUS keeps. Use one of those that exist.",
            details={"limit": workspaces_max},
        )
    return refusal


def _name_refusal(state: DirectoryState, name: str, workspace_id: str = "") -> Refusal | None:
    if not name_keys(name):
        return invalid_arguments({"name": SHOWS_NOTHING})
    holder = state.workspace_names.holder_of(name, workspace_id)
    if holder is None:
        return None
    if state.living(holder) is None:
        problem = "a workspace of this name is just being deleted; it is free again when that one is gone"
        return invalid_arguments({"name": problem})
    return invalid_arguments({"name": taken_by_another("workspace")})


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "workspace_add": Verb(parsed(WorkspaceAdd, workspace_add), _PERSON),
        "workspace_create": Verb(parsed(WorkspaceCreateInput, workspace_create), _AGENT),
        "workspace_update": Verb(
            parsed(WorkspaceUpdateInput, workspace_update), _AGENT | _PERSON, fingerprint=shown_of
        ),
        "workspace_use": Verb(parsed(WorkspaceUse, workspace_use), _PERSON),
        "directory_list": Verb(parsed(Nothing, directory_list), _PERSON),
        "workspaces_seen": Verb(parsed(Nothing, workspaces_seen), _AGENT),
    }
)
