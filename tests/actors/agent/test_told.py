"""What an agent's owner gives notice of: what waits, what is decided, what its authority is (docs/decisions/0012)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.decision import Notify
from bus import address
from bus.topics import approval_topic, authority_topic, mailbox_topic
from bus.value import Record
from tests.actors.agent.approving import AGENT, OTHER_HASH, a_home, asked, decide
from tests.support.admitting import Caller
from tests.support.bench import GATEWAY, PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tools.agent import AGENT_UPDATE_SELF


@pytest.fixture
def home() -> Home:
    return a_home()


def told(home: Home, topic: str) -> list[Record]:
    """What was given notice of since it was asked last."""
    found = [notice.data for notice in home.notices if notice.topic == topic]
    home.notices[:] = [notice for notice in home.notices if notice.topic != topic]
    return found


def test_whatever_changes_what_waits_is_told_with_how_much_does(home: Home) -> None:
    """common 1.11, mesh 5.3"""
    home.triggered("a2", "a1")
    thread = home.triggered("a2", "a1")
    assert told(home, mailbox_topic("a1")) == [{"waiting": 1}, {"waiting": 2}]
    home.inbox("a1")
    assert told(home, mailbox_topic("a1")) == [], "a task that was read still waits"
    home.ok(AGENT, "agent_set_mode", {"mode": "auto"}, PERSON)
    home.mailbox_call("a1", "agent_reject", threadId=thread, reason="No.")
    assert told(home, mailbox_topic("a1")) == [{"waiting": 1}]


@pytest.mark.parametrize(("decision", "state"), [("approve", "approved"), ("deny", "denied")])
def test_a_decision_is_told_to_whoever_waits_for_it(home: Home, decision: str, state: str) -> None:
    """common 5.6"""
    approval_id = asked(home)
    assert told(home, approval_topic(approval_id)) == []
    decide(home, approval_id, decision)
    assert told(home, approval_topic(approval_id)) == [{"state": state}]


def test_an_approval_that_is_over_undecided_is_told(home: Home) -> None:
    """common 5.3, 5.6"""
    approval_id = asked(home)
    bench = home.bench(AGENT)
    bench.fire(f"approval/{approval_id.partition('.')[2]}")
    assert [(notice.topic, notice.data) for notice in bench.notices] == [
        (approval_topic(approval_id), {"state": "expired"})
    ]


def test_an_approval_whose_credential_is_revoked_is_told_and_so_is_the_authority(home: Home) -> None:
    """common 2.1, 5.6, security 2.10"""
    home.ok(AGENT, "credential_add", {"name": "spare", "tokenHash": OTHER_HASH}, PERSON)
    came = Caller(home, "a1", OTHER_HASH).call(AGENT_UPDATE_SELF, {"persona": "Counts."})
    assert came.error is not None
    told(home, authority_topic("a1"))
    home.ok(AGENT, "credential_revoke", {"name": "spare"}, PERSON)
    assert told(home, approval_topic(str(came.error["approvalId"]))) == [{"state": "voided"}]
    assert len(told(home, authority_topic("a1"))) == 1


def test_every_change_of_authority_is_told_with_its_version(home: Home) -> None:
    """security 2.10"""
    told(home, authority_topic("a1"))
    head: Any = home.bench(AGENT).state.head
    effects = head.narrowed("a1", mode="plan")
    assert Notify(authority_topic("a1"), {"version": head.version + 1}) in effects
    home.ok(AGENT, "agent_set_capability", {"capability": "mesh", "held": False}, PERSON)
    assert told(home, authority_topic("a1")) == [{"version": head.version + 1}]


def test_a_gateway_is_told_how_an_approval_of_its_caller_stands_and_of_nobody_elses(home: Home) -> None:
    """common 5.6, security 2.11"""
    approval_id = asked(home)

    def state(to: str, token_hash: bytes, named: str = approval_id) -> Record:
        body: Record = {"tokenHash": token_hash, "approvalId": named}
        return home.ok(address.agent(to), "approval_state", body, GATEWAY)

    assert state("a1", TOKEN_HASH) == {"authenticated": True, "state": "pending"}
    assert state("a2", TOKEN_HASH) == {"authenticated": True, "state": None}
    assert state("a1", TOKEN_HASH, "a1.none") == {"authenticated": True, "state": None}
    assert state("a1", OTHER_HASH) == {"authenticated": False, "state": None}
    decide(home, approval_id)
    assert state("a1", TOKEN_HASH) == {"authenticated": True, "state": "approved"}
    home.clock.advance(15 * 60_000)
    assert state("a1", TOKEN_HASH) == {"authenticated": True, "state": "expired"}
