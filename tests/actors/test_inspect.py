"""What a host tells about itself when its store is not as it should be."""

from __future__ import annotations

from actors.inspect import Inspector
from bus import address
from bus.codec import pack_row
from bus.envelope import Call
from bus.store import journal_key
from bus.store_memory import MemoryStore
from bus.value import Record, Value
from tools.errors import Code, Refusal


def _asked(verb: str, body: Record, journal_row: Value | bytes) -> Record | Refusal:
    store = MemoryStore()
    store.commit([(journal_key(1), journal_row if isinstance(journal_row, bytes) else pack_row(journal_row))])
    told: list[Record | Refusal] = []
    inspector = Inspector(0, store, lambda owner: False, dict)
    inspector.ask(Call("id", address.host(0), verb, body, None, 0), told.append)
    [answer] = told
    return answer


def test_a_record_that_fails_its_checksum_is_told_as_such() -> None:
    answer = _asked("events", {}, b"torn")
    assert isinstance(answer, dict)
    assert answer["events"] == [{"shard": 0, "sequence": 1, "type": "journal.unreadable", "data": {}}]
    assert _asked("journal_record", {"sequence": 1}, b"torn") == {"shard": 0, "sequence": 1, "corrupt": True}


def test_a_defect_is_answered_as_one_and_does_not_reach_the_link() -> None:
    answer = _asked("events", {}, {"owner": "a record of another shape"})
    assert isinstance(answer, Refusal)
    assert answer.code is Code.INTERNAL


def test_a_verb_or_an_address_that_does_not_exist_is_a_bad_argument() -> None:
    asked: list[tuple[str, Record]] = [("nothing", {}), ("owner_info", {}), ("owner_rows", {"address": "x"})]
    for verb, body in asked:
        answer = _asked(verb, body, {})
        assert isinstance(answer, Refusal)
        assert answer.code is Code.INVALID_ARGUMENTS


def test_the_newest_events_are_found_over_the_gap_that_a_reshard_leaves_without_walking_through_it() -> None:
    class CountingStore(MemoryStore):
        reads = 0

        def get(self, key: bytes) -> bytes | None:
            self.reads += 1
            return super().get(key)

    store = CountingStore()
    for sequence in (3, 4, 5_000_000):
        record: Value = {
            "owner": "a/-/b",
            "call": "",
            "by": "person",
            "at": sequence,
            "events": [["test.happened", {}]],
        }
        store.commit([(journal_key(sequence), pack_row(record))])
    told: list[Record | Refusal] = []
    Inspector(0, store, lambda owner: False, dict).ask(
        Call("id", address.host(0), "events", {"limit": 10}, None, 0), told.append
    )
    [answer] = told
    assert isinstance(answer, dict)
    events = answer["events"]
    assert isinstance(events, list)
    assert [event["sequence"] for event in events if isinstance(event, dict)] == [3, 4, 5_000_000]
    assert store.reads < 10
