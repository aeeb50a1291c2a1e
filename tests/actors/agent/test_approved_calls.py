"""What becomes of an approval with the call that it was given for (common 5)."""

from __future__ import annotations

import pytest

from actors.decision import Dispatch
from bus import address
from bus.value import Record
from tests.actors.agent.approving import (
    AGENT,
    OTHER_HASH,
    a_home,
    ask,
    asked,
    decide,
    raw_admission,
    states,
)
from tests.support.bench import PERSON, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.errors import Code


@pytest.fixture
def home() -> Home:
    return a_home()


def test_a_target_that_changed_since_the_card_lapses_it_and_makes_a_new_card(home: Home) -> None:
    """common 5.3, security 2.3"""
    first = at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId")
    decide(home, first)
    lapsed = at(raw_admission(home, {"title": "Other"}), "refusal")
    assert lapsed["code"] == "approval_lapsed"
    assert lapsed["approvalId"] != first
    assert states(home) == ["lapsed", "pending"]
    assert home.bench(AGENT).state.dispatched == {}
    decide(home, lapsed["approvalId"])
    assert at(raw_admission(home, {"title": "Other"}), "stamp", "dispatched") is True
    home.streams.clear()


def test_the_approved_fingerprint_travels_with_the_call(home: Home) -> None:
    """common 5.3"""
    decide(home, at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId"))
    raw_admission(home, {"title": "Plan"}, "c2")
    [sent] = home.streams[AGENT, address.canvas("w1", "k")]
    assert isinstance(sent.send, Dispatch)
    assert (sent.send.fingerprint, sent.send.call_id) == ({"title": "Plan"}, "c2")


@pytest.mark.parametrize(
    ("came", "state"),
    [
        ({"ok": {"outcome": "applied"}}, "used"),
        ({"ok": {"outcome": "conflict"}}, "approved"),
        ({"ok": {"outcome": "rejected"}}, "approved"),
        ({"error": {"code": "unavailable", "message": "", "retryable": True}}, "approved"),
        ({"error": {"code": "approval_lapsed", "message": "", "retryable": True}}, "lapsed"),
    ],
)
def test_what_came_of_the_call_decides_what_becomes_of_its_approval(home: Home, came: Record, state: str) -> None:
    """common 5.2"""
    decide(home, at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId"))
    raw_admission(home, {"title": "Plan"}, "c2")
    home.streams.clear()  # what its owner says is scripted
    bench = home.bench(AGENT)
    assert states(home) == ["in_use"]
    for _ in range(2):  # a repeat changes nothing
        bench.send("settled", {"callId": "c2", **came}, owner(address.canvas("w1", "k")))
        assert states(home) == [state]


def test_a_replaced_token_ends_what_the_former_one_asked_for_also_when_it_was_under_way(home: Home) -> None:
    """common 2.1, security 2.10"""
    decide(home, at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId"))
    raw_admission(home, {"title": "Plan"}, "c2")
    home.streams.clear()  # what its owner says is scripted
    home.ok(AGENT, "token_replace", {"tokenHash": OTHER_HASH}, PERSON)
    came: Record = {"callId": "c2", "ok": {"outcome": "conflict"}}
    home.bench(AGENT).send("settled", came, owner(address.canvas("w1", "k")))
    assert states(home) == ["voided"]


def test_an_outcome_that_nobody_knows_uses_the_approval_up(home: Home) -> None:
    """common 8.3"""
    decide(home, at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId"))
    raw_admission(home, {"title": "Plan"}, "c2")
    home.streams.clear()  # what its owner says is scripted
    came: Record = {"callId": "c2", "error": {"code": "outcome_unknown", "message": "", "retryable": False}}
    home.bench(AGENT).send("settled", came, owner(address.canvas("w1", "k")))
    assert states(home) == ["used"]


def test_only_the_owner_that_the_call_was_sent_to_settles_it(home: Home) -> None:
    """common 8.1"""
    decide(home, at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId"))
    raw_admission(home, {"title": "Plan"}, "c2")
    home.streams.clear()
    with pytest.raises(ValueError, match="sent to"):
        home.bench(AGENT).send("settled", {"callId": "c2", "ok": {}}, owner(address.canvas("w1", "other")))


def test_cards_that_only_the_mode_asked_for_end_when_the_agent_may_write_without(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home))
    ask(home, "Else")
    home.ok(AGENT, "agent_set_mode", {"mode": "auto"}, PERSON)
    assert states(home) == ["voided", "voided"]
    assert ask(home).ok is not None
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    assert ask(home).code == Code.APPROVAL_REQUIRED


def test_a_decided_card_keeps_only_small_arguments(home: Home) -> None:
    """common 8.5"""
    came = ask(home, "x" * 3_000)
    assert came.error is not None
    decide(home, came.error["approvalId"], "deny")
    card = home.ok(AGENT, "approval_show", {"approvalId": came.error["approvalId"]}, PERSON)
    assert (card["arguments"], card["leftOut"]) == ({}, {"persona": 3_002})


def test_an_agent_that_moves_leaves_its_cards_behind(home: Home) -> None:
    """common 3.5"""
    asked(home)
    home.ok(address.DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": "w2"}, PERSON)
    assert states(home) == ["voided"]
