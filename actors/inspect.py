"""What a shard host tells the person about itself: its owners, their rows, the journal and its events.

Reads the store only; changes nothing and wakes no owner. Used by `nexus-bus`. Runs on the host's loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import structlog

from bus import store as keys
from bus.address import Address, MalformedAddress
from bus.codec import CorruptRow, unpack_row
from bus.envelope import Call
from bus.limits import counted_rows_max, inspected_items_default, inspected_items_max
from bus.store import Store
from bus.value import Record, Value
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments

_Tell: TypeAlias = Callable[[Record | Refusal], None]
_DEFECT: Final = Refusal(Code.INTERNAL, "NEXUS made a mistake while it looked; the host's log has the details.")
_log = structlog.get_logger("inspect")


class Inspector:
    """Answers the verbs of a host's own address, and keeps those who wait for events."""

    def __init__(
        self,
        shard: int,
        store: Store,
        is_live: Callable[[Address], bool],
        counts: Callable[[], Mapping[str, int]],
    ) -> None:
        self._shard = shard
        self._store = store
        self._is_live = is_live
        self._counts = counts
        self._listening: dict[str, tuple[Record, _Tell]] = {}
        self._verbs: Final[Mapping[str, Callable[[Record], Record | Refusal]]] = {
            "owners": self._owners,
            "owner_info": self._owner_info,
            "owner_rows": self._owner_rows,
            "journal_record": self._journal_record,
            "statistics": self._statistics,
        }

    def ask(self, call: Call, tell: _Tell) -> None:
        """Answer an inspection; `events` with `waitMs` and nothing to tell yet is answered when there is."""
        try:
            if call.verb == "events":
                self._ask_events(call, tell)
            elif call.verb in self._verbs:
                tell(self._verbs[call.verb](call.body))
            else:
                tell(invalid_arguments({"verb": "is not one that a host answers"}))
        except MalformedAddress:
            tell(invalid_arguments({"address": "must have the form kind/workspace/id"}))
        except Exception:  # noqa: BLE001 - it must not take with it what else came in the same frame
            _log.exception("inspection_failed", verb=call.verb)
            tell(_DEFECT)

    def something_happened(self) -> None:
        """New events are on disk: tell those who listen."""
        listening, self._listening = self._listening, {}
        for call_id, (body, tell) in listening.items():
            answer = self._events(body)
            if answer["events"]:
                tell(answer)
            else:
                self._listening[call_id] = (body, tell)

    def is_listening(self, call_id: str) -> bool:
        return call_id in self._listening

    def stop_listening(self, call_id: str) -> None:
        """Answer a listener with nothing, for its time is over."""
        waiting = self._listening.pop(call_id, None)
        if waiting is not None:
            body, tell = waiting
            tell(self._events(body))

    def _ask_events(self, call: Call, tell: _Tell) -> None:
        answer = self._events(call.body)
        if answer["events"] or not call.body.get("waitMs"):
            tell(answer)
        else:
            self._listening[call.call_id] = (call.body, tell)

    def _events(self, body: Record) -> Record:
        """After the sequence `after`, oldest first; without it the newest `limit` ones."""
        limit = min(_int(body.get("limit"), inspected_items_max), inspected_items_max)
        last_row = self._store.last(b"j")
        last = 0 if last_row is None else keys.sequence_of(last_row[0])
        if body.get("after") is None:
            return {"events": self._newest(last, limit), "last": last}
        events: list[Value] = []
        position = _int(body.get("after"), 0)
        while len(events) < limit:
            records = self._store.scan(b"j", keys.journal_key(position), limit)
            if not records:
                break
            for key, value in records:
                position = keys.sequence_of(key)
                events.extend(self._events_of(position, value))
                if len(events) >= limit:
                    break
        return {"events": events, "last": position}

    def _newest(self, last: int, limit: int) -> list[Value]:
        events: list[Value] = []
        sequence = last
        while sequence > 0 and len(events) < limit:
            value = self._store.get(keys.journal_key(sequence))
            if value is None:
                sequence = self._newest_below(sequence)
                continue
            events[:0] = self._events_of(sequence, value)
            sequence -= 1
        return events[-limit:] if limit else []

    def _newest_below(self, sequence: int) -> int:
        """The highest sequence below that has a record, or 0. Halving: a reshard leaves gaps of millions."""
        low, high = 0, sequence - 1
        while low < high:
            middle = (low + high) // 2
            following = self._store.scan(b"j", keys.journal_key(middle), 1)
            found = keys.sequence_of(following[0][0]) if following else sequence
            low, high = (found, high) if found < sequence else (low, middle)
        return low

    def _events_of(self, sequence: int, value: bytes) -> list[Value]:
        try:
            record = unpack_row(value)
        except CorruptRow:
            return [{"shard": self._shard, "sequence": sequence, "type": "journal.unreadable", "data": {}}]
        assert isinstance(record, dict)
        happened = record["events"]
        assert isinstance(happened, list)
        events: list[Value] = []
        for index, item in enumerate(happened):
            assert isinstance(item, list)
            event: Record = {"shard": self._shard, "sequence": sequence, "index": index, "at": record["at"]}
            event |= {"owner": record["owner"], "type": item[0], "by": record["by"]}
            event |= {name: record[name] for name in ("credential", "chain", "chainMore") if name in record}
            event |= {"callId": record["call"], "data": item[1]}
            events.append(event)
        return events

    def _owners(self, body: Record) -> Record:
        kind, after = body.get("kind"), body.get("after")
        limit = min(_int(body.get("limit"), inspected_items_default), inspected_items_max)
        start = Address.parse(str(after)) if after else None
        found = list(keys.owners(self._store, str(kind) if kind else None, start, limit))
        answer: Record = {"owners": [self._describe(owner) for owner in found]}
        if len(found) == limit:
            answer["next"] = str(found[-1])
        return answer

    def _describe(self, owner: Address) -> Record:
        rows = self._store.count(keys.state_prefix(owner), counted_rows_max)
        return {"address": str(owner), "shard": self._shard, "rows": rows, "live": self._is_live(owner)}

    def _owner_info(self, body: Record) -> Record | Refusal:
        owner = Address.parse(str(body.get("address")))
        rows = self._store.scan(keys.state_prefix(owner))
        if not rows:
            return NOT_FOUND
        return {**self._describe(owner), "bytes": sum(len(key) + len(value) for key, value in rows)}

    def _owner_rows(self, body: Record) -> Record | Refusal:
        owner = Address.parse(str(body.get("address")))
        prefix, after = keys.state_prefix(owner), body.get("after")
        limit = min(_int(body.get("limit"), inspected_items_default), inspected_items_max)
        position = keys.state_key(owner, str(after)) if after is not None else None
        rows: list[Value] = []
        for key, value in self._store.scan(prefix, position, limit):
            try:
                rows.append({"row": keys.row_of(key), "value": unpack_row(value)})
            except CorruptRow:
                rows.append({"row": keys.row_of(key), "value": None, "corrupt": True})
        if not rows and after is None:
            return NOT_FOUND
        answer: Record = {"address": str(owner), "rows": rows}
        if len(rows) == limit:
            last = rows[-1]
            assert isinstance(last, dict)
            answer["next"] = last["row"]
        return answer

    def _journal_record(self, body: Record) -> Record | Refusal:
        sequence = _int(body.get("sequence"), 0)
        value = self._store.get(keys.journal_key(sequence)) if 0 < sequence < 1 << 63 else None
        if value is None:
            return NOT_FOUND
        try:
            record = unpack_row(value)
        except CorruptRow:
            return {"shard": self._shard, "sequence": sequence, "corrupt": True}
        assert isinstance(record, dict)
        return {"shard": self._shard, "sequence": sequence, **record}

    def _statistics(self, body: Record) -> Record:
        last = self._store.last(b"j")
        answer: Record = {"shard": self._shard, "sequence": 0 if last is None else keys.sequence_of(last[0])}
        answer.update(self._counts())
        answer["deadLetters"] = len(self._store.scan(b"d", limit=inspected_items_max))
        return answer


def _int(value: Value, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
