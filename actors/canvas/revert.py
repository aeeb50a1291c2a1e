"""canvas_revert: the scene of an earlier revision again, as a new one (canvas 4.6). For the person.

A write like any other: versions rise, and what it changes is in the history. Each element that differs is set to what
it was, whole. What was made later is deleted first, softly, with notes of what that took, so that it can be restored.
Every scene that was stored was sound, and the live elements of the earlier one come back as they were, so they are
tied as they were. An element's index never changes once it has one, so the order is as it was too. Files stay.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.canvas.draft import Draft
from actors.canvas.outcome import Rejected
from actors.canvas.plain import encoded_bytes
from actors.canvas.remove import take_away
from actors.canvas.revision import Past, is_piece, past_at, revision_in
from actors.canvas.state import HISTORY, history_row
from actors.decision import ColdRows, Message
from bus.limits import cold_rows_max, revert_bytes_max, revert_elements_max
from bus.value import Record
from tools.base import Integer
from tools.canvas.inputs import CanvasWrite

OWN_FIELDS: Final = ("version", "versionNonce", "updated")
"""What an element does not take back: they tell editors that it has changed."""


class CanvasRevert(CanvasWrite):
    """`expectedRevision` is the present one; what came later has no past that was read."""

    to: Integer = Field(ge=1)
    rebase: None = None


def rows_since(message: Message) -> ColdRows | None:
    """The history of all revisions after `to`. Of a message that was not checked yet."""
    to, present = message.body.get("to"), message.body.get("expectedRevision")
    if type(to) is not int or type(present) is not int or not 1 <= to < present:
        return None
    return ColdRows(HISTORY, history_row(present + 1), cold_rows_max, down_to=history_row(to + 1))


def revert(draft: Draft, arguments: CanvasRevert) -> None:
    """The rule, for a draft of revision `expectedRevision`. Raises Rejected."""
    revision, rows = draft.head.revision, draft.context.cold
    if arguments.to > revision:
        raise Rejected("revision_ahead", f"The canvas has no revision {arguments.to} yet; it is at {revision}.")
    # A revision's own row is read after all of its pieces.
    if [revision_in(row) for row in rows if not is_piece(row.row)] != [*range(revision, arguments.to, -1)]:
        raise _too_much("So many revisions cannot be taken back at once.")
    past = past_at(rows)
    if len(past.elements) > revert_elements_max:
        raise _too_much(f"More than {revert_elements_max} elements would change.")
    draft.work.lift()  # what a revert may change is bounded here
    take_away(draft, [id_ for id_, was in past.elements.items() if was is None])
    for id_, was in past.elements.items():
        if was is not None:
            _set(draft, id_, was, past)
    for id_, note in past.notes.items():
        if id_ not in past.elements:
            draft.note_deletion(id_, note)
    _check_size(draft)


def _set(draft: Draft, id_: str, was: Record, past: Past) -> None:
    present = draft.before(id_)
    assert present is not None, "elements are deleted softly"
    draft.add({**was, **{name: present[name] for name in OWN_FIELDS}})
    is_deleted = was["isDeleted"] is True
    entry = draft.state.entries[id_]
    draft.note_deletion(id_, past.notes.get(id_, entry.deletion) if is_deleted else None)


def _check_size(draft: Draft) -> None:
    changed = draft.changed_ids()
    if len(changed) > revert_elements_max:
        raise _too_much(f"More than {revert_elements_max} elements would change.")
    size = sum(encoded_bytes(draft.now(id_)) + encoded_bytes(draft.before(id_)) for id_ in changed)
    if size > revert_bytes_max:
        raise _too_much("Too much would be written at once.")


def _too_much(why: str) -> Rejected:
    words = "Nothing was changed. Write that revision into a file (nexus canvas at), and import it as a canvas."
    return Rejected("limits", f"{why} {words}")
