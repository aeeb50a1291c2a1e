"""Bugs put into the mesh on purpose, one a mechanism: the simulation must find each within a few seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from actors.agent import reach
from actors.agent.state import Head
from actors.decision import Context, Decision, Effect
from actors.mailbox import due, ending, following, leasing, oversight
from actors.mailbox.changes import Changes
from actors.mailbox.leasing import OfDelivery
from actors.mailbox.rows import Lease, Received, Turn
from actors.mailbox.state import MailboxState, turn_of
from actors.mailbox.thread import thread_closed
from bus.value import Record
from tests.simulation.options import Options
from tests.simulation.runner import run
from tests.simulation.short_leases import LEASE_LATE_MS
from tools.errors import NOT_FOUND, Refusal
from tools.task import TaskEnvelope
from tools.times import milliseconds_of

_lose_lease = due.lose_lease
_tell = Changes.tell_originator
_step = Changes.step


def caught(profile: str, because: str, seeds_max: int = 60) -> None:
    """By an invariant that says what is wrong, and not by something that broke on the way; `because` is a pattern."""
    for seed in range(seeds_max):
        outcome = run(seed, replace(Options.of(seed, profile, "mesh"), clients=3, calls=40))
        if outcome.problem is not None:
            assert re.search(because, outcome.problem), outcome.report()
            return
    pytest.fail(f"not caught by {seeds_max} seeds of {profile!r}")


@pytest.mark.parametrize("profile", ["calm", "clock", "crash loops"])
def test_without_a_plant_the_same_seeds_hold(profile: str) -> None:
    for seed in range(3):
        outcome = run(seed, replace(Options.of(seed, profile, "mesh"), clients=3, calls=40))
        assert outcome.problem is None, outcome.report()


def test_a_lease_that_is_forgotten_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(changes: Changes, thread_id: str) -> None:
        changes.leases[thread_id] = None

    monkeypatch.setattr(due, "_lapse", forgets)
    caught("calm", "two live leases|every thread has ended")


def test_a_lease_that_ends_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_earliest", _earliest_of(deadlines=True, leases=False))
    caught("calm", "a lease that is over is taken")


def test_a_deadline_that_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_earliest", _earliest_of(deadlines=False, leases=True))
    caught("calm", "what is overdue expires")


def _earliest_of(*, deadlines: bool, leases: bool) -> Callable[..., int | None]:
    """As actors/mailbox/following.py, of one kind only."""

    def earliest(state: MailboxState, written: Any, touched: set[str], now_ms: int) -> int | None:
        times: list[int | None] = []
        for id_ in state.received.keys() | touched:
            row: Received | None = written.received.get(id_, state.received.get(id_))
            lease: Lease | None = written.leases.get(id_, state.leases.get(id_))
            if row is not None and not row.has_ended:
                times.append(row.deadline if deadlines else None)
                times.append(lease.until if lease is not None and leases else None)
        return min((time for time in times if time is not None), default=None)

    return earliest


def test_a_stale_lease_that_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def held(changes: Changes, body: OfDelivery) -> str | Refusal:
        thread_id = body.deliveryId.partition(".")[0]
        row = changes.thread(thread_id)
        if row is None or not leasing._may(changes.context):
            return NOT_FOUND
        if row.has_ended:
            return thread_closed(row.state)
        return thread_id if changes.lease(thread_id) is not None else leasing._not_held(row)

    monkeypatch.setattr(leasing, "_held", held)
    caught("calm", "a lease that is over acknowledges nothing")


def test_an_originator_that_is_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(self: Changes, thread_id: str, news: Record, *, before_reply: bool = False) -> None:
        _tell(self, thread_id, news, before_reply=before_reply)
        _tell(self, thread_id, news, before_reply=before_reply)

    monkeypatch.setattr(Changes, "tell_originator", twice)
    caught("calm", "an originator is told once")


def test_work_that_is_told_again_after_each_lost_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(self: Changes, thread_id: str, event: Any, **changed: object) -> Received:
        changed.pop("isBegun", None)
        return _step(self, thread_id, event, **changed)

    monkeypatch.setattr(Changes, "step", forgets)
    caught("calm", "an originator is told once")


@pytest.mark.parametrize("state", ["working", "completed"])
def test_an_originator_that_is_not_told(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    def silent(self: Changes, thread_id: str, news: Record, *, before_reply: bool = False) -> None:
        if news["state"] != state:
            _tell(self, thread_id, news, before_reply=before_reply)

    monkeypatch.setattr(Changes, "tell_originator", silent)
    caught("calm", "told once of work begun" if state == "working" else "before_reply is waited for")


def test_an_answer_before_the_originator_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(self: Changes, thread_id: str, news: Record, *, before_reply: bool = False) -> None:
        _tell(self, thread_id, news)

    monkeypatch.setattr(Changes, "tell_originator", later)
    caught("wire", "before_reply is waited for")


def test_a_priority_that_nobody_heeds(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_arrival(changes: Changes) -> Iterator[Turn]:
        turns = sorted({*changes.freed(), *changes.state.leasable}, key=lambda turn: turn[1])
        return (turn for turn in turns if _is_free(changes, turn[2]))

    monkeypatch.setattr(leasing, "_candidates", by_arrival)
    caught("calm", "the order is priority, then arrival")


def test_a_lost_lease_that_costs_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def to_the_end(self: Changes, thread_id: str, event: Any, **changed: object) -> Received:
        if event == "lease_lost":
            changed["arrival"] = self.state.next_arrival(self.now_ms)
        return _step(self, thread_id, event, **changed)

    monkeypatch.setattr(Changes, "step", to_the_end)
    caught("calm", "the order is priority, then arrival")


def test_a_thread_that_two_runtimes_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_that_wait(changes: Changes) -> Iterator[Turn]:
        found = (turn_of(thread_id, row) for thread_id, row in changes.state.received.items())
        turns = sorted(turn for turn in found if turn is not None)
        rows = ((turn, changes.thread(turn[2])) for turn in turns)
        return (turn for turn, row in rows if row is not None and row.waits and not row.is_overdue(changes.now_ms))

    monkeypatch.setattr(leasing, "_candidates", all_that_wait)
    caught("calm", "two live leases")


def test_what_is_overdue_and_offered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def whatever_the_time(changes: Changes) -> Iterator[Turn]:
        turns = sorted({*changes.freed(), *changes.state.leasable})
        return (turn for turn in turns if _is_free(changes, turn[2]))

    monkeypatch.setattr(leasing, "_candidates", whatever_the_time)
    monkeypatch.setattr(leasing, "settle_due", lambda changes: False)
    earliest = following._earliest

    def late(state: MailboxState, written: Any, touched: set[str], now_ms: int) -> int | None:
        due_ms = earliest(state, written, touched, now_ms)
        return None if due_ms is None else due_ms + LEASE_LATE_MS // 2

    monkeypatch.setattr(following, "_earliest", late)
    caught("calm", "nothing is offered after its deadline")


def _is_free(changes: Changes, thread_id: str) -> bool:
    row = changes.thread(thread_id)
    return row is not None and row.waits and changes.lease(thread_id) is None


def test_attempts_that_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def uses_none(changes: Changes, thread_id: str, cause: Any, *, uses_attempt: bool) -> Received:
        return _lose_lease(changes, thread_id, cause, uses_attempt=False)

    monkeypatch.setattr(leasing, "lose_lease", uses_none)
    monkeypatch.setattr(due, "lose_lease", uses_none)
    caught("calm", "uses an attempt")


def test_a_sixth_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "lease_attempts_max", 6)
    caught("calm", "attempts are at most five|delivered more often than a thread may be")


def test_a_requeued_task_under_its_old_id(monkeypatch: pytest.MonkeyPatch) -> None:
    requeued = oversight._requeued

    def in_place(state: MailboxState, thread_id: str, row: Received, context: Context) -> Decision:
        with monkeypatch.context() as patch:
            patch.setattr(Context, "new_id", lambda self, label="": thread_id)
            return requeued(state, thread_id, row, context)

    monkeypatch.setattr(oversight, "_requeued", in_place)
    caught("calm", "a thread is queued once|an originator is told once")


def test_an_end_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "EXPIRED", replace(ending.EXPIRED, cause=None))  # type: ignore[arg-type]
    caught("calm", "every end has a reason")


def test_a_deadline_that_depends_on_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_offset(self: TaskEnvelope) -> int | None:
        return None if self.deadline is None else milliseconds_of(self.deadline[:23] + "Z")

    monkeypatch.setattr(TaskEnvelope, "deadline_ms", property(without_offset))
    caught("calm", "a deadline is one moment in every zone")


def test_a_pause_that_the_mailbox_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def untold(head: Head, context: Context, **changes: object) -> tuple[Effect, ...]:
        return head.widened(**changes)

    monkeypatch.setattr(reach, "_changed", untold)
    caught("calm", "a paused agent is offered nothing")


def test_a_delivery_that_another_agent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leasing, "_may", lambda context: True)
    caught("calm", "no mail of another")


def test_leases_that_a_jump_of_the_clock_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "_ended_unseen", lambda lease, now_ms: False)
    caught("clock", "holds for once")
