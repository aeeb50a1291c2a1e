"""A thread ends exactly once, and its originator is told."""

from __future__ import annotations

from typing import Any

import pytest

from actors.decision import Send
from actors.mailbox import keeping
from bus import address
from bus.address import DIRECTORY
from bus.limits import notification_listed_ms
from bus.value import Record, Value
from tests.support.bench import PERSON, agent, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.agent import AgentRejectOutput, AgentReplyOutput
from tools.errors import NOT_FOUND, Code, Refusal


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    for agent_id in ("a1", "a2", "a3"):
        home.add_agent(agent_id)
    return home


def _delivered(home: Home, caller: str = "a1", callee: str = "a2") -> str:
    thread_id = home.triggered(caller, callee)
    home.inbox(callee)
    return thread_id


def _reply(home: Home, agent_id: str, thread_id: str, outcome: str = "completed", **more: Value) -> Record | Refusal:
    return home.mailbox_call(agent_id, "agent_reply", threadId=thread_id, outcome=outcome, body="Seven.", **more)


def _refused(reply: Record | Refusal) -> Refusal:
    assert isinstance(reply, Refusal), reply
    return reply


@pytest.mark.parametrize(
    ("outcome", "state"), [("completed", "completed"), ("partial", "completed"), ("failed", "failed")]
)
def test_a_reply_ends_the_thread_and_reaches_its_originator(home: Home, outcome: str, state: str) -> None:
    """mesh 4.1, mesh 4.3"""
    thread_id = _delivered(home)
    reply = AgentReplyOutput.model_validate(_reply(home, "a2", thread_id, outcome))
    assert (reply.state, reply.outcome) == (state, outcome)
    notice = at(home.inbox("a1"), "notifications", 0)
    assert (notice["threadId"], notice["state"], notice["outcome"]) == (thread_id, state, outcome)
    assert at(notice, "result", "body", "text") == "Seven."


def test_a_reply_is_fenced_for_its_originator_with_artifacts_and_usage_in_their_own_form(home: Home) -> None:
    """common 7.1"""
    thread_id = _delivered(home)
    _reply(home, "a2", thread_id, artifacts=[{"id": "c1", "none": None}], usage={"tokens": 12})
    result = at(home.inbox("a1"), "notifications", 0, "result")
    assert result == {
        "body": {"untrusted": True, "source": "another agent", "text": "Seven."},
        "artifacts": {"untrusted": True, "source": "another agent", "data": [{"id": "c1", "none": None}]},
        "usage": {"untrusted": True, "source": "another agent", "data": {"tokens": 12}},
    }


def test_a_rejection_reaches_its_originator_with_the_reason(home: Home) -> None:
    thread_id = _delivered(home)
    reply = home.mailbox_call("a2", "agent_reject", threadId=thread_id, reason="Not my beans.")
    assert AgentRejectOutput.model_validate(reply).state == "rejected"
    notice = at(home.inbox("a1"), "notifications", 0)
    assert (notice["state"], at(notice, "reason", "text")) == ("rejected", "Not my beans.")


@pytest.mark.parametrize("verb", ["agent_reply", "agent_reject"])
def test_every_later_close_is_told_the_state_that_won(home: Home, verb: str) -> None:
    """mesh 4.2"""
    thread_id = _delivered(home)
    home.mailbox_call("a2", "agent_reject", threadId=thread_id, reason="No.")
    arguments: Record = {"outcome": "completed", "body": "x"} if verb == "agent_reply" else {"reason": "Again no."}
    refusal = _refused(home.mailbox_call("a2", verb, threadId=thread_id, **arguments))
    assert (refusal.code, refusal.details) == (Code.THREAD_CLOSED, {"state": "rejected"})


def test_a_refused_close_leaves_the_state_as_it_was(home: Home) -> None:
    """mesh 4.2"""
    thread_id = _delivered(home)
    _reply(home, "a2", thread_id)
    before = {row: value for owner in home.benches.values() for row, value in owner.rows.items()}
    _refused(_reply(home, "a2", thread_id, "failed"))
    assert before == {row: value for owner in home.benches.values() for row, value in owner.rows.items()}


@pytest.mark.parametrize("agent_id", ["a1", "a3"])
def test_only_the_recipient_closes_a_thread_and_others_learn_nothing(home: Home, agent_id: str) -> None:
    """common 3.3"""
    thread_id = _delivered(home)
    assert _reply(home, agent_id, thread_id) == NOT_FOUND
    assert _reply(home, agent_id, "nothing") == NOT_FOUND
    assert home.mailbox_call(agent_id, "agent_reject", threadId=thread_id, reason="No.") == NOT_FOUND


def test_a_task_that_was_not_read_cannot_be_answered(home: Home) -> None:
    """mesh 4.1"""
    thread_id = home.triggered("a1", "a2")
    unread = _refused(_reply(home, "a2", thread_id))
    assert unread.code is Code.WRONG_STATE and "read your inbox first" in unread.message


def test_a_reply_beyond_its_bytes_is_too_large_and_the_thread_stays_open(home: Home) -> None:
    """common 7.3"""
    thread_id = _delivered(home)
    assert _refused(_reply(home, "a2", thread_id, artifacts=["x" * (64 * 1024)])).code is Code.TOO_LARGE
    assert not isinstance(_reply(home, "a2", thread_id), Refusal)


def test_the_recipient_is_answered_only_when_the_originator_has_the_end(home: Home) -> None:
    thread_id = _delivered(home)
    body: Record = {"threadId": thread_id, "outcome": "completed", "body": "7"}
    decision = home.bench(address.mailbox("a2")).decide("agent_reply", body, home.as_agent("a2"))
    sends = [effect for effect in decision.effects if isinstance(effect, Send) and effect.verb == "thread_changed"]
    assert [(send.to, send.before_reply) for send in sends] == [(address.mailbox("a1"), True)]


def test_every_end_is_an_event_that_says_by_what(home: Home) -> None:
    """mesh 4.7"""
    thread_id = _delivered(home)
    _reply(home, "a2", thread_id)
    [end] = [event for event in home.events if event.type == "thread.completed"]
    assert (end.data["threadId"], end.data["cause"]) == (thread_id, "agent_reply")


def test_removing_an_agent_cancels_what_waits_for_it_and_tells_the_originators(home: Home) -> None:
    """mesh 4.2, mesh 4.7"""
    waiting, read = home.triggered("a1", "a2"), _delivered(home, "a3", "a2")
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    for originator, thread_id in (("a1", waiting), ("a3", read)):
        notice = at(home.inbox(originator), "notifications", 0)
        assert (notice["threadId"], notice["state"]) == (thread_id, "cancelled")
    assert [event.type for event in home.events].count("thread.cancelled") == 2
    home.assert_reloads()


def test_only_the_recipients_mailbox_changes_the_mirror_of_a_thread(home: Home) -> None:
    thread_id = _delivered(home)
    with pytest.raises(ValueError, match="recipient"):
        home.bench(address.mailbox("a1")).decide(
            "thread_changed", {"threadId": thread_id, "state": "failed"}, owner(address.mailbox("a3"))
        )


def test_an_end_that_is_told_twice_is_noted_once(home: Home) -> None:
    """common 8.1"""
    thread_id = _delivered(home)
    home.begin(
        address.mailbox("a2"),
        "agent_reply",
        {"threadId": thread_id, "outcome": "completed", "body": "7"},
        home.as_agent("a2"),
    )
    home.step((address.mailbox("a2"), address.mailbox("a1")), repeat=True)
    home.settle()
    assert (len(at(home.inbox("a1"), "notifications")), home.waiting("a1")) == (1, 0)


def test_ended_threads_are_kept_up_to_a_number_and_then_forgotten(home: Home, monkeypatch: Any) -> None:
    monkeypatch.setattr(keeping, "ended_threads_kept_max", 2)
    ended = [_delivered(home) for _ in range(4)]
    for thread_id in ended:
        _reply(home, "a2", thread_id)
        home.clock.advance(1)
    assert [_refused(_reply(home, "a2", thread_id)).code for thread_id in ended] == [
        Code.NOT_FOUND,
        Code.NOT_FOUND,
        Code.THREAD_CLOSED,
        Code.THREAD_CLOSED,
    ]
    home.assert_reloads()


def test_notifications_are_forgotten_after_a_day(home: Home) -> None:
    """mesh 4.3"""
    _reply(home, "a2", _delivered(home))
    home.clock.advance(notification_listed_ms)
    home.inbox("a1")
    box = home.bench(address.mailbox("a1")).state
    assert (box.sent, box.results, home.waiting("a1")) == ({}, {}, 0)


def test_facts_come_from_the_own_owner_or_the_directory_only(home: Home) -> None:
    body: Record = {"workspaceId": "w1", "name": "x", "mesh": True, "ran": True, "revoked": False}
    with pytest.raises(ValueError, match="own owner"):
        home.bench(address.mailbox("a1")).decide("facts_changed", body, owner(address.agent("a2")))


def test_first_facts_that_come_late_do_not_undo_newer_ones(home: Home) -> None:
    """mesh 2.1"""
    first: Record = {"workspaceId": "w1", "name": "Agent a2", "mesh": True, "ran": False, "revoked": False}
    reply = home.bench(address.mailbox("a2")).send("facts_changed", first, owner(DIRECTORY))
    assert reply == {}
    assert home.triggered("a1", "a2")


def test_a_stamp_for_another_agent_closes_nothing(home: Home) -> None:
    thread_id = _delivered(home)
    body: Record = {"threadId": thread_id, "reason": "No."}
    assert home.call(address.mailbox("a2"), "agent_reject", body, agent("a3", "w1")) == NOT_FOUND
