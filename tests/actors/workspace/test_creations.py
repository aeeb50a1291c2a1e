"""agent_create: what is accepted, how often, and what a channel has to do with it."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import agent_creation_rate_ms, agent_creations_max
from bus.value import Record
from tests.support.bench import PERSON, agent, owner
from tests.support.channel_home import ChannelHome, channel_home
from tools.agent_channels import AgentCreateOutput
from tools.errors import NOT_FOUND, Code, Refusal

W1 = address.workspace("w1")


@pytest.fixture
def home() -> ChannelHome:
    return channel_home()


def test_accepted_says_neither_that_the_agent_exists_nor_that_anybody_joined(home: ChannelHome) -> None:
    """mesh 1, 6"""
    channel = home.channel("Reviews", "a1")
    call = home.begin(W1, "agent_create", {"name": "Fay", "channelId": channel}, agent("a1", "w1"))
    reply = home.answers[call]
    assert AgentCreateOutput.model_validate(reply).state == "accepted"
    assert DIRECTORY in home.benches
    assert [one.name for one in home.bench(DIRECTORY).state.agents.values() if one.name == "Fay"] == []
    [asked] = [event for event in home.events if event.type == "agent.asked_for"]
    assert "Fay" not in str(asked.data), "the log holds ids, never names"


def test_with_a_channel_the_new_agents_join_waits_for_the_person(home: ChannelHome) -> None:
    """mesh 6"""
    channel = home.channel("Reviews", "a1")
    home.accepted("a1", "Fay", channelId=channel)
    [created] = home.notices_to("a1")
    [(request_id, request)] = home.book().requests.items()
    assert (request.agentId, request.requesterId) == (created["agentId"], "a1")
    assert home.members(channel) == ["a1"]
    home.person("request_decide", requestId=request_id, decision="accept")
    assert home.members(channel) == sorted(["a1", str(created["agentId"])])
    assert home.notices_to("a1")[-1]["outcome"] == "joined"
    home.assert_reloads()


def test_without_a_channel_nothing_waits(home: ChannelHome) -> None:
    home.accepted("a1", "Fay")
    assert home.book().requests == {}


def test_a_channel_that_the_caller_is_no_member_of_answers_like_none(home: ChannelHome) -> None:
    """mesh 6, common 3.3"""
    for foreign in (home.channel("Mine"), home.channel("Secret", "b1", workspace_id="w2"), "no-such-channel"):
        assert home.creates("a1", "Fay", channelId=foreign) == NOT_FOUND
    assert home.book().creations == {}, "what was refused at once does not count"


def test_an_agent_may_ask_for_so_many_within_the_hour(home: ChannelHome) -> None:
    """mesh 6, security 2.23"""
    for number in range(agent_creations_max):
        home.accepted("a1", f"Fay {number}")
    refused = home.creates("a1", "Fay again")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details["limit"]) == (Code.RATE_LIMITED, agent_creations_max)
    assert refused.retryable, "like every limit that is over with time"
    assert home.accepted("a2", "Gus"), "another agent has a rate of its own"
    wait = refused.details["retryAfterSeconds"]
    assert isinstance(wait, int)
    home.clock.advance(wait * 1000)
    assert home.accepted("a1", "Fay again")
    assert len(home.book().creations["a1"].asked) <= agent_creations_max


def test_what_the_directory_refused_counts_like_what_it_made(home: ChannelHome) -> None:
    for _ in range(agent_creations_max):
        home.accepted("a1", "Ada")
    assert isinstance(home.creates("a1", "Fay"), Refusal)
    home.clock.advance(agent_creation_rate_ms)
    assert home.accepted("a1", "Fay")


def test_a_call_that_is_decided_again_asks_for_the_same_agent(home: ChannelHome) -> None:
    """common 8.1"""
    call_id = home.clock.new_id()
    bench = home.bench(W1)
    first, second = (bench.decide("agent_create", {"name": "Fay"}, agent("a1", "w1"), call_id).reply for _ in range(2))
    assert first == second


def test_when_the_directory_cannot_decide_the_requester_is_told(home: ChannelHome) -> None:
    """common 8.1"""
    home.begin(W1, "agent_create", {"name": "Fay"}, agent("a1", "w1"))
    [parcel] = home.streams.pop((W1, DIRECTORY))
    died: Record = {"verb": "agent_asked_for", "body": parcel.send.body}  # type: ignore[union-attr]
    for _ in range(2):
        home.bench(W1).send("message_died", died, owner(W1))
    home._collect(home.bench(W1))
    home.settle()
    [told] = home.notices_to("a1")
    assert (told["kind"], told["outcome"], told["code"]) == ("agent_create", "refused", "unavailable")
    assert not home.book().creations["a1"].asked[0].isOpen


def test_a_channel_that_is_gone_when_the_agent_is_made_ends_its_join(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    home.begin(W1, "agent_create", {"name": "Fay", "channelId": channel}, agent("a1", "w1"))
    home.bench(W1).send("channel_delete", {"channelId": channel}, PERSON)
    home._collect(home.bench(W1))
    home.settle()
    assert [(told["kind"], told["outcome"]) for told in home.notices_to("a1")] == [
        ("agent_create", "created"),
        ("channel_invite", "refused"),
    ]
    assert home.book().requests == {}


def test_what_a_removed_agent_asked_for_asks_nobody_any_more(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1", "a2")
    home.accepted("a1", "Fay", channelId=channel)
    home.remove_agent("a1")
    assert (home.book().creations, home.book().requests) == ({}, {})


def test_nothing_is_kept_of_a_removed_agent_that_was_never_in_a_channel(home: ChannelHome) -> None:
    home.accepted("a1", "Fay")
    home.remove_agent("a1")
    assert home.book().is_empty()


def test_a_creation_that_ends_twice_ends_once(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    request = home.accepted("a1", "Fay", channelId=channel)
    again: Record = {"requestId": request, "requesterId": "a1", "agentId": "zz"}
    assert home.bench(W1).decide("creation_ended", again, owner(DIRECTORY)).effects == ()
