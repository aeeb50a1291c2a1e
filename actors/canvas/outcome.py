"""The outcomes of a write, as results (canvas 3.1), and the events that a canvas leaves in the log.

Messages never hold an id or a text that someone typed: they name a place in the call (`elements.3`, from 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.canvas.element import Problem
from actors.canvas.plain import encoded_bytes
from actors.canvas.state import CanvasState
from bus.limits import changed_since_max, element_ids_listed_bytes_max
from bus.value import Record, Value

CREATED: Final = "canvas.created"
IMPORTED: Final = "canvas.imported"
CHANGED: Final = "canvas.changed"
DELETED: Final = "canvas.deleted"
ROLE_GRANTED: Final = "canvas.role_granted"


class Rejected(Exception):
    """A write breaks a rule of the scene or of roles. Raised by rules, turned into the outcome in write.py."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @classmethod
    def because(cls, problem: Problem, place: str) -> Rejected:
        """For an element, named by its place in the call, that cannot stand in a scene."""
        subject = f"its field {problem.field} {problem.text}" if problem.field else problem.text
        return cls(problem.code, f"{place} cannot stand in a scene: {subject}. Nothing was changed.")


def applied(revision: int, element_ids: Iterable[str]) -> Record:
    listed, whole = bounded(element_ids)
    outcome: Record = {"outcome": "applied", "revision": revision, "elementIds": listed}
    return outcome if whole else {**outcome, "truncated": True}


def conflict(state: CanvasState, revision: int, since: int) -> Record:
    """Somebody wrote after revision `since`: what, newest first."""
    changed = state.changed_since(since, changed_since_max + 1)
    listed: list[Value] = []
    for id_ in changed[:changed_since_max]:
        entry = state.entries[id_]
        listed.append({"elementId": id_, "revision": entry.revision, "by": entry.by, "what": entry.what})
    outcome: Record = {"outcome": "conflict", "currentRevision": revision, "changedSince": listed}
    return outcome if len(changed) <= changed_since_max else {**outcome, "truncated": True}


def rejected(code: str, message: str) -> Record:
    return {"outcome": "rejected", "code": code, "message": message}


def bounded(items: Iterable[str]) -> tuple[list[Value], bool]:
    """As many of `items` as a result can hold, and whether those are all."""
    room, listed = element_ids_listed_bytes_max, list[Value]()
    for item in items:
        room -= encoded_bytes(item) + 1
        if room < 0:
            return listed, False
        listed.append(item)
    return listed, True
