"""The person's verbs on channels: what they ask of owners, and what they put together."""

from __future__ import annotations

from typing import Any

import pytest

from bus.value import Record
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import RunningPort, ask, refused_code, running_port
from tests.support.scripted_caller import Script
from tools.errors import NOT_FOUND

AT = "2027-01-15T08:00:00.000Z"
REVIEWS: Record = {"channelId": "h1", "name": "Reviews", "members": ["a1", "b1"], "createdAt": AT, "requests": 1}
REQUEST: Record = {"requestId": "r1", "requesterId": "a1", "agentId": "a9", "channelId": "h1"}
REQUEST |= {"channelName": "Reviews", "note": "She knows the code.", "at": AT}
SCRIPT: Script = {
    **LISTS,
    ("workspace/w1/w1", "channels_list"): {"channels": [REVIEWS]},
    ("workspace/w1/w1", "channel_requests"): {"requests": [REQUEST]},
    ("workspace/w2/w2", "channel_requests"): {"requests": []},
    ("workspace", "channel_create"): {"channelId": "h3", "name": "New"},
    ("workspace", "channel_rename"): {"channelId": "h1", "name": "New"},
    ("workspace", "channel_delete"): {"channelId": "h1", "name": "Reviews"},
    ("workspace", "channel_add"): {"channelId": "h1", "name": "Reviews"},
    ("workspace", "channel_remove"): {"channelId": "h1", "name": "Reviews"},
    ("workspace", "request_decide"): {"outcome": "joined"},
}
"""Reviews of workspace Site, with a member that acts in Shop now; and another channel Reviews in Shop."""

TOLD: Record = {"channelId": "h1", "name": "Reviews", "workspaceId": "w1", "workspace": "Site"}


def _ok(port: RunningPort, verb: str, **asked: Any) -> Any:
    return ask(port, verb, asked)["ok"]


def _sent(port: RunningPort, verb: str) -> list[tuple[str, Record]]:
    return [(str(sent.to), sent.body) for sent in port.caller.sent_of(verb)]


def test_channels_are_listed_over_all_workspaces_or_of_one() -> None:
    with running_port(SCRIPT) as port:
        listed = _ok(port, "channel.list")["channels"]
        assert [(one["channelId"], one["workspace"], one["members"]) for one in listed] == [
            ("h1", "Site", 2),
            ("h2", "Shop", 1),
        ]
        assert [one["channelId"] for one in _ok(port, "channel.list", workspace="shop")["channels"]] == ["h2"]


def test_one_that_is_shown_tells_its_members_and_where_they_are() -> None:
    with running_port(SCRIPT) as port:
        shown = _ok(port, "channel.show", channel="Reviews", workspace="Site")
        assert shown["members"] == [
            {"agentId": "a1", "name": "Ada", "isHere": True},
            {"agentId": "b1", "name": "Bo", "isHere": False},
        ]
        assert [one["requestId"] for one in shown["requests"]] == ["r1"]


def test_a_name_that_two_workspaces_have_is_refused_with_both_ids() -> None:
    with running_port(SCRIPT) as port:
        answer = ask(port, "channel.show", {"channel": "reviews"})
        assert refused_code(answer) == "invalid_arguments"
        assert [one["id"] for one in answer["error"]["candidates"]] == ["h1", "h2"]
        assert refused_code(ask(port, "channel.show", {"channel": "Nothing"})) == "not_found"


@pytest.mark.parametrize(
    ("verb", "asked", "sent", "body"),
    [
        ("channel.rename", {"name": "New"}, "channel_rename", {"channelId": "h1", "name": "New"}),
        ("channel.delete", {}, "channel_delete", {"channelId": "h1"}),
        ("channel.add", {"agent": "Ada"}, "channel_add", {"channelId": "h1", "agentId": "a1"}),
        ("channel.remove", {"agent": "Bo"}, "channel_remove", {"channelId": "h1", "agentId": "b1"}),
    ],
)
def test_a_change_goes_to_the_channels_own_workspace(verb: str, asked: Record, sent: str, body: Record) -> None:
    with running_port(SCRIPT) as port:
        answer = _ok(port, verb, channel="h1", **asked)
        assert _sent(port, sent) == [("workspace/w1/w1", body)]
        assert answer["workspace"] == "Site"


def test_a_channel_is_made_in_the_workspace_that_is_named() -> None:
    with running_port(SCRIPT) as port:
        assert _ok(port, "channel.create", name="New", workspace="Shop") == {
            "channelId": "h3",
            "name": "New",
            "workspaceId": "w2",
            "workspace": "Shop",
        }
        assert _sent(port, "channel_create") == [("workspace/w2/w2", {"name": "New"})]


def test_only_an_agent_of_the_channels_workspace_is_added() -> None:
    """mesh 6"""
    with running_port(SCRIPT) as port:
        assert refused_code(ask(port, "channel.add", {"channel": "h1", "agent": "Bo"})) == "scope_mismatch"
        assert refused_code(ask(port, "channel.add", {"channel": "h1", "agent": "Nobody"})) == "not_found"
        assert _sent(port, "channel_add") == []


def test_only_a_member_is_removed() -> None:
    with running_port(SCRIPT) as port:
        none = ask(port, "channel.remove", {"channel": "h1", "agent": "a2"})
        assert refused_code(none) == "not_found" and "not a member" in none["error"]["message"]
        nobody = ask(port, "channel.remove", {"channel": "h1", "agent": "Nobody"})
        assert refused_code(nobody) == "not_found" and "No agent" in nobody["error"]["message"]
        assert _sent(port, "channel_remove") == []


def test_requests_are_listed_with_the_names_that_nexus_knows() -> None:
    with running_port(SCRIPT) as port:
        [request] = _ok(port, "channel.requests")["requests"]
        assert request == {**REQUEST, "workspaceId": "w1", "workspace": "Site", "requester": "Ada", "agent": ""}
        assert _ok(port, "channel.requests", workspace="Shop") == {"requests": []}


def test_a_decision_goes_where_the_request_is_and_names_what_came_of_it() -> None:
    with running_port(SCRIPT) as port:
        answer = _ok(port, "channel.decide", requestId="r1", decision="accept", note="Welcome.")
        assert (answer["outcome"], answer["channelName"]) == ("joined", "Reviews")
        body: Record = {"requestId": "r1", "decision": "accept", "note": "Welcome."}
        assert _sent(port, "request_decide") == [("workspace/w1/w1", body)]
        missing = ask(port, "channel.decide", {"requestId": "r2", "decision": "accept"})
        assert refused_code(missing) == "not_found"
        assert "nexus channel requests" in missing["error"]["message"]


def test_a_workspace_that_is_deleted_meanwhile_has_no_channels() -> None:
    with running_port({**SCRIPT, ("workspace/w2/w2", "channels_list"): NOT_FOUND}) as port:
        assert [one["channelId"] for one in _ok(port, "channel.list")["channels"]] == ["h1"]
        assert TOLD.items() <= _ok(port, "channel.show", channel="Reviews").items()
