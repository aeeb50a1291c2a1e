"""Bugs put in on purpose, one a mechanism: the simulation must find each within a few seeds, or it proves nothing.

Each plant replaces one small thing of the product, as a careless change would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any

import pytest

from actors import admitted, commits, execute, onward, replies, stream
from actors.callers import Callers
from actors.decision import Decision, Event
from actors.delivery import Delivery
from actors.host import Host
from actors.host_notices import HostNotices
from actors.onward import Admitted
from actors.outbound import Outbox, _Held
from actors.owner import Owner
from actors.stream import stored_parcels
from bus.admitted import SETTLED, STAMP_DISPATCHED
from bus.envelope import Call, Mark, Parcel, Reply
from bus.journal import Commit, GroupWriter, Handled
from bus.link import Peer
from bus.reserve import Reserve
from bus.sequence import Numbered, Receiver, Sender
from bus.store import Store, Write
from bus.value import Record
from tests.simulation.options import Options
from tests.simulation.runner import run

_SEEDS_MAX = 60


def caught_after(profile: str, workload: str = "ledger", seeds_max: int = _SEEDS_MAX) -> int:
    """How many seeds it takes. Fails the test when more than the bound."""
    for seed in range(seeds_max):
        options = replace(Options.of(seed, profile, workload), clients=3, calls=25)
        outcome = run(seed, options)
        if outcome.problem is not None:
            print(f"caught after {seed + 1} seeds: {outcome.problem[:160]}")
            return seed + 1
    pytest.fail(f"not caught by {seeds_max} seeds of {profile!r}")


@pytest.mark.parametrize("profile", ["calm", "wire", "hard wire", "crash loops", "commits fail", "slow disk"])
def test_without_a_plant_the_same_seeds_hold(profile: str) -> None:
    for seed in range(4):
        outcome = run(seed, replace(Options.of(seed, profile, "ledger"), clients=3, calls=25))
        assert outcome.problem is None, outcome.report()


def test_a_mark_that_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = GroupWriter._writes_of

    def without_marks(self: GroupWriter, group: Sequence[Commit]) -> tuple[list[Write], int]:
        writes, sequence = whole(self, group)
        return [(key, value) for key, value in writes if key[:1] != b"m"], sequence

    monkeypatch.setattr(GroupWriter, "_writes_of", without_marks)
    caught_after("crash loops")


def test_an_answer_before_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    hand_in = execute._hand_in

    def answers_first(owner: Owner[Any], delivery: Delivery, desk: execute.Desk, commit: Commit) -> None:
        for reply in commit.replies:
            desk.reply(reply)
        hand_in(owner, delivery, desk, commit)

    monkeypatch.setattr(execute, "_hand_in", answers_first)
    caught_after("calm")


def test_an_answer_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "_already_answered", lambda delivery, desk: None)
    caught_after("wire")


def test_a_read_that_does_not_wait_for_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Owner, "has_uncommitted", False)
    caught_after("slow disk")


def test_frames_taken_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(self: Receiver, numbered: Numbered) -> bool:
        self.taken = max(self.taken, numbered.number)
        return numbered.session == self.session

    monkeypatch.setattr(Receiver, "take", take)
    caught_after("hard wire")


def test_frames_never_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sender, "again", lambda self, first: [])
    caught_after("hard wire")


def test_messages_of_before_a_crash_that_are_not_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outbox, "resume_local", lambda self: None)
    caught_after("crash loops")


def test_a_new_link_that_forgets_the_oldest_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_but_the_oldest(store: Store, shard: int, destination: int, after: Mark | None = None) -> Iterator[Parcel]:
        return islice(stored_parcels(store, shard, destination, after), 0 if after else 1, None)

    monkeypatch.setattr(stream, "stored_parcels", all_but_the_oldest)
    caught_after("crash loops")


def test_a_mark_written_past_a_message_that_was_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_owner_only(self: GroupWriter, commit: Commit) -> bool:
        return commit.incarnation <= self._failed_incarnations.get(commit.owner, -1)

    monkeypatch.setattr(GroupWriter, "_stands_on_a_failure", by_owner_only)
    caught_after("commits fail")


def test_failures_told_before_the_rest_of_the_group_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it once was: bus/journal.py, the third invariant."""
    remember = GroupWriter._remember_failure

    def tells_at_once(self: GroupWriter, commit: Commit) -> None:
        remember(self, commit)
        failed, commit.failed = commit.failed, None
        if failed is not None:
            failed(False)

    monkeypatch.setattr(GroupWriter, "_remember_failure", tells_at_once)
    caught_after("commits fail often", seeds_max=300)  # three things must fall together in one group


def test_a_reserve_that_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reserve, "release", lambda self, now_ms: False)
    caught_after("full disk")


def test_a_person_who_gets_no_share_of_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it once was: nobody's commits were privileged."""
    monkeypatch.setattr(GroupWriter, "_store_what_fits", _all_or_nothing)
    caught_after("full disk")


def _all_or_nothing(self: GroupWriter, commits: list[Commit], given_back: dict[int, bool]) -> list[Commit]:
    if self._store_group(commits):
        return commits
    for commit in commits:
        self._give_back(commit, given_back, is_full=True)
    return []


def test_a_state_kept_after_its_commit_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def keeps_state(self: Owner[Any], incarnation: int) -> None:
        self.is_spoiled = False
        self.incarnation = incarnation

    monkeypatch.setattr(Owner, "forget", keeps_state)
    caught_after("commits fail")


def test_a_message_acknowledged_before_its_effect_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted = Host.submitted

    def acknowledges(self: Host, delivery: Delivery) -> None:
        submitted(self, delivery)
        handled = delivery.handled
        if handled is not None:
            self._from_thread(lambda: self._acknowledge(handled.source, handled.mark))

    monkeypatch.setattr(Host, "submitted", acknowledges)
    caught_after("crash loops")


@pytest.mark.parametrize("workload", ["ledger", "product"])
def test_a_reply_that_does_not_wait_for_messages(monkeypatch: pytest.MonkeyPatch, workload: str) -> None:
    def at_once(self: Outbox, replies: list[Reply], remaining: set[Any]) -> None:
        for reply in replies:
            self._reply(reply)

    monkeypatch.setattr(Outbox, "_hold", at_once)
    caught_after("wire", workload)


def test_a_reply_that_waits_for_one_message_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    through: Callable[[Outbox, int, Any], None] = Outbox._through

    def first_suffices(self: Outbox, destination: int, mark: Any) -> None:
        held: _Held | None = self._held.get((destination, mark))
        if held is not None:
            held.remaining.intersection_update({(destination, mark)})
        through(self, destination, mark)

    monkeypatch.setattr(Outbox, "_through", first_suffices)
    caught_after("wire")


def test_a_floor_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "answers_floor", "")
    caught_after("wire")


def test_a_timer_that_rings_again_after_a_restart_since_its_rows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "timer_rows", lambda owner, name, due_ms: [])
    caught_after("calm")


def test_a_timer_that_its_owner_does_not_know_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken for one that was set anew, and dropped."""
    monkeypatch.setattr(Owner, "change_timers", _changes_nothing)
    caught_after("everything")


def test_a_settlement_that_is_not_in_the_commit_of_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    hand_in = execute._hand_in

    def settles_later(owner: Owner[Any], delivery: Delivery, desk: execute.Desk, commit: Commit) -> None:
        later = [out for out in commit.outgoing if out.verb == SETTLED]
        commit.outgoing = [out for out in commit.outgoing if out.verb != SETTLED]
        commit.record = None
        hand_in(owner, delivery, desk, commit)
        if later:
            second = Commit(owner.address, owner.incarnation, commit.call_id, commit.by, commit.at_ms, outgoing=later)
            desk.journal.submit(second)

    monkeypatch.setattr(execute, "_hand_in", settles_later)
    caught_after("crash loops")


def test_an_open_call_that_forgets_whom_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "_open_row", lambda owner, call_id, sender: (b"s-\x00-", None))
    caught_after("crash loops")


@pytest.mark.parametrize("forgotten", ["deadline_ms", "fingerprint"])
def test_an_admitted_call_decided_whatever_its_terms(monkeypatch: pytest.MonkeyPatch, forgotten: str) -> None:
    delivery_of = admitted.delivery_of

    def without_terms(parcel: Parcel, handled: Handled, gives_up: bool, floor: str) -> Delivery | None:
        terms: Record = {"deadlineMs" if forgotten == "deadline_ms" else forgotten: None}
        return delivery_of(replace(parcel, body={**parcel.body, **terms}), handled, gives_up, floor)

    monkeypatch.setattr(admitted, "delivery_of", without_terms)
    caught_after("crashes")


def test_a_join_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def decides(self: Host, peer: Peer, call: Call) -> None:
        stamp = {**(call.stamp or {}), STAMP_DISPATCHED: False, "issuedMs": self.clock.now_ms()}
        self._call(peer, replace(call, stamp=stamp))

    monkeypatch.setattr(Host, "_join", decides)
    caught_after("wire")


def test_a_join_that_is_answered_before_the_purse_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outbox, "leave_again", lambda self, reply: self._reply(reply))
    caught_after("everything hard")


def test_a_narrowing_that_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostNotices, "heard", lambda self, parcel: None)
    caught_after("calm")


def test_a_stamp_from_before_a_host_began_that_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    honours = HostNotices.honours
    always: Callable[[HostNotices, str, int, int], bool] = lambda self, name, version, at: honours(  # noqa: E731
        self, name, version, max(at, self._began_ms)
    )
    monkeypatch.setattr(HostNotices, "honours", always)
    caught_after("crash loops", seeds_max=300)  # a crash must fall between a narrowing and a call by an older stamp


def test_a_narrowing_that_some_hosts_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "range", lambda shards: range(1), raising=False)
    caught_after("calm")


def _changes_nothing(self: Owner[Any], delivery: Delivery, decision: Decision) -> None:
    """In the place of `Owner.change_timers`."""


def test_a_canvas_that_comes_late_to_a_workspace_that_is_gone_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.workspace.destruction.of_late_comer", lambda state, canvas_id, context: [])
    caught_after("calm", "deletion")


def test_a_deleted_canvas_that_leaves_its_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.canvas.deleting._rows_left", lambda state: [])
    caught_after("calm", "deletion")


def test_a_workspace_that_does_not_tell_its_canvases_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.workspace.destruction._telling", lambda canvas_id, context: Event("canvas.deleted", {}))
    caught_after("calm", "deletion")


def test_a_call_that_leaves_its_id_behind_when_it_is_sent_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each admission of it would then be another call."""
    ids = count()

    def under_an_id_of_its_own(admission: Call, answer: Reply) -> Call | None:
        call = onward.call_sent_on(admission, answer)
        return None if call is None else replace(call, call_id=f"{call.call_id}{next(ids)}")

    monkeypatch.setattr(replies, "call_sent_on", under_an_id_of_its_own)
    caught_after("wire")


def test_a_call_that_is_sent_on_past_the_door_for_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Callers.called
    monkeypatch.setattr(
        Callers,
        "called",
        lambda self, waiter, call_id, deadline_ms: (
            called(self, waiter, call_id, deadline_ms) or isinstance(waiter, Admitted)
        ),
    )
    caught_after("slow disk")
