"""What time does to threads: deadlines come and are told (mesh 3.1, 4.2, 4.7)."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import DIRECTORY
from bus.limits import due_a_turn_max, ended_threads_kept_max, lease_ms, leases_a_call_max
from bus.topics import deliveries_topic
from bus.value import Value, records
from tests.support.bench import PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tests.support.full_mailbox import full_mailbox
from tests.support.reading import at
from tools.errors import Code, Refusal

BOX = address.mailbox("a2")
NOON = "2027-01-15T09:00:00+01:00"
"""The clock of the tests, in another zone."""


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1", name="Ada")
    home.add_agent("a2", name="Eve")
    return home


def _after(home: Home, milliseconds: int) -> None:
    home.clock.advance(milliseconds)
    home.ring()
    home.settle()


@pytest.mark.parametrize(
    "deadline", ["2027-01-15T08:00:01Z", "2027-01-15T09:00:01+01:00", "2027-01-14T23:00:01.000-09:00"]
)
def test_a_deadline_means_one_moment_in_every_time_zone(home: Home, deadline: str) -> None:
    """mesh 3.1. A fault of others: expiry that depends on the time zone."""
    thread_id = home.triggered("a1", "a2", deadline=deadline)
    _after(home, 999)
    assert home.bench(BOX).state.received[thread_id].state == "queued"
    _after(home, 1)
    assert home.bench(BOX).state.received[thread_id].state == "expired"


@pytest.mark.parametrize(
    "deadline", [NOON, "2027-01-15T07:59:59Z", "2027-01-15T09:00:00", "tomorrow", "2027-02-30T09:00:00Z"]
)
def test_a_deadline_lies_ahead_and_says_its_offset(home: Home, deadline: Value) -> None:
    """mesh 3.1"""
    refusal = home.trigger("a1", "a2", deadline=deadline)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS
    assert at(refusal.details, "fields", 0, "path") == "task.deadline"


@pytest.mark.parametrize("refs", [["window://w1"], ["memory:7"], ["canvas://"], ["canvas://a b"], ["canvas://c"] * 21])
def test_references_to_what_is_not_served_are_invalid(home: Home, refs: list[Value]) -> None:
    """mesh 3.1"""
    refusal = home.trigger("a1", "a2", contextRefs=refs)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize("progress", ["queued", "delivered", "leased", "working"])
def test_an_open_thread_expires_with_an_event_and_its_originator_is_told(home: Home, progress: str) -> None:
    """mesh 4.2, mesh 4.7"""
    home.triggered("a1", "a2", deadline="2027-01-15T08:00:30Z")
    if progress == "delivered":
        home.inbox("a2")
    if progress in ("leased", "working"):
        leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1")
        if progress == "working":
            home.mailbox_call("a2", "mail_start", deliveryId=at(leased, "deliveries", 0, "deliveryId"))
    _after(home, 30_000)
    [event] = [event for event in home.events if event.type == "thread.expired"]
    assert event.data["cause"] == "deadline"
    news = at(home.inbox("a1"), "notifications", 0)
    assert (news["state"], news["cause"], at(news, "reason", "source")) == ("expired", "deadline", "NEXUS")
    assert home.inbox("a2")["deliveries"] == []
    assert home.bench(BOX).state.leases == {}


def test_after_its_deadline_nothing_is_shown_leased_or_answered_though_the_timer_is_late(home: Home) -> None:
    """mesh 4.2"""
    thread_id = home.triggered("a1", "a2", deadline="2027-01-15T08:00:30Z")
    leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1")
    home.clock.advance(30_000)
    assert home.inbox("a2")["deliveries"] == []
    closed = Refusal(Code.THREAD_CLOSED, "", details={"state": "expired"})
    for verb, body in (
        ("agent_reply", {"threadId": thread_id, "outcome": "completed", "body": "7"}),
        ("agent_reject", {"threadId": thread_id, "reason": "No."}),
        ("mail_start", {"deliveryId": at(leased, "deliveries", 0, "deliveryId")}),
    ):
        refusal = home.mailbox_call("a2", verb, **body)
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.details) == (closed.code, closed.details)
    serves = home.trigger("a2", "a1", parentThreadId=thread_id)
    assert isinstance(serves, Refusal) and serves.code is Code.THREAD_CLOSED


def test_a_busy_mailbox_comes_to_what_is_due(home: Home) -> None:
    """mesh 4.7. A timer that is on its way is not put off by what is decided meanwhile."""
    home.triggered("a1", "a2", deadline="2027-01-15T08:00:01Z")
    stands = home.bench(BOX).timers["due"]
    home.clock.advance(1_000)
    for _ in range(3):
        home.triggered("a1", "a2")
        home.clock.advance(1)
    assert home.bench(BOX).timers["due"] == stands


def test_many_deadlines_of_one_moment_are_settled_in_turns(home: Home) -> None:
    """mesh 4.7"""
    box = home.bench(BOX)
    count = due_a_turn_max + 10
    for _ in range(count):
        home.triggered("a1", "a2", deadline="2027-01-15T08:01:00Z")
    home.clock.advance(lease_ms)
    home.ring()
    assert len(box.state.arrivals) == 10
    _after(home, 1)
    assert len(box.state.arrivals) == 0
    assert len([event for event in home.events if event.type == "thread.expired"]) == count


@pytest.mark.parametrize(("extra", "is_more_due"), [(-1, False), (0, False), (1, True)])
def test_a_lease_says_that_more_is_due_when_it_is_and_gives_what_waits_when_it_is_not(
    home: Home, extra: int, is_more_due: bool
) -> None:
    """mesh 4.4, mesh 4.7: a turn that settled all that was due is no reason to give nothing."""
    for _ in range(due_a_turn_max + extra):
        home.triggered("a1", "a2", deadline="2027-01-15T08:01:00Z")
    waits = home.triggered("a1", "a2")
    home.clock.advance(lease_ms)
    leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1")
    assert not isinstance(leased, Refusal)
    assert leased["isMoreDue"] is is_more_due
    assert [each["threadId"] for each in records(leased, "deliveries")] == ([] if is_more_due else [waits])
    home.notices.clear()
    _after(home, 1)
    told = [notice.data["leasable"] for notice in home.notices if notice.topic == deliveries_topic("a2")]
    assert told == ([True] if is_more_due else []), "who was given nothing is woken when something can be leased"
    if is_more_due:
        again = home.mailbox_call("a2", "mail_lease", runtimeId="r1")
        assert at(again, "deliveries", 0, "threadId") == waits


def test_leases_that_lapse_beside_deadlines_are_settled_within_the_same_bound(home: Home) -> None:
    """mesh 4.4: a thread that expires takes its lease along, and that is one settlement and not two."""
    for _ in range(due_a_turn_max // 2):
        home.triggered("a1", "a2", deadline="2027-01-15T08:01:00Z")
    for _ in range(due_a_turn_max // 2):
        home.triggered("a1", "a2")
    for _ in range(2):
        home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=due_a_turn_max // 2)
    assert len(home.bench(BOX).state.leases) == due_a_turn_max
    home.clock.advance(lease_ms)
    leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1")
    assert not isinstance(leased, Refusal)
    assert (leased["isMoreDue"], leased["waiting"]) == (False, due_a_turn_max // 2 - 1)


def test_a_removed_agents_open_threads_are_cancelled_in_turns(home: Home) -> None:
    """mesh 4.2, mesh 4.7"""
    threads = [home.triggered("a1", "a2") for _ in range(due_a_turn_max + 10)]
    home.ok(DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    assert len(home.bench(BOX).state.arrivals) == 10
    _after(home, 1)
    received = home.bench(BOX).state.received
    assert {received[thread_id].state for thread_id in threads} == {"cancelled"}
    assert {sent.cause for sent in home.bench(address.mailbox("a1")).state.sent.values()} == {"recipient_removed"}


def test_what_has_ended_is_forgotten_beyond_a_number_however_it_ended() -> None:
    bench = full_mailbox(ended_threads_kept_max + due_a_turn_max)
    while bench.state.leasable:
        bench.send("mail_purge", {}, PERSON)
    assert len(bench.state.ended) == ended_threads_kept_max == len(bench.state.received)


def _leased_all(home: Home, count: int) -> list[Value]:
    """`count` threads, each leased by the agent's present credential: the deliveries."""
    for _ in range(count):
        home.triggered("a1", "a2")
    held: list[Value] = []
    while len(held) < count:
        leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=leases_a_call_max)
        assert not isinstance(leased, Refusal)
        held += [each["deliveryId"] for each in records(leased, "deliveries")]
    return held


@pytest.mark.parametrize("loss", ["mesh", "credential"])
def test_the_loss_of_many_leases_is_settled_in_turns_and_none_of_them_holds_meanwhile(home: Home, loss: str) -> None:
    """security 2.10, mesh 4.4"""
    count = due_a_turn_max + 10
    held = _leased_all(home, count)
    if loss == "mesh":
        home.ok(address.agent("a2"), "agent_set_capability", {"capability": "mesh", "held": False}, PERSON)
    else:
        home.ok(address.agent("a2"), "token_replace", {"tokenHash": TOKEN_HASH}, PERSON)
    box = home.bench(BOX)
    assert len(box.state.leases) == 10
    renewed = home.mailbox_call("a2", "mail_renew", runtimeId="r1", deliveryIds=held)
    assert not isinstance(renewed, Refusal)
    assert len(records(renewed, "lost")) == count
    refusal = home.mailbox_call("a2", "mail_finish", deliveryId=held[-1], outcome="completed")
    assert isinstance(refusal, Refusal) and refusal.code is Code.WRONG_STATE
    home.assert_reloads()
    _after(home, 1)
    assert (box.state.leases, box.state.withdrawn, len(box.state.leasable)) == ({}, {}, count)
    lost = [event.data for event in home.events if event.type == "thread.released"]
    assert {data["cause"] for data in lost} == {"mesh_lost" if loss == "mesh" else "credential_ended"}
    assert len(lost) == count, "each is told once"


def test_what_the_credential_in_place_of_an_ended_one_leases_is_its_own(home: Home) -> None:
    """security 2.10"""
    _leased_all(home, due_a_turn_max + 10)
    home.ok(address.agent("a2"), "token_replace", {"tokenHash": TOKEN_HASH}, PERSON)
    home.clock.advance(1)
    leased = home.mailbox_call("a2", "mail_lease", runtimeId="r2")
    delivery_id = at(leased, "deliveries", 0, "deliveryId")
    _after(home, 1)
    assert [lease.deliveryId for lease in home.bench(BOX).state.leases.values()] == [delivery_id]
    assert not isinstance(home.mailbox_call("a2", "mail_start", deliveryId=delivery_id), Refusal)
