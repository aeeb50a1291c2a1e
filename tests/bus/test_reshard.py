"""Dealing rows out over another number of shards: where each table goes."""

from __future__ import annotations

import pytest

from bus import store as keys
from bus.address import Address, host
from bus.admitted import AUTHORITY_CHANGED, SETTINGS_ROW
from bus.codec import pack_row, unpack_row
from bus.envelope import Mark, Parcel
from bus.parcels import parcel_of, parcel_row, waited_for_by
from bus.reshard import RESHARDED_EVENT, CannotReshard, reshard
from bus.store import Store
from bus.store_memory import MemoryStore
from bus.stored_time import newest_record_ms
from bus.value import Record, Value

COUNTERS = [Address("counter", "-", f"c{number}") for number in range(12)]


def record(owner: Address, event: str = "test.added") -> bytes:
    return pack_row({"owner": str(owner), "call": "k", "by": "person", "at": 1, "events": [[event, {}]]})


def parcel(source: int, mark: Mark, sender: Address, to: Address) -> bytes:
    message_id = f"{source}:{mark.sequence}:{mark.index}"
    return pack_row(parcel_row(Parcel(source, mark, sender, to, "told", {}, message_id, "k")))


def at(shard: int, shards: int) -> Address:
    return next(counter for counter in COUNTERS if counter.shard(shards) == shard)


def stores(count: int) -> list[MemoryStore]:
    return [MemoryStore() for _ in range(count)]


def state_of(store: Store) -> dict[bytes, Value]:
    return {key: unpack_row(value) for key, value in store.scan(b"s")}


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 4), (4, 3), (3, 3)])
def test_state_timers_and_letters_go_where_their_owner_lives(before: int, after: int) -> None:
    old, new = stores(before), stores(after)
    for counter in COUNTERS:
        letter: Record = {"to": str(counter), "verb": "v", "body": {}, "from": str(counter), "call": "", "message": ""}
        old[counter.shard(before)].commit(
            [
                (keys.state_key(counter, "head"), pack_row(counter.id)),
                (keys.timer_key(5, counter, "t"), pack_row(None)),
                (keys.dead_letter_key(0, Mark(int(counter.id[1:]) + 1, 0)), pack_row(letter)),
            ]
        )
    reshard(old, new, 9)
    for counter in COUNTERS:
        store = new[counter.shard(after)]
        assert store.get(keys.state_key(counter, "head")) == pack_row(counter.id)
        assert store.get(keys.timer_key(5, counter, "t")) is not None
        assert store.get(keys.dead_letter_key(0, Mark(int(counter.id[1:]) + 1, 0))) is not None
    assert sum(len(store.scan(b"s")) for store in new) == len(COUNTERS)


def test_every_shard_answers_repeats_and_a_given_answer_wins_over_an_open_copy() -> None:
    old, new = stores(2), stores(3)
    old[0].commit(
        [(keys.answer_key("c1"), pack_row({"ok": {"n": 1}})), (keys.answer_key("c2"), pack_row({"open": True}))]
    )
    old[1].commit([(keys.answer_key("c1"), pack_row({"open": True})), (keys.answer_key("c3"), pack_row({"ok": {}}))])
    old[0].commit([(keys.fact_key("answers"), pack_row(["a5", 2]))])
    old[1].commit([(keys.fact_key("answers"), pack_row(["b1", 2]))])
    reshard(old, new, 9)
    for store in new:
        answers = {key: unpack_row(value) for key, value in store.scan(b"a")}
        assert answers == {b"ac1": {"ok": {"n": 1}}, b"ac2": {"open": True}, b"ac3": {"ok": {}}}
        stored = store.get(keys.fact_key("answers"))
        assert stored is not None
        assert unpack_row(stored) == ["b1", 3]


def test_only_unhandled_messages_go_on_in_the_order_of_their_source_above_all_old_sequences() -> None:
    old, new = stores(2), stores(1)
    sender, to = at(0, 2), at(1, 2)
    marks = [Mark(3, 0), Mark(3, 1), Mark(7, 0)]
    old[0].commit([(keys.outbox_key(1, mark), parcel(0, mark, sender, to)) for mark in marks])
    old[0].commit([(keys.journal_key(7), record(sender))])
    old[1].commit([(keys.mark_key(0), pack_row([3, 0])), (keys.journal_key(40), record(to))])
    dealt = reshard(old, new, 9)
    assert dealt.messages == 2
    rows = new[0].scan(b"o")
    assert [keys.mark_of(key) for key, _ in rows] == [Mark(41, 0), Mark(42, 0)]
    assert [value for _, value in rows] == [parcel(0, mark, sender, to) for mark in marks[1:]]
    assert new[0].scan(b"m") == []


def test_no_two_messages_share_a_sequence_and_the_journal_goes_on_above_all_of_them() -> None:
    """A projection's cursor is (shard, sequence): what came from two commits must not come under one (ARCHITECTURE,
    Events). A shard whose last record were older would give the messages' sequences out again."""
    old, new = stores(3), stores(2)
    for number, store in enumerate(old):
        marks = [Mark(sequence, index) for sequence in (5, 9) for index in (0, 1)]
        to = at(0, 3)
        store.commit([(keys.outbox_key(0, mark), parcel(number, mark, at(number, 3), to)) for mark in marks])
        store.commit([(keys.journal_key(9 + number), record(at(number, 3)))])
    assert reshard(old, new, 9).messages == 12
    for store in new:
        sequences = [keys.mark_of(key).sequence for key, _ in store.scan(b"o")]
        journal = [keys.sequence_of(key) for key, _ in store.scan(b"j")]
        assert len(set(sequences)) == len(sequences)
        assert all(11 < sequence < journal[-1] for sequence in sequences)
        assert not set(sequences) & set(journal)
    first = {next(keys.sequence_of(key) for key, value in store.scan(b"j") if b"resharded" in value) for store in new}
    assert len(first) == 1


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 2)])
def test_every_new_host_has_the_settings_that_were_published_last_and_no_other_row_of_a_host(
    before: int, after: int
) -> None:
    """0009: no decision is by older settings than one before it."""
    old, new = stores(before), stores(after)
    for number, store in enumerate(old):
        settings: Record = {"version": 7 - number, "values": {"workspaces.gridColumns": number + 1}}
        store.commit([(keys.state_key(host(number), SETTINGS_ROW), pack_row(settings))])
    reshard(old, new, 9)
    kept: Record = {"version": 7, "values": {"workspaces.gridColumns": 1}}
    for number, store in enumerate(new):
        assert state_of(store) == {keys.state_key(host(number), SETTINGS_ROW): kept}


def test_what_a_host_was_not_told_yet_is_told_to_every_new_host_and_still_waited_for() -> None:
    """0009: a narrowing stays behind the calls that its sender sent on before it, wherever they go now."""
    old, new = stores(2), stores(3)
    sender = at(0, 2)
    body: Record = {"agentId": "a1", "version": 2}
    told = Parcel(0, Mark(7, 0), sender, host(1), AUTHORITY_CHANGED, body, "0:7:0", "k")
    old[0].commit([(keys.outbox_key(1, Mark(7, 0)), pack_row(parcel_row(told, before_reply=True)))])
    assert reshard(old, new, 9).messages == 3
    source = sender.shard(3)
    rows = new[source].scan(b"o")
    assert [keys.destination_of(key) for key, _ in rows] == [0, 1, 2]
    for number, (key, value) in enumerate(rows):
        parcel = parcel_of(source, keys.mark_of(key), unpack_row(value))
        assert (parcel.to, parcel.body, parcel.sender) == (host(number), body, sender)
        assert waited_for_by(unpack_row(value)) == "k"


def test_a_dead_letter_to_a_host_that_is_no_more_goes_where_its_journal_goes() -> None:
    old, new = stores(3), stores(2)
    letter: Record = {"to": str(host(2)), "verb": "v", "body": {}, "from": str(COUNTERS[0]), "call": "", "message": ""}
    old[2].commit([(keys.dead_letter_key(0, Mark(1, 0)), pack_row(letter))])
    reshard(old, new, 9)
    assert new[0].get(keys.dead_letter_key(0, Mark(1, 0))) == pack_row(letter)


def test_journals_keep_their_number_and_those_of_vanished_shards_go_on_behind_the_event() -> None:
    old, new = stores(3), stores(2)
    for number, store in enumerate(old):
        store.commit([(keys.journal_key(sequence), record(at(number, 3))) for sequence in (1, 2)])
    reshard(old, new, 9)
    assert [keys.sequence_of(key) for key, _ in new[0].scan(b"j")] == [1, 2, 3, 4, 5]
    assert [keys.sequence_of(key) for key, _ in new[1].scan(b"j")] == [1, 2, 3]
    told = unpack_row(new[0].scan(b"j")[2][1])
    assert isinstance(told, dict)
    assert (told["by"], told["events"]) == ("person", [[RESHARDED_EVENT, {"from": 3, "to": 2}]])
    assert new[0].scan(b"j")[3][1] == record(at(2, 3))


def test_a_host_begins_no_earlier_than_the_reshard_though_older_records_stand_behind_it() -> None:
    old, new = stores(3), stores(2)
    for number, store in enumerate(old):
        store.commit([(keys.journal_key(1), record(at(number, 3)))])
    reshard(old, new, 90_000)
    assert [newest_record_ms(store) for store in new] == [90_000, 90_000]


def test_a_table_that_this_release_does_not_know_is_refused() -> None:
    old = stores(1)
    old[0].commit([(b"xunknown", b"1")])
    with pytest.raises(CannotReshard):
        reshard(old, stores(2), 9)


def test_the_header_of_the_store_lists_every_table_that_is_dealt() -> None:
    assert keys.__doc__ is not None
    for table in "!adjmost":
        assert f"| `{table}` |" in keys.__doc__
