"""Agents that agents ask for: the person's own path and limits, and no right at all."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from actors.agent.state import AgentState
from bus import address
from bus.address import DIRECTORY
from bus.limits import agents_created_by_one_max
from bus.value import Record
from tests.support.bench import GATEWAY, PERSON, owner
from tests.support.channel_home import ChannelHome, channel_home
from tests.support.exchange import TOKEN_HASH
from tests.support.reading import at
from tools.agent_channels import AgentCreateInput
from tools.autonomy import GUEST_ID
from tools.errors import Code, Refusal

W1 = address.workspace("w1")


@pytest.fixture
def home() -> ChannelHome:
    return channel_home()


def _made(home: ChannelHome, agent_id: str = "a1") -> tuple[str, AgentState]:
    """The agent of the last notice, which says that it was created."""
    told = home.notices_to(agent_id)[-1]
    assert told["outcome"] == "created"
    made = str(told["agentId"])
    state = home.bench(address.agent(made)).state
    assert isinstance(state, AgentState)
    return made, state


def _refused(home: ChannelHome, agent_id: str = "a1") -> str:
    told = home.notices_to(agent_id)[-1]
    assert told["outcome"] == "refused"
    return str(told["code"])


def test_what_was_asked_for_is_made_and_the_requester_is_told(home: ChannelHome) -> None:
    """mesh 6"""
    request = home.accepted("a1", "Fay", persona="Reviews code.", kind="reviewer", providerId="claude")
    made, state = _made(home)
    assert home.notices_to("a1") == [
        {"requestId": request, "kind": "agent_create", "outcome": "created", "agentId": made}
    ]
    head = state.head
    assert head is not None
    assert (head.name, head.persona, head.kind, head.provider, head.workspaceId) == (
        "Fay",
        "Reviews code.",
        "reviewer",
        "claude",
        "w1",
    )
    home.assert_reloads()


def test_the_new_agent_has_mode_approval_no_capability_and_no_credential(home: ChannelHome) -> None:
    """mesh 6"""
    home.accepted("a1", "Fay")
    made, state = _made(home)
    assert state.head is not None
    assert (state.head.mode, state.head.capabilities, state.credentials) == ("approval", [], {})
    for token_hash in (TOKEN_HASH, bytes(32)):
        assert home.ok(address.agent(made), "authenticate", {"tokenHash": token_hash}, GATEWAY) == {
            "authenticated": False
        }


def test_the_person_gives_it_a_credential_and_capabilities_like_any_other(home: ChannelHome) -> None:
    home.accepted("a1", "Fay")
    made, _ = _made(home)
    home.ok(address.agent(made), "token_replace", {"tokenHash": TOKEN_HASH}, PERSON)
    home.ok(address.agent(made), "agent_set_capability", {"capability": "mesh", "held": True}, PERSON)
    assert home.ok(address.agent(made), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)["authenticated"] is True


def test_until_then_it_can_be_named_and_not_sent_to(home: ChannelHome) -> None:
    """mesh 2.2"""
    home.accepted("a1", "Fay")
    made, _ = _made(home)
    refused = home.trigger("a1", made)
    assert isinstance(refused, Refusal)
    assert refused.code is Code.DELIVERY_WITHHELD


def test_who_asked_for_it_is_in_the_log(home: ChannelHome) -> None:
    """common 8.4"""
    home.accepted("a1", "Fay")
    made, _ = _made(home)
    [event] = [event for event in home.events if event.type == "agent.created" and event.data["agentId"] == made]
    assert event.data["requestedBy"] == "a1"


@pytest.mark.parametrize("name", ["Eve", "EVE", "Еvе"])
def test_a_name_that_is_taken_or_looks_so_is_refused_and_said_why(home: ChannelHome, name: str) -> None:
    """mesh 6, security 2.4"""
    home.accepted("a1", name)
    assert _refused(home) == "invalid_arguments"
    assert "another agent has this name" in str(home.notices_to("a1")[-1]["note"])
    assert [event.data["requestedBy"] for event in home.events if event.type == "agent.not_created"] == ["a1"]


def test_a_provider_that_nexus_does_not_know_is_refused(home: ChannelHome) -> None:
    """mesh 6"""
    home.accepted("a1", "Fay", providerId="no-such-provider")
    assert _refused(home) == "wrong_state"


def test_the_workspaces_limit_holds_as_for_the_person(home: ChannelHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 6"""
    monkeypatch.setattr("actors.directory.agents.agents_per_workspace_max", 3)
    home.accepted("a1", "Fay")
    assert _refused(home) == "wrong_state"


def test_one_agent_fills_only_its_share_of_a_workspace(home: ChannelHome) -> None:
    """security 2.23"""
    for number in range(agents_created_by_one_max):
        home.accepted("a1", f"Fay {number}")
        home.clock.advance(3_600_000)
    home.accepted("a1", "One more")
    assert _refused(home) == "rate_limited"
    made = str(home.notices_to("a1")[0]["agentId"])
    home.remove_agent(made)
    home.clock.advance(3_600_000)
    home.accepted("a1", "One more")
    assert home.notices_to("a1")[-1]["outcome"] == "created"


def test_an_agent_that_was_moved_away_meanwhile_gets_none_in_its_former_workspace(home: ChannelHome) -> None:
    """common 3.3"""
    home.begin(W1, "agent_create", {"name": "Fay"}, home.as_agent("a1"))
    home.bench(DIRECTORY).send("agent_pin", {"agentId": "a1", "workspaceId": "w2"}, PERSON)
    home._collect(home.bench(DIRECTORY))
    home.settle()
    assert _refused(home) == "not_found"


def test_a_message_that_is_decided_again_makes_the_same_agent(home: ChannelHome) -> None:
    """common 8.1"""
    home.begin(W1, "agent_create", {"name": "Fay"}, home.as_agent("a1"))
    home.step((W1, DIRECTORY), repeat=True)
    home.settle()
    made = [one for one in home.bench(DIRECTORY).state.agents.values() if one.name == "Fay"]
    assert len(made) == 1


def test_no_workspace_asks_for_agents_of_another(home: ChannelHome) -> None:
    asked: Record = {"requestId": home.clock.new_id(), "requesterId": "a1", "workspaceId": "w1", "name": "Fay"}
    asked |= {"persona": None, "kind": "agent", "providerId": None, "channelId": None}
    for sender in (address.workspace("w2"), address.agent("a1")):
        with pytest.raises(ValueError, match="workspace"):
            home.bench(DIRECTORY).decide("agent_asked_for", asked, owner(sender))


@pytest.mark.parametrize("kind", [GUEST_ID, "Agent", "two words", "", "x" * 31, "9lives", "\u202ex"])
def test_a_kind_is_one_short_plain_word_and_never_that_of_the_guest(kind: str) -> None:
    """mesh 6, common 2.3: an agent of kind guest would be taken for one."""
    with pytest.raises(ValidationError):
        AgentCreateInput.model_validate({"name": "Fay", "kind": kind})


def test_its_card_of_identity_is_read_by_its_peers(home: ChannelHome) -> None:
    home.accepted("a1", "Fay", persona="Reviews code.", kind="reviewer")
    made, _ = _made(home)
    shown = home.ok(address.agent(made), "agent_get", {"agentId": made}, home.as_agent("a2"))
    assert (shown["kind"], at(shown, "persona", "untrusted")) == ("reviewer", True)
