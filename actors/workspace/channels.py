"""Channels as the person keeps them (mesh 6): made, named, deleted, joined and left by nobody else's word.

Who is a member is told to nobody but the person and, of its own memberships, the agent. The directory knows which
agents there are: it is told of each that joins, and says when one is removed, at once if it is gone already.
"""

from __future__ import annotations

from bisect import insort
from typing import Final

from actors.decision import (
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    Message,
    PrincipalKind,
    Put,
    Send,
    SetTimer,
    Verb,
    VerbTable,
)
from actors.name_index import name_refusal
from actors.parsed import DONE, Nothing, parsed, sending_owner
from actors.workspace.channel_book import Channel, channel_row, creations_row
from actors.workspace.channel_ends import ended_each
from actors.workspace.roles import roles_ending
from actors.workspace.state import WorkspaceState
from bus.address import DIRECTORY
from bus.identifier import made_id
from bus.limits import channel_members_max, channels_per_workspace_max, saga_retry_ms_max
from bus.value import Record, Value
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal
from tools.times import rfc3339


class ChannelCreate(Model):
    name: Name


class ChannelNamed(Model):
    channelId: Identifier


class ChannelRename(Model):
    channelId: Identifier
    name: Name


class ChannelMember(Model):
    channelId: Identifier
    agentId: Identifier


class MemberGone(Model):
    agentId: Identifier
    workspaceId: Identifier


class NoteAgain(Model):
    agentId: str


def channel_create(state: WorkspaceState, body: ChannelCreate, context: Context) -> Decision:
    if state.living() is None:
        return Decision(NOT_FOUND)
    refusal = name_refusal(state.book.names, body.name, "channel")
    if refusal is None and len(state.book.channels) >= channels_per_workspace_max:
        refusal = Refusal(
            Code.WRONG_STATE,
            "The workspace has as many channels as it can hold. Delete one first.",
            details={"limit": channels_per_workspace_max},
        )
    if refusal is not None:
        return Decision(refusal)
    channel_id = made_id(context.call_id, "channel")
    channel = Channel(name=body.name, members=[], createdAt=context.now_ms)
    event = Event("channel.created", _of(channel_id, context))
    return Decision(_told(channel_id, channel), (Put(channel_row(channel_id), channel.model_dump()), event))


def channel_rename(state: WorkspaceState, body: ChannelRename, context: Context) -> Decision:
    channel = _channel(state, body.channelId)
    if channel is None:
        return Decision(NOT_FOUND)
    if channel.name == body.name:
        return Decision(_told(body.channelId, channel))
    refusal = name_refusal(state.book.names, body.name, "channel", body.channelId)
    if refusal is not None:
        return Decision(refusal)
    renamed = channel.model_copy(update={"name": body.name})
    event = Event("channel.renamed", _of(body.channelId, context))
    return Decision(_told(body.channelId, renamed), (Put(channel_row(body.channelId), renamed.model_dump()), event))


def channel_delete(state: WorkspaceState, body: ChannelNamed, context: Context) -> Decision:
    """Who waits for an invitation to it is told that it is gone."""
    channel = _channel(state, body.channelId)
    if channel is None:
        return Decision(NOT_FOUND)
    effects = (
        *ended_each(state.book, state.book.requests_about(channel_id=body.channelId), "refused"),
        Delete(channel_row(body.channelId)),
        Event("channel.deleted", _of(body.channelId, context)),
    )
    return Decision(_told(body.channelId, channel), effects)


def channel_add(state: WorkspaceState, body: ChannelMember, context: Context) -> Decision:
    """To add a member again changes nothing."""
    channel = _channel(state, body.channelId)
    if channel is None:
        return Decision(NOT_FOUND)
    joined = joining(state, body.channelId, body.agentId, context)
    if isinstance(joined, Refusal):
        return Decision(joined)
    noted: Record = {"agentId": body.agentId, "workspaceId": context.address.id}
    told = () if not joined else (Send(DIRECTORY, "member_noted", noted),)
    return Decision(_told(body.channelId, channel), (*joined, *told))


def channel_remove(state: WorkspaceState, body: ChannelMember, context: Context) -> Decision:
    channel = state.book.channel_of(body.channelId, body.agentId) if state.living() is not None else None
    if channel is None:
        return Decision(NOT_FOUND)
    effects = _leaving(state, body.channelId, body.agentId, context)
    return Decision(_told(body.channelId, channel), tuple(effects))


def channels_list(state: WorkspaceState, body: Nothing, context: Context) -> Decision:
    """All of them whole, for the person; bounded by how many there can be."""
    if state.living() is None:
        return Decision(NOT_FOUND)
    listed: list[Value] = [
        {
            **_told(channel_id, channel),
            "members": [*channel.members],
            "createdAt": rfc3339(channel.createdAt),
            "requests": sum(1 for _, one in state.book.requests_about(channel_id=channel_id) if one.is_pending),
        }
        for channel_id, channel in sorted(state.book.channels.items())
    ]
    return Decision({"channels": listed})


def own_channels(state: WorkspaceState, body: Nothing, context: Context) -> Decision:
    """The channels that the caller is a member of, in the order of their ids; nobody else's (mesh 1, agent_get)."""
    agent_id = context.principal.agent_id
    if state.living() is None or context.principal.workspace_id != context.address.id:
        return Decision(NOT_FOUND)
    own: list[Value] = [
        _told(channel_id, channel)
        for channel_id, channel in sorted(state.book.channels.items())
        if agent_id in channel.members
    ]
    return Decision({"channels": own})


def member_gone(state: WorkspaceState, body: MemberGone, context: Context) -> Decision:
    """The directory has no such agent any more: it leaves every channel, its roles on canvases end, and so does what it
    asked for or was asked about."""
    sending_owner(context, "app")
    book = state.book
    effects: list[Effect] = []
    for channel_id, channel in sorted(book.channels.items()):
        if body.agentId in channel.members:
            effects += _leaving(state, channel_id, body.agentId, context)
    effects += ended_each(book, book.requests_about(agent_id=body.agentId), "refused")
    if body.agentId in book.creations:
        effects.append(Delete(creations_row(body.agentId)))
    return Decision({}, (*effects, *roles_ending(state, body.agentId, context)))


def joining(
    state: WorkspaceState, channel_id: str, agent_id: str, context: Context, note: str | None = None
) -> list[Effect] | Refusal:
    """What makes the agent a member and tells everybody who asked for that; nothing when it is one already."""
    channel = state.book.channels[channel_id]
    if agent_id in channel.members:
        return []
    if len(channel.members) >= channel_members_max:
        return Refusal(
            Code.WRONG_STATE,
            "The channel has as many members as it can hold. Remove one first.",
            details={"limit": channel_members_max},
        )
    members = [*channel.members]
    insort(members, agent_id)
    joined = channel.model_copy(update={"members": members})
    # One that the directory is still asked about is answered by what holds when it has said.
    asked = [one for one in state.book.requests_about(channel_id=channel_id, agent_id=agent_id) if one[1].is_pending]
    return [
        *ended_each(state.book, asked, "joined", note),
        Put(channel_row(channel_id), joined.model_dump()),
        Event("channel.member_added", {**_of(channel_id, context), "agentId": agent_id}),
    ]


def note_died(state: WorkspaceState, message: Message, context: Context) -> Decision:
    """The directory has not heard of a member: it is told until it has, for it says when the member is removed."""
    body = message.body.get("body")
    agent_id = body.get("agentId") if isinstance(body, dict) else None
    if not isinstance(agent_id, str):
        return DONE
    due_ms = context.now_ms + saga_retry_ms_max
    return Decision({}, (SetTimer(f"member/{agent_id}", due_ms, "member_note_again", {"agentId": agent_id}),))


def member_note_again(state: WorkspaceState, body: NoteAgain, context: Context) -> Decision:
    if state.living() is None:
        return DONE
    noted: Record = {"agentId": body.agentId, "workspaceId": context.address.id}
    return Decision({}, (Send(DIRECTORY, "member_noted", noted),))


def _leaving(state: WorkspaceState, channel_id: str, agent_id: str, context: Context) -> list[Effect]:
    """It is no member any more, and nobody who is none has a request there."""
    channel = state.book.channels[channel_id]
    left = channel.model_copy(update={"members": [one for one in channel.members if one != agent_id]})
    asked = state.book.requests_about(channel_id=channel_id, requester_id=agent_id)
    return [
        *ended_each(state.book, asked, "refused"),
        Put(channel_row(channel_id), left.model_dump()),
        Event("channel.member_removed", {**_of(channel_id, context), "agentId": agent_id}),
    ]


def _channel(state: WorkspaceState, channel_id: str) -> Channel | None:
    return None if state.living() is None else state.book.channels.get(channel_id)


def _told(channel_id: str, channel: Channel) -> Record:
    return {"channelId": channel_id, "name": channel.name}


def _of(channel_id: str, context: Context) -> Record:
    return {"channelId": channel_id, "workspaceId": context.address.id}


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_OWNER: Final = frozenset({PrincipalKind.OWNER})
_PERSON: Final = frozenset({PrincipalKind.PERSON})
_TIMER: Final = frozenset({PrincipalKind.TIMER})

VERBS: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "channel_create": Verb(parsed(ChannelCreate, channel_create), _PERSON),
        "channel_rename": Verb(parsed(ChannelRename, channel_rename), _PERSON),
        "channel_delete": Verb(parsed(ChannelNamed, channel_delete), _PERSON),
        "channel_add": Verb(parsed(ChannelMember, channel_add), _PERSON),
        "channel_remove": Verb(parsed(ChannelMember, channel_remove), _PERSON),
        "channels_list": Verb(parsed(Nothing, channels_list), _PERSON),
        "own_channels": Verb(parsed(Nothing, own_channels), _AGENT),
        "member_gone": Verb(parsed(MemberGone, member_gone), _OWNER),
        "member_note_again": Verb(parsed(NoteAgain, member_note_again), _TIMER),
    }
)
