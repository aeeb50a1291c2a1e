"""What the directory tells workspaces about the agents in their channels."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import saga_retry_ms_max
from bus.value import Record
from tests.support.bench import PERSON, owner
from tests.support.channel_home import ChannelHome, channel_home

W1, W2 = address.workspace("w1"), address.workspace("w2")


@pytest.fixture
def home() -> ChannelHome:
    return channel_home()


def _gone(home: ChannelHome) -> list[tuple[str, str]]:
    return [
        (send.to.id, str(send.body["agentId"])) for send in home.bench(DIRECTORY).sent if send.verb == "member_gone"
    ]


def test_a_workspace_is_noted_with_its_member_once(home: ChannelHome) -> None:
    home.channel("Reviews", "a1")
    home.channel("Design", "a1")
    assert home.bench(DIRECTORY).state.agents["a1"].notedIn == ["w1"]


def test_of_a_removed_agent_those_workspaces_are_told_that_it_is_noted_with_or_works_in(home: ChannelHome) -> None:
    """mesh 6, canvas 1.1"""
    home.channel("Reviews", "a1")
    home.ok(DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": "w2"}, PERSON)
    for agent_id in ("a1", "a2"):
        home.bench(DIRECTORY).send("agent_remove", {"agentId": agent_id}, PERSON)
    assert _gone(home) == [("w1", "a1"), ("w2", "a1"), ("w1", "a2")]


def test_a_note_about_an_agent_that_works_elsewhere_is_answered_by_that(home: ChannelHome) -> None:
    """canvas 1.1: a role that was on its way when the person pinned the agent elsewhere ends too."""
    bench = home.bench(DIRECTORY)
    bench.send("member_noted", {"agentId": "b1", "workspaceId": "w1"}, owner(W1))
    assert [(send.verb, send.to, send.body["agentId"]) for send in bench.sent] == [("member_left", W1, "b1")]
    assert bench.state.agents["b1"].notedIn == ["w1"]


def test_a_workspace_that_could_not_end_roles_is_told_again_unless_the_agent_came_back(home: ChannelHome) -> None:
    """canvas 1.1"""
    bench = home.bench(DIRECTORY)
    left: Record = {"agentId": "a1", "workspaceId": "w1"}
    for workspace_id, told in (("w2", ["member_left"]), ("w1", [])):
        home.ok(DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": workspace_id}, PERSON)
        bench.send("message_died", {"verb": "member_left", "body": left}, owner(DIRECTORY))
        bench.fire("gone/w1/a1")
        assert [send.verb for send in bench.sent] == told
        bench.sent.clear()


def test_a_workspace_that_is_gone_is_told_nothing_and_forgotten_with_the_next_note(home: ChannelHome) -> None:
    home.channel("Reviews", "a1")
    home.add_workspace("w3")
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    home.ok(DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": "w3"}, PERSON)
    home.channel("New", "a1", workspace_id="w3")
    assert home.bench(DIRECTORY).state.agents["a1"].notedIn == ["w3"]
    home.bench(DIRECTORY).send("agent_remove", {"agentId": "a1"}, PERSON)
    assert _gone(home) == [("w3", "a1")]


def test_a_note_about_an_agent_that_is_gone_is_answered_by_that(home: ChannelHome) -> None:
    home.bench(DIRECTORY).send("member_noted", {"agentId": "nobody", "workspaceId": "w1"}, owner(W1))
    assert _gone(home) == [("w1", "nobody")]


def test_a_workspace_that_could_not_take_a_member_out_is_told_again(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    bench = home.bench(DIRECTORY)
    bench.send("agent_remove", {"agentId": "a1"}, PERSON)
    bench.sent.clear()
    gone: Record = {"agentId": "a1", "workspaceId": "w1"}
    bench.send("message_died", {"verb": "member_gone", "body": gone}, owner(DIRECTORY))
    assert bench.timers["gone/w1/a1"].due_ms == bench.clock.now_ms() + saga_retry_ms_max
    bench.fire("gone/w1/a1")
    assert _gone(home) == [("w1", "a1")]
    home._collect(bench)
    home.settle()
    assert home.members(channel) == []


def test_a_workspace_speaks_of_its_own_channels_only(home: ChannelHome) -> None:
    for sender in (W2, address.agent("a1")):
        with pytest.raises(ValueError, match="workspace"):
            home.bench(DIRECTORY).decide("member_noted", {"agentId": "a1", "workspaceId": "w1"}, owner(sender))
