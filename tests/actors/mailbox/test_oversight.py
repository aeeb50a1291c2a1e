"""What the person sees of threads and does to them (mesh 4.2, 4.4)."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import dead_letter_tasks_kept_max, lease_attempts_max, lease_ms
from bus.value import Record, Value
from tests.support.bench import PERSON, agent
from tests.support.exchange import Home
from tests.support.full_mailbox import full_mailbox
from tests.support.reading import at
from tools.errors import NOT_FOUND, Code, Refusal

BOX = address.mailbox("a2")


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    return home


def _ask(home: Home, verb: str, **body: Value) -> Record:
    return home.ok(BOX, verb, body, PERSON)


def _lease(home: Home) -> Record:
    reply = home.mailbox_call("a2", "mail_lease", runtimeId="r1")
    assert isinstance(reply, dict)
    return reply


def _exhaust(home: Home) -> None:
    for _ in range(lease_attempts_max):
        _lease(home)
        home.clock.advance(lease_ms)
        home.ring()
        home.settle()


def _ids(page: Record) -> list[Value]:
    threads = page["threads"]
    assert isinstance(threads, list)
    return [thread["threadId"] for thread in threads if isinstance(thread, dict)]


def test_pages_of_threads_come_newest_first_open_and_ended_each_once(home: Home) -> None:
    threads: list[Value] = []
    for number in range(7):
        threads.append(home.triggered("a1", "a2", priority=f"p{1 + number % 4}"))
        home.clock.advance(number % 2)
    _ask(home, "thread_cancel", threadId=threads[3])
    seen: list[Value] = []
    before: Value = None
    while True:
        page = _ask(home, "threads_page", limit=3, before=before)
        seen += _ids(page)
        before = page["nextBefore"]
        if before is None:
            break
    assert sorted(map(str, seen)) == sorted(map(str, threads))
    queued = [home.bench(BOX).state.received[str(thread_id)].queuedAt for thread_id in seen]
    assert queued == sorted(queued, reverse=True)
    assert _ids(_ask(home, "threads_page", states=["cancelled", "working"])) == [threads[3]]


def test_a_thread_is_shown_with_its_task_chain_and_lease_and_its_result_at_the_originators(home: Home) -> None:
    thread_id = home.triggered("a1", "a2", inputs={"beans": 7})
    delivery = at(_lease(home), "deliveries", 0)
    home.clock.advance(1_000)
    shown = _ask(home, "thread_get", threadId=thread_id)
    assert shown["sent"] is None
    assert at(shown, "received", "task", "inputs") == {"beans": 7}
    assert at(shown, "received", "chain") == [{"agentId": "a1", "name": "Ada"}]
    assert at(shown, "received", "lease", "deliveryId") == delivery["deliveryId"]
    assert (at(shown, "received", "lease", "idleMs"), at(shown, "received", "lease", "isLive")) == (1_000, True)
    home.mailbox_call("a2", "mail_finish", deliveryId=delivery["deliveryId"], outcome="completed", body="7")
    originator = home.ok(address.mailbox("a1"), "thread_get", {"threadId": thread_id}, PERSON)
    assert (originator["received"], at(originator, "sent", "result", "body")) == (None, "7")
    assert home.refused(BOX, "thread_get", {"threadId": "nothing"}, PERSON) == NOT_FOUND


def test_cancelling_ends_a_thread_with_the_persons_note_and_once(home: Home) -> None:
    """mesh 4.2, mesh 4.7"""
    thread_id = home.triggered("a1", "a2")
    _lease(home)
    _ask(home, "thread_cancel", threadId=thread_id, note="Not needed any more.")
    refusal = home.refused(BOX, "thread_cancel", {"threadId": thread_id}, PERSON)
    assert (refusal.code, refusal.details) == (Code.THREAD_CLOSED, {"state": "cancelled"})
    news = at(home.inbox("a1"), "notifications", 0)
    assert (news["state"], news["cause"]) == ("cancelled", "person")
    assert news["reason"] == {"untrusted": True, "source": "the person", "text": "Not needed any more."}
    [event] = [event for event in home.events if event.type == "thread.cancelled"]
    assert event.data["cause"] == "person"


def test_requeueing_makes_a_new_thread_of_an_exhausted_one_and_once(home: Home) -> None:
    """mesh 4.4"""
    thread_id = home.triggered("a1", "a2", inputs={"beans": 7}, deadline="2027-01-15T08:10:00Z")
    refusal = home.refused(BOX, "thread_requeue", {"threadId": thread_id}, PERSON)
    assert refusal.code is Code.WRONG_STATE
    _exhaust(home)
    made = _ask(home, "thread_requeue", threadId=thread_id)
    assert made["requeuedFrom"] == thread_id
    assert made["threadId"] != thread_id, "a fault of others: ids reused after recovery"
    assert _ask(home, "thread_requeue", threadId=thread_id) == made
    delivery = at(_lease(home), "deliveries", 0)
    assert (delivery["threadId"], delivery["attempt"]) == (made["threadId"], 1)
    assert at(delivery, "task", "inputs") == {"beans": 7}
    home.mailbox_call("a2", "mail_finish", deliveryId=delivery["deliveryId"], outcome="completed", body="7")
    ends = {news["threadId"]: news["state"] for news in _notices(home)}
    assert ends == {thread_id: "failed", made["threadId"]: "completed"}, "each thread keeps exactly one end"


def test_an_ended_thread_goes_on_telling_its_attempt_and_how_often_it_was_delivered(home: Home) -> None:
    """mesh 4.4: taking a lease uses no attempt, so the next delivery has the same number; deliveries count all."""
    thread_id = home.triggered("a1", "a2")
    assert _attempts(home, thread_id) == (0, 0)
    _lease(home)
    _ask(home, "mail_redeliver", threadId=thread_id)
    assert _attempts(home, thread_id) == (0, 1)
    delivery = at(_lease(home), "deliveries", 0)
    assert delivery["attempt"] == 1
    home.mailbox_call("a2", "mail_start", deliveryId=delivery["deliveryId"])
    assert _attempts(home, thread_id) == (1, 2)
    home.mailbox_call("a2", "mail_finish", deliveryId=delivery["deliveryId"], outcome="completed", body="7")
    assert _attempts(home, thread_id) == (1, 2)


def test_attempts_of_a_given_up_thread_stay_and_a_requeued_one_begins_anew(home: Home) -> None:
    """mesh 4.4"""
    thread_id = home.triggered("a1", "a2")
    _exhaust(home)
    assert _attempts(home, thread_id) == (lease_attempts_max, lease_attempts_max)
    made = str(_ask(home, "thread_requeue", threadId=thread_id)["threadId"])
    assert _attempts(home, made) == (0, 0)
    _lease(home)
    _ask(home, "thread_cancel", threadId=made)
    assert _attempts(home, made) == (1, 1), "it had been given out, though nothing came of it"


def _attempts(home: Home, thread_id: str) -> tuple[Value, Value]:
    listed = _ask(home, "threads_page")["threads"]
    assert isinstance(listed, list)
    [row] = [one for one in listed if isinstance(one, dict) and one["threadId"] == thread_id]
    whole = _ask(home, "thread_get", threadId=thread_id)["received"]
    assert isinstance(whole, dict)
    assert (whole["attempt"], whole["deliveries"]) == (row["attempt"], row["deliveries"])
    return row["attempt"], row["deliveries"]


def _notices(home: Home) -> list[Record]:
    found = home.inbox("a1")["notifications"]
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]


def test_a_requeued_task_loses_a_deadline_that_has_passed(home: Home) -> None:
    """mesh 4.4"""
    thread_id = home.triggered("a1", "a2", deadline="2027-01-15T08:05:01Z")
    _exhaust(home)
    home.clock.advance(60_000)
    made = str(_ask(home, "thread_requeue", threadId=thread_id)["threadId"])
    assert at(_ask(home, "thread_get", threadId=made), "received", "deadline") is None
    assert at(_lease(home), "deliveries", 0, "task", "deadline") is None


@pytest.mark.parametrize(
    ("to", "verb", "body", "reason"),
    [
        (address.agent("a2"), "agent_pause", {"paused": True}, "callee_paused"),
        (address.agent("a2"), "agent_block", {"agentId": "a1", "blocked": True}, "blocked_by_person"),
        (
            address.agent("a2"),
            "agent_set_capability",
            {"capability": "mesh", "held": False},
            "callee_lacks_mesh",
        ),
        (DIRECTORY, "agent_remove", {"agentId": "a2"}, "identity_revoked"),
    ],
)
def test_nothing_is_requeued_that_could_not_be_delivered(
    home: Home, to: address.Address, verb: str, body: Record, reason: str
) -> None:
    """mesh 2.2: nothing is queued in hope, and the reason is the one that the sender would hear."""
    thread_id = home.triggered("a1", "a2")
    _exhaust(home)
    home.ok(to, verb, body, PERSON)
    refusal = home.refused(BOX, "thread_requeue", {"threadId": thread_id}, PERSON)
    assert refusal.code is Code.DELIVERY_WITHHELD
    assert at(refusal.details, "withheld", -1, "reason") == reason
    assert thread_id in home.bench(BOX).state.tasks, "it can be requeued when the reason is gone"
    assert len(home.bench(BOX).state.arrivals) == 0


def test_only_the_last_tasks_of_exhausted_threads_are_kept() -> None:
    """mesh 4.4"""
    bench = full_mailbox(dead_letter_tasks_kept_max + 30)
    me = agent("a2", "w1")
    order = [thread_id for _, _, thread_id in bench.state.queue]
    for _ in range(lease_attempts_max):
        for _ in range(2):
            bench.send("mail_lease", {"runtimeId": "r1", "count": 100}, me)
        while "due" in bench.timers and bench.state.leases:
            bench.fire("due")
    assert [thread_id for _, thread_id in bench.state.dead_letters] == sorted(bench.state.tasks)
    assert bench.state.tasks.keys() == set(order[-dead_letter_tasks_kept_max:])


def test_redelivering_takes_the_lease_and_uses_no_attempt(home: Home) -> None:
    """mesh 4.4"""
    thread_id = home.triggered("a1", "a2")
    delivery_id = at(_lease(home), "deliveries", 0, "deliveryId")
    home.mailbox_call("a2", "mail_start", deliveryId=delivery_id)
    assert _ask(home, "mail_redeliver", threadId=thread_id) == {
        "threadId": thread_id,
        "state": "delivered",
        "wasLeased": True,
    }
    refusal = home.mailbox_call("a2", "mail_finish", deliveryId=delivery_id, outcome="completed", body="7")
    assert isinstance(refusal, Refusal) and refusal.code is Code.WRONG_STATE
    assert at(_lease(home), "deliveries", 0, "attempt") == 1


def test_purging_cancels_what_waits_and_leaves_what_somebody_has(home: Home) -> None:
    """mesh 4.7"""
    kept = home.triggered("a1", "a2")
    _lease(home)
    for _ in range(3):
        home.triggered("a1", "a2")
    assert _ask(home, "mail_purge", note="Old.") == {"cancelled": 3, "remaining": 0, "leased": 1}
    assert [*home.bench(BOX).state.leases] == [kept]
    assert len([event for event in home.events if event.type == "thread.cancelled"]) == 3


def _overdue(home: Home) -> tuple[str, Value]:
    """A leased thread whose deadline has come, though the timer has not."""
    thread_id = home.triggered("a1", "a2", deadline="2027-01-15T08:00:30Z")
    delivery_id = at(_lease(home), "deliveries", 0, "deliveryId")
    home.clock.advance(30_000)
    return thread_id, delivery_id


def _end_of(home: Home, thread_id: str) -> tuple[Value, Value, list[Value]]:
    row = home.bench(BOX).state.received[thread_id]
    mirror = home.bench(address.mailbox("a1")).state.sent[thread_id]
    ends = [event.type for event in home.events if event.data.get("threadId") == thread_id and "cause" in event.data]
    assert row.state == mirror.state
    return row.state, row.cause, [*ends]


@pytest.mark.parametrize("verb", ["thread_cancel", "mail_redeliver"])
def test_a_thread_that_runtimes_hear_to_be_expired_is_expired_to_the_person_too(home: Home, verb: str) -> None:
    """mesh 4.2: one end, whoever asks first."""
    thread_id, delivery_id = _overdue(home)
    heard = home.mailbox_call("a2", "mail_start", deliveryId=delivery_id)
    assert isinstance(heard, Refusal) and heard.details == {"state": "expired"}
    refusal = home.refused(BOX, verb, {"threadId": thread_id}, PERSON)
    assert (refusal.code, refusal.details) == (Code.THREAD_CLOSED, {"state": "expired"})
    assert _end_of(home, thread_id) == ("expired", "deadline", ["thread.expired"])


def test_purging_cancels_nothing_that_has_passed_its_deadline(home: Home) -> None:
    """mesh 4.2"""
    overdue = home.triggered("a1", "a2", deadline="2027-01-15T08:00:30Z")
    waits = home.triggered("a1", "a2")
    home.clock.advance(30_000)
    assert _ask(home, "mail_purge") == {"cancelled": 1, "remaining": 0, "leased": 0}
    assert _end_of(home, overdue)[0] == "expired"
    assert _end_of(home, waits)[0] == "cancelled"


def test_taking_a_lease_away_or_removing_the_agent_leaves_a_passed_deadline_the_cause(home: Home) -> None:
    """mesh 4.2, security 2.10"""
    overdue, _ = _overdue(home)
    home.ok(address.agent("a2"), "agent_set_capability", {"capability": "mesh", "held": False}, PERSON)
    assert _end_of(home, overdue) == ("expired", "deadline", ["thread.expired"])
    home.ok(address.agent("a2"), "agent_set_capability", {"capability": "mesh", "held": True}, PERSON)
    waits = home.triggered("a1", "a2", deadline="2027-01-15T08:00:40Z")
    home.clock.advance(10_000)
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    assert _end_of(home, waits) == ("expired", "deadline", ["thread.expired"])


def test_pending_lists_leased_deliveries_the_longest_silent_first(home: Home) -> None:
    """mesh 4.4"""
    first, second = home.triggered("a1", "a2"), home.triggered("a1", "a2")
    silent = at(_lease(home), "deliveries", 0, "deliveryId")
    home.clock.advance(1_000)
    _lease(home)
    home.clock.advance(1_000)
    page = _ask(home, "mail_pending")
    pending = page["pending"]
    assert isinstance(pending, list)
    listed = [(at(each, "threadId"), at(each, "lease", "idleMs")) for each in pending]
    assert listed == [(first, 2_000), (second, 1_000)]
    idle = _ask(home, "mail_pending", idleMs=2_000)["pending"]
    assert isinstance(idle, list) and [at(each, "lease", "deliveryId") for each in idle] == [silent]
