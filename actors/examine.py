"""Whether a shard's store is sound: checksums, order, and what each kind of owner says of its own state.

`store_step` looks at the rows in key order, `owners_step` loads owners one by one from disk; both go on where the last
step ended, so that no step is long. Everything is read from the store into states of its own: owners in memory are not
touched. Run on the thread beside the host's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from actors.decision import Rules
from actors.owner import TIMER_ROWS, Executor, Owner
from bus import store as keys
from bus.address import Address, MalformedAddress
from bus.codec import CorruptRow, unpack_row, unpack_versioned
from bus.limits import inspection_step_bytes, inspection_step_rows
from bus.parcels import mark_from, parcel_of
from bus.reshard import RESHARDED_EVENT, RESHARDED_FACT
from bus.store import Store
from bus.value import Record, Value

_OWNERS_A_STEP: Final = 20
_PROBLEMS_A_STEP_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Examiner:
    """Shard `shard` of `shards`."""

    shard: int
    shards: int
    store: Store
    roster: Mapping[str, Rules[Any]]
    executor: Executor

    def store_step(self, body: Record) -> Record:
        """Problems among the next rows after the key `after`; `next` while there are more."""
        after = body.get("after")
        position = after if isinstance(after, bytes) else None
        problems: list[Value] = []
        looked_at = read_bytes = 0
        check = _RowCheck(self, position)
        while looked_at < inspection_step_rows and read_bytes < inspection_step_bytes:
            rows = self.store.scan(b"", position, 200)
            for key, value in rows:
                problems += check.of(key, value)
                read_bytes += len(key) + len(value)
            looked_at += len(rows)
            if not rows:
                return {"problems": problems[:_PROBLEMS_A_STEP_MAX], "rows": looked_at}
            position = rows[-1][0]
        return {"problems": problems[:_PROBLEMS_A_STEP_MAX], "rows": looked_at, "next": position}

    def owners_step(self, body: Record) -> Record:
        """Problems of the next owners after the address `after`; `next` while there are more."""
        after = body.get("after")
        start = Address.parse(str(after)) if after else None
        found = list(keys.owners(self.store, None, start, _OWNERS_A_STEP))
        problems: list[Value] = [
            {"shard": self.shard, "owner": str(owner), "problem": problem}
            for owner in found
            for problem in self._of_owner(owner)
        ]
        answer: Record = {"problems": problems[:_PROBLEMS_A_STEP_MAX], "owners": len(found)}
        if len(found) == _OWNERS_A_STEP:
            answer["next"] = str(found[-1])
        return answer

    def _of_owner(self, address: Address) -> list[str]:
        rules = self.roster.get(address.kind)
        if rules is None:
            return ["no owner is of this kind"]
        owner = Owner(address, rules, 0, self.executor, _never_handled)
        try:
            return rules.problems(owner.load(self.store, head_only=False))
        except CorruptRow:
            return ["a row is damaged, so the owner is out of use"]
        except Exception as defect:  # noqa: BLE001 - whatever its rules make of the rows is a finding, not an end
            return [f"its rows cannot be taken in ({type(defect).__name__})"]


class _RowCheck:
    """Rows in key order; remembers what a row must follow."""

    def __init__(self, place: Examiner, after: bytes | None) -> None:
        self._place = place
        store = place.store
        self._sequence = keys.sequence_of(after) if after is not None and after.startswith(b"j") else None
        last = store.last(b"j")
        self._last_sequence = 0 if last is None else keys.sequence_of(last[0])
        # Read before the rows: a row at or below this mark cannot still be there, whatever happens meanwhile.
        own_mark = store.get(keys.mark_key(place.shard))
        self._own_mark = None if own_mark is None else mark_from(unpack_row(own_mark))
        self._floor = _floor(store)
        self._tables: Mapping[bytes, Callable[[bytes, Value], Iterator[str]]] = {
            b"!": self._nothing,
            b"a": self._answer,
            b"j": self._record,
            b"m": self._mark,
            b"o": self._outgoing,
            b"d": self._nothing,
            b"t": self._timer,
            b"s": self._state,
        }

    def of(self, key: bytes, stored: bytes) -> Iterator[Value]:
        try:
            _, value = unpack_versioned(stored)
            found = list(self._tables[key[:1]](key, value))
        except KeyError:
            found = ["the row belongs to no table that this release knows"]
        except CorruptRow:
            found = ["the row fails its checksum"]
            if key.startswith(b"j"):
                self._sequence = keys.sequence_of(key)
        except (ValueError, MalformedAddress):
            found = ["the row is not of its table's form"]
        for problem in found:
            yield {"shard": self._place.shard, "row": _shown(key), "problem": problem}

    def _nothing(self, key: bytes, value: Value) -> Iterator[str]:
        yield from ()

    def _answer(self, key: bytes, value: Value) -> Iterator[str]:
        if not isinstance(value, dict) or not value.keys() & {"open", "ok", "error"}:
            yield "the row is no answer"
        if self._floor is not None and key[1:].decode() <= self._floor:
            yield "an answer is kept below the floor"

    def _record(self, key: bytes, value: Value) -> Iterator[str]:
        sequence, before = keys.sequence_of(key), self._sequence
        self._sequence = sequence
        if not isinstance(value, dict):
            yield "the row is no journal record"
            return
        events = value.get("events")
        types = [event[0] for event in events if isinstance(event, list)] if isinstance(events, list) else []
        if before is not None and sequence != before + 1 and RESHARDED_EVENT not in types:
            yield f"records are missing between {before} and {sequence}"

    def _mark(self, key: bytes, value: Value) -> Iterator[str]:
        mark_from(value)
        if int.from_bytes(key[1:3], "big") >= self._place.shards:
            yield "a mark of a shard that does not exist"

    def _outgoing(self, key: bytes, value: Value) -> Iterator[str]:
        destination, mark = keys.letter_of(key)
        parcel = parcel_of(self._place.shard, mark, value)
        if destination != parcel.to.shard(self._place.shards):
            yield "a message waits for another shard than its receiver's"
        if destination == self._place.shard and self._own_mark is not None and mark <= self._own_mark:
            yield "a message that was handled is still there"
        if mark.sequence > max(self._last_sequence, self._newest_sequence()):
            yield "a message is newer than the journal"

    def _newest_sequence(self) -> int:
        last = self._place.store.last(b"j")
        return 0 if last is None else keys.sequence_of(last[0])

    def _timer(self, key: bytes, value: Value) -> Iterator[str]:
        owner, name = key[9:].split(b"\x00", 1)
        yield from self._of_address(Address.parse(owner.decode()))
        row = TIMER_ROWS + name.decode()
        known = self._place.store.get(keys.state_key(Address.parse(owner.decode()), row))
        # It may have been handled since: only what is still there is wrong.
        if known is None and self._place.store.get(key) is not None:
            yield "a timer is due of which its owner knows nothing"

    def _state(self, key: bytes, value: Value) -> Iterator[str]:
        yield from self._of_address(Address.parse(key[1:].split(b"\x00", 1)[0].decode()))

    def _of_address(self, owner: Address) -> Iterator[str]:
        if owner.shard(self._place.shards) != self._place.shard:
            yield "the row's owner belongs to another shard"


def _floor(store: Store) -> str | None:
    """Below which no answer should be; None when answers of several shards were brought together."""
    stored = store.get(keys.fact_key("answers"))
    if stored is None or store.get(keys.fact_key(RESHARDED_FACT)) is not None:
        return None
    fact = unpack_row(stored)
    return fact[0] if isinstance(fact, list) and fact and isinstance(fact[0], str) else None


def _shown(key: bytes) -> str:
    table, rest = key[:1].decode("ascii", "replace"), key[1:]
    if table == "j":
        return f"journal record {keys.sequence_of(key)}"
    if table in "od" and len(rest) == 18:
        number, mark = keys.letter_of(key)
        return f"{'message to' if table == 'o' else 'dead letter from'} shard {number}, {mark.sequence}:{mark.index}"
    if table == "m":
        return f"mark of shard {int.from_bytes(rest, 'big')}"
    names = {"s": "state", "a": "answer", "!": "fact", "t": "timer"}
    text = (rest[8:] if table == "t" else rest).replace(b"\x00", b" ").decode("utf-8", "replace")
    return f"{names.get(table, table)} {text}"


def _never_handled(owner: Owner[Any], delivery: object) -> None:
    raise AssertionError("an owner that is only looked at gets no message")
