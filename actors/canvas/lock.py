"""A lock: an element that only its holder may change for a while (canvas 3.3). Pure data; the rules are in locking.py.

Locks lie beside the scene: they never set Excalidraw's own `locked`, and the revision does not advance with them. Who
asks says what time it is, so a timer that comes late shows no dead lock as alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from bus.value import Record, Value

LOCK: Final = "lock/"
LAPSE: Final = "locks_lapse"
"""The timer that removes dead locks, and its verb."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The row of one locked element. `holder` is an agent's id or `person`."""

    element_id: str
    holder: str
    until_ms: int
    """Host time from which it is dead."""

    def is_alive(self, now_ms: int) -> bool:
        return now_ms < self.until_ms

    def to_record(self) -> Record:
        return {"id": self.element_id, "holder": self.holder, "untilMs": self.until_ms}

    @classmethod
    def from_record(cls, record: Record) -> Lock:
        return cls(cast(str, record["id"]), cast(str, record["holder"]), cast(int, record["untilMs"]))


class Locks:
    """The locks of one canvas by element, kept row by row; those that do not count stay until their rows go."""

    def __init__(self) -> None:
        self._by_element: dict[str, Lock] = {}
        self._ids_by_row: dict[str, str] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Locks) and self._by_element == other._by_element

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._by_element)

    def apply(self, row: str, value: Value) -> None:
        if value is None:
            self._by_element.pop(self._ids_by_row.pop(row, ""), None)
            return
        lock = Lock.from_record(cast(Record, value))
        self._ids_by_row[row] = lock.element_id
        self._by_element[lock.element_id] = lock

    def all(self) -> Mapping[str, Lock]:
        return self._by_element

    def of(self, element_id: str) -> Lock | None:
        """Also one that does not count."""
        return self._by_element.get(element_id)

    def on(self, element_ids: Iterable[str]) -> Iterable[Lock]:
        """The locks on these elements, also those that do not count."""
        if not self._by_element:
            return ()
        found = (self._by_element.get(id_) for id_ in element_ids)
        return (lock for lock in found if lock is not None)
