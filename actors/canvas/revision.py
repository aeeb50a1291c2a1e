"""One revision as rows: how it is written, and what is read from it again (canvas 4.6).

| row | holds |
| --- | --- |
| history/REVISION | who, when, why; what was there before; or, if that is much, only the ids of the elements |
| history/REVISION/NUMBER | of a revision with much in it: who, when, why again, and a piece of what was there before |

What was there before: `elements`, {id, before} of each element that the revision touched, None for one that it made;
and `notes`, the same of each note on a deletion that it changed (remove.py). Whoever reads rows reads them highest
first, so the first piece has the highest number and the row without one comes last.

No piece is much larger than `part_bytes_max`: a row is packed and unpacked in one go that nothing else of its process
can interrupt, some 10 ms for so many bytes. A row of an older release holds everything, however much it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from actors.canvas.plain import encoded_bytes
from actors.canvas.state import HISTORY, history_piece_row, history_row
from actors.decision import ColdRow, Put
from bus.limits import part_bytes_max
from bus.value import Record, Value


@dataclass(frozen=True, slots=True)
class RevisionRows:
    """What a revision writes to the history."""

    rows: tuple[Put, ...]
    size: int
    """Of what was there before, in bytes as JSON."""


def revision_rows(told: Record, elements: Sequence[Record], notes: Sequence[Record]) -> RevisionRows:
    """`told`: who, when and why, with the `revision`; it is put into every piece."""
    revision = cast(int, told["revision"])
    pieces, size = _cut(told, elements, notes)
    if len(pieces) == 1:
        return RevisionRows((Put(history_row(revision), pieces[0]),), size)
    none: list[Value] = []
    head: Record = {**told, "elements": none, "ids": [item["id"] for item in elements]}
    numbered = zip(range(len(pieces), 0, -1), pieces, strict=True)
    rows = [Put(history_piece_row(revision, number), piece) for number, piece in numbered]
    return RevisionRows((Put(history_row(revision), head), *rows), size)


def _cut(told: Record, elements: Sequence[Record], notes: Sequence[Record]) -> tuple[list[Record], int]:
    pieces: list[Record] = [{**told, "elements": []}]
    room, total = part_bytes_max, 0
    for name, items in (("elements", elements), ("notes", notes)):
        for item in items:
            size = encoded_bytes(item)
            total += size
            if size > room:
                pieces.append({**told, "elements": []})
                room = part_bytes_max
            room -= size
            cast("list[Value]", pieces[-1].setdefault(name, [])).append(item)
    return pieces, total


def is_piece(row: str) -> bool:
    """Whether the row of a history holds a piece of a revision, not the revision itself."""
    return "/" in row.removeprefix(HISTORY)


def piece_in(row: ColdRow) -> int | None:
    """The number of the piece; None of the revision's own row."""
    number = row.row.removeprefix(HISTORY).partition("/")[2]
    return int(number) if number else None


def revision_in(row: ColdRow) -> int:
    return cast(int, cast(Record, row.value)["revision"])


def elements_in(row: ColdRow) -> list[Record]:
    """{id, before} of the elements in this row alone."""
    return cast("list[Record]", cast(Record, row.value)["elements"])


def ids_in(row: ColdRow) -> list[Value]:
    """Of all elements that the revision touched. Of its own row."""
    ids = cast(Record, row.value).get("ids")
    return [*ids] if isinstance(ids, list) else [item["id"] for item in elements_in(row)]


@dataclass(frozen=True, slots=True)
class Past:
    """What of a canvas was another at an earlier revision."""

    elements: dict[str, Record | None]
    """By id, as they were; None for those that were not there yet."""
    notes: dict[str, Record | None]
    """By id, what was noted of their deletion."""


def past_at(rows: Iterable[ColdRow]) -> Past:
    """From the rows of every later revision, newest first."""
    past = Past({}, {})
    for row in rows:
        for item in elements_in(row):
            past.elements[str(item["id"])] = cast("Record | None", item["before"])
        for note in cast("list[Record]", cast(Record, row.value).get("notes", [])):  # rows of older releases have none
            past.notes[str(note["id"])] = cast("Record | None", note["before"])
    return past
