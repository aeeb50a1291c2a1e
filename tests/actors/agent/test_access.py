"""Tokens, first use, and what an admission answers."""

from __future__ import annotations

import pytest

from actors.decision import Send
from bus import address
from bus.address import DIRECTORY
from bus.value import Record, Value
from tests.support.bench import GATEWAY, PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tools.errors import Code

OTHER_HASH = bytes([7] * 32)


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", ran=False)
    return home


def _admit(**facts: Value) -> Record:
    known: Record = {
        "tokenHash": TOKEN_HASH,
        "tool": "agent_get",
        "arguments": "valid",
        "kind": "read",
        "scope": "workspace",
        "capability": "mesh",
    }
    return {**known, **facts}


def test_the_right_token_authenticates_and_tells_who_it_is(home: Home) -> None:
    reply = home.ok(address.agent("a1"), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    assert reply == {"authenticated": True, "agentId": "a1", "workspaceId": "w1", "waiting": 0}


@pytest.mark.parametrize("agent_id", ["a1", "nobody"])
def test_a_wrong_token_and_an_unknown_agent_answer_alike(home: Home, agent_id: str) -> None:
    """common 2.3"""
    reply = home.ok(address.agent(agent_id), "authenticate", {"tokenHash": OTHER_HASH}, GATEWAY)
    assert reply == {"authenticated": False}


def test_a_wrong_token_admits_nothing_and_has_no_effects(home: Home) -> None:
    decision = home.bench(address.agent("a1")).decide("admit", _admit(tokenHash=OTHER_HASH), GATEWAY)
    assert decision.reply == {"authenticated": False, "waiting": 0}
    assert decision.effects == ()


def test_an_admitted_call_gets_a_stamp_with_the_authority_version(home: Home) -> None:
    reply = home.ok(address.agent("a1"), "admit", _admit(), GATEWAY)
    stamp = {
        "agentId": "a1",
        "workspaceId": "w1",
        "credential": "default",
        "version": 1,
        "issuedMs": home.clock.now_ms(),
    }
    assert reply == {"authenticated": True, "stamp": stamp, "waiting": 0}


def test_a_refused_call_gets_no_stamp(home: Home) -> None:
    reply = home.ok(address.agent("a1"), "admit", _admit(workspaceId="w2"), GATEWAY)
    assert (reply.get("stamp"), reply["authenticated"]) == (None, True)
    assert isinstance(reply["refusal"], dict)
    assert reply["refusal"]["code"] == Code.SCOPE_MISMATCH.value


def test_the_first_use_sets_ran_and_tells_the_mailbox_without_waiting_for_it(home: Home) -> None:
    """mesh 2.1"""
    decision = home.bench(address.agent("a1")).decide("authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    [send] = [effect for effect in decision.effects if isinstance(effect, Send)]
    assert (send.verb, send.body["ran"], send.before_reply) == ("facts_changed", True, False)


def test_an_admission_by_itself_notes_no_use_so_that_a_full_disk_stops_no_read(home: Home) -> None:
    """common 8.5"""
    assert home.bench(address.agent("a1")).decide("admit", _admit(), GATEWAY).effects == ()


def test_every_later_use_has_no_effects(home: Home) -> None:
    home.ok(address.agent("a1"), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    bench = home.bench(address.agent("a1"))
    assert bench.decide("admit", _admit(), GATEWAY).effects == ()
    assert bench.decide("authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY).effects == ()
    assert home.bench(address.mailbox("a1")).state.facts.ran is True


def test_a_replaced_token_stops_working_at_once_and_raises_the_authority_version(home: Home) -> None:
    reply = home.ok(address.agent("a1"), "token_replace", {"tokenHash": OTHER_HASH}, PERSON)
    assert reply["version"] == 2
    former = home.ok(address.agent("a1"), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    assert former == {"authenticated": False}
    admitted = home.ok(address.agent("a1"), "admit", _admit(tokenHash=OTHER_HASH), GATEWAY)
    assert isinstance(admitted["stamp"], dict)
    assert admitted["stamp"]["version"] == 2


def test_no_token_is_given_to_an_agent_that_was_removed_or_never_was(home: Home) -> None:
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    for agent_id in ("a1", "nobody"):
        refusal = home.refused(address.agent(agent_id), "token_replace", {"tokenHash": OTHER_HASH}, PERSON)
        assert refusal.code is Code.NOT_FOUND


def test_a_body_of_the_gateway_that_does_not_fit_is_a_defect_and_not_a_refusal(home: Home) -> None:
    with pytest.raises(ValueError, match="tokenHash"):
        home.bench(address.agent("a1")).decide("authenticate", {"tokenHash": b"short"}, GATEWAY)


def test_admission_tells_how_many_deliveries_wait(home: Home) -> None:
    """common 1.11"""
    home.add_agent("a2")
    home.ok(address.agent("a1"), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    home.settle()
    home.triggered("a2", "a1")
    assert home.ok(address.agent("a1"), "admit", _admit(), GATEWAY)["waiting"] == 1
