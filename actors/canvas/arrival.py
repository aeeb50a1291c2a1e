"""A scene on its way in: rows of a canvas that is not there yet (ARCHITECTURE, The store; docs/decisions/0005).

A canvas exists when its `head` row does. Until then its elements and files lie under their final names, seen by nobody,
and these rows tell how far the import has come. They sort before the others, so a load meets them first.

| row | holds |
| --- | --- |
| arriving | who imports what, the phase, how far its pass has come, which call waits for the end |
| arriving/part/NUMBER | one part that was taken in: its digest, the ids it brought in order, what was left out |
| arriving/raw/NUMBER | one part of a scene that came in one message and is not taken in yet, as JSON |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final, cast

from actors.canvas.gathered import Gathered
from bus.value import Record, Value

ARRIVING: Final = "arriving"
PART: Final = "arriving/part/"
RAW: Final = "arriving/raw/"
LEFT_OUT_LISTED_MAX: Final = 100


class Phase(StrEnum):
    RECEIVING = "receiving"
    """Parts come in messages of the person's."""
    UNPACKING = "unpacking"
    """Parts come from raw rows."""
    NUMBERING = "numbering"
    ADOPTING = "adopting"
    RELEASING = "releasing"
    TYING = "tying"
    LISTING = "listing"
    """The passes of mend.py, by its names."""
    OPENING = "opening"
    """All is in place: the next step writes the head."""
    CLEARING = "clearing"
    """It came to nothing: rows are removed, then this one."""


class Event(StrEnum):
    COMPLETE = "complete"
    """Every part is in."""
    PASSED = "passed"
    """The pass has been over the whole scene."""
    GIVEN_UP = "given_up"
    """Refused, aborted or left alone."""


TRANSITIONS: Final[Mapping[tuple[Phase, Event], Phase]] = MappingProxyType(
    {
        (Phase.RECEIVING, Event.COMPLETE): Phase.NUMBERING,
        (Phase.UNPACKING, Event.COMPLETE): Phase.NUMBERING,
        (Phase.NUMBERING, Event.PASSED): Phase.ADOPTING,
        (Phase.ADOPTING, Event.PASSED): Phase.RELEASING,
        (Phase.RELEASING, Event.PASSED): Phase.TYING,
        (Phase.TYING, Event.PASSED): Phase.LISTING,
        (Phase.LISTING, Event.PASSED): Phase.OPENING,
        (Phase.RECEIVING, Event.GIVEN_UP): Phase.CLEARING,
        (Phase.UNPACKING, Event.GIVEN_UP): Phase.CLEARING,
        (Phase.NUMBERING, Event.GIVEN_UP): Phase.CLEARING,
        (Phase.ADOPTING, Event.GIVEN_UP): Phase.CLEARING,
        (Phase.RELEASING, Event.GIVEN_UP): Phase.CLEARING,
        (Phase.TYING, Event.GIVEN_UP): Phase.CLEARING,
        (Phase.LISTING, Event.GIVEN_UP): Phase.CLEARING,
    }
)
"""What is absent is refused."""


@dataclass(frozen=True, slots=True)
class Founding:
    """How a canvas begins: under which name, why, and who made it."""

    title: str
    reason: str
    event: str
    """The type of the event that tells of it."""
    by: str
    agent_id: str
    """Of the agent that made it and becomes its owner; empty for the person."""
    credential: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The row `arriving`. `announced`: how many elements the scene has."""

    founding: Founding
    announced: int
    phase: Phase
    cursor: int = 0
    repaired: int = 0
    """By passes; what reading repaired is in the parts."""
    waiting: str = ""
    """The id of the call that hears the outcome."""

    def after(self, event: Event) -> Facts:
        """At the beginning of the next phase. Raises KeyError for an event that this phase does not know."""
        return replace(self, phase=TRANSITIONS[self.phase, event], cursor=0)

    def to_record(self) -> Record:
        return {**asdict(self), "founding": asdict(self.founding), "phase": self.phase.value}

    @classmethod
    def from_record(cls, record: Record) -> Facts:
        founding = Founding(**cast("dict[str, str]", record["founding"]))
        given: dict[str, object] = {**record, "founding": founding, "phase": Phase(str(record["phase"]))}
        return cls(**given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Part:
    """The row `arriving/part/NUMBER`."""

    digest: str
    ids: list[str]
    files: list[str]
    seen: int
    """How many elements of the scene it brought, kept or not."""
    deleted: int
    """How many of those kept are deleted elements."""
    repaired: int
    left_out: int
    listed: list[Record]
    """What of it was left out, as far as the report has room."""
    element_bytes: int
    file_bytes: int
    misordered_from: int | None
    last_index: str | None
    open_file: str | None
    open_file_is_left_out: bool
    pieces_of_open_file: int

    def to_record(self) -> Record:
        return asdict(self)

    @classmethod
    def from_record(cls, record: Record) -> Part:
        return cls(**record)  # type: ignore[arg-type]


@dataclass(slots=True)
class Arriving:
    """The import in memory. Only the state's `apply` changes it."""

    facts: Facts
    parts: list[Part] = field(default_factory=list)
    raw: dict[str, bytes] = field(default_factory=dict)
    gathered: Gathered = field(default_factory=Gathered)
    seen: int = 0
    element_bytes: int = 0
    file_bytes: int = 0

    def apply(self, row: str, value: Value) -> None:
        """One row below `arriving/`."""
        if row.startswith(PART):
            if value is None:
                self.parts.pop()
            else:
                assert isinstance(value, dict)
                self._take(Part.from_record(value))
        elif value is None:
            self.raw.pop(row, None)
        else:
            assert isinstance(value, bytes)
            self.raw[row] = value

    def _take(self, part: Part) -> None:
        self.parts.append(part)
        self.gathered.order_behind(part.ids)
        self.seen += part.seen
        self.element_bytes += part.element_bytes
        self.file_bytes += part.file_bytes

    @property
    def last_part(self) -> Part | None:
        return self.parts[-1] if self.parts else None

    def report(self) -> Record:
        """What became of the scene."""
        listed: list[Value] = [one for part in self.parts for one in part.listed]
        return {
            "elementCount": len(self.gathered.order),
            "repairedCount": self.facts.repaired + sum(part.repaired for part in self.parts),
            "leftOutCount": sum(part.left_out for part in self.parts),
            "leftOut": listed[:LEFT_OUT_LISTED_MAX],
        }


def part_row(number: int) -> str:
    return f"{PART}{number:06d}"


def raw_row(number: int) -> str:
    return f"{RAW}{number:06d}"
