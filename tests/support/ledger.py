"""A kind of owner that keeps who appended what in which order, so a test can say what was lost, doubled or turned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from actors.decision import Context, Decision, Event, Message, PrincipalKind, Put, RowEffect, Rules, Verb
from bus.address import Address
from bus.codec import unpack_row
from bus.store import Store, state_prefix
from bus.store_lmdb import LmdbStore
from bus.value import Record

LEDGERS = [Address("ledger", "-", f"book{number}") for number in range(8)]
_CALLERS = frozenset({PrincipalKind.PERSON, PrincipalKind.GATEWAY})


@dataclass(slots=True)
class Length:
    entries: int = 0


def _append(state: Length, message: Message, context: Context) -> Decision:
    at = state.entries + 1
    entry = [message.body["caller"], message.body["number"], context.call_id, message.body.get("filler")]
    event = Event("ledger.appended", {"at": at})
    return Decision({"at": at}, (Put(f"entry/{at:08d}", entry), event))


def _length(state: Length, message: Message, context: Context) -> Decision:
    return Decision({"entries": state.entries})


class LedgerRules(Rules[Length]):
    kind = "ledger"
    verbs: Mapping[str, Verb[Length]] = {"append": Verb(_append, _CALLERS), "length": Verb(_length, _CALLERS)}

    def new_state(self) -> Length:
        return Length()

    def apply(self, state: Length, effect: RowEffect) -> None:
        state.entries += 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored row."""

    ledger: Address
    at: int
    caller: int
    number: int
    call_id: str


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that was stored: entries in their owners' order, and how often an event tells of (owner, call)."""

    entries: list[Entry]
    events: Counter[tuple[str, str]]

    @classmethod
    def read(cls, folder: Path) -> Books:
        """From a shard whose host has ended."""
        store = LmdbStore(folder)
        try:
            return cls([entry for ledger in LEDGERS for entry in _entries(store, ledger)], _events(store))
        finally:
            store.close()

    def check(self, acknowledged: Mapping[str, tuple[Address, int]], out_of_turn: set[str]) -> None:
        """`acknowledged`: by call id, which ledger and place were told. `out_of_turn`: ids that their callers repeated
        by hand, which may have been overtaken by their own later calls."""
        by_call = {entry.call_id: entry for entry in self.entries}
        assert len(by_call) == len(self.entries), "a call has two entries"
        lost = [call_id for call_id in acknowledged if call_id not in by_call]
        assert not lost, f"{len(lost)} acknowledged calls are not stored"
        moved = [i for i, told in acknowledged.items() if (by_call[i].ledger, by_call[i].at) != told]
        assert not moved, "an answer told another place"
        assert self.events == Counter((str(entry.ledger), entry.call_id) for entry in self.entries)
        latest: dict[tuple[Address, int], int] = {}
        for entry in self.entries:
            if entry.call_id in out_of_turn:
                continue
            key = (entry.ledger, entry.caller)
            assert entry.number > latest.get(key, -1), f"caller {entry.caller} was turned round in {entry.ledger}"
            latest[key] = entry.number


def _entries(store: Store, ledger: Address) -> list[Entry]:
    found = []
    for key, value in store.scan(state_prefix(ledger) + b"entry/"):
        row = unpack_row(value)
        assert isinstance(row, list)
        caller, number, call_id = row[:3]
        assert isinstance(caller, int)
        assert isinstance(number, int)
        found.append(Entry(ledger, int(key[-8:]), caller, number, str(call_id)))
    return found


def _events(store: Store) -> Counter[tuple[str, str]]:
    told: Counter[tuple[str, str]] = Counter()
    for _, value in store.scan(b"j"):
        record: Record = unpack_row(value)  # type: ignore[assignment]
        assert record["by"] == "person", "every event is attributed to who called"
        told[str(record["owner"]), str(record["call"])] += 1
    return told
