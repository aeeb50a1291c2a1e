"""The person's verbs on canvases: which there are, what each holds, who may do what on it, and its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, cast

from pydantic import Field

from bus import address
from bus.address import Address
from bus.limits import elements_per_call_max, writes_tried_anew_max
from bus.value import Record, Value, records
from nexus.gateway.naming import Named, resolve
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, chosen, must_be_applied, text
from nexus.gateway.person_table import Run, Typed, checked
from tools.base import Identifier, Model
from tools.errors import Code, Refusal

_DELETED: Final = "deleted by the person"
_UNLOCKED: Final = "unlocked by the person"
_ELSEWHERE: Final = Refusal(
    Code.SCOPE_MISMATCH,
    "That agent belongs to another workspace than the canvas, so a role there would have no effect. Name an agent of "
    "the canvas's workspace, or add one there.",
)


class InWorkspace(Model):
    workspace: Typed | None = None


class CanvasNamed(Model):
    canvas: Typed
    workspace: Typed | None = None


class CanvasGrant(CanvasNamed):
    agent: Typed
    role: Literal["viewer", "commenter", "editor", "owner", "none"]


class CanvasRevoke(CanvasNamed):
    agent: Typed


class CanvasUnlock(CanvasNamed):
    """No elements: all that are locked."""

    elements: list[Identifier] = Field(default_factory=list, max_length=elements_per_call_max)


async def place_of(owners: Owners, asked: CanvasNamed) -> tuple[Record, Address]:
    """The index entry of the canvas that is meant, and its owner. Raises VerbRefused."""
    entry = await owners.canvas(asked.canvas, asked.workspace)
    return entry, address.canvas(text(entry, "workspaceId"), text(entry, "canvasId"))


async def written_now(owners: Owners, to: Address, verb: str, body: Record) -> Record:
    """The outcome of a write that the person means for the canvas as it is when it arrives: one that somebody else
    came before is tried anew, a few times."""
    answer: Record = {}
    for _ in range(writes_tried_anew_max):
        revision = (await owners.read(to, "canvas_summary", {}))["revision"]
        answer = await owners.ask(to, verb, {**body, "canvasId": to.id, "expectedRevision": revision})
        if answer.get("outcome") != "conflict" or answer.get("currentRevision") == revision:
            break
    return answer


def names_of(directory: Directory, labels: Iterable[Value]) -> Record:
    """Agents' names by id, of those `labels` that are ids of agents."""
    named = {str(label): directory.agent_name(str(label)) for label in labels}
    return {agent_id: name for agent_id, name in named.items() if name}


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
    """What an agent with a role reads of it, and the roles. `names`: of the agents in it, as far as they have one."""
    entry, to = await place_of(owners, asked)
    state = await owners.read(to, "canvas_get_state", {"canvasId": to.id})
    held = records(await owners.read(to, "canvas_roles", {}), "roles")
    named = [
        *(one.get("agentId") for one in held),
        *(one.get("by") for one in records(state, "proposals")),
        *(one.get("holder") for one in records(state, "locks")),
        state.get("createdBy"),
    ]
    names = names_of(await owners.directory(), named)
    return {**entry, **state, "roles": cast("list[Value]", held), "names": names}


async def canvas_grant(owners: Owners, asked: CanvasGrant) -> Record:
    entry, to = await place_of(owners, asked)
    directory = await owners.directory()
    meant = resolve("agent", asked.agent, directory.agents_named(to.workspace))
    if _is_unknown(meant) and not _is_unknown(resolve("agent", asked.agent, directory.agents_named(None))):
        raise VerbRefused.by(_ELSEWHERE)
    return await _give(owners, entry, to, chosen(meant), asked.role)


async def canvas_revoke(owners: Owners, asked: CanvasRevoke) -> Record:
    """Of any agent that has a role, also one that was removed or works elsewhere now. Safe to repeat."""
    entry, to = await place_of(owners, asked)
    directory = await owners.directory()
    held = [text(one, "agentId") for one in records(await owners.read(to, "canvas_roles", {}), "roles")]
    meant = resolve("agent", asked.agent, [Named(one, directory.agent_name(one) or one) for one in held])
    if _is_unknown(meant):
        meant = resolve("agent", asked.agent, directory.agents_named(to.workspace))
    return await _give(owners, entry, to, chosen(meant), "none")


async def _give(owners: Owners, entry: Record, to: Address, agent: Named, role: str) -> Record:
    await owners.ask(to, "canvas_grant", {"agentId": agent.id, "role": role})
    told: Record = {"canvasId": entry["canvasId"], "title": entry["title"]}
    return {**told, "agentId": agent.id, "name": agent.name, "role": role}


def _is_unknown(meant: Named | Refusal) -> bool:
    return isinstance(meant, Refusal) and meant.code is Code.NOT_FOUND


async def canvas_unlock(owners: Owners, asked: CanvasUnlock) -> Record:
    """`elementIds`: those that a lock was taken off, among them locks that did not count any more."""
    entry, to = await place_of(owners, asked)
    unlocked: list[Value] = []
    if asked.elements:
        unlocked += await _unlocked(owners, to, [*asked.elements])
    else:
        while locked := await _locked(owners, to):  # a page at a time
            gone = await _unlocked(owners, to, locked)
            if not gone:
                break
            unlocked += gone
    return {"canvasId": to.id, "title": entry["title"], "elementIds": unlocked}


async def _locked(owners: Owners, to: Address) -> list[Value]:
    state = await owners.read(to, "canvas_get_state", {"canvasId": to.id})
    return [one["elementId"] for one in records(state, "locks")][:elements_per_call_max]


async def _unlocked(owners: Owners, to: Address, element_ids: list[Value]) -> list[Value]:
    body: Record = {"elementIds": element_ids, "locked": False, "reason": _UNLOCKED, "rebase": "disjoint"}
    answer = await written_now(owners, to, "canvas_lock_elements", body)
    must_be_applied(answer)
    return cast("list[Value]", answer.get("elementIds") or [])


async def canvas_delete(owners: Owners, asked: CanvasNamed) -> Record:
    """At the revision that it has now: a write that comes between is a refusal, for the person has not seen it."""
    entry, to = await place_of(owners, asked)
    head = await owners.read(to, "canvas_summary", {})
    body: Record = {"canvasId": to.id, "expectedRevision": head.get("revision"), "reason": _DELETED}
    must_be_applied(await owners.ask(to, "canvas_delete", body))
    return {**entry, "revision": head.get("revision"), "counts": head.get("counts")}


VERBS: Final[Mapping[str, Run]] = {
    "canvas.list": checked(InWorkspace, canvas_list),
    "canvas.show": checked(CanvasNamed, canvas_show),
    "canvas.grant": checked(CanvasGrant, canvas_grant),
    "canvas.revoke": checked(CanvasRevoke, canvas_revoke),
    "canvas.unlock": checked(CanvasUnlock, canvas_unlock),
    "canvas.delete": checked(CanvasNamed, canvas_delete),
}
