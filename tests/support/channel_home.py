"""Owners in memory with channels: what agents ask for, what the person decides, and who is told what."""

from __future__ import annotations

from actors.decision import Send
from actors.workspace.channel_book import ChannelBook
from bus import address
from bus.address import DIRECTORY, Address
from bus.value import Record, Value
from tests.support.bench import PERSON
from tests.support.exchange import Home
from tools.errors import Refusal


class ChannelHome(Home):
    """`told` are the notices that left for mailboxes, as (agent id, what it is told), in order."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, Record]] = []

    def step(self, stream: tuple[Address, Address], *, repeat: bool = False) -> None:
        send = self.streams[stream][0].send
        if isinstance(send, Send) and send.verb == "request_ended":
            self.told.append((send.to.id, send.body))
        super().step(stream, repeat=repeat)

    def channel(self, name: str, *members: str, workspace_id: str = "w1") -> str:
        """A new channel's id."""
        workspace = address.workspace(workspace_id)
        channel_id = str(self.ok(workspace, "channel_create", {"name": name}, PERSON)["channelId"])
        for member in members:
            self.ok(workspace, "channel_add", {"channelId": channel_id, "agentId": member}, PERSON)
        return channel_id

    def book(self, workspace_id: str = "w1") -> ChannelBook:
        book = self.bench(address.workspace(workspace_id)).state.book
        assert isinstance(book, ChannelBook)
        return book

    def members(self, channel_id: str) -> list[str]:
        return self.book().channels[channel_id].members

    def person(self, verb: str, workspace_id: str = "w1", **body: Value) -> Record | Refusal:
        return self.call(address.workspace(workspace_id), verb, body, PERSON)

    def asks(self, agent_id: str, tool: str, **arguments: Value) -> Record | Refusal:
        """The agent's call of a tool whose owner is its workspace's."""
        caller = self.as_agent(agent_id)
        return self.call(address.workspace(caller.workspace_id), tool, arguments, caller)

    def invites(self, agent_id: str, channel_id: str, invited: str, **more: Value) -> Record | Refusal:
        return self.asks(agent_id, "agent_invite_to_channel", channelId=channel_id, agentId=invited, **more)

    def invited(self, agent_id: str, channel_id: str, invited: str, **more: Value) -> str:
        """The id of a request that waits."""
        reply = self.invites(agent_id, channel_id, invited, **more)
        assert not isinstance(reply, Refusal), reply
        assert reply["state"] == "pending"
        return str(reply["requestId"])

    def creates(self, agent_id: str, name: str, **more: Value) -> Record | Refusal:
        return self.asks(agent_id, "agent_create", name=name, **more)

    def accepted(self, agent_id: str, name: str, **more: Value) -> str:
        """The id of a request that was accepted, and decided since."""
        reply = self.creates(agent_id, name, **more)
        assert not isinstance(reply, Refusal), reply
        assert reply["state"] == "accepted"
        return str(reply["requestId"])

    def notices_to(self, agent_id: str) -> list[Record]:
        return [body for to, body in self.told if to == agent_id]

    def remove_agent(self, agent_id: str) -> None:
        self.ok(DIRECTORY, "agent_remove", {"agentId": agent_id}, PERSON)


def channel_home() -> ChannelHome:
    """Two workspaces; Ada, Eve and Cyd in the first, Bob in the other."""
    home = ChannelHome()
    home.add_workspace("w1")
    home.add_workspace("w2")
    for agent_id, workspace_id, name in (
        ("a1", "w1", "Ada"),
        ("a2", "w1", "Eve"),
        ("a3", "w1", "Cyd"),
        ("b1", "w2", "Bob"),
    ):
        home.add_agent(agent_id, workspace_id, name=name)
    return home
