"""How long answers and journal records are kept, and the floor that rises when answers go (docs/decisions/0004).

Invariants:
- An answer goes in the transaction that raises the floor above its id, so a repeat finds the answer or is refused as
  unknown; it is never decided again.
- `floor` is raised in memory before the transaction: a reader that misses the row sees the new floor already.
- A few rows go with each group, so keeping house never holds the writer.

Used by the journal's writer alone; `floor` is read by any thread.
"""

from __future__ import annotations

import structlog

from bus.codec import CorruptRow, pack_row, unpack_row
from bus.identifier import time_ordered_id
from bus.limits import (
    answers_evicted_a_group_max,
    answers_kept_max,
    answers_kept_ms,
    counted_rows_max,
    journal_kept_records,
    journal_trimmed_a_group_max,
)
from bus.store import Store, Write, answer_key, fact_key, journal_key, sequence_of

_FACT = "answers"
_log = structlog.get_logger("journal")


class Retention:
    """What goes with each group. `kept_max` and `kept_records` can be lowered by tests."""

    def __init__(
        self, store: Store, kept_max: int = answers_kept_max, kept_records: int = journal_kept_records
    ) -> None:
        self._store = store
        self._kept_max = kept_max
        self._kept_records = kept_records
        self.floor, self._answers = _stored_fact(store)
        first = store.scan(b"j", limit=1)
        self._first_record = sequence_of(first[0][0]) if first else 1
        self._oldest = _oldest_answer(store)
        self._before = (self._answers, self._first_record, self._oldest)

    def undo(self) -> None:
        """The group of the last `writes` was not stored. The floor stays where it is: too high only refuses."""
        self._answers, self._first_record, self._oldest = self._before

    def writes(self, answers_added: int, sequence: int, now_ms: int) -> list[Write]:
        """What to remove in a group that adds answers and ends at journal sequence `sequence`."""
        self._before = (self._answers, self._first_record, self._oldest)
        writes = self._trim(sequence)
        if answers_added == 0:
            return writes
        if not self._oldest:
            self._oldest = _oldest_answer(self._store)
        self._answers += answers_added
        limit = time_ordered_id(max(0, now_ms - answers_kept_ms), bytes(10))
        surplus = self._answers - self._kept_max
        if surplus > 0 or (self._oldest and self._oldest < limit):
            writes += self._evict(limit, surplus)
        writes.append((fact_key(_FACT), pack_row([self.floor, self._answers])))
        return writes

    def _evict(self, limit: str, surplus: int) -> list[Write]:
        rows = self._store.scan(b"a", limit=answers_evicted_a_group_max + 1)
        ids = [key[1:].decode() for key, _ in rows]
        gone = [name for place, name in enumerate(ids[:answers_evicted_a_group_max]) if place < surplus or name < limit]
        if gone:
            self.floor = max(self.floor, gone[-1])
            self._answers = max(0, self._answers - len(gone))
        self._oldest = ids[len(gone)] if len(gone) < len(ids) else ""
        return [(answer_key(name), None) for name in gone]

    def _trim(self, sequence: int) -> list[Write]:
        last = min(sequence - self._kept_records, self._first_record + journal_trimmed_a_group_max - 1)
        writes: list[Write] = [(journal_key(number), None) for number in range(self._first_record, last + 1)]
        self._first_record = max(self._first_record, last + 1)
        return writes


def _stored_fact(store: Store) -> tuple[str, int]:
    stored = store.get(fact_key(_FACT))
    if stored is None:
        return "", 0
    try:
        fact = unpack_row(stored)
    except CorruptRow:
        fact = None
    if not isinstance(fact, list) or len(fact) != 2 or not isinstance(fact[0], str) or not isinstance(fact[1], int):
        return _newest_answer(store), store.count(b"a", counted_rows_max)
    return fact[0], fact[1]


def _newest_answer(store: Store) -> str:
    """The floor when the stored one is damaged: too high only refuses calls whose answer is not found."""
    _log.critical("floor_unreadable")
    last = store.last(b"a")
    return "" if last is None else last[0][1:].decode()


def _oldest_answer(store: Store) -> str:
    rows = store.scan(b"a", limit=1)
    return rows[0][0][1:].decode() if rows else ""
