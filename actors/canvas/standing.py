"""What stands beside the scene, as it is read: pending proposals and locks in canvas_get_state, and all that the person
reads of proposals, with what one of them would make of the scene.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import Field

from actors.canvas.access import parsed
from actors.canvas.attempt import Standing, attempted
from actors.canvas.changes import CHANGES
from actors.canvas.deciding import drafted
from actors.canvas.draft import Draft
from actors.canvas.locking import counts
from actors.canvas.plain import encoded_bytes
from actors.canvas.proposal import Proposal
from actors.canvas.state import CanvasState
from actors.decision import Context, Decision, Message
from bus.limits import (
    proposals_page_max,
    region_page_bytes_max,
    state_locks_bytes_max,
    state_proposals_bytes_max,
)
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Refusal
from tools.fence import fenced
from tools.times import rfc3339

SOURCE: Final = "canvas"


class CanvasProposals(Model):
    """The person asks for proposals, oldest first; decided ones too if `all`."""

    after: Identifier | None = None
    limit: int = Field(default=proposals_page_max, ge=1, le=proposals_page_max)
    all: bool = False


class CanvasProposal(Model):
    proposalId: Identifier


def beside_the_scene(state: CanvasState, context: Context) -> Record:
    """The part of canvas_get_state that says what is proposed and locked; bounded, with how many there are."""
    pending = [one for one in state.proposals.values() if one.is_pending]
    held = [lock for lock in state.locks.all().values() if counts(state, lock, context.now_ms)]
    held.sort(key=lambda lock: (-lock.until_ms, lock.element_id))
    locks: list[Record] = [
        {"elementId": lock.element_id, "holder": lock.holder, "until": rfc3339(lock.until_ms)} for lock in held
    ]
    return {
        "proposals": _within(map(_row, pending), state_proposals_bytes_max),
        "proposalCount": len(pending),
        "locks": _within(locks, state_locks_bytes_max),
        "lockCount": len(held),
    }


def proposals(state: CanvasState, message: Message, context: Context) -> Decision:
    """A page for the person: `next` is the `after` of the next one, null at the end."""
    arguments = parsed(CanvasProposals, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is None:
        return Decision(NOT_FOUND)
    wanted = [
        one
        for one in state.proposals.values()
        if (arguments.all or one.is_pending) and (arguments.after is None or one.id > arguments.after)
    ]
    rows = _within(map(_whole_row, wanted[: arguments.limit]), region_page_bytes_max)
    last = wanted[len(rows) - 1].id if rows and len(rows) < len(wanted) else None
    return Decision({"revision": state.head.revision, "proposals": rows, "next": last})


def proposal(state: CanvasState, message: Message, context: Context) -> Decision:
    """One for the person: `would` is the outcome of approving it now, `elements` what those that it changes would be.

    Elements are in Excalidraw's form, as far as they fit (`truncated`).
    """
    arguments = parsed(CanvasProposal, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    found = state.proposals.get(arguments.proposalId)
    if state.head is None or found is None:
        return Decision(NOT_FOUND)
    reply: Record = {"revision": state.head.revision, **_whole_row(found)}
    if not found.is_pending:
        return Decision(reply)
    made = drafted(state, state.head, found, None, context)
    if isinstance(made, dict):
        return Decision({**reply, "would": made})
    draft, given = made
    standing = Standing(found.base_revision, (), context.now_ms, heeds_locks=False)
    would = attempted(draft, CHANGES[found.tool], given, standing).reply
    assert isinstance(would, dict)
    drawn = [*_drawn(draft)]
    listed = _within(drawn, region_page_bytes_max)
    shown: Record = {"would": would, "untrusted": True, "source": SOURCE, "elements": listed}
    return Decision({**reply, **shown, "truncated": len(listed) < len(drawn)})


def _drawn(draft: Draft) -> Iterator[Record]:
    for id_ in draft.changed_ids():
        element = draft.now(id_)
        if element is not None:
            yield element


def _row(one: Proposal) -> Record:
    listed: list[Value] = [*one.element_ids]
    return {
        "proposalId": one.id,
        "by": one.by,
        "at": rfc3339(one.at_ms),
        "baseRevision": one.base_revision,
        "what": one.what,
        "reason": fenced(SOURCE, one.reason),
        "elementIds": listed,
        "elementCount": one.elements,
    }


def _whole_row(one: Proposal) -> Record:
    row: Record = {**_row(one), "tool": one.tool, "stage": one.stage.value}
    if one.is_pending:
        return row
    decided: Record = {
        "decidedBy": one.decided_by,
        "decidedAt": rfc3339(one.decided_ms),
        "decidedBecause": fenced(SOURCE, one.decided_because),
    }
    return {**row, **decided}


def _within(rows: Iterable[Record], room: int) -> list[Value]:
    """The first rows, as many as fit."""
    listed: list[Value] = []
    for row in rows:
        room -= encoded_bytes(row) + 1
        if room < 0:
            break
        listed.append(row)
    return listed
