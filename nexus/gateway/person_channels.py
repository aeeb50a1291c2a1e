"""The person's verbs on channels, and on what agents have asked for (mesh 6).

Lists are composed over workspaces. Names of agents come from the directory: a member that was removed is none any more,
and one that acts in another workspace now is shown with that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from bus import address
from bus.limits import identifier_characters_max, reason_characters_max
from bus.value import Record, Value, records
from nexus.gateway.naming import Named, resolve
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, chosen, text
from nexus.gateway.person_table import Run, Typed, checked
from tools.base import Model, Name
from tools.errors import Code, Refusal

_NO_REQUEST: Final = Refusal(
    Code.NOT_FOUND, "No request with that id waits. `nexus channel requests` shows those that do."
)
_NO_MEMBER: Final = Refusal(
    Code.NOT_FOUND, "That agent is not a member of this channel. `nexus channel show` shows who is."
)
_ELSEWHERE: Final = Refusal(
    Code.SCOPE_MISMATCH,
    "That agent acts in another workspace than the channel's. Name an agent of the channel's workspace, or pin it "
    "there first.",
)


class InWorkspace(Model):
    workspace: Typed | None = None


class ChannelCreate(Model):
    name: Name
    workspace: Typed


class ChannelNamed(Model):
    channel: Typed
    workspace: Typed | None = None


class ChannelRename(ChannelNamed):
    name: Name


class ChannelMember(ChannelNamed):
    agent: Typed


class ChannelDecide(Model):
    requestId: Annotated[str, Field(min_length=1, max_length=identifier_characters_max)]
    decision: Literal["accept", "decline"]
    note: Annotated[str, Field(min_length=1, max_length=reason_characters_max)] | None = None
    workspace: Typed | None = None


@dataclass(frozen=True, slots=True)
class _Meant:
    """One channel, with all that its workspace tells of it."""

    workspace_id: str
    entry: Record
    directory: Directory

    @property
    def body(self) -> Record:
        return {"channelId": self.entry["channelId"]}

    @property
    def told(self) -> Record:
        name = self.directory.workspace_name(self.workspace_id)
        where: Record = {"workspaceId": self.workspace_id, "workspace": name}
        return {"channelId": self.entry["channelId"], "name": self.entry["name"], **where}


async def channel_list(owners: Owners, asked: InWorkspace) -> Record:
    directory = await owners.directory()
    listed = await _channels(owners, directory, asked.workspace)
    return {"channels": [{**one.told, **_counts(one.entry)} for one in listed]}


async def channel_show(owners: Owners, asked: ChannelNamed) -> Record:
    meant = await _meant(owners, asked)
    ids = meant.entry.get("members")
    members = [_agent(meant.directory, str(one), meant.workspace_id) for one in (ids if isinstance(ids, list) else [])]
    waiting = [
        one
        for one in await _requests(owners, meant.directory, [meant.workspace_id])
        if one.get("channelId") == meant.entry["channelId"]
    ]
    created: Record = {"createdAt": meant.entry.get("createdAt")}
    return {**meant.told, **created, "members": [*members], "requests": [*waiting]}


async def channel_create(owners: Owners, asked: ChannelCreate) -> Record:
    directory = await owners.directory()
    within = directory.workspace(asked.workspace)
    made = await owners.ask(address.workspace(within.id), "channel_create", {"name": asked.name})
    return _Meant(within.id, made, directory).told


async def channel_rename(owners: Owners, asked: ChannelRename) -> Record:
    meant = await _meant(owners, asked)
    await owners.ask(address.workspace(meant.workspace_id), "channel_rename", {**meant.body, "name": asked.name})
    return {**meant.told, "name": asked.name, "formerName": meant.entry["name"]}


async def channel_delete(owners: Owners, asked: ChannelNamed) -> Record:
    meant = await _meant(owners, asked)
    await owners.ask(address.workspace(meant.workspace_id), "channel_delete", meant.body)
    return {**meant.told, **_counts(meant.entry)}


async def channel_add(owners: Owners, asked: ChannelMember) -> Record:
    """Only an agent of the channel's own workspace."""
    meant = await _meant(owners, asked)
    agent = resolve("agent", asked.agent, meant.directory.agents_named(meant.workspace_id))
    if isinstance(agent, Refusal) and agent.code is Code.NOT_FOUND:
        elsewhere = resolve("agent", asked.agent, meant.directory.agents_named(None))
        if not (isinstance(elsewhere, Refusal) and elsewhere.code is Code.NOT_FOUND):
            raise VerbRefused.by(_ELSEWHERE)
    return await _changed(owners, meant, "channel_add", chosen(agent))


async def channel_remove(owners: Owners, asked: ChannelMember) -> Record:
    """Whoever is a member, wherever it acts now."""
    meant = await _meant(owners, asked)
    ids = meant.entry.get("members")
    members = frozenset(str(one) for one in (ids if isinstance(ids, list) else []))
    everyone = meant.directory.agents_named(None)
    agent = resolve("agent", asked.agent, [one for one in everyone if one.id in members])
    if isinstance(agent, Refusal) and agent.code is Code.NOT_FOUND:
        exists = resolve("agent", asked.agent, everyone)
        if not (isinstance(exists, Refusal) and exists.code is Code.NOT_FOUND):
            raise VerbRefused.by(_NO_MEMBER)
    return await _changed(owners, meant, "channel_remove", chosen(agent))


async def channel_requests(owners: Owners, asked: InWorkspace) -> Record:
    """What waits for the person, oldest first."""
    directory = await owners.directory()
    waiting = await _requests(owners, directory, _within(directory, asked.workspace))
    return {"requests": [*sorted(waiting, key=lambda one: (text(one, "at"), text(one, "requestId")))]}


async def channel_decide(owners: Owners, asked: ChannelDecide) -> Record:
    directory = await owners.directory()
    waiting = await _requests(owners, directory, _within(directory, asked.workspace))
    meant = next((one for one in waiting if one.get("requestId") == asked.requestId), None)
    if meant is None:
        raise VerbRefused.by(_NO_REQUEST)
    body: Record = {"requestId": asked.requestId, "decision": asked.decision}
    if asked.note is not None:
        body["note"] = asked.note
    answer = await owners.ask(address.workspace(text(meant, "workspaceId")), "request_decide", body)
    return {**meant, "outcome": answer.get("outcome")}


async def _changed(owners: Owners, meant: _Meant, verb: str, agent: Named) -> Record:
    await owners.ask(address.workspace(meant.workspace_id), verb, {**meant.body, "agentId": agent.id})
    return {**meant.told, "agentId": agent.id, "agent": agent.name}


async def _meant(owners: Owners, asked: ChannelNamed) -> _Meant:
    """The channel of that id or name. Raises VerbRefused."""
    directory = await owners.directory()
    listed = await _channels(owners, directory, asked.workspace)
    named = [Named(text(one.entry, "channelId"), text(one.entry, "name"), one.workspace_id) for one in listed]
    meant = chosen(resolve("channel", asked.channel, named))
    return next(one for one in listed if one.entry["channelId"] == meant.id)


async def _channels(owners: Owners, directory: Directory, workspace: str | None) -> list[_Meant]:
    """Every channel, or those of one workspace; a workspace that was deleted since it was listed has none."""
    within = _within(directory, workspace)
    listed = await owners.read_each([address.workspace(one) for one in within], "channels_list")
    return [
        _Meant(workspace_id, entry, directory)
        for workspace_id, answer in zip(within, listed, strict=True)
        for entry in records(answer or {}, "channels")
    ]


async def _requests(owners: Owners, directory: Directory, within: Sequence[str]) -> list[Record]:
    listed = await owners.read_each([address.workspace(one) for one in within], "channel_requests")
    return [
        {
            **request,
            "workspaceId": workspace_id,
            "workspace": directory.workspace_name(workspace_id),
            "requester": directory.agent_name(text(request, "requesterId")),
            "agent": directory.agent_name(text(request, "agentId")),
        }
        for workspace_id, answer in zip(within, listed, strict=True)
        for request in records(answer or {}, "requests")
    ]


def _within(directory: Directory, workspace: str | None) -> list[str]:
    if workspace:
        return [directory.workspace(workspace).id]
    return [text(one, "workspaceId") for one in directory.workspaces]


def _counts(entry: Record) -> Record:
    members = entry.get("members")
    return {"members": len(members) if isinstance(members, list) else 0, "requests": entry.get("requests")}


def _agent(directory: Directory, agent_id: str, workspace_id: str) -> Value:
    listed = next((one for one in directory.agents if one.get("agentId") == agent_id), {})
    is_here = listed.get("workspaceId") == workspace_id
    return {"agentId": agent_id, "name": directory.agent_name(agent_id), "isHere": is_here}


VERBS: Final[Mapping[str, Run]] = {
    "channel.list": checked(InWorkspace, channel_list),
    "channel.show": checked(ChannelNamed, channel_show),
    "channel.create": checked(ChannelCreate, channel_create),
    "channel.rename": checked(ChannelRename, channel_rename),
    "channel.delete": checked(ChannelNamed, channel_delete),
    "channel.add": checked(ChannelMember, channel_add),
    "channel.remove": checked(ChannelMember, channel_remove),
    "channel.requests": checked(InWorkspace, channel_requests),
    "channel.decide": checked(ChannelDecide, channel_decide),
}
