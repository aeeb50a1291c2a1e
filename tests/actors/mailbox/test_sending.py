"""From agent_trigger to a task in the other mailbox, or to a reason why not."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import (
    chain_depth_max,
    open_threads_per_recipient_max,
    open_threads_sender_divisor,
    triggers_per_minute_max,
)
from bus.value import Record, Value
from tests.support.bench import GATEWAY, PERSON, agent
from tests.support.exchange import TOKEN_HASH, Home
from tests.support.reading import at
from tools.agent import AgentTriggerOutput
from tools.errors import NOT_FOUND, Code, Refusal
from tools.setting_catalogue import OPEN_THREADS, TRIGGERS_PER_MINUTE, Snapshot


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_workspace("w2")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    home.add_agent("b1", "w2")
    return home


def _refused(reply: Record | Refusal) -> Refusal:
    assert isinstance(reply, Refusal), reply
    return reply


def _received(home: Home, agent_id: str) -> int:
    return len(home.bench(address.mailbox(agent_id)).state.received)


def test_a_task_is_answered_once_it_is_durably_queued_at_the_recipient(home: Home) -> None:
    body: Record = {"agentId": "a2", "task": {"title": "Count", "instructions": "Count the beans."}}
    call_id = home.begin(address.mailbox("a1"), "agent_trigger", body, home.as_agent("a1"))
    assert call_id not in home.answers
    home.settle()
    shown = AgentTriggerOutput.model_validate(home.answers[call_id])
    assert home.bench(address.mailbox("a2")).state.received[shown.threadId].state == "queued"
    assert "thread.queued" in [event.type for event in home.events]


def test_an_agent_of_another_workspace_answers_exactly_like_an_unknown_one(home: Home) -> None:
    """common 3.3"""
    for stranger in ("b1", "nobody", "no such / agent"):
        assert home.trigger("a1", stranger) == NOT_FOUND
    assert home.bench(address.mailbox("nobody")).rows == {}
    home.assert_reloads()


@pytest.mark.parametrize(
    ("callee", "reason"), [("a1", "self"), ("idle", "callee_never_ran"), ("closed", "callee_lacks_mesh")]
)
def test_a_withheld_delivery_is_refused_with_its_reasons_and_not_queued(home: Home, callee: str, reason: str) -> None:
    """mesh 2.2"""
    home.add_agent("idle", ran=False)
    home.add_agent("closed", mesh=False)
    refusal = _refused(home.trigger("a1", callee))
    assert refusal.code is Code.DELIVERY_WITHHELD
    assert at(refusal.details, "withheld", -1, "reason") == reason
    assert at(refusal.details, "withheld", -1, "tier") == "deliver"
    assert _received(home, callee) == 0


def test_a_removed_agent_is_not_delivered_to(home: Home) -> None:
    """mesh 2.1"""
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    refusal = _refused(home.trigger("a1", "a2"))
    assert at(refusal.details, "withheld", -1, "reason") == "identity_revoked"


def test_an_agent_that_never_ran_is_delivered_to_after_its_first_use(home: Home) -> None:
    """mesh 2.1"""
    home.add_agent("a3", ran=False)
    assert _refused(home.trigger("a1", "a3")).code is Code.DELIVERY_WITHHELD
    home.ok(address.agent("a3"), "authenticate", {"tokenHash": TOKEN_HASH}, GATEWAY)
    home.triggered("a1", "a3")


@pytest.mark.parametrize(
    "task",
    [
        {"instructions": "é" * (16 * 1024 + 1)},
        {"inputs": {"text": "x" * (64 * 1024)}},
        {"instructions": "x" * 32_000, "expectedOutput": "x" * 33_600},
    ],
    ids=["instructions", "inputs", "altogether"],
)
def test_a_task_beyond_its_bytes_is_too_large(home: Home, task: Record) -> None:
    """mesh 3.1"""
    refusal = _refused(home.trigger("a1", "a2", **task))
    assert refusal.code is Code.TOO_LARGE
    assert refusal.details["limit"] in (32 * 1024, 64 * 1024)


def test_a_task_of_just_its_bytes_is_taken(home: Home) -> None:
    """mesh 3.1"""
    home.triggered("a1", "a2", instructions="é" * (16 * 1024))


def test_a_parent_thread_must_be_an_open_thread_of_the_caller(home: Home) -> None:
    """mesh 3.3"""
    thread_id = home.triggered("a1", "a2")
    assert home.trigger("a2", "a1", parentThreadId="nothing") == NOT_FOUND
    assert home.trigger("a1", "a2", parentThreadId=thread_id) == NOT_FOUND, "it is the recipient's, not the sender's"
    home.triggered("a2", "a1", parentThreadId=thread_id)
    home.inbox("a2")
    home.mailbox_call("a2", "agent_reply", threadId=thread_id, outcome="completed", body="7")
    assert _refused(home.trigger("a2", "a1", parentThreadId=thread_id)).code is Code.THREAD_CLOSED


def test_a_chain_is_eight_deep_and_an_agent_may_recur_in_it(home: Home) -> None:
    """mesh 3.3"""
    pair = ("a1", "a2")
    parent: Value = None
    for depth in range(chain_depth_max):
        parent = home.triggered(pair[depth % 2], pair[(depth + 1) % 2], parentThreadId=parent)
    refusal = _refused(home.trigger(pair[chain_depth_max % 2], pair[(chain_depth_max + 1) % 2], parentThreadId=parent))
    assert (refusal.code, refusal.details) == (Code.WRONG_STATE, {"limit": chain_depth_max})


def test_a_full_mailbox_says_when_to_try_again(home: Home) -> None:
    """mesh 3.4, security 2.23: one sender has half of it, and then others can still send."""
    home.add_agent("a3", name="Cyd")
    share = open_threads_per_recipient_max // open_threads_sender_divisor
    for sender in ("a1", "a3"):
        for _ in range(share):
            home.triggered(sender, "a2")
        refusal = _refused(home.trigger(sender, "a2"))
        assert (refusal.code, refusal.details["limit"]) == (
            Code.RATE_LIMITED,
            share if sender == "a1" else open_threads_per_recipient_max,
        )
    assert (refusal.retryable, refusal.details["retryAfterSeconds"]) == (True, 30)
    first = next(iter(home.bench(address.mailbox("a2")).state.received))
    home.inbox("a2")
    assert not isinstance(home.mailbox_call("a2", "agent_reject", threadId=first, reason="No time."), Refusal)
    home.triggered("a1", "a2")
    home.assert_reloads()


def test_a_sender_sends_no_more_tasks_a_minute_than_allowed(home: Home) -> None:
    """mesh 3.4"""
    home.add_agent("a3", name="Cyd")
    for number in range(triggers_per_minute_max):
        home.triggered("a1", "a2" if number % 2 else "a3")
        home.clock.advance(50)
    refusal = _refused(home.trigger("a1", "a2"))
    assert (refusal.code, refusal.retryable) == (Code.RATE_LIMITED, True)
    assert refusal.details == {"limit": triggers_per_minute_max, "retryAfterSeconds": 30}
    home.triggered("a2", "a3")
    home.clock.advance(29_999)
    _refused(home.trigger("a1", "a2"))
    home.clock.advance(1)
    home.triggered("a1", "a2")
    _refused(home.trigger("a1", "a2"))
    home.assert_reloads()


def test_the_person_may_raise_or_lower_how_much_is_sent(home: Home) -> None:
    """mesh 3.4, common 8.5"""
    home.bench(address.mailbox("a1")).settings = Snapshot(1, {TRIGGERS_PER_MINUTE.name: 3})
    home.bench(address.mailbox("a2")).settings = Snapshot(1, {OPEN_THREADS.name: 4})
    home.triggered("a1", "a2")
    home.triggered("a1", "a2")
    assert _refused(home.trigger("a1", "a2")).details["limit"] == 2
    home.bench(address.mailbox("a2")).settings = Snapshot(2, {OPEN_THREADS.name: 40})
    home.triggered("a1", "a2")
    assert _refused(home.trigger("a1", "a2")).details["limit"] == 3


def test_an_offer_that_is_delivered_twice_is_queued_once(home: Home) -> None:
    """common 8.1"""
    body: Record = {"agentId": "a2", "task": {"title": "Count", "instructions": "Count the beans."}}
    home.begin(address.mailbox("a1"), "agent_trigger", body, home.as_agent("a1"))
    home.step((address.mailbox("a1"), address.mailbox("a2")), repeat=True)
    home.settle()
    assert (_received(home, "a2"), home.waiting("a2")) == (1, 1)
    assert [event.type for event in home.events].count("thread.queued") == 1


def test_a_refusal_leaves_nothing_behind(home: Home) -> None:
    before = dict(home.bench(address.mailbox("a1")).rows)
    home.trigger("a1", "b1")
    assert home.bench(address.mailbox("a1")).rows == before


def _keyed(home: Home, key: str, title: str = "Count", *, settled: bool = True) -> str:
    body: Record = {"agentId": "a2", "task": {"title": title, "instructions": "Count."}, "idempotencyKey": key}
    call_id = home.begin(address.mailbox("a1"), "agent_trigger", body, home.as_agent("a1"))
    if settled:
        home.settle()
    return call_id


def test_a_repeat_under_the_same_key_gets_the_first_answer_and_sends_nothing(home: Home) -> None:
    """common 8.2"""
    first, second = _keyed(home, "k1"), _keyed(home, "k1")
    assert home.answers[first] == home.answers[second]
    assert _received(home, "a2") == 1


def test_a_repeat_while_the_first_is_on_its_way_waits_for_the_same_answer(home: Home) -> None:
    first, second = _keyed(home, "k1", settled=False), _keyed(home, "k1", settled=False)
    home.assert_reloads()
    home.settle()
    assert home.answers[first] == home.answers[second]
    assert _received(home, "a2") == 1


def test_other_arguments_under_the_same_key_are_refused(home: Home) -> None:
    _keyed(home, "k1")
    reply = home.answers[_keyed(home, "k1", title="Weigh")]
    assert _refused(reply).code is Code.IDEMPOTENCY_MISMATCH


def test_a_key_of_a_refused_task_may_be_used_again(home: Home) -> None:
    body: Record = {"agentId": "b1", "task": {"title": "Count", "instructions": "Count."}, "idempotencyKey": "k1"}
    assert home.call(address.mailbox("a1"), "agent_trigger", body, home.as_agent("a1")) == NOT_FOUND
    assert at(home.answers[_keyed(home, "k1")], "state") == "queued"


def test_no_refusal_holds_an_id_or_a_name(home: Home) -> None:
    """common 6.2"""
    home.add_agent("idle", ran=False, name="Idle Ida")
    for callee in ("idle", "b1", "a1"):
        message = _refused(home.trigger("a1", callee)).message
        assert not any(word in message for word in ("idle", "Ida", "Ada", "b1", "a1"))


def test_a_mailbox_that_knows_no_facts_yet_says_try_again() -> None:
    home = Home()
    body: Record = {"agentId": "a2", "task": {"title": "Count", "instructions": "Count."}}
    assert _refused(home.call(address.mailbox("a1"), "agent_trigger", body, agent("a1", "w1"))).retryable
