"""What must hold across the agents of a workspace."""

from __future__ import annotations

import pytest

from actors.decision import Send
from bus import address
from bus.address import DIRECTORY
from bus.limits import agents_per_workspace_max
from bus.value import Record
from tests.support.bench import GATEWAY, PERSON, agent
from tests.support.exchange import TOKEN_HASH, Home
from tools.errors import Code


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_workspace("w2")
    return home


def _new(agent_id: str, name: str, workspace_id: str = "w1") -> Record:
    return {
        "agentId": agent_id,
        "name": name,
        "workspaceId": workspace_id,
        "mode": "auto",
        "capabilities": ["mesh"],
        "tokenHash": TOKEN_HASH,
    }


def test_adding_an_agent_makes_its_owner_and_its_mailbox_before_the_person_is_answered(home: Home) -> None:
    decision = home.bench(DIRECTORY).decide("agent_add", _new("a1", "Ada"), PERSON)
    sends = [effect for effect in decision.effects if isinstance(effect, Send)]
    assert [(str(send.to), send.before_reply) for send in sends] == [("agent/-/a1", True), ("mailbox/-/a1", True)]


def test_names_are_unique_within_a_workspace_only(home: Home) -> None:
    home.ok(DIRECTORY, "agent_add", _new("a1", "Straße"), PERSON)
    refusal = home.refused(DIRECTORY, "agent_add", _new("a2", "STRASSE"), PERSON)
    assert refusal.code is Code.INVALID_ARGUMENTS
    home.ok(DIRECTORY, "agent_add", _new("a2", "STRASSE", "w2"), PERSON)


def test_an_agent_needs_a_workspace_that_exists(home: Home) -> None:
    assert home.refused(DIRECTORY, "agent_add", _new("a1", "Ada", "none"), PERSON).code is Code.NOT_FOUND


def test_an_agent_id_is_used_once(home: Home) -> None:
    home.ok(DIRECTORY, "agent_add", _new("a1", "Ada"), PERSON)
    assert home.refused(DIRECTORY, "agent_add", _new("a1", "Eve"), PERSON).code is Code.WRONG_STATE


def test_a_workspace_holds_no_more_agents_than_the_limit(home: Home) -> None:
    for number in range(agents_per_workspace_max):
        home.add_agent(f"a{number}", ran=False)
    refusal = home.refused(DIRECTORY, "agent_add", _new("more", "More"), PERSON)
    assert (refusal.code, refusal.details["limit"]) == (Code.WRONG_STATE, agents_per_workspace_max)


def test_agents_in_scope_are_those_of_the_callers_workspace_page_by_page(home: Home) -> None:
    for agent_id in ("a1", "a2", "a3"):
        home.add_agent(agent_id)
    home.add_agent("b1", "w2")
    first = home.ok(DIRECTORY, "agents_in_scope", {"limit": 2}, agent("a1", "w1"))
    assert first["nextAfter"] == "a2"
    rest = home.ok(DIRECTORY, "agents_in_scope", {"limit": 2, "after": "a2"}, agent("a1", "w1"))
    assert rest == {"agents": [{"agentId": "a3", "name": "Agent a3"}], "nextAfter": None}


def test_a_removed_agent_frees_its_name_and_is_listed_no_more(home: Home) -> None:
    home.add_agent("a1", name="Ada")
    home.add_agent("a2")
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    listed = home.ok(DIRECTORY, "agents_in_scope", {"limit": 9}, agent("a2", "w1"))
    assert listed["agents"] == [{"agentId": "a2", "name": "Agent a2"}]
    home.ok(DIRECTORY, "agent_add", _new("a3", "ada"), PERSON)


def test_a_removed_agents_token_stops_working_and_its_identity_is_not_found(home: Home) -> None:
    home.add_agent("a1")
    home.add_agent("a2")
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    reply = home.ok(address.agent("a1"), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    assert reply == {"authenticated": False}
    looked_up = home.refused(address.agent("a1"), "agent_get", {"agentId": "a1"}, agent("a2", "w1"))
    assert looked_up.code is Code.NOT_FOUND


def test_removing_an_unknown_agent_is_not_found(home: Home) -> None:
    assert home.refused(DIRECTORY, "agent_remove", {"agentId": "none"}, PERSON).code is Code.NOT_FOUND
