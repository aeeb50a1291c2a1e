"""The person's verbs on workspaces, on where agents act and under which name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, cast

from pydantic import Field

from bus import address
from bus.address import DIRECTORY
from bus.limits import deletion_deadline_ms, grid_columns_max, path_characters_max
from bus.value import Record, Value, records
from nexus.gateway.person_owners import Owners, text
from nexus.gateway.person_table import Nothing, Run, Typed, checked
from tools.agent import Color
from tools.base import Model, Name


class WorkspaceAdd(Model):
    name: Name
    root: Annotated[str, Field(min_length=1, max_length=path_characters_max)] | None = None


class WorkspaceNamed(Model):
    workspace: Typed


class WorkspaceUpdate(Model):
    """What is absent stays."""

    workspace: Typed
    name: Name | None = None
    color: Color | None = None
    gridColumns: Annotated[int, Field(ge=1, le=grid_columns_max)] | None = None


class AgentPin(Model):
    """`workspace` is where the agent is looked for, `to` where it goes."""

    agent: Typed
    to: Typed
    workspace: Typed | None = None


class AgentInherit(Model):
    agent: Typed
    inherits: bool
    workspace: Typed | None = None


class AgentRename(Model):
    agent: Typed
    name: Name
    workspace: Typed | None = None


async def workspace_add(owners: Owners, asked: WorkspaceAdd) -> Record:
    workspace_id = owners.clock.new_id()
    body: Record = {"workspaceId": workspace_id, "name": asked.name}
    if asked.root is not None:
        body["root"] = asked.root
    await owners.ask(DIRECTORY, "workspace_add", body)
    return {"workspaceId": workspace_id, "name": asked.name}


async def workspace_list(owners: Owners, _: Nothing) -> Record:
    """Those that are being deleted stand apart, under `deleting`: there is nothing in them any more."""
    directory = await owners.directory()
    workspaces: list[Value] = [
        {**one, "isActive": one.get("workspaceId") == directory.active_workspace_id} for one in directory.workspaces
    ]
    return {"workspaces": workspaces, "deleting": cast("list[Value]", list(directory.deleting))}


async def workspace_use(owners: Owners, asked: WorkspaceNamed) -> Record:
    directory = await owners.directory()
    meant = directory.workspace(asked.workspace)
    await owners.ask(DIRECTORY, "workspace_use", {"workspaceId": meant.id})
    inheriting = [text(one, "agentId") for one in directory.agents if one.get("inherits") is True]
    await owners.authority_told(inheriting, workspaceId=meant.id)
    return {"workspaceId": meant.id, "name": meant.name}


async def workspace_update(owners: Owners, asked: WorkspaceUpdate) -> Record:
    meant = (await owners.directory()).workspace(asked.workspace)
    body: Record = {"workspaceId": meant.id, **asked.model_dump(exclude={"workspace"}, exclude_none=True)}
    answer = await owners.ask(DIRECTORY, "workspace_update", body)
    return {"workspaceId": meant.id, "name": answer.get("name"), "updated": answer.get("updated")}


async def workspace_contents(owners: Owners, asked: WorkspaceNamed) -> Record:
    """What goes with it when it is deleted, and who is then nowhere."""
    directory = await owners.directory()
    meant = directory.workspace(asked.workspace)
    canvases: list[Value] = [
        {"canvasId": one.get("canvasId"), "title": one.get("title")} for one in await owners.canvases(meant.id)
    ]
    agents: list[Value] = [
        {"agentId": one.get("agentId"), "name": one.get("name")}
        for one in directory.agents
        if one.get("workspaceId") == meant.id and one.get("inherits") is not True
    ]
    listed = await owners.read(address.workspace(meant.id), "channels_list", {})
    channels: list[Value] = [
        {"channelId": one.get("channelId"), "name": one.get("name")} for one in records(listed, "channels")
    ]
    contents: Record = {"workspaceId": meant.id, "name": meant.name, "canvases": canvases, "channels": channels}
    return {**contents, "agents": agents}


async def workspace_delete(owners: Owners, asked: WorkspaceNamed) -> Record:
    """Answers when all of it is gone."""
    contents = await workspace_contents(owners, asked)
    directory = await owners.directory()
    meant, inside = directory.workspace(asked.workspace), directory.agents
    body: Record = {"workspaceId": meant.id}
    await owners.ask(DIRECTORY, "workspace_delete", body, within_ms=deletion_deadline_ms)
    moved = [text(one, "agentId") for one in inside if text(one, "workspaceId") == meant.id]
    await owners.authority_told(moved, notWorkspaceId=meant.id)
    return contents


async def agent_pin(owners: Owners, asked: AgentPin) -> Record:
    directory = await owners.directory()
    meant, to = directory.agent(asked.agent, asked.workspace), directory.workspace(asked.to)
    answer = await owners.ask(DIRECTORY, "agent_pin", {"agentId": meant.id, "workspaceId": to.id})
    await owners.authority_told([meant.id], workspaceId=to.id)
    return {**answer, "workspace": to.name}


async def agent_inherit(owners: Owners, asked: AgentInherit) -> Record:
    """Switched off, the agent stays pinned where it is."""
    directory = await owners.directory()
    meant = directory.agent(asked.agent, asked.workspace)
    answer = await owners.ask(DIRECTORY, "agent_inherit", {"agentId": meant.id, "inherits": asked.inherits})
    await owners.authority_told([meant.id], workspaceId=text(answer, "workspaceId"))
    return {**answer, "workspace": directory.workspace_name(text(answer, "workspaceId"))}


async def agent_rename(owners: Owners, asked: AgentRename) -> Record:
    meant = (await owners.directory()).agent(asked.agent, asked.workspace)
    answer = await owners.ask(DIRECTORY, "agent_rename", {"agentId": meant.id, "name": asked.name})
    return {**answer, "formerName": meant.name}


VERBS: Final[Mapping[str, Run]] = {
    "workspace.add": checked(WorkspaceAdd, workspace_add),
    "workspace.list": checked(Nothing, workspace_list),
    "workspace.use": checked(WorkspaceNamed, workspace_use),
    "workspace.update": checked(WorkspaceUpdate, workspace_update),
    "workspace.contents": checked(WorkspaceNamed, workspace_contents),
    "workspace.delete": checked(WorkspaceNamed, workspace_delete),
    "agent.pin": checked(AgentPin, agent_pin),
    "agent.inherit": checked(AgentInherit, agent_inherit),
    "agent.rename": checked(AgentRename, agent_rename),
}
