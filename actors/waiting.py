"""What waits in a shard: messages not acknowledged, calls left open, and all that one call or thread left behind.

Each function reads the store only and may take long on a large one: run on the thread beside the host's loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bus.address import Address
from bus.codec import CorruptRow, unpack_row
from bus.identifier import milliseconds_of
from bus.limits import inspection_step_rows, page_items_max
from bus.parcels import parcel_of
from bus.store import (
    Store,
    answer_key,
    every_row,
    journal_key,
    letter_of,
    mark_of,
    owners,
    sequence_of,
    state_key,
)
from bus.value import Record, Value

_OPEN_BYTES_MAX: Final = 64
"""An open call's row is short; longer ones need not be unpacked to know that they are answers."""
_CALLS_ASKED_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """The store of shard `shard`, looked at for what waits."""

    shard: int
    store: Store

    def pending(self, body: Record) -> Record:
        """Messages by destination with the oldest one's time, the first `limit` of them, and the open calls."""
        limit = _count(body.get("limit"))
        destinations: dict[int, list[int]] = {}
        messages: list[Value] = []
        for key, value in every_row(self.store, b"o"):
            destination, mark = letter_of(key)
            counted = destinations.setdefault(destination, [0, self._made_ms(mark.sequence)])
            counted[0] += 1
            if len(messages) < limit:
                messages.append(self._message(destination, key, value))
        calls = [call for call, value in self._answers() if is_open(value)]
        return {
            "shard": self.shard,
            "destinations": [
                {"destination": number, "messages": count, "oldestAt": at_ms or None}
                for number, (count, at_ms) in sorted(destinations.items())
            ],
            "messages": messages,
            "openCalls": [{"call": call, "since": _made(call)} for call in calls[:_CALLS_ASKED_MAX]],
            "openCallsCount": len(calls),
        }

    def call_states(self, body: Record) -> Record:
        """For each of `calls`: open, answered, or none when this shard keeps nothing of it."""
        calls = body["calls"]
        assert isinstance(calls, list)
        states: Record = {}
        for call in calls[:_CALLS_ASKED_MAX]:
            stored = self.store.get(answer_key(str(call)))
            states[str(call)] = "none" if stored is None else "open" if is_open(stored) else "answered"
        return {"states": states}

    def trace_records(self, body: Record) -> Record:
        """The journal records of `call` among the next ones after the sequence `after`, and of what was committed for
        it under another id (its admission); `next` while there are more."""
        call = str(body["call"])

        def of_it(record: Record) -> Record | None:
            happened = record["events"]
            assert isinstance(happened, list)
            return record if record["call"] == call or any(_tells_of(event, call) for event in happened) else None

        return self._records_with(call, body, of_it)

    def trace_thread(self, body: Record) -> Record:
        """The same of records whose events tell of `thread`, each with these events alone."""
        thread_id = str(body["thread"])

        def about_it(record: Record) -> Record | None:
            happened = record["events"]
            assert isinstance(happened, list)
            events: list[Value] = [event for event in happened if _tells_of(event, thread_id)]
            return {**record, "events": events} if events else None

        return self._records_with(thread_id, body, about_it)

    def _records_with(self, text: str, body: Record, taken: Callable[[Record], Record | None]) -> Record:
        """What `taken` makes of the records that hold `text` anywhere, of the next ones after `after`."""
        wanted = text.encode()
        rows = self.store.scan(b"j", journal_key(_number(body.get("after"))), inspection_step_rows)
        records: list[Value] = []
        for key, value in rows:
            if wanted not in value:
                continue
            try:
                record = unpack_row(value)
            except CorruptRow:
                continue
            found = taken(record) if isinstance(record, dict) else None
            if found is not None:
                records.append({"shard": self.shard, "sequence": sequence_of(key), **found})
        answer: Record = {"records": records}
        if len(rows) == inspection_step_rows:
            answer["next"] = sequence_of(rows[-1][0])
        return answer

    def owners_holding(self, body: Record) -> Record:
        """The owners of `kind`, after `after`, that keep a row of that name; `next` while there are more to look at.

        None of them is woken: a look for one row must not load every owner there is."""
        kind, row = str(body["kind"]), str(body["row"])
        after = None if body.get("after") is None else Address.parse(str(body["after"]))
        looked_at = list(owners(self.store, kind, after, inspection_step_rows))
        answer: Record = {
            "owners": [str(owner) for owner in looked_at if self.store.get(state_key(owner, row)) is not None]
        }
        if len(looked_at) == inspection_step_rows:
            answer["next"] = str(looked_at[-1])
        return answer

    def trace_rest(self, body: Record) -> Record:
        """What of `call` is not in the journal: its answer's state, messages under way, dead letters."""
        call = str(body["call"])
        stored = self.store.get(answer_key(call))
        answer: Record = {"shard": self.shard}
        answer["state"] = None if stored is None else "open" if is_open(stored) else "answered"
        wanted = call.encode()
        answer["underWay"] = [
            self._message(letter_of(key)[0], key, value)
            for key, value in every_row(self.store, b"o")
            if wanted in value
        ]
        letters: list[Value] = []
        for key, value in every_row(self.store, b"d"):
            if wanted in value:
                source, mark = letter_of(key)
                letters.append(f"{source}:{mark.sequence}:{mark.index}")
        answer["deadLetters"] = letters
        return answer

    def first_since(self, body: Record) -> Record:
        """The place behind which the records of `since` (ms) and later stand; or `next` to go on from."""
        since_ms, after = _number(body["since"]), _number(body.get("after"))
        rows = self.store.scan(b"j", journal_key(after), inspection_step_rows)
        for key, value in rows:
            if _at(value) >= since_ms:
                return {"after": sequence_of(key) - 1}
        if len(rows) < inspection_step_rows:
            return {"after": sequence_of(rows[-1][0]) if rows else after}
        return {"next": sequence_of(rows[-1][0])}

    def _answers(self) -> Iterator[tuple[str, bytes]]:
        return ((key[1:].decode(), value) for key, value in every_row(self.store, b"a"))

    def _message(self, destination: int, key: bytes, value: bytes) -> Value:
        mark = mark_of(key)
        described: Record = {"shard": self.shard, "destination": destination}
        described |= {"sequence": mark.sequence, "index": mark.index}
        try:
            parcel = parcel_of(self.shard, mark, unpack_row(value))
        except ValueError:
            return {**described, "corrupt": True}
        described |= {"from": str(parcel.sender), "to": str(parcel.to), "verb": parcel.verb}
        return {**described, "call": parcel.origin_call, "at": self._made_ms(mark.sequence) or None}

    def _made_ms(self, sequence: int) -> int:
        """When the commit of that sequence was made; 0 when its record is gone."""
        stored = self.store.get(journal_key(sequence))
        return 0 if stored is None else _at(stored)


def is_open(stored: bytes) -> bool:
    """Whether an answer row says that its call was left open."""
    if len(stored) > _OPEN_BYTES_MAX:
        return False
    try:
        answer = unpack_row(stored)
    except CorruptRow:
        return False
    return isinstance(answer, dict) and "open" in answer


def _tells_of(event: Value, id_: str) -> bool:
    """Whether its data names the thread or call. A thread that comes from another one names that one too."""
    data = event[1] if isinstance(event, list) else None
    return isinstance(data, dict) and id_ in data.values()


def _at(stored: bytes) -> int:
    try:
        record = unpack_row(stored)
    except CorruptRow:
        return 0
    at_ms = record.get("at") if isinstance(record, dict) else None
    return at_ms if isinstance(at_ms, int) else 0


def _made(call: str) -> Value:
    try:
        return milliseconds_of(call)
    except ValueError:
        return None


def _number(value: Value) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _count(value: Value) -> int:
    return min(_number(value), page_items_max)
