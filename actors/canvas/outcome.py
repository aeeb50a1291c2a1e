"""The outcomes of a write, as results (canvas 3.1), and the events that a canvas leaves in the log.

Messages never hold an id or a text that someone typed: they name a place in the call (`elements.3`, from 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from actors.canvas.element import Problem
from actors.canvas.lock import Lock
from actors.canvas.plain import encoded_bytes
from actors.canvas.state import CanvasState, Head
from bus.limits import changed_since_max, element_ids_listed_bytes_max
from bus.value import Record, Value
from tools.times import rfc3339

CREATED: Final = "canvas.created"
IMPORTED: Final = "canvas.imported"
CHANGED: Final = "canvas.changed"
DELETED: Final = "canvas.deleted"
ROLE_GRANTED: Final = "canvas.role_granted"
PROPOSED: Final = "canvas.proposed"
PROPOSAL_DECIDED: Final = "canvas.proposal_decided"
LOCKED: Final = "canvas.locked"
UNLOCKED: Final = "canvas.unlocked"


class Rejected(Exception):
    """A write or an import breaks a rule of the scene. Raised by rules; what runs a rule turns it into the outcome."""

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


def proposed(proposal_id: str, base_revision: int) -> Record:
    return {"outcome": "proposed", "proposalId": proposal_id, "baseRevision": base_revision}


def conflict(state: CanvasState, revision: int, since: int) -> Record:
    """Somebody wrote after revision `since`: what, newest first."""
    return conflict_over(state, revision, state.changed_since(since, changed_since_max + 1))


def conflict_over(state: CanvasState, revision: int, changed: Sequence[str]) -> Record:
    """Somebody changed these elements, given newest first."""
    listed: list[Value] = []
    for id_ in changed[:changed_since_max]:
        entry = state.entries[id_]
        listed.append({"elementId": id_, "revision": entry.revision, "by": entry.by, "what": entry.what})
    outcome: Record = {"outcome": "conflict", "currentRevision": revision, "changedSince": listed}
    return outcome if len(changed) <= changed_since_max else {**outcome, "truncated": True}


def rejected(code: str, message: str) -> Record:
    return {"outcome": "rejected", "code": code, "message": message}


def revision_differs(state: CanvasState, head: Head, expected: int, rebase: str | None = None) -> Record | None:
    """The outcome for a call that does not speak of the present revision (canvas 3.2); None for one that goes on.

    With `rebase` an older one goes on: it is a conflict only if it clashes (rebase.py).
    """
    if expected > head.revision:
        return rejected("revision_ahead", "expectedRevision is newer than the canvas. Read its state again.")
    if expected < head.revision and rebase is None:
        return conflict(state, head.revision, expected)
    return None


def locked(lock: Lock) -> Record:
    """Somebody else has locked an element that the call would change."""
    message = (
        "Somebody else has locked an element that this call would change. Wait until then, ask the holder, or leave "
        "that element out."
    )
    return {**rejected("lock", message), "holder": lock.holder, "until": rfc3339(lock.until_ms)}


def bounded(items: Iterable[str]) -> tuple[list[Value], bool]:
    """As many of `items` as a result can hold, and whether those are all."""
    room, listed = element_ids_listed_bytes_max, list[Value]()
    for item in items:
        room -= encoded_bytes(item) + 1
        if room < 0:
            return listed, False
        listed.append(item)
    return listed, True
