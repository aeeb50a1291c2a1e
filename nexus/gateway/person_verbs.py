"""The person's verbs: a literal table from verb to the function that carries it out by asking owners.

Each function takes checked arguments, speaks to owners with the person's link and answers a record or raises
`VerbRefused`. Nothing is kept between requests. Verbs that carry whole scenes are in person_scenes.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, cast

from bus import address
from bus.value import Record, Value
from nexus import __version__
from nexus.gateway import (
    person_approvals,
    person_authority,
    person_backup,
    person_bus,
    person_channels,
    person_log,
    person_mailboxes,
    person_plans,
    person_providers,
    person_teams,
    person_threads,
    person_upkeep,
    person_workspaces,
)
from nexus.gateway.naming import resolve
from nexus.gateway.person_owners import Owners, VerbRefused, chosen, text
from nexus.gateway.person_settings import SETTINGS_VERBS
from nexus.gateway.person_table import Nothing, Run, Stream, Typed, checked, streamed
from tools.base import Model
from tools.errors import Code, Refusal


class InWorkspace(Model):
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


VERBS: Final[Mapping[str, Run]] = {
    "status": checked(Nothing, status),
    **person_workspaces.VERBS,
    **person_authority.VERBS,
    **person_channels.VERBS,
    **person_approvals.VERBS,
    **SETTINGS_VERBS,
    **person_plans.VERBS,
    **person_threads.VERBS,
    **person_mailboxes.VERBS,
    **person_providers.VERBS,
    **person_teams.VERBS,
    "canvas.grant": checked(CanvasGrant, canvas_grant),
    "canvas.list": checked(InWorkspace, canvas_list),
    "canvas.show": checked(CanvasNamed, canvas_show),
    "backup": checked(person_backup.Backup, person_backup.backup),
    "bus.ls": checked(person_bus.Ls, person_bus.ls),
    "bus.info": checked(person_bus.Info, person_bus.info),
    "bus.peek": checked(person_bus.Peek, person_bus.peek),
    "bus.tail": checked(person_bus.Tail, person_bus.tail),
    "bus.get": checked(person_bus.Get, person_bus.get),
    "bus.pending": checked(person_upkeep.Pending, person_upkeep.pending),
    "bus.dead.ls": checked(person_upkeep.DeadList, person_upkeep.dead_list),
    "bus.dead.retry": checked(person_upkeep.OneLetter, person_upkeep.dead_retry),
    "bus.dead.drop": checked(person_upkeep.OneLetter, person_upkeep.dead_drop),
    "bus.trace": checked(person_log.Trace, person_log.trace),
    "bus.top": checked(person_upkeep.Top, person_upkeep.top),
}

STREAMS: Final[Mapping[str, Stream]] = {
    **person_approvals.STREAMS,
    **person_plans.STREAMS,
    "bus.tail": streamed(person_bus.Tail, person_bus.follow),
    "bus.doctor": streamed(person_upkeep.Doctor, person_upkeep.doctor),
    "bus.export": streamed(person_log.Export, person_log.export),
}
"""Verbs that answer `{"event": ...}` lines; at its end one that ends answers `{"ok": ...}`."""
