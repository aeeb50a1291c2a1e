"""One canvas as rows and in memory. Only `apply` changes a state; everything it holds is never changed in place.

| row | holds |
| --- | --- |
| head | title, revision, counts, createdBy, times: all that listing needs (canvas 5); what each agent has written |
| head/role/AGENT | that agent's role |
| gone | all that is left of a canvas that was deleted: who, when, and until then what is still to be removed |
| arriving, arriving/... | an import that is not finished: see arrival.py |
| scene | what stands beside the elements in the file: appState, unknown top-level fields |
| element/KEY | one element, with who changed it last, at which revision, and what its deletion took |
| file/KEY | one file of the scene, all but its data URL |
| piece/KEY/NUMBER | a piece of that file's data URL, so that no row is large |
| lock/KEY | who alone may change that element, and until when (lock.py) |
| proposal/ID | a write that waits to be approved, or what became of one (proposal.py) |
| history/REVISION | one revision: who, when, why, and the elements as they were before; kept, not loaded |
| history/REVISION/NUMBER | a piece of what one with many elements holds (revision.py) |

KEY is the id itself when it is short and plain, otherwise a digest of it, so that any id fits a row's name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Final

from actors.canvas.arrival import ARRIVING, Arriving, Facts
from actors.canvas.entry import Entry
from actors.canvas.geometry import text
from actors.canvas.indexes import Indexes, Kept, Placed
from actors.canvas.lock import LOCK, Locks
from actors.canvas.proposal import PROPOSAL, Proposal
from actors.canvas.stored import stored_record as _record
from actors.canvas.stored import stored_text as _text
from actors.canvas.stored import stored_whole as _whole
from actors.decision import Put, RowEffect
from bus.value import Record, Value

HEAD: Final = "head"
ROLE: Final = "head/role/"
SCENE: Final = "scene"
ELEMENT: Final = "element/"
FILE: Final = "file/"
PIECE: Final = "piece/"
HISTORY: Final = "history/"
GONE: Final = "gone"

_SHED_AT_ONCE: Final = 2_000
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a canvas without loading its elements. `created_by` is an agent's id or `person`."""

    title: str
    revision: int
    live: int
    deleted: int
    created_by: str
    created_ms: int
    updated_ms: int
    usage: Mapping[str, int] = field(default_factory=dict)
    """Agent -> bytes that it has written here (usage.py)."""
    others: bool = False
    """Whether a write by somebody else than its creator was applied. Rows of older releases do not tell."""

    def to_record(self) -> Record:
        return {
            "title": self.title,
            "revision": self.revision,
            "live": self.live,
            "deleted": self.deleted,
            "createdBy": self.created_by,
            "createdMs": self.created_ms,
            "updatedMs": self.updated_ms,
            "usage": {**self.usage},
            "others": self.others,
        }

    @classmethod
    def from_record(cls, record: Record) -> Head:
        return cls(
            title=_text(record["title"]),
            revision=_whole(record["revision"]),
            live=_whole(record["live"]),
            deleted=_whole(record["deleted"]),
            created_by=_text(record["createdBy"]),
            created_ms=_whole(record["createdMs"]),
            updated_ms=_whole(record["updatedMs"]),
            usage={agent_id: _whole(size) for agent_id, size in _record(record.get("usage", {})).items()},
            others=record.get("others") is True,
        )


@dataclass(frozen=True, slots=True)
class Gone:
    """The row `gone`."""

    by: str
    at_ms: int
    revision: int
    """The last one."""
    history: int
    """Revisions up to this one are still to be removed, or some of them; 0 when none is left."""
    cleared: bool = False
    """Nothing but this row is left."""

    def to_record(self) -> Record:
        return {
            "by": self.by,
            "atMs": self.at_ms,
            "revision": self.revision,
            "history": self.history,
            "cleared": self.cleared,
        }

    @classmethod
    def from_record(cls, record: Record) -> Gone:
        return cls(
            by=_text(record["by"]),
            at_ms=_whole(record["atMs"]),
            revision=_whole(record["revision"]),
            history=_whole(record["history"]),
            cleared=record["cleared"] is True,
        )


@dataclass(slots=True)
class CanvasState:
    """One canvas in memory, row by row; with the head only until something needs the scene."""

    head: Head | None = None
    """None: there is no such canvas."""
    gone: Gone | None = None
    """It was deleted. Then there is no head."""
    roles: dict[str, str] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    """By element id, deleted ones too."""
    files: dict[str, Record] = field(default_factory=dict)
    """By file id, in the file format's own form; the data URL is in `pieces`, or in older rows here."""
    pieces: dict[str, list[str]] = field(default_factory=dict)
    """By file id, its data URL in pieces."""
    arriving: Arriving | None = None
    """An import that is not finished. Then there is no head."""
    scene: Record = field(default_factory=dict)
    locks: Locks = field(default_factory=Locks)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    """By id, decided ones too."""
    _ids_by_row: dict[str, str] = field(default_factory=dict, compare=False)
    indexes: Indexes = field(default_factory=Indexes, compare=False)
    """Derived from `entries`, so that nothing walks over all of them (indexes.py)."""

    @property
    def kept(self) -> Kept:
        """Orders, counts and members of the elements."""
        return self.indexes.kept(self.entries)

    @property
    def placed(self) -> Placed:
        """Where the elements lie."""
        return self.indexes.placed(self.entries)

    def in_order(self) -> list[tuple[str, str]]:
        """(index, id) of every element, lowest first. Not to be changed."""
        return self.kept.order.keys

    def changed_since(self, revision: int, limit: int | None = None) -> list[str]:
        """Ids of the elements that were changed after that revision, the last ones first; at most so many."""
        changed = takewhile(lambda at: at[0] > revision, reversed(self.kept.recent.keys))
        return [id_ for _, id_ in islice(changed, limit)]

    def keep_some(self) -> bool:
        """A step towards `kept`; whether it is there."""
        return self.indexes.keep_some(self.entries)

    def place_some(self) -> bool:
        """A step towards `kept` and `placed`; whether they are there."""
        return self.indexes.place_some(self.entries)

    def shed(self) -> bool:
        """Let go of some elements of a state that nobody uses any more; whether only a few are left."""
        self.indexes.clear()
        for _ in range(min(_SHED_AT_ONCE, len(self.entries))):
            self.entries.popitem()
        return not self.entries

    def apply(self, effect: RowEffect) -> None:
        row, value = effect.row, effect.value if isinstance(effect, Put) else None
        if row == HEAD:
            self.head = None if value is None else Head.from_record(_record(value))
        elif row == GONE:
            self.gone = None if value is None else Gone.from_record(_record(value))
            self.indexes.clear()  # nobody asks any more
        elif row == SCENE:
            self.scene = {} if value is None else _record(value)
        elif row.startswith(ROLE):
            self._apply_role(row.removeprefix(ROLE), value)
        elif row.startswith(ELEMENT):
            self._apply_element(row, value)
        elif row.startswith(FILE):
            self._apply_file(row, value)
        elif row.startswith(PIECE):
            self._apply_piece(row, value)
        elif row.startswith(ARRIVING):
            self._apply_arrival(row, value)
        elif row.startswith(LOCK):
            self.locks.apply(row, value)
        elif row.startswith(PROPOSAL):
            self._apply_proposal(row.removeprefix(PROPOSAL), value)
        elif not row.startswith(HISTORY):
            raise ValueError(f"a canvas has no row named {row!r}")

    def _apply_role(self, agent_id: str, value: Value) -> None:
        if value is None:
            self.roles.pop(agent_id, None)
        else:
            self.roles[agent_id] = _text(_record(value)["role"])

    def _apply_element(self, row: str, value: Value) -> None:
        if value is None:
            gone = self._ids_by_row.pop(row, "")
            self.indexes.replace(gone, self.entries.pop(gone, None), None)
            if self.arriving is not None:
                self.arriving.gathered.drop(gone)
            return
        entry = Entry.from_record(_record(value))
        if self.arriving is not None:
            self.arriving.gathered.put(entry.element)
        id_ = text(entry.element, "id")
        self.indexes.replace(id_, self.entries.get(id_), entry)
        self._ids_by_row[row] = id_
        self.entries[id_] = entry

    def _apply_file(self, row: str, value: Value) -> None:
        if value is None:
            self.files.pop(self._ids_by_row.pop(row, ""), None)
            return
        file = _record(value)
        self._ids_by_row[row] = text(file, "id")
        self.files[text(file, "id")] = file

    def _apply_piece(self, row: str, value: Value) -> None:
        """Pieces come and are loaded in their order, and go from the last."""
        if value is None:
            id_ = self._ids_by_row.pop(row, "")
            if len(self.pieces[id_]) > 1:
                self.pieces[id_].pop()
            else:
                del self.pieces[id_]
            return
        piece = _record(value)
        self._ids_by_row[row] = text(piece, "id")
        self.pieces.setdefault(text(piece, "id"), []).append(text(piece, "text"))

    def _apply_proposal(self, id_: str, value: Value) -> None:
        if value is None:
            self.proposals.pop(id_, None)
        else:
            self.proposals[id_] = Proposal.from_record(id_, _record(value))

    def _apply_arrival(self, row: str, value: Value) -> None:
        if row != ARRIVING:
            if self.arriving is not None:
                self.arriving.apply(row, value)
        elif value is None:
            self.arriving = None
        elif self.arriving is None:
            self.arriving = Arriving(Facts.from_record(_record(value)))
        else:
            self.arriving.facts = Facts.from_record(_record(value))


def element_row(id_: str) -> str:
    return ELEMENT + _key(id_)


def file_row(id_: str) -> str:
    return FILE + _key(id_)


def piece_row(id_: str, number: int) -> str:
    """Rows sort as pieces do."""
    return f"{PIECE}{_key(id_)}/{number:06d}"


def lock_row(element_id: str) -> str:
    return LOCK + _key(element_id)


def role_row(agent_id: str) -> str:
    return ROLE + agent_id


def history_row(revision: int) -> str:
    """Rows sort as revisions do."""
    return f"{HISTORY}{revision:016d}"


def history_piece_row(revision: int, number: int) -> str:
    """Behind the row of their revision, and before that of the next."""
    return f"{history_row(revision)}/{number:06d}"


def _key(id_: str) -> str:
    if _PLAIN_ID.match(id_):
        return id_
    return "=" + hashlib.blake2b(id_.encode(), digest_size=20).hexdigest()  # no plain id begins with "="
