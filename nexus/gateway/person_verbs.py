"""The person's verbs: a literal table from verb to the function that carries it out by asking owners.

Each function takes checked arguments, speaks to owners with the person's link and answers a record or raises
`VerbRefused`. Nothing is kept between requests. Tokens are made here, shown in one answer and kept nowhere: owners get
only the SHA-256 of the secret (common 2.1). Verbs that carry whole scenes are in person_scenes.py, those on workspaces
and on where agents act in person_workspaces.py.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Final, Literal, TypeAlias, TypeVar, cast

from pydantic import Field

from bus import address
from bus.address import DIRECTORY
from bus.limits import name_characters_max
from bus.value import Record, Value
from nexus import __version__
from nexus.gateway import person_backup, person_bus, person_log, person_plans, person_upkeep, person_workspaces
from nexus.gateway.naming import resolve
from nexus.gateway.person_owners import Owners, Run, VerbRefused, checked_arguments, chosen, text
from nexus.gateway.person_owners import checked as _checked
from nexus.gateway.person_upkeep import Emit
from tools.base import Model, Name
from tools.errors import Code, Refusal

_SECRET_BYTES: Final = 32

Typed = Annotated[str, Field(min_length=1, max_length=name_characters_max)]
"""An id or a name as the person typed it."""

Stream: TypeAlias = Callable[[Owners, Record, Emit], Awaitable[Record | None]]
Arguments = TypeVar("Arguments", bound=Model)


class Nothing(Model):
    pass


class InWorkspace(Model):
    workspace: Typed | None = None


class AgentAdd(Model):
    name: Name
    workspace: Typed
    mode: Literal["auto", "approval", "plan", "plan_collect"] = "auto"
    capabilities: list[Literal["mesh"]] = Field(default_factory=list)


class AgentNamed(Model):
    agent: Typed
    workspace: Typed | None = None


class CanvasNamed(Model):
    canvas: Typed
    workspace: Typed | None = None


class CanvasGrant(Model):
    canvas: Typed
    agent: Typed
    role: Literal["viewer", "commenter", "editor", "owner", "none"]
    workspace: Typed | None = None


async def status(owners: Owners, _: Nothing) -> Record:
    hosts = await person_bus.every_host(owners)
    return {"version": __version__, "time": owners.clock.now_ms(), "shards": cast("list[Value]", hosts)}


async def agent_add(owners: Owners, asked: AgentAdd) -> Record:
    if asked.mode != "auto":
        raise VerbRefused.by(
            Refusal(
                Code.INVALID_ARGUMENTS,
                "This release has only the mode auto; approval, plan and plan_collect come later. Use --mode auto.",
            )
        )
    meant = (await owners.directory()).workspace(asked.workspace)
    agent_id = owners.clock.new_id()
    token, token_hash = _new_token(agent_id)
    body: Record = {
        "agentId": agent_id,
        "name": asked.name,
        "workspaceId": meant.id,
        "mode": asked.mode,
        "capabilities": list(dict.fromkeys(asked.capabilities)),
        "tokenHash": token_hash,
    }
    await owners.ask(DIRECTORY, "agent_add", body)
    return {"agentId": agent_id, "token": token}


async def agent_list(owners: Owners, asked: InWorkspace) -> Record:
    directory = await owners.directory()
    inside = directory.workspace(asked.workspace).id if asked.workspace else None
    wanted = [one for one in directory.agents if inside is None or one.get("workspaceId") == inside]
    facts = await owners.read_each([address.agent(text(one, "agentId")) for one in wanted], "agent_facts")
    return {
        "agents": [
            {**one, "workspace": directory.workspace_name(text(one, "workspaceId")), **(known or {})}
            for one, known in zip(wanted, facts, strict=True)
        ]
    }


async def agent_token(owners: Owners, asked: AgentNamed) -> Record:
    meant = (await owners.directory()).agent(asked.agent, asked.workspace)
    token, token_hash = _new_token(meant.id)
    await owners.ask(address.agent(meant.id), "token_replace", {"tokenHash": token_hash})
    return {"agentId": meant.id, "name": meant.name, "token": token}


async def agent_remove(owners: Owners, asked: AgentNamed) -> Record:
    meant = (await owners.directory()).agent(asked.agent, asked.workspace)
    await owners.ask(DIRECTORY, "agent_remove", {"agentId": meant.id})
    return {"agentId": meant.id, "name": meant.name}


async def canvas_grant(owners: Owners, asked: CanvasGrant) -> Record:
    entry = await owners.canvas(asked.canvas, asked.workspace)
    workspace_id = text(entry, "workspaceId")
    directory = await owners.directory()
    inside = directory.agents_named(workspace_id)
    meant = resolve("agent", asked.agent, inside)
    if isinstance(meant, Refusal) and meant.code is Code.NOT_FOUND:
        elsewhere = resolve("agent", asked.agent, directory.agents_named(None))
        if not (isinstance(elsewhere, Refusal) and elsewhere.code is Code.NOT_FOUND):
            raise VerbRefused.by(
                Refusal(
                    Code.SCOPE_MISMATCH,
                    "That agent belongs to another workspace than the canvas, so a role there would have no effect. "
                    "Name an agent of the canvas's workspace, or add one there.",
                )
            )
    agent = chosen(meant)
    to = address.canvas(workspace_id, text(entry, "canvasId"))
    await owners.ask(to, "canvas_grant", {"agentId": agent.id, "role": asked.role})
    return {
        "canvasId": entry["canvasId"],
        "title": entry["title"],
        "agentId": agent.id,
        "name": agent.name,
        "role": asked.role,
    }


async def canvas_list(owners: Owners, asked: InWorkspace) -> Record:
    directory = await owners.directory()
    within = (
        [directory.workspace(asked.workspace).id]
        if asked.workspace
        else [text(one, "workspaceId") for one in directory.workspaces]
    )
    entries = [one async for one in owners.canvases_within(within)]
    places = [address.canvas(text(one, "workspaceId"), text(one, "canvasId")) for one in entries]
    heads = await owners.read_each(places, "canvas_summary")
    return {
        "canvases": [
            {**one, "workspace": directory.workspace_name(text(one, "workspaceId")), **head}
            for one, head in zip(entries, heads, strict=True)
            if head is not None
        ]
    }


async def canvas_show(owners: Owners, asked: CanvasNamed) -> Record:
    entry = await owners.canvas(asked.canvas, asked.workspace)
    to = address.canvas(text(entry, "workspaceId"), text(entry, "canvasId"))
    return {**entry, **(await owners.read(to, "canvas_get_state", {"canvasId": text(entry, "canvasId")}))}


def _new_token(agent_id: str) -> tuple[str, bytes]:
    """A token that is shown once, and what owners keep of it: the SHA-256 of its secret."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return f"nx_{agent_id}_{secret}", hashlib.sha256(secret.encode()).digest()


def _streamed(arguments: type[Arguments], run: Callable[[Owners, Arguments, Emit], Awaitable[Record | None]]) -> Stream:
    async def streamed(owners: Owners, raw: Record, emit: Emit) -> Record | None:
        return await run(owners, checked_arguments(arguments, raw), emit)

    return streamed


VERBS: Final[Mapping[str, Run]] = {
    "status": _checked(Nothing, status),
    **person_workspaces.VERBS,
    "agent.add": _checked(AgentAdd, agent_add),
    "agent.list": _checked(InWorkspace, agent_list),
    "agent.token": _checked(AgentNamed, agent_token),
    "agent.remove": _checked(AgentNamed, agent_remove),
    "canvas.grant": _checked(CanvasGrant, canvas_grant),
    "canvas.list": _checked(InWorkspace, canvas_list),
    "canvas.show": _checked(CanvasNamed, canvas_show),
    "backup": _checked(person_backup.Backup, person_backup.backup),
    "bus.ls": _checked(person_bus.Ls, person_bus.ls),
    "bus.info": _checked(person_bus.Info, person_bus.info),
    "bus.peek": _checked(person_bus.Peek, person_bus.peek),
    "bus.tail": _checked(person_bus.Tail, person_bus.tail),
    "bus.get": _checked(person_bus.Get, person_bus.get),
    "bus.pending": _checked(person_upkeep.Pending, person_upkeep.pending),
    "bus.dead.ls": _checked(person_upkeep.DeadList, person_upkeep.dead_list),
    "bus.dead.retry": _checked(person_upkeep.OneLetter, person_upkeep.dead_retry),
    "bus.dead.drop": _checked(person_upkeep.OneLetter, person_upkeep.dead_drop),
    "bus.trace": _checked(person_log.Trace, person_log.trace),
    "bus.top": _checked(person_upkeep.Top, person_upkeep.top),
    **person_plans.VERBS,
}

STREAMS: Final[Mapping[str, Stream]] = {
    "bus.tail": _streamed(person_bus.Tail, person_bus.follow),
    "bus.doctor": _streamed(person_upkeep.Doctor, person_upkeep.doctor),
    "bus.export": _streamed(person_log.Export, person_log.export),
    **person_plans.STREAMS,
}
"""Verbs that answer `{"event": ...}` lines; at its end one that ends answers `{"ok": ...}`."""
