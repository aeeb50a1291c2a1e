"""A workspace's rows about channels (mesh 6), and what is built from them. Pure.

| row | holds |
| --- | --- |
| `channel/<id>` | a channel: its name and who is a member |
| `request/<id>` | an invitation that waits for the person, or for the directory to say whom it names |
| `creations/<agent id>` | what agents this one asked for within the hour, or is not told about yet |

Invariants: names of channels are unique under what they could be taken for; whoever asked for an invitation is a member
of its channel for as long as it waits, and whom it is about is none; counts stay within their limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import Field

from actors.decision import Put, RowEffect
from actors.name_index import NameIndex
from bus.limits import (
    agent_creation_rate_ms,
    agent_creations_max,
    channel_members_max,
    channel_requests_max,
    channel_requests_per_agent_max,
    channels_per_workspace_max,
)
from tools.base import Model


def channel_row(channel_id: str) -> str:
    return f"channel/{channel_id}"


def request_row(request_id: str) -> str:
    return f"request/{request_id}"


def creations_row(agent_id: str) -> str:
    return f"creations/{agent_id}"


class Channel(Model):
    name: str
    members: list[str]
    """Agent ids, in their order. One that acts in another workspace now stays a member."""
    createdAt: int


class ChannelRequest(Model):
    """An agent asks that another one may join a channel."""

    requesterId: str
    agentId: str
    channelId: str
    note: str | None
    at: int
    calls: list[str] = Field(default_factory=list)
    """Those that are open until the directory has said that the requester can name the agent."""

    @property
    def is_pending(self) -> bool:
        """Whether it waits for the person, who does not see it before."""
        return not self.calls


class Creation(Model):
    """An agent that was asked for."""

    requestId: str
    at: int
    channelId: str | None
    isOpen: bool
    """Whether the directory has not said yet what came of it."""

    def counts(self, now_ms: int) -> bool:
        return self.isOpen or self.at + agent_creation_rate_ms > now_ms


class Creations(Model):
    """The agents that one agent asked for."""

    asked: list[Creation]
    """Oldest first."""

    def counted(self, now_ms: int) -> list[Creation]:
        return [creation for creation in self.asked if creation.counts(now_ms)]


@dataclass(slots=True)
class ChannelBook:
    """Channels and requests of one workspace."""

    channels: dict[str, Channel] = field(default_factory=dict)
    names: NameIndex = field(default_factory=NameIndex)
    requests: dict[str, ChannelRequest] = field(default_factory=dict)
    creations: dict[str, Creations] = field(default_factory=dict)
    """By who asked."""

    def channel_of(self, channel_id: str, agent_id: str) -> Channel | None:
        """The channel, if the agent is a member of it: to any other it is as one that never was (common 3.3)."""
        channel = self.channels.get(channel_id)
        return channel if channel is not None and agent_id in channel.members else None

    def requests_about(
        self, *, channel_id: str | None = None, agent_id: str | None = None, requester_id: str | None = None
    ) -> Iterator[tuple[str, ChannelRequest]]:
        """Those to which everything that is given applies, oldest first."""
        for request_id, request in sorted(self.requests.items()):
            if (
                channel_id in (None, request.channelId)
                and agent_id in (None, request.agentId)
                and requester_id in (None, request.requesterId)
            ):
                yield request_id, request

    def waiting_of(self, requester_id: str) -> int:
        """Invitations of this agent that wait, or will when an agent that it asked for has been made."""
        creations = self.creations.get(requester_id)
        due = 0 if creations is None else _due(creations)
        return due + sum(1 for _ in self.requests_about(requester_id=requester_id))

    def waiting(self) -> int:
        return len(self.requests) + sum(map(_due, self.creations.values()))

    def is_empty(self) -> bool:
        return not (self.channels or self.requests or self.creations)


def apply(book: ChannelBook, effect: RowEffect) -> bool:
    """Change `book` by one row; False for a row that is not about channels."""
    kind, _, row_id = effect.row.partition("/")
    value = effect.value if isinstance(effect, Put) else None
    match kind:
        case "channel":
            former = book.channels.pop(row_id, None)
            if former is not None:
                book.names.drop(row_id, former.name)
            if value is not None:
                book.channels[row_id] = Channel.model_validate(value)
                book.names.add(row_id, book.channels[row_id].name)
        case "request":
            book.requests.pop(row_id, None)
            if value is not None:
                book.requests[row_id] = ChannelRequest.model_validate(value)
        case "creations":
            book.creations.pop(row_id, None)
            if value is not None:
                book.creations[row_id] = Creations.model_validate(value)
        case _:
            return False
    return True


def problems(book: ChannelBook) -> list[str]:
    """What should hold of the channels of every workspace and does not."""
    found = []
    if len(book.channels) > channels_per_workspace_max:
        found.append("there are more channels than there may be")
    if any(book.names.holder_of(one.name, id_) is not None for id_, one in book.channels.items()):
        found.append("two channels have the same name, or names that look alike")
    for channel_id, channel in book.channels.items():
        if channel.members != sorted(set(channel.members)) or len(channel.members) > channel_members_max:
            found.append(f"the members of channel {channel_id} are out of order or too many")
    for request_id, request in book.requests.items():
        if book.channel_of(request.channelId, request.requesterId) is None:
            found.append(f"request {request_id} is of an agent that is no member of its channel")
        elif request.is_pending and book.channel_of(request.channelId, request.agentId) is not None:
            found.append(f"request {request_id} is about an agent that is a member already")
    if book.waiting() > channel_requests_max or any(
        book.waiting_of(request.requesterId) > channel_requests_per_agent_max for request in book.requests.values()
    ):
        found.append("more requests wait than may")
    if any(len(creations.asked) > agent_creations_max for creations in book.creations.values()):
        found.append("an agent has asked for more agents than it may")
    return found


def _due(creations: Creations) -> int:
    return sum(1 for creation in creations.asked if creation.isOpen and creation.channelId is not None)
