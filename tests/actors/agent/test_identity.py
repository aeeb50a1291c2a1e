"""What an agent is: who may read it, and how it changes itself."""

from __future__ import annotations

import orjson
import pytest

from actors.decision import Send
from bus import address
from bus.address import DIRECTORY
from bus.value import Record, Value
from tests.support.bench import PERSON, agent, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.agent import AgentGetOutput, AgentUpdateSelfOutput
from tools.errors import NOT_FOUND, Code, Refusal


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_workspace("w2")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    home.add_agent("b1", "w2", name="Bob")
    return home


def _update(home: Home, agent_id: str, **fields: Value) -> Record | Refusal:
    return home.call(address.agent(agent_id), "agent_update_self", fields, home.as_agent(agent_id))


def test_a_peer_of_the_workspace_can_be_read(home: Home) -> None:
    reply = home.ok(address.agent("a2"), "agent_get", {"agentId": "a2"}, agent("a1", "w1"))
    shown = AgentGetOutput.model_validate(reply)
    assert (shown.name, shown.isSelf, shown.channels) == ("Eve", False, None)


def test_an_agents_owner_tells_who_asks_for_itself(home: Home) -> None:
    """Its channels are the workspace's to tell (tests/gateway/test_compose.py)."""
    reply = home.ok(address.agent("a1"), "agent_get", {"agentId": "a1"}, agent("a1", "w1"))
    assert reply["isSelf"] is True
    assert "channels" not in reply


@pytest.mark.parametrize("verb", ["agent_get", "agent_facts"])
def test_an_agent_of_another_workspace_answers_like_one_that_never_was(home: Home, verb: str) -> None:
    """common 3.3"""
    for agent_id in ("b1", "nobody"):
        body: Record = {"agentId": agent_id} if verb == "agent_get" else {}
        assert home.call(address.agent(agent_id), verb, body, agent("a1", "w1")) == NOT_FOUND


def test_peers_are_told_the_facts_of_tiers_and_nothing_more(home: Home) -> None:
    facts = home.ok(address.agent("a2"), "agent_facts", {}, agent("a1", "w1"))
    assert facts == {
        "agentId": "a2",
        "name": "Eve",
        "workspaceId": "w1",
        "mesh": True,
        "ran": True,
        "revoked": False,
        "paused": False,
        "blocked": [],
    }


def test_the_person_is_told_an_agents_authority_but_never_a_hash(home: Home) -> None:
    """common 7.4"""
    facts = home.ok(address.agent("a2"), "agent_facts", {}, PERSON)
    assert (facts["mode"], facts["capabilities"]) == ("auto", ["mesh"])
    assert at(facts, "credentials", 0, "name") == "default"
    assert b"\x01" not in orjson.dumps(facts), "orjson refuses bytes"


def test_only_the_given_fields_change(home: Home) -> None:
    before = home.ok(address.agent("a1"), "agent_get", {"agentId": "a1"}, agent("a1", "w1"))
    reply = _update(home, "a1", persona="Counts beans.")
    shown = AgentUpdateSelfOutput.model_validate(reply)
    assert shown.changed == ["persona"]
    assert (shown.name, shown.color) == (before["name"], before["color"])
    assert at(reply, "persona") == {"untrusted": True, "source": "agent persona", "text": "Counts beans."}


def test_a_change_to_what_already_is_has_no_effects(home: Home) -> None:
    decision = home.bench(address.agent("a1")).decide("agent_update_self", {"name": "Ada"}, agent("a1", "w1"))
    assert (at(decision.reply, "changed"), decision.effects) == ([], ())


def test_a_new_name_is_answered_once_the_directory_has_granted_it(home: Home) -> None:
    call_id = home.begin(address.agent("a1"), "agent_update_self", {"name": "Ava"}, agent("a1", "w1"))
    assert call_id not in home.answers
    home.settle()
    assert at(home.answers[call_id], "name") == "Ava"
    assert at(home.ok(DIRECTORY, "agents_in_scope", {"limit": 1}, agent("a1", "w1")), "agents", 0, "name") == "Ava"
    assert home.bench(address.mailbox("a1")).state.facts.name == "Ava"


def test_a_name_that_a_peer_has_is_refused_and_nothing_changes(home: Home) -> None:
    before = home.ok(address.agent("a1"), "agent_get", {"agentId": "a1"}, agent("a1", "w1"))
    refusal = _update(home, "a1", name="EVE", persona="New.")
    assert isinstance(refusal, Refusal)
    assert (refusal.code, at(refusal.details, "fields", 0, "path")) == (Code.INVALID_ARGUMENTS, "name")
    assert home.ok(address.agent("a1"), "agent_get", {"agentId": "a1"}, agent("a1", "w1")) == before
    home.assert_reloads()


def test_ones_own_name_may_change_its_case(home: Home) -> None:
    assert at(_update(home, "a1", name="ADA"), "changed") == ["name"]


def test_of_two_agents_that_claim_one_name_one_gets_it(home: Home) -> None:
    calls = [
        home.begin(address.agent(agent_id), "agent_update_self", {"name": "Zoe"}, agent(agent_id, "w1"))
        for agent_id in ("a1", "a2")
    ]
    home.settle()
    refused = [isinstance(home.answers[call_id], Refusal) for call_id in calls]
    assert sorted(refused) == [False, True]
    home.assert_reloads()


def test_when_the_directory_cannot_decide_a_claim_the_call_is_answered_and_nothing_waits(home: Home) -> None:
    """common 8.1"""
    owner_of = address.agent("a1")
    call = home.begin(owner_of, "agent_update_self", {"name": "Zoe"}, agent("a1", "w1"))
    [parcel] = home.streams.pop((owner_of, DIRECTORY))
    claimed = parcel.send
    assert isinstance(claimed, Send)
    home.bench(owner_of).send("message_died", {"verb": claimed.verb, "body": claimed.body}, owner(owner_of))
    home.settle_now(owner_of)
    answer = home.answers[call]
    assert isinstance(answer, Refusal) and answer.code is Code.UNAVAILABLE
    assert home.bench(owner_of).state.claims == {}
    assert at(_update(home, "a1", name="Zoe"), "changed") == ["name"], "nothing holds the name"


@pytest.mark.parametrize("verb", ["name_claimed", "name_refused"])
def test_an_answer_that_was_handled_before_changes_nothing(home: Home, verb: str) -> None:
    body: Record = {"callId": "gone", **({"name": "Ava"} if verb == "name_claimed" else {})}
    decision = home.bench(address.agent("a1")).decide(verb, body, owner(DIRECTORY))
    assert decision.effects == ()


@pytest.mark.parametrize("field", [{"providerId": "p"}, {"capabilities": ["mesh"]}, {"color": "red"}, {"name": "a\nb"}])
def test_what_is_not_ones_own_to_change_or_malformed_is_an_invalid_argument(home: Home, field: Record) -> None:
    refusal = _update(home, "a1", **field)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS


def test_an_agent_cannot_change_another(home: Home) -> None:
    assert home.call(address.agent("a2"), "agent_update_self", {"name": "Ava"}, agent("a1", "w1")) == NOT_FOUND


def test_only_the_own_mailbox_tells_what_waits(home: Home) -> None:
    with pytest.raises(ValueError, match="own mailbox"):
        home.bench(address.agent("a1")).decide("waiting_changed", {"count": 3}, owner(address.mailbox("a2")))
