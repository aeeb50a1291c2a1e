"""The journal: order, grouping, and what happens to everything that was decided on top of a failure."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from bus.address import Address
from bus.codec import unpack_row
from bus.envelope import Mark
from bus.journal import Commit, GroupWriter, Handled, InlineJournal, Outgoing
from bus.journal_thread import ThreadJournal
from bus.parcels import mark_from, parcel_of, parcel_row
from bus.store import StoreBroken, StoreFull, Write, journal_key, mark_key, outbox_prefix
from bus.store_memory import MemoryStore

A, B = Address("counter", "-", "a"), Address("counter", "-", "b")


class FailingStore(MemoryStore):
    failure: Exception | None = None

    def commit(self, writes: Sequence[Write]) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        super().commit(writes)


class Rig:
    def __init__(self) -> None:
        self.store = FailingStore()
        self.told: list[str] = []
        self.groups: list[list[Commit]] = []
        self.broken = 0
        self.writer = self._writer()

    def _writer(self) -> GroupWriter:
        return GroupWriter(self.store, 0, lambda commits: self.groups.append(list(commits)), self._broke)

    def _broke(self) -> None:
        self.broken += 1

    def restart(self) -> None:
        self.writer = self._writer()

    def commit(self, name: str, owner: Address = A, incarnation: int = 1, handled: Handled | None = None) -> Commit:
        return Commit(
            owner=owner,
            incarnation=incarnation,
            call_id=name,
            by="person",
            at_ms=7,
            rows=[(b"x" + name.encode(), b"1")],
            events=[("test.added", {})],
            handled=handled,
            released=lambda: self.told.append(f"{name} stored"),
            failed=lambda is_full: self.told.append(f"{name} {'full' if is_full else 'failed'}"),
        )


def test_a_group_is_one_transaction_whose_records_continue_the_sequence_over_restarts() -> None:
    rig = Rig()
    rig.writer.write_group([rig.commit("one"), rig.commit("two")])
    rig.restart()
    rig.writer.write_group([rig.commit("three")])
    records = [unpack_row(value) for _, value in rig.store.scan(b"j")]
    assert [record["call"] for record in records if isinstance(record, dict)] == ["one", "two", "three"]
    assert rig.store.last(b"j") is not None
    assert rig.store.get(journal_key(3)) is not None
    assert rig.told == ["one stored", "two stored", "three stored"]


def test_a_commit_without_writes_waits_for_those_before_it_and_leaves_no_record() -> None:
    rig = Rig()
    read = Commit(owner=A, incarnation=1, call_id="r", by="", at_ms=0, released=lambda: rig.told.append("read"))
    rig.writer.write_group([rig.commit("one"), read])
    assert rig.told == ["one stored", "read"]
    assert len(rig.store.scan(b"j")) == 1


def test_after_a_failure_nothing_of_that_incarnation_is_written_until_a_new_one() -> None:
    rig = Rig()
    rig.store.failure = StoreFull()
    rig.writer.write_group([rig.commit("one")])
    rig.writer.write_group([rig.commit("two"), rig.commit("other", B)])
    rig.writer.write_group([rig.commit("three", incarnation=2)])
    assert rig.told == ["one full", "other stored", "two failed", "three stored"]
    assert [key for key, _ in rig.store.scan(b"x")] == [b"xother", b"xthree"]
    assert rig.broken == 0


def test_what_stands_on_a_failure_hears_of_it_after_what_came_before_it_is_stored() -> None:
    rig = Rig()
    rig.store.failure = StoreFull()
    rig.writer.write_group([rig.commit("lost", B)])
    first, second = Handled(1, Mark(1, 0), 0), Handled(1, Mark(2, 0), 0)
    rig.writer.write_group([rig.commit("one", A, handled=first), rig.commit("two", B, handled=second)])
    assert rig.told == ["lost full", "one stored", "two failed"]


def test_after_the_disk_broke_nothing_is_said_and_nothing_is_written_any_more() -> None:
    rig = Rig()
    rig.store.failure = StoreBroken()
    rig.writer.write_group([rig.commit("one")])
    rig.writer.write_group([rig.commit("other", B)])
    assert (rig.told, rig.groups, rig.broken) == ([], [], 1)
    assert rig.store.scan(b"x") == []


def test_no_mark_is_written_past_a_parcel_whose_effect_was_not_stored() -> None:
    rig = Rig()
    rig.store.failure = StoreFull()
    rig.writer.write_group([rig.commit("one", A, handled=Handled(1, Mark(1, 0), 0))])
    rig.writer.write_group([rig.commit("two", B, handled=Handled(1, Mark(2, 0), 0))])
    assert rig.store.get(mark_key(1)) is None
    rig.writer.write_group([rig.commit("one", A, 2, Handled(1, Mark(1, 0), 1))])
    rig.writer.write_group([rig.commit("two", B, 2, Handled(1, Mark(2, 0), 1))])
    mark = rig.store.get(mark_key(1))
    assert mark is not None
    assert mark_from(unpack_row(mark)) == Mark(2, 0)


def test_an_older_failure_heard_late_does_not_let_an_old_incarnation_write_again() -> None:
    rig = Rig()
    rig.store.failure = StoreFull()
    rig.writer.write_group([rig.commit("newer", incarnation=5)])
    rig.writer.write_group([rig.commit("older", incarnation=3)])
    rig.writer.write_group([rig.commit("same", incarnation=5)])
    assert rig.told == ["newer full", "older failed", "same failed"]


def test_messages_leave_with_their_commit_and_come_back_from_the_store_as_they_were() -> None:
    rig = Rig()
    commit = rig.commit("one")
    commit.outgoing = [Outgoing(2, B, "told", {"n": n}, before_reply=False) for n in range(2)]
    rig.writer.write_group([commit])
    assert [parcel.mark for parcel in commit.parcels] == [Mark(1, 0), Mark(1, 1)]
    rows = rig.store.scan(outbox_prefix(2))
    parcels = [
        parcel_of(0, parcel.mark, unpack_row(row)) for parcel, (_, row) in zip(commit.parcels, rows, strict=True)
    ]
    assert parcels == commit.parcels
    assert parcel_row(parcels[0]) == unpack_row(rows[0][1])


def test_a_parcel_of_this_shard_leaves_the_outbox_with_its_effect() -> None:
    rig = Rig()
    commit = rig.commit("one")
    commit.outgoing = [Outgoing(0, B, "told", {}, before_reply=False)]
    rig.writer.write_group([commit])
    rig.writer.write_group([rig.commit("two", B, handled=Handled(0, commit.parcels[0].mark, 0))])
    assert rig.store.scan(b"o") == []


def test_the_writer_thread_stores_in_the_order_of_submission_and_flush_waits_for_all() -> None:
    rig = Rig()
    journal = ThreadJournal(rig.writer)
    for number in range(500):
        journal.submit(rig.commit(str(number)))
    journal.flush()
    assert rig.told == [f"{number} stored" for number in range(500)]
    journal.submit(rig.commit("last"))
    journal.close()
    assert rig.told[-1] == "last stored"


@pytest.mark.parametrize("row", [None, [], [1], ["a", 1], [1, 2, 3], {"a": 1}])
def test_a_row_that_is_no_mark_is_refused(row: object) -> None:
    with pytest.raises(ValueError):
        mark_from(row)  # type: ignore[arg-type]


def test_a_held_writer_has_stored_what_came_before_and_stores_the_rest_after_it_is_released() -> None:
    rig = Rig()
    journal = ThreadJournal(rig.writer)
    reached = threading.Event()
    journal.submit(rig.commit("before"))
    hold = journal.hold(reached.set)
    journal.submit(rig.commit("after"))
    assert reached.wait(10)
    assert rig.store.scan(b"x") == [(b"xbefore", b"1")]
    assert hold.release() is not None
    journal.flush()
    assert [key for key, _ in rig.store.scan(b"x")] == [b"xafter", b"xbefore"]
    journal.close()


def test_a_writer_that_is_not_released_goes_on_by_itself_and_the_holder_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bus.hold.backup_hold_ms_max", 10)
    rig = Rig()
    journal = ThreadJournal(rig.writer)
    hold = journal.hold(lambda: None)
    journal.submit(rig.commit("after"))
    journal.flush()
    assert rig.told == ["after stored"]
    assert hold.release() is None
    journal.close()


def test_an_inline_journal_keeps_back_what_is_submitted_while_it_is_held() -> None:
    rig = Rig()
    journal = InlineJournal(rig.writer)
    hold = journal.hold(lambda: rig.told.append("held"))
    journal.submit(rig.commit("one"))
    assert journal.waiting == 1
    assert rig.told == ["held"]
    assert hold.release() == 0
    assert hold.release() is None
    assert rig.told == ["held", "one stored"]
