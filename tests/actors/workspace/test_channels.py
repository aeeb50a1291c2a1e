"""Channels: only the person makes, names, deletes, fills and empties them."""

from __future__ import annotations

import pytest

from actors.decision import Decision, PrincipalKind, Put
from actors.workspace import RULES
from actors.workspace.channel_book import Channel, ChannelRequest, channel_row, request_row
from bus import address
from bus.address import DIRECTORY
from bus.limits import channel_members_max, channels_per_workspace_max, saga_retry_ms_max
from bus.value import Record
from tests.support.bench import PERSON, agent, owner
from tests.support.channel_home import ChannelHome, channel_home
from tests.support.reading import at
from tools.errors import NOT_FOUND, Code, Refusal

W1 = address.workspace("w1")


@pytest.fixture
def home() -> ChannelHome:
    return channel_home()


def _events(home: ChannelHome) -> list[str]:
    return [event.type for event in home.events if event.type.startswith("channel.")]


def test_no_agent_may_send_what_changes_a_channel() -> None:
    """mesh 6"""
    changing = {"channel_create", "channel_rename", "channel_delete", "channel_add", "channel_remove", "request_decide"}
    assert changing <= RULES.verbs.keys()
    for verb in changing:
        assert RULES.verbs[verb].callers == {PrincipalKind.PERSON}


def test_a_channel_lives_from_making_to_deleting_and_every_step_is_in_the_log(home: ChannelHome) -> None:
    """mesh 6, common 8.4"""
    channel = home.channel("Reviews", "a1", "a2")
    assert home.members(channel) == ["a1", "a2"]
    home.person("channel_rename", channelId=channel, name="Code reviews")
    home.person("channel_remove", channelId=channel, agentId="a1")
    assert (home.book().channels[channel].name, home.members(channel)) == ("Code reviews", ["a2"])
    home.assert_reloads()
    home.person("channel_delete", channelId=channel)
    assert home.book().is_empty()
    assert _events(home) == [
        "channel.created",
        "channel.member_added",
        "channel.member_added",
        "channel.renamed",
        "channel.member_removed",
        "channel.deleted",
    ]


def test_adding_a_member_again_changes_nothing(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    again = home.bench(W1).decide("channel_add", {"channelId": channel, "agentId": "a1"}, PERSON)
    assert (again.effects, again.reply) == ((), {"channelId": channel, "name": "Reviews"})


def test_who_is_no_member_cannot_be_removed(home: ChannelHome) -> None:
    channel = home.channel("Reviews")
    assert home.person("channel_remove", channelId=channel, agentId="a1") == NOT_FOUND


@pytest.mark.parametrize("name", ["Reviews", "REVIEWS", "Revіews", "Re\u00adviews", "Reviews "])
def test_a_name_that_could_be_taken_for_another_ones_is_refused(home: ChannelHome, name: str) -> None:
    """security 2.4: the third one has a Cyrillic letter, the fourth a soft hyphen."""
    home.channel("Reviews")
    other = home.channel("Design")
    for reply in (
        home.person("channel_create", name=name),
        home.person("channel_rename", channelId=other, name=name),
    ):
        assert isinstance(reply, Refusal)
        assert reply.code is Code.INVALID_ARGUMENTS
    assert sorted(channel.name for channel in home.book().channels.values()) == ["Design", "Reviews"]


def test_a_channel_may_take_its_own_name_in_another_case_and_a_name_that_became_free(home: ChannelHome) -> None:
    channel = home.channel("Reviews")
    assert at(home.person("channel_rename", channelId=channel, name="REVIEWS"), "name") == "REVIEWS"
    home.person("channel_rename", channelId=channel, name="Design")
    home.channel("Reviews")
    home.channel("Reviews", workspace_id="w2")


def test_a_name_that_shows_nothing_is_refused(home: ChannelHome) -> None:
    assert isinstance(home.person("channel_create", name="\u3164"), Refusal)


def test_a_workspace_holds_so_many_channels_and_a_channel_so_many_members(home: ChannelHome) -> None:
    """security 2.23"""
    for number in range(channels_per_workspace_max):
        home.channel(f"Channel {number:03}")
    over = home.person("channel_create", name="One more")
    assert isinstance(over, Refusal)
    assert (over.code, over.details) == (Code.WRONG_STATE, {"limit": channels_per_workspace_max})
    channel = next(iter(home.book().channels))
    full = Channel(name="Full", members=[f"m{n:03}" for n in range(channel_members_max)], createdAt=0)
    bench = home.bench(W1)
    RULES.apply(bench.state, Put(channel_row(channel), full.model_dump()))
    refused = bench.decide("channel_add", {"channelId": channel, "agentId": "a1"}, PERSON)
    assert isinstance(refused.reply, Refusal)
    assert (refused.reply.details, refused.effects) == ({"limit": channel_members_max}, ())


def test_an_agent_reads_its_own_channels_and_nobody_elses(home: ChannelHome) -> None:
    """mesh 1, common 3.3"""
    reviews = home.channel("Reviews", "a1", "a2")
    home.channel("Design", "a2")
    assert home.asks("a1", "own_channels") == {"channels": [{"channelId": reviews, "name": "Reviews"}]}
    assert home.asks("a3", "own_channels") == {"channels": []}
    stranger = home.bench(W1).decide("own_channels", {}, agent("a1", "w2"))
    assert stranger.reply == NOT_FOUND


def test_the_person_reads_every_channel_with_members_and_how_much_waits(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    home.invited("a1", channel, "a2")
    listed = home.person("channels_list")
    assert at(listed, "channels", 0, "members") == ["a1"]
    assert at(listed, "channels", 0, "requests") == 1


def test_a_removed_agent_leaves_every_channel_of_every_workspace(home: ChannelHome) -> None:
    """mesh 6"""
    first, second = home.channel("Reviews", "a1", "a2"), home.channel("Design", "a1")
    home.ok(DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": "w2"}, PERSON)
    third = home.channel("Elsewhere", "a1", workspace_id="w2")
    assert home.members(first) == ["a1", "a2"], "one that acts elsewhere is still a member"
    home.remove_agent("a1")
    assert (home.members(first), home.members(second)) == (["a2"], [])
    assert home.book("w2").channels[third].members == []
    home.assert_reloads()


def test_an_agent_that_was_removed_meanwhile_is_no_member_for_long(home: ChannelHome) -> None:
    """The person names an agent that is being removed: the directory says that it is gone."""
    home.remove_agent("a3")
    channel = home.channel("Reviews", "a3")
    assert home.members(channel) == []


def test_the_directory_is_told_of_a_member_until_it_has_heard(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    bench = home.bench(W1)
    note: Record = {"agentId": "a1", "workspaceId": "w1"}
    bench.send("message_died", {"verb": "member_noted", "body": note}, owner(W1))
    assert bench.timers["member/a1"].due_ms == bench.clock.now_ms() + saga_retry_ms_max
    bench.fire("member/a1")
    [again] = [send for send in bench.sent if send.verb == "member_noted"]
    assert (again.to, again.body) == (DIRECTORY, note)
    assert home.members(channel) == ["a1"]


def test_a_deleted_workspace_takes_channels_and_requests_along(home: ChannelHome) -> None:
    """mesh 6"""
    channel = home.channel("Reviews", "a1")
    request = home.invited("a1", channel, "a2")
    home.accepted("a1", "Fay")
    home.told.clear()
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    assert home.book().is_empty()
    assert [*home.bench(W1).rows] == ["gone"]
    assert [(to, told["requestId"], told["outcome"]) for to, told in home.told] == [("a1", request, "refused")]
    assert home.person("channels_list") == NOT_FOUND
    assert home.person("channel_create", name="Reviews") == NOT_FOUND


def test_channels_go_with_the_first_commit_of_a_deletion_while_canvases_are_still_there() -> None:
    home = channel_home()
    body: Record = {"title": "Plan", "reason": "a test"}
    home.ok(address.canvas("w1", "c1"), "canvas_create", body, agent("a1", "w1"))
    home.channel("Reviews", "a1")
    bench = home.bench(W1)
    bench.send("destroy", {}, owner(DIRECTORY))
    assert (bench.state.book.is_empty(), bench.state.canvas_ids) == (True, ["c1"])


def test_what_should_hold_and_does_not_is_told_to_the_doctor(home: ChannelHome) -> None:
    """mesh 6"""
    channel = home.channel("Reviews", "a1")
    bench = home.bench(W1)
    assert RULES.problems(bench.state) == []
    twin = Channel(name="REVIEWS", members=["b", "a"], createdAt=0)
    stray = ChannelRequest(requesterId="a2", agentId="a3", channelId=channel, note=None, at=0)
    needless = ChannelRequest(requesterId="a1", agentId="a1", channelId=channel, note=None, at=0)
    for row, value in (
        (channel_row("twin"), twin.model_dump()),
        (request_row("r1"), stray.model_dump()),
        (request_row("r2"), needless.model_dump()),
    ):
        RULES.apply(bench.state, Put(row, value))
    assert RULES.problems(bench.state) == [
        "two channels have the same name, or names that look alike",
        "the members of channel twin are out of order or too many",
        "request r1 is of an agent that is no member of its channel",
        "request r2 is about an agent that is a member already",
    ]


def test_a_message_about_a_member_that_came_before_changes_nothing(home: ChannelHome) -> None:
    home.channel("Reviews", "a1")
    gone: Record = {"agentId": "a2", "workspaceId": "w1"}
    assert home.bench(W1).decide("member_gone", gone, owner(DIRECTORY)) == Decision({})
    with pytest.raises(ValueError, match="owners of kind"):
        home.bench(W1).decide("member_gone", gone, owner(address.mailbox("a1")))
