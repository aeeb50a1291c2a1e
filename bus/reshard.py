"""The rows of all shards of a home, dealt out anew over another number of shards (docs/decisions/0004, 0005).

| table | goes to |
| --- | --- |
| state, timers, dead letters | the shard of their owner's (receiver's) address |
| state of hosts | every shard: the settings that were published last; nothing else of a host outlives its number |
| answers | every shard, since a call's row does not name its owner; a given answer wins over an open one |
| journal | stays with its number; a shard that is no more continues in shard `number % shards` under new sequences |
| outbox | what its destination has not handled, in the order of its source, each under a new sequence of its own |
| outbox, to a host | a copy to every new host: a call that was sent before it may go to any, and twice does no harm |
| marks | dropped: every stream begins anew, with sequences above all that ever were |
| facts | the floor of answers is the highest one |

New sequences are above all old ones: first those of the messages, then on every new shard the same one for an event
`home.resharded`, from which its journal goes on. A projection's cursor is (shard, sequence), so no two messages may
come under one that came from two commits. Message ids stay, so a message that is decided again derives the same ids.

Reads the old stores, writes the new ones in bounded commits; changes nothing else, so a run that was cut short is
begun anew on empty stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bus import store as keys
from bus.address import HOST, Address, host
from bus.admitted import SETTINGS_ROW
from bus.codec import pack_row, unpack_row
from bus.envelope import Mark, Parcel
from bus.limits import rewrite_bytes_a_commit, rewrite_rows_a_commit
from bus.parcels import mark_from, parcel_of, parcel_row, waited_for_by
from bus.store import Store, Write, every_row
from bus.value import Record, Value

RESHARDED_EVENT: Final = "home.resharded"
RESHARDED_FACT: Final = "resharded"
_TABLES: Final = b"!adjmost"


class CannotReshard(Exception):
    """The old shards hold something that may not be lost and cannot be placed. The text is for the person."""


@dataclass(frozen=True, slots=True)
class Dealt:
    """How much was moved."""

    rows: int
    messages: int


def reshard(old: Sequence[Store], new: Sequence[Store], at_ms: int) -> Dealt:
    """Fill the `new` stores, which hold nothing yet but their layout. Raises CannotReshard, CorruptRow, StoreFull."""
    return _Dealer(old, new, at_ms).deal()


class RowWriter:
    """Writes rows to one store in bounded commits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: list[Write] = []
        self._bytes = 0
        self.written = 0

    def put(self, key: bytes, value: bytes) -> None:
        self._rows.append((key, value))
        self._bytes += len(key) + len(value)
        self.written += 1
        if len(self._rows) >= rewrite_rows_a_commit or self._bytes >= rewrite_bytes_a_commit:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._store.commit(self._rows)
        self._rows, self._bytes = [], 0


class _Dealer:
    def __init__(self, old: Sequence[Store], new: Sequence[Store], at_ms: int) -> None:
        self._old = old
        self._new = new
        self._at_ms = at_ms
        self._writers = [RowWriter(store) for store in new]
        self._above_old = 1 + max(_last_sequence(store) for store in old)
        self._first = self._above_old
        """Of each new journal; above the messages' once they are dealt."""
        self._messages = 0

    def deal(self) -> Dealt:
        for store in self._old:
            for key, _ in every_row(store, b""):
                if key[:1] not in {bytes((table,)) for table in _TABLES}:
                    raise CannotReshard(f"A shard holds a table {key[:1]!r} that this release does not know.")
        self._deal_outbox()
        self._deal_journal()
        self._deal_answers()
        for store in self._old:
            for key, value in every_row(store, b"s"):
                owner = Address.parse(key[1:].split(b"\x00", 1)[0].decode())
                if owner.kind != HOST:
                    self._put(owner, key, value)
            for key, value in every_row(store, b"t"):
                self._put(Address.parse(key[9:].split(b"\x00", 1)[0].decode()), key, value)
            for key, value in every_row(store, b"d"):
                self._put(_receiver(value), key, value)
        self._deal_settings()
        for writer in self._writers:
            writer.put(keys.fact_key(RESHARDED_FACT), pack_row(self._at_ms))
            writer.flush()
        return Dealt(sum(writer.written for writer in self._writers), self._messages)

    def _put(self, owner: Address, key: bytes, value: bytes) -> None:
        self._writers[self._shard_of(owner)].put(key, value)

    def _shard_of(self, owner: Address) -> int:
        """A host that is no more is continued as its journal is."""
        shards = len(self._new)
        return owner.shard(shards) % shards

    def _deal_journal(self) -> None:
        event: Value = [RESHARDED_EVENT, {"from": len(self._old), "to": len(self._new)}]
        for source, store in enumerate(self._old):
            for key, value in every_row(store, b"j"):
                if source < len(self._new):
                    self._writers[source].put(key, value)
        for number, writer in enumerate(self._writers):
            record: Record = {"owner": str(host(number)), "call": "", "by": "person", "at": self._at_ms}
            writer.put(keys.journal_key(self._first), pack_row({**record, "events": [event]}))
        following = [self._first + 1 for _ in self._new]
        for source, store in enumerate(self._old[len(self._new) :], len(self._new)):
            number = source % len(self._new)
            for _, value in every_row(store, b"j"):
                self._writers[number].put(keys.journal_key(following[number]), value)
                following[number] += 1

    def _deal_outbox(self) -> None:
        following = [self._above_old for _ in self._new]
        for source, store in enumerate(self._old):
            marks = [_mark(self._old[destination], source) for destination in range(len(self._old))]
            for key, value in every_row(store, b"o"):
                destination, mark = keys.letter_of(key)
                handled = marks[destination]
                if handled is not None and mark <= handled:
                    continue
                row = unpack_row(value)
                parcel = parcel_of(source, mark, row)
                number = self._shard_of(parcel.sender)
                for destination_now, copy in self._copies(parcel, row, value):
                    place = Mark(following[number], 0)
                    following[number] += 1
                    self._messages += 1
                    self._writers[number].put(keys.outbox_key(destination_now, place), copy)
        self._first = max(following)

    def _copies(self, parcel: Parcel, row: Value, stored: bytes) -> list[tuple[int, bytes]]:
        """Where a parcel goes now, and how it is stored there."""
        if parcel.to.kind != HOST:
            return [(self._shard_of(parcel.to), stored)]
        waits = waited_for_by(row) is not None
        return [
            (number, pack_row(parcel_row(replace(parcel, to=host(number)), waits))) for number in range(len(self._new))
        ]

    def _deal_settings(self) -> None:
        """Of what each host was told, the newest: all of them were told, or are about to be (0009)."""
        newest: tuple[int, Value] | None = None
        for number, store in enumerate(self._old):
            stored = store.get(keys.state_key(host(number), SETTINGS_ROW))
            settings = None if stored is None else unpack_row(stored)
            version = settings.get("version") if isinstance(settings, dict) else None
            if isinstance(version, int) and (newest is None or version > newest[0]):
                newest = (version, settings)
        if newest is not None:
            for number, writer in enumerate(self._writers):
                writer.put(keys.state_key(host(number), SETTINGS_ROW), pack_row(newest[1]))

    def _deal_answers(self) -> None:
        """Open ones first, so that a given answer, wherever it is, is written over them."""
        floors = [_floor(store) for store in self._old]
        for wants_open in (True, False):
            for store in self._old:
                for key, value in every_row(store, b"a"):
                    if _is_open(value) is wants_open:
                        for writer in self._writers:
                            writer.put(key, value)
        for writer in self._writers:
            writer.flush()
        count = sum(1 for _ in every_row(self._new[0], b"a"))
        for writer in self._writers:
            writer.put(keys.fact_key("answers"), pack_row([max(floors), count]))


def _last_sequence(store: Store) -> int:
    last = store.last(b"j")
    return 0 if last is None else keys.sequence_of(last[0])


def _mark(store: Store, source: int) -> Mark | None:
    stored = store.get(keys.mark_key(source))
    return None if stored is None else mark_from(unpack_row(stored))


def _receiver(stored: bytes) -> Address:
    letter = unpack_row(stored)
    if not isinstance(letter, dict):
        raise CannotReshard("A dead letter cannot be read. Drop it first: nexus-bus dead ls")
    return Address.parse(str(letter["to"]))


def _is_open(stored: bytes) -> bool:
    answer = unpack_row(stored)
    return isinstance(answer, dict) and "open" in answer


def _floor(store: Store) -> str:
    stored = store.get(keys.fact_key("answers"))
    fact = None if stored is None else unpack_row(stored)
    return fact[0] if isinstance(fact, list) and fact and isinstance(fact[0], str) else ""
