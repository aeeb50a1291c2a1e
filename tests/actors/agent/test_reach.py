"""The person pauses an agent, or keeps one agent from sending to another (mesh 2.1)."""

from __future__ import annotations

import pytest

from bus import address
from bus.limits import blocked_senders_max
from tests.support.bench import PERSON, agent, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Code, Refusal

EVE = address.agent("a2")


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    for agent_id in ("a1", "a2", "a3"):
        home.add_agent(agent_id)
    return home


def _reason(reply: object) -> object:
    assert isinstance(reply, Refusal), reply
    assert reply.code is Code.DELIVERY_WITHHELD
    return at(reply.details, "withheld", -1, "reason")


def test_nothing_is_sent_to_a_paused_agent_until_it_goes_on(home: Home) -> None:
    """mesh 2.1, mesh 2.2"""
    assert home.ok(EVE, "agent_pause", {"paused": True}, PERSON)["changed"] is True
    assert home.ok(EVE, "agent_pause", {"paused": True}, PERSON)["changed"] is False
    assert _reason(home.trigger("a1", "a2")) == "callee_paused"
    home.triggered("a2", "a1")
    home.ok(EVE, "agent_pause", {"paused": False}, PERSON)
    home.triggered("a1", "a2")
    assert [event.data["paused"] for event in home.events if event.type == "agent.paused"] == [True, False]


def test_a_paused_agent_is_shown_what_it_had_and_nothing_new(home: Home) -> None:
    """mesh 4.5"""
    shown = home.triggered("a1", "a2")
    home.inbox("a2")
    home.triggered("a1", "a2", priority="p1")
    home.ok(EVE, "agent_pause", {"paused": True}, PERSON)
    inbox = home.inbox("a2")
    assert [at(inbox, "deliveries", 0, "threadId"), inbox["isPaused"]] == [shown, True]
    assert len(inbox["deliveries"]) == 1  # type: ignore[arg-type]
    home.mailbox_call("a2", "agent_reply", threadId=shown, outcome="completed", body="7")
    home.ok(EVE, "agent_pause", {"paused": False}, PERSON)
    assert at(home.inbox("a2"), "deliveries", 0, "task", "priority") == "p1"


def test_a_blocked_agent_cannot_send_and_others_can(home: Home) -> None:
    """mesh 2.1, mesh 2.2"""
    home.ok(EVE, "agent_block", {"agentId": "a1", "blocked": True}, PERSON)
    assert _reason(home.trigger("a1", "a2")) == "blocked_by_person"
    home.triggered("a3", "a2")
    home.triggered("a2", "a1")
    home.ok(EVE, "agent_block", {"agentId": "a1", "blocked": False}, PERSON)
    home.triggered("a1", "a2")


def test_an_agent_is_told_of_its_own_block_and_of_nobody_elses(home: Home) -> None:
    """mesh 2.1, common 3.3"""
    home.ok(EVE, "agent_block", {"agentId": "a1", "blocked": True}, PERSON)
    assert home.ok(EVE, "agent_facts", {}, agent("a1", "w1"))["blocked"] == ["a1"]
    assert home.ok(EVE, "agent_facts", {}, agent("a3", "w1"))["blocked"] == []
    facts = home.ok(EVE, "agent_facts", {}, PERSON)
    assert (facts["blocked"], facts["paused"]) == (["a1"], False)


def test_blocks_are_bounded_and_name_another_agent(home: Home) -> None:
    itself = home.refused(EVE, "agent_block", {"agentId": "a2", "blocked": True}, PERSON)
    assert itself.code is Code.WRONG_STATE and "itself" in itself.message
    for number in range(blocked_senders_max):
        home.ok(EVE, "agent_block", {"agentId": f"x{number}", "blocked": True}, PERSON)
    refusal = home.refused(EVE, "agent_block", {"agentId": "a1", "blocked": True}, PERSON)
    assert (refusal.code, refusal.details) == (Code.WRONG_STATE, {"limit": blocked_senders_max})
    home.ok(EVE, "agent_block", {"agentId": "x0", "blocked": True}, PERSON)


def test_only_its_own_mailbox_tells_an_agent_for_whom_it_works(home: Home) -> None:
    """security 2.24"""
    with pytest.raises(ValueError, match="own mailbox"):
        home.bench(EVE).send("working_for_changed", {}, owner(address.mailbox("a1")))
