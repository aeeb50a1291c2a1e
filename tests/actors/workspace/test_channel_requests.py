"""Invitations that agents ask for: who may, what waits, and how each ends."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import channel_requests_max, channel_requests_per_agent_max
from bus.value import Record
from tests.support.bench import PERSON, agent, owner
from tests.support.channel_home import ChannelHome, channel_home
from tests.support.reading import at
from tools.errors import NOT_FOUND, Code, Refusal

W1 = address.workspace("w1")


@pytest.fixture
def home() -> ChannelHome:
    return channel_home()


@pytest.fixture
def channel(home: ChannelHome) -> str:
    return home.channel("Reviews", "a1")


def test_an_invitation_waits_for_the_person_and_changes_no_membership(home: ChannelHome, channel: str) -> None:
    """mesh 6"""
    request = home.invited("a1", channel, "a2", note="She knows the code.")
    assert home.members(channel) == ["a1"]
    waiting = at(home.person("channel_requests"), "requests")
    assert [(one["requestId"], one["requesterId"], one["agentId"], one["note"]) for one in waiting] == [
        (request, "a1", "a2", "She knows the code.")
    ]
    [asked] = [event for event in home.events if event.type == "channel.invitation_asked"]
    assert "code" not in str(asked.data), "the log holds ids, never texts"
    home.assert_reloads()


def test_accepted_the_agent_joins_and_the_requester_is_told(home: ChannelHome, channel: str) -> None:
    """mesh 6"""
    request = home.invited("a1", channel, "a2")
    reply = home.person("request_decide", requestId=request, decision="accept", note="Welcome.")
    assert at(reply, "outcome") == "joined"
    assert home.members(channel) == ["a1", "a2"]
    assert home.notices_to("a1") == [
        {
            "requestId": request,
            "kind": "channel_invite",
            "outcome": "joined",
            "agentId": "a2",
            "channelId": channel,
            "channelName": "Reviews",
            "note": "Welcome.",
        }
    ]
    assert home.notices_to("a2") == []
    home.assert_reloads()


def test_declined_nothing_changes_but_that_the_requester_is_told_why(home: ChannelHome, channel: str) -> None:
    """mesh 6"""
    request = home.invited("a1", channel, "a2")
    home.person("request_decide", requestId=request, decision="decline", note="Not yet.")
    assert home.members(channel) == ["a1"]
    [told] = home.notices_to("a1")
    assert (told["outcome"], told["note"]) == ("declined", "Not yet.")
    assert at(home.person("channel_requests"), "requests") == []


@pytest.mark.parametrize("decision", ["accept", "decline"])
def test_a_request_is_decided_once(home: ChannelHome, channel: str, decision: str) -> None:
    """common 5.5"""
    request = home.invited("a1", channel, "a2")
    home.person("request_decide", requestId=request, decision=decision)
    for again in ("accept", "decline"):
        assert home.person("request_decide", requestId=request, decision=again) == NOT_FOUND
    assert len(home.told) == 1


def test_the_same_request_while_it_waits_is_the_same_one(home: ChannelHome, channel: str) -> None:
    """mesh 6"""
    request = home.invited("a1", channel, "a2", note="First.")
    assert home.invited("a1", channel, "a2", note="Please.") == request
    home.person("request_decide", requestId=request, decision="decline")
    assert home.invited("a1", channel, "a2") != request


def test_the_same_request_before_the_directory_has_answered_is_answered_with_it(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    body: Record = {"channelId": channel, "agentId": "a2"}
    calls = [home.begin(W1, "agent_invite_to_channel", body, agent("a1", "w1")) for _ in range(2)]
    assert at(home.bench(W1).decide("channel_requests", {}, PERSON).reply, "requests") == [], "it is not shown before"
    home.settle()
    first, second = (home.answers[call] for call in calls)
    assert first == second
    assert len(home.book().requests) == 1


def test_several_who_asked_for_the_same_are_all_told_when_it_happens(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1", "a2")
    first, second = home.invited("a1", channel, "a3"), home.invited("a2", channel, "a3")
    home.person("request_decide", requestId=first, decision="accept")
    assert [(to, told["requestId"], told["outcome"]) for to, told in home.told] == [
        ("a1", first, "joined"),
        ("a2", second, "joined"),
    ]
    assert home.book().requests == {}


def test_who_is_added_by_the_person_has_joined_as_was_asked(home: ChannelHome, channel: str) -> None:
    home.invited("a1", channel, "a2")
    home.person("channel_add", channelId=channel, agentId="a2")
    assert [told["outcome"] for told in home.notices_to("a1")] == ["joined"]


def test_a_channel_that_the_caller_is_no_member_of_answers_like_none(home: ChannelHome, channel: str) -> None:
    """common 3.3, security 2.12"""
    elsewhere = home.channel("Secret", "b1", workspace_id="w2")
    own = home.channel("Mine")
    for foreign in (elsewhere, own, "no-such-channel", "not an id"):
        assert home.invites("a1", foreign, "a2") == NOT_FOUND
    assert home.book().requests == {}


@pytest.mark.parametrize("invited", ["b1", "nobody", "not an id"])
def test_whom_the_caller_cannot_name_it_cannot_invite(home: ChannelHome, channel: str, invited: str) -> None:
    """mesh 6, common 3.3"""
    assert home.invites("a1", channel, invited) == NOT_FOUND
    assert home.book().requests == {}


def test_a_member_that_acts_elsewhere_now_answers_like_an_agent_that_never_was(home: ChannelHome) -> None:
    """common 3.3"""
    channel = home.channel("Reviews", "a1", "a2")
    here = home.invites("a1", channel, "a2")
    assert isinstance(here, Refusal)
    assert here.code is Code.WRONG_STATE
    home.ok(DIRECTORY, "agent_pin", {"agentId": "a2", "workspaceId": "w2"}, PERSON)
    assert home.invites("a1", channel, "a2") == NOT_FOUND


def test_nobody_invites_itself(home: ChannelHome, channel: str) -> None:
    refused = home.invites("a1", channel, "a1")
    assert isinstance(refused, Refusal)
    assert refused.code is Code.WRONG_STATE


def test_the_21st_request_of_an_agent_is_refused(home: ChannelHome) -> None:
    """mesh 6, security 2.5"""
    channel = home.channel("Reviews", "a1", "a2")
    for number in range(channel_requests_per_agent_max):
        home.add_agent(f"n{number:03}")
        home.invited("a1", channel, f"n{number:03}")
    refused = home.invites("a1", channel, "a3")
    assert isinstance(refused, Refusal)
    assert refused.code is Code.RATE_LIMITED and refused.retryable
    assert refused.details == {"limit": channel_requests_per_agent_max, "limitName": "agent"}
    assert home.invited("a1", channel, "n000"), "one that waits is still answered"
    assert home.invited("a2", channel, "a3"), "another agent has room of its own"
    creating = home.creates("a1", "Fay", channelId=channel)
    assert isinstance(creating, Refusal), "a new agent's join would be one more"
    assert creating.code is Code.RATE_LIMITED


def test_the_101st_request_of_a_workspace_is_refused(home: ChannelHome) -> None:
    """mesh 6"""
    askers = [f"n{number}" for number in range(channel_requests_max // channel_requests_per_agent_max)]
    for asker in askers:
        home.add_agent(asker)
    channels = [home.channel(f"Channel {n:02}", "a1", *askers) for n in range(channel_requests_per_agent_max)]
    for asker in askers:
        for channel in channels:
            home.invited(asker, channel, "a2")
    refused = home.invites("a1", channels[0], "a2")
    assert isinstance(refused, Refusal)
    assert refused.details == {"limit": channel_requests_max, "limitName": "workspace"}


def test_a_deleted_channel_ends_what_waits_for_it(home: ChannelHome, channel: str) -> None:
    """mesh 6"""
    request = home.invited("a1", channel, "a2")
    home.person("channel_delete", channelId=channel)
    [told] = home.notices_to("a1")
    assert (told["requestId"], told["outcome"], told["code"]) == (request, "refused", "not_found")
    assert told["channelName"] == "Reviews"


def test_a_removed_agent_ends_what_is_about_it_and_what_it_asked_for(home: ChannelHome) -> None:
    """mesh 6"""
    channel = home.channel("Reviews", "a1", "a2")
    home.add_agent("a4")
    about, other = (home.invited(asker, channel, "a3") for asker in ("a1", "a2"))
    own = home.invited("a2", channel, "a4")
    home.remove_agent("a3")
    assert {told["requestId"] for _, told in home.told} == {about, other}
    assert {told["outcome"] for _, told in home.told} == {"refused"}
    home.remove_agent("a2")
    assert own not in home.book().requests
    home.assert_reloads()


def test_who_leaves_a_channel_has_no_request_there_any_more(home: ChannelHome, channel: str) -> None:
    home.invited("a1", channel, "a2")
    home.person("channel_remove", channelId=channel, agentId="a1")
    assert home.book().requests == {}
    assert [told["outcome"] for told in home.notices_to("a1")] == ["refused"]


def test_a_channel_that_is_deleted_before_the_directory_answers_answers_the_call(home: ChannelHome) -> None:
    """Nothing that waits for an answer waits for ever."""
    channel = home.channel("Reviews", "a1")
    call = home.begin(W1, "agent_invite_to_channel", {"channelId": channel, "agentId": "a2"}, agent("a1", "w1"))
    home.bench(W1).send("channel_delete", {"channelId": channel}, PERSON)
    home._collect(home.bench(W1))
    home.settle()
    assert home.answers[call] == NOT_FOUND
    assert home.told == [], "an invitation that nobody was promised ends without a notice"


def test_who_is_added_while_the_directory_is_asked_is_a_member_already_when_it_answers(home: ChannelHome) -> None:
    channel = home.channel("Reviews", "a1")
    call = home.begin(W1, "agent_invite_to_channel", {"channelId": channel, "agentId": "a2"}, agent("a1", "w1"))
    home.begin(W1, "channel_add", {"channelId": channel, "agentId": "a2"}, PERSON)
    home.settle()
    answer = home.answers[call]
    assert isinstance(answer, Refusal)
    assert (answer.code, home.book().requests, home.told) == (Code.WRONG_STATE, {}, [])


def test_when_the_directory_cannot_decide_the_call_is_answered_and_nothing_waits(home: ChannelHome) -> None:
    """common 8.1"""
    channel = home.channel("Reviews", "a1")
    call = home.begin(W1, "agent_invite_to_channel", {"channelId": channel, "agentId": "a2"}, agent("a1", "w1"))
    [parcel] = home.streams.pop((W1, DIRECTORY))
    died: Record = {"verb": "invitee_named", "body": parcel.send.body}  # type: ignore[union-attr]
    home.bench(W1).send("message_died", died, owner(W1))
    home._collect(home.bench(W1))
    answer = home.answers[call]
    assert isinstance(answer, Refusal)
    assert answer.code is Code.UNAVAILABLE
    assert home.book().requests == {}


def test_a_full_channel_leaves_the_request_waiting(home: ChannelHome, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = home.channel("Reviews", "a1")
    request = home.invited("a1", channel, "a2")
    monkeypatch.setattr("actors.workspace.channels.channel_members_max", 1)
    refused = home.person("request_decide", requestId=request, decision="accept")
    assert isinstance(refused, Refusal)
    assert (refused.code, [*home.book().requests]) == (Code.WRONG_STATE, [request])


def test_an_answer_that_comes_twice_changes_nothing(home: ChannelHome, channel: str) -> None:
    request = home.invited("a1", channel, "a2")
    for is_there in (True, False):
        body: Record = {"requestId": request, "isThere": is_there}
        assert home.bench(W1).decide("invitee_answered", body, owner(DIRECTORY)).effects == ()
