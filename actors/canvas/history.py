"""What a canvas was: the rows below `history/` (revision.py), and how the person reads them (canvas 4.6).

A row says who made the revision, when and why, and holds each element that it touched as it was *before*, and each note
on a deletion that it changed (remove.py). So revision R is the present with the befores of all later revisions put
back, newest first. Rows are cold: a decision is handed those that it asked for (docs/decisions/0015).

Revisions stand without a gap from 1 on. Revision 1 names no element: nothing was there before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import Field

from actors.canvas.access import parsed
from actors.canvas.plain import encoded_bytes
from actors.canvas.revision import elements_in, ids_in, piece_in, revision_in
from actors.canvas.state import HISTORY, CanvasState, history_piece_row, history_row
from actors.decision import ColdRow, ColdRows, Context, Decision, Message
from bus.limits import history_page_max, history_read_bytes_max, integer_max, part_bytes_max, part_elements_max
from bus.value import Record, Value
from tools.base import Model
from tools.errors import NOT_FOUND, Refusal
from tools.times import rfc3339

_ROW_BYTES: Final = 512
"""About what a revision takes on a page beside its elements."""


class CanvasHistory(Model):
    """A page of revisions, newest first: those below `before`, from the newest on if it is None, and above `after`.

    `elements`: each with the elements that it touched, as they were before, instead of their ids; a large one comes in
    several, each with some of them. `piece`: of revision `before` too, what is below that piece. `skip`: so many of the
    first one's elements were given already.
    """

    before: int | None = Field(default=None, ge=1, le=integer_max)
    after: int = Field(default=0, ge=0, le=integer_max)
    limit: int = Field(default=history_page_max, ge=1, le=history_page_max)
    elements: bool = False
    piece: int | None = Field(default=None, ge=1, le=integer_max)
    skip: int = Field(default=0, ge=0, le=integer_max)


def rows_of_page(message: Message) -> ColdRows | None:
    """Which rows canvas_history reads. Of a message that was not checked yet."""
    arguments = parsed(CanvasHistory, message)
    if isinstance(arguments, Refusal):
        return None
    before = None if arguments.before is None else history_row(arguments.before)
    if arguments.before is not None and arguments.piece is not None:
        before = history_piece_row(arguments.before, arguments.piece)
    return ColdRows(
        HISTORY,
        before,
        arguments.limit,
        part_bytes_max if arguments.elements else history_read_bytes_max,
        down_to=history_row(arguments.after + 1),
        parts=arguments.elements,
    )


def history(state: CanvasState, message: Message, context: Context) -> Decision:
    """For the person. `next`: what to ask for the page that follows, null when there is none. Reads no element."""
    arguments = parsed(CanvasHistory, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is None:
        return Decision(NOT_FOUND)
    page = _Page(arguments)
    for row in context.cold:
        if not page.take(row):
            break
    reply: Record = {"title": state.head.title, "revision": state.head.revision, "revisions": page.revisions}
    return Decision({**reply, "next": page.following()})


@dataclass(slots=True)
class _Page:
    """What fits one answer."""

    asked: CanvasHistory
    revisions: list[Value] = field(default_factory=list)
    room: int = part_bytes_max
    last: int = 0
    """The revision of the last row that was given, and all of it unless `given` says otherwise."""
    piece: int | None = None
    """Which piece of it that row is."""
    given: int = 0
    """So many of its elements, when it has more."""

    def take(self, row: ColdRow) -> bool:
        """Add the revision; whether there is room for more. The first is taken in any case, some of it at least."""
        told = _told(cast(Record, row.value))
        if self.asked.elements:
            return self._take_elements(row, told)
        ids = ids_in(row)
        size = encoded_bytes(ids) + _ROW_BYTES
        if self.revisions and size > self.room:
            return False
        self.room -= size
        self.last = revision_in(row)
        self.revisions.append({**told, "elementIds": ids})
        return True

    def _take_elements(self, row: ColdRow, told: Record) -> bool:
        items = elements_in(row)
        first = 0 if self.revisions else min(self.asked.skip, len(items))
        taken: list[Value] = []
        for item in items[first : first + part_elements_max]:
            size = encoded_bytes(item)
            if size > self.room and (taken or self.revisions):
                break
            self.room -= size
            taken.append(item)
        is_whole = first + len(taken) == len(items)
        if taken or is_whole:
            self.last, self.piece = revision_in(row), piece_in(row)
            self.given = 0 if is_whole else first + len(taken)
            self.revisions.append({**told, "elements": taken})
            self.room -= _ROW_BYTES
        return is_whole and self.room > 0

    def following(self) -> Value:
        if self.given:
            if self.piece is None:
                return {"before": self.last + 1, "skip": self.given}
            return {"before": self.last, "piece": self.piece + 1, "skip": self.given}
        if self.piece is not None:
            return {"before": self.last, "piece": self.piece}
        return {"before": self.last} if self.last > self.asked.after + 1 else None


def _told(record: Record) -> Record:
    told: Record = {
        "revision": record["revision"],
        "by": record["by"],
        "at": rfc3339(cast(int, record["atMs"])),
        "what": record["what"],
        "reason": record["reason"],
    }
    return {**told, "approvedBy": record["approvedBy"]} if "approvedBy" in record else told
