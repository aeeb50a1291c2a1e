"""Deliveries to runtimes: leased, renewed, lost, offered again, answered once (mesh 4.4)."""

from __future__ import annotations

import pytest

from bus import address
from bus.limits import (
    lease_attempts_max,
    lease_late_ms,
    lease_ms,
    reply_bytes_max,
)
from bus.topics import deliveries_topic
from bus.value import Record, Value
from tests.support.bench import GATEWAY, PERSON, agent
from tests.support.exchange import TOKEN_HASH, Home
from tests.support.reading import at
from tests.tools.test_secrets import CREDENTIALS
from tools.errors import NOT_FOUND, Code, Refusal

BOX = address.mailbox("a2")


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    return home


def _say(home: Home, verb: str, **body: Value) -> Record:
    reply = home.mailbox_call("a2", verb, **body)
    assert not isinstance(reply, Refusal), reply
    return reply


def _refused(home: Home, verb: str, **body: Value) -> Refusal:
    reply = home.mailbox_call("a2", verb, **body)
    assert isinstance(reply, Refusal), reply
    return reply


def _leased(home: Home, count: int = 1, runtime: str = "r1") -> list[Record]:
    found = _say(home, "mail_lease", runtimeId=runtime, count=count)["deliveries"]
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]


def _one(home: Home, runtime: str = "r1") -> str:
    [delivery] = _leased(home, 1, runtime)
    return str(delivery["deliveryId"])


def _after(home: Home, milliseconds: int) -> None:
    home.clock.advance(milliseconds)
    home.ring()
    home.settle()


def _state(home: Home, thread_id: str) -> str:
    return str(home.bench(BOX).state.received[thread_id].state)


def test_a_lease_gives_the_task_as_it_was_sent_with_its_delivery_and_attempt(home: Home) -> None:
    """mesh 4.4"""
    thread_id = home.triggered("a1", "a2", inputs={"beans": 7}, contextRefs=["canvas://c1"], priority="p1")
    [delivery] = _leased(home)
    assert (delivery["threadId"], delivery["attempt"], delivery["chainDepth"]) == (thread_id, 1, 1)
    assert delivery["from"] == {"agentId": "a1", "name": "Ada"}
    assert delivery["leaseUntil"] == "2027-01-15T08:01:00.000Z"
    assert delivery["task"] == {
        "title": "Count",
        "instructions": "Count the beans.",
        "inputs": {"beans": 7},
        "expectedOutput": None,
        "contextRefs": ["canvas://c1"],
        "priority": "p1",
        "deadline": None,
        "parentThreadId": None,
    }


def test_two_runtimes_share_a_mailbox_and_never_a_thread(home: Home) -> None:
    """mesh 4.4"""
    threads = [home.triggered("a1", "a2") for _ in range(3)]
    first, second = _leased(home, 2, "r1"), _leased(home, 2, "r2")
    assert [each["threadId"] for each in first + second] == threads
    nothing = _say(home, "mail_lease", runtimeId="r2", count=5)
    assert nothing == {"deliveries": [], "waiting": 0, "isPaused": False, "isMoreDue": False}


def test_a_renewed_lease_outlives_its_first_end_and_one_that_is_not_is_offered_again(home: Home) -> None:
    """mesh 4.4"""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    _after(home, lease_ms - 1)
    renewed = _say(home, "mail_renew", runtimeId="r1", deliveryIds=[delivery_id])
    assert at(renewed, "renewed", 0, "deliveryId") == delivery_id
    _after(home, lease_ms - 1)
    assert _leased(home, runtime="r2") == []
    _after(home, 1)
    [again] = _leased(home, runtime="r2")
    assert again["attempt"] == 2
    assert again["deliveryId"] != delivery_id


def test_a_lease_that_is_over_acknowledges_nothing_though_the_timer_is_late(home: Home) -> None:
    """mesh 4.4"""
    thread_id = home.triggered("a1", "a2")
    delivery_id = _one(home)
    home.clock.advance(lease_ms)
    for verb, more in (("mail_start", {}), ("mail_progress", {"text": "x"}), ("mail_release", {})):
        assert _refused(home, verb, deliveryId=delivery_id, **more).code is Code.WRONG_STATE
    refusal = _refused(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="7")
    assert refusal.code is Code.WRONG_STATE
    lost = _say(home, "mail_renew", runtimeId="r1", deliveryIds=[delivery_id])["lost"]
    assert lost == [{"deliveryId": delivery_id, "threadId": thread_id, "reason": "lease_lost", "state": "delivered"}]
    assert _state(home, thread_id) == "delivered"


def test_what_was_lost_is_offered_again_in_its_old_place(home: Home) -> None:
    """mesh 4.4, mesh 4.6"""
    first = home.triggered("a1", "a2", priority="p2")
    _one(home)
    second = home.triggered("a1", "a2", priority="p2")
    urgent = home.triggered("a1", "a2", priority="p1")
    home.clock.advance(lease_ms)
    assert [each["threadId"] for each in _leased(home, 5, "r2")] == [urgent, first, second]


def test_acknowledged_work_is_never_offered_again_and_the_originator_gets_the_result(home: Home) -> None:
    """mesh 4.2, mesh 4.4"""
    thread_id = home.triggered("a1", "a2")
    delivery_id = _one(home)
    _say(home, "mail_start", deliveryId=delivery_id)
    done = _say(home, "mail_finish", deliveryId=delivery_id, outcome="partial", body="6 of 7", usage={"tokens": 3})
    assert done == {"threadId": thread_id, "state": "completed", "outcome": "partial"}
    _after(home, 10 * lease_ms)
    assert _leased(home) == []
    news = at(home.inbox("a1"), "notifications", 0)
    assert (news["state"], news["outcome"], news["cause"]) == ("completed", "partial", "mail_finish")
    assert at(news, "result", "body", "text") == "6 of 7"


def test_a_retry_after_an_error_finishes_nothing_twice(home: Home) -> None:
    """mesh 4.2. A fault of others: duplicates on retry after an error."""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    first = _say(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="7")
    events = len(home.events)
    assert _say(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="7") == first
    assert len(home.events) == events
    assert at(home.inbox("a1"), "notifications", 0, "result", "body", "text") == "7"


def test_a_delivery_whose_thread_ended_elsewhere_hears_which_end_won(home: Home) -> None:
    """mesh 4.2"""
    thread_id = home.triggered("a1", "a2")
    delivery_id = _one(home)
    home.ok(BOX, "thread_cancel", {"threadId": thread_id}, PERSON)
    refusal = _refused(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="7")
    assert (refusal.code, refusal.details) == (Code.THREAD_CLOSED, {"state": "cancelled"})
    lost = at(_say(home, "mail_renew", runtimeId="r1", deliveryIds=[delivery_id]), "lost", 0)
    assert (lost["reason"], lost["state"]) == ("thread_closed", "cancelled")


def test_an_answer_by_tool_closes_the_thread_whoever_has_it_leased(home: Home) -> None:
    """mesh 4.2"""
    thread_id = home.triggered("a1", "a2")
    delivery_id = _one(home)
    _say(home, "mail_start", deliveryId=delivery_id)
    _say(home, "agent_reply", threadId=thread_id, outcome="completed", body="7")
    refusal = _refused(home, "mail_start", deliveryId=delivery_id)
    assert (refusal.code, refusal.details) == (Code.THREAD_CLOSED, {"state": "completed"})
    assert home.bench(BOX).state.leases == {}


def test_a_dead_peer_swallows_no_mail(home: Home) -> None:
    """mesh 4.4. A fault of others: what a peer that died had taken is never seen again."""
    threads = [home.triggered("a1", "a2") for _ in range(3)]
    for delivery in _leased(home, 3, "dead"):
        _say(home, "mail_start", deliveryId=delivery["deliveryId"])
    _after(home, lease_ms)
    assert [each["threadId"] for each in _leased(home, 3, "alive")] == threads


def test_the_fifth_delivery_without_an_answer_fails_the_thread_and_keeps_its_task(home: Home) -> None:
    """mesh 4.4, mesh 4.7"""
    thread_id = home.triggered("a1", "a2")
    for attempt in range(1, lease_attempts_max + 1):
        [delivery] = _leased(home)
        assert delivery["attempt"] == attempt
        _after(home, lease_ms)
    assert _leased(home) == []
    news = at(home.inbox("a1"), "notifications", 0)
    assert (news["state"], news["cause"]) == ("failed", "delivery_exhausted")
    assert at(news, "reason", "source") == "NEXUS"
    ended = [event for event in home.events if event.type == "thread.failed"]
    assert [event.data["cause"] for event in ended] == ["delivery_exhausted"]
    assert thread_id in home.bench(BOX).state.tasks


def test_what_is_given_back_before_work_uses_no_attempt_and_what_was_begun_does(home: Home) -> None:
    """mesh 4.4"""
    home.triggered("a1", "a2")
    for _ in range(2 * lease_attempts_max):
        [delivery] = _leased(home)
        assert delivery["attempt"] == 1
        _say(home, "mail_release", deliveryId=delivery["deliveryId"])
    delivery_id = _one(home)
    _say(home, "mail_start", deliveryId=delivery_id)
    assert _say(home, "mail_release", deliveryId=delivery_id)["state"] == "delivered"
    [delivery] = _leased(home)
    assert delivery["attempt"] == 2


def test_the_originator_is_told_of_work_begun_once_however_often_it_begins(home: Home) -> None:
    """mesh 4.3"""
    thread_id = home.triggered("a1", "a2")
    for _ in range(3):
        _say(home, "mail_start", deliveryId=_one(home))
        home.inbox("a1")
        _after(home, lease_ms)
    assert home.waiting("a1") == 0, "the second beginning was no news"
    assert home.bench(address.mailbox("a1")).state.sent[thread_id].state == "working"


def test_rejecting_is_for_before_work_and_needs_a_reason(home: Home) -> None:
    """mesh 1, mesh 4.1"""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    assert _refused(home, "mail_finish", deliveryId=delivery_id, outcome="rejected").code is Code.INVALID_ARGUMENTS
    _say(home, "mail_start", deliveryId=delivery_id)
    refusal = _refused(home, "mail_finish", deliveryId=delivery_id, outcome="rejected", reason="No.")
    assert (refusal.code, refusal.details) == (Code.WRONG_STATE, {"state": "working"})


def test_a_result_beyond_its_bytes_is_too_large_and_the_lease_stays(home: Home) -> None:
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    refusal = _refused(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="x" * reply_bytes_max)
    assert refusal.code is Code.TOO_LARGE
    _say(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="shorter")


def test_progress_is_one_redacted_bounded_line_in_the_log_and_no_row(home: Home) -> None:
    """common 7.2"""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    rows = set(home.bench(BOX).rows)
    secret = CREDENTIALS[5][1]
    _say(home, "mail_progress", deliveryId=delivery_id, text=f"half\n\x1b[31m {secret} " + "x" * 500)
    [event] = [event for event in home.events if event.type == "thread.progress"]
    text = str(event.data["text"])
    assert len(text) <= 200
    assert not [bad for bad in ("\n", "\x1b", secret) if bad in text]
    assert set(home.bench(BOX).rows) == rows


def test_an_agent_never_gets_anothers_mail_nor_speaks_for_its_deliveries(home: Home) -> None:
    """mesh 4.4, common 3.3"""
    home.add_agent("a3")
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    stranger = agent("a3", "w1")
    calls: tuple[tuple[str, Record], ...] = (
        ("mail_lease", {"runtimeId": "r1"}),
        ("mail_renew", {"runtimeId": "r1", "deliveryIds": [delivery_id]}),
        ("mail_start", {"deliveryId": delivery_id}),
        ("mail_progress", {"deliveryId": delivery_id, "text": "x"}),
        ("mail_release", {"deliveryId": delivery_id}),
        ("mail_finish", {"deliveryId": delivery_id, "outcome": "completed"}),
    )
    for verb, body in calls:
        assert home.refused(BOX, verb, body, stranger) == NOT_FOUND
    own = home.call(address.mailbox("a3"), "mail_finish", {"deliveryId": delivery_id, "outcome": "completed"}, stranger)
    assert own == NOT_FOUND


def test_a_runtime_does_not_speak_for_the_deliveries_of_another(home: Home) -> None:
    home.triggered("a1", "a2")
    delivery_id = _one(home, "r1")
    assert _refused(home, "mail_start", deliveryId=delivery_id, runtimeId="r2").code is Code.WRONG_STATE
    assert at(_say(home, "mail_renew", runtimeId="r2", deliveryIds=[delivery_id]), "lost", 0, "reason") == "lease_lost"


def test_leases_of_a_revoked_or_replaced_credential_end_at_once(home: Home) -> None:
    """security 2.10"""
    home.triggered("a1", "a2")
    _one(home)
    home.ok(address.agent("a2"), "token_replace", {"tokenHash": TOKEN_HASH}, PERSON)
    [delivery] = _leased(home, runtime="r2")
    assert delivery["attempt"] == 1, "work had not begun"
    home.ok(address.agent("a2"), "credential_revoke", {"name": "default"}, PERSON)
    assert home.bench(BOX).state.leases == {}


def test_without_the_mesh_leases_end_and_nothing_is_leased(home: Home) -> None:
    """mesh 2.1, security 2.10"""
    home.triggered("a1", "a2")
    _say(home, "mail_start", deliveryId=_one(home))
    home.ok(address.agent("a2"), "agent_set_capability", {"capability": "mesh", "held": False}, PERSON)
    assert home.bench(BOX).state.leases == {}
    assert _refused(home, "mail_lease", runtimeId="r1").code is Code.CAPABILITY_MISSING


def test_the_gateway_gives_back_what_a_runtime_that_is_gone_had(home: Home) -> None:
    """security 2.10"""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    home.ok(BOX, "mail_release", {"deliveryId": delivery_id}, GATEWAY)
    assert len(_leased(home)) == 1


def test_a_paused_agent_keeps_what_it_has_and_is_offered_nothing(home: Home) -> None:
    """mesh 2.1"""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    home.triggered("a1", "a2")
    home.ok(address.agent("a2"), "agent_pause", {"paused": True}, PERSON)
    nothing = _say(home, "mail_lease", runtimeId="r1")
    assert nothing == {"deliveries": [], "waiting": 1, "isPaused": True, "isMoreDue": False}
    _say(home, "mail_finish", deliveryId=delivery_id, outcome="completed", body="7")
    notices = len(home.notices)
    home.ok(address.agent("a2"), "agent_pause", {"paused": False}, PERSON)
    told = [notice for notice in home.notices[notices:] if notice.topic == deliveries_topic("a2")]
    assert [notice.data for notice in told] == [{"leasable": True, "lost": False}]
    assert len(_leased(home)) == 1


def test_a_lease_that_ended_in_a_jump_of_the_clock_has_one_period_of_grace(home: Home) -> None:
    """mesh 4.4. The timer comes when the machine is back; so does the runtime."""
    home.triggered("a1", "a2")
    delivery_id = _one(home)
    home.clock.advance(lease_ms + lease_late_ms + 1)
    assert _leased(home, runtime="r2") == [], "the lease holds for once"
    _say(home, "mail_start", deliveryId=delivery_id)
    _after(home, lease_ms - 1)
    assert _leased(home, runtime="r2") == []
    _after(home, 1)
    assert len(_leased(home, runtime="r2")) == 1


def test_the_grace_is_given_once(home: Home) -> None:
    """mesh 4.4"""
    home.triggered("a1", "a2")
    _one(home)
    for _ in range(2):
        _after(home, 100 * lease_ms)
    [delivery] = _leased(home, runtime="r2")
    assert delivery["attempt"] == 2


@pytest.mark.parametrize(("verb", "is_told"), [("mail_finish", False), ("mail_renew", False), ("cancel", True)])
def test_runtimes_hear_of_deliveries_that_ended_otherwise_than_by_them(home: Home, verb: str, is_told: bool) -> None:
    thread_id = home.triggered("a1", "a2")
    delivery_id = _one(home)
    home.notices.clear()
    if verb == "cancel":
        home.ok(BOX, "thread_cancel", {"threadId": thread_id}, PERSON)
    elif verb == "mail_renew":
        _say(home, verb, runtimeId="r1", deliveryIds=[delivery_id])
    else:
        _say(home, verb, deliveryId=delivery_id, outcome="completed", body="7")
    told = [notice.data for notice in home.notices if notice.topic == deliveries_topic("a2")]
    assert told == ([{"leasable": False, "lost": True}] if is_told else [])


def test_an_idle_peer_is_woken_by_each_task(home: Home) -> None:
    """mesh 4.4. A fault of others: an idle peer that is never woken."""
    for _ in range(2):
        home.notices.clear()
        home.triggered("a1", "a2")
        assert [n.data for n in home.notices if n.topic == deliveries_topic("a2")] == [
            {"leasable": True, "lost": False}
        ]


def test_deliveries_are_bounded_by_their_bytes_but_one_always_comes(home: Home) -> None:
    for _ in range(3):
        home.triggered("a1", "a2", instructions="x" * 10_000)
    some = _say(home, "mail_lease", runtimeId="r1", count=3, bytes=1)["deliveries"]
    assert isinstance(some, list) and len(some) == 1
    more = _say(home, "mail_lease", runtimeId="r1", count=3, bytes=25_000)["deliveries"]
    assert isinstance(more, list) and len(more) == 2
