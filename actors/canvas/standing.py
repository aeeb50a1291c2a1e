"""What stands beside the scene, as it is read: proposals and locks in canvas_get_state, and all that the person reads
of proposals, with what one of them would make of the scene.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import Field

from actors.canvas.access import parsed
from actors.canvas.attempt import Terms, attempted
from actors.canvas.changes import CHANGES
from actors.canvas.deciding import drafted
from actors.canvas.draft import Draft
from actors.canvas.locking import counts
from actors.canvas.plain import encoded_bytes
from actors.canvas.proposal import Proposal
from actors.canvas.proposed_changes import changes_of
from actors.canvas.state import CanvasState
from actors.decision import Context, Decision, Message
from bus.limits import (
    proposals_page_max,
    region_page_bytes_max,
    state_decided_bytes_max,
    state_locks_bytes_max,
    state_proposals_bytes_max,
)
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Refusal
from tools.fence import fenced
from tools.times import rfc3339

SOURCE: Final = "canvas"


class ProposalPlace(Model):
    """Of the proposal that a page ended with: where the next one begins, though that one is gone by then."""

    atMs: int = Field(ge=0)
    proposalId: Identifier


class CanvasProposals(Model):
    """The person asks for proposals, oldest first; decided ones too if `all`."""

    after: ProposalPlace | None = None
    limit: int = Field(default=proposals_page_max, ge=1, le=proposals_page_max)
    all: bool = False


class CanvasProposal(Model):
    proposalId: Identifier


def beside_the_scene(state: CanvasState, context: Context) -> Record:
    """The part of canvas_get_state that says what is proposed and locked, and what became of what the caller proposed
    (canvas 2); bounded, with how many there are."""
    pending = [one for one in _in_order(state) if one.is_pending]
    held = [lock for lock in state.locks.all().values() if counts(state, lock, context.now_ms)]
    held.sort(key=lambda lock: (-lock.until_ms, lock.element_id))
    locks: list[Record] = [
        {"elementId": lock.element_id, "holder": lock.holder, "until": rfc3339(lock.until_ms)} for lock in held
    ]
    return {
        "proposals": _within(map(_row, pending), state_proposals_bytes_max),
        "proposalCount": len(pending),
        "decided": _within(_decided_of(state, context.principal.label()), state_decided_bytes_max),
        "locks": _within(locks, state_locks_bytes_max),
        "lockCount": len(held),
    }


def proposals(state: CanvasState, message: Message, context: Context) -> Decision:
    """A page for the person (canvas 1.2): `next` is the `after` of the next one, null at the end. Refuses bad
    arguments, and with `not_found` a canvas that there is not."""
    arguments = parsed(CanvasProposals, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is None:
        return Decision(NOT_FOUND)
    after = (-1, "") if arguments.after is None else (arguments.after.atMs, arguments.after.proposalId)
    wanted = [one for one in _in_order(state) if (arguments.all or one.is_pending) and one.place > after]
    rows = _within(map(_whole_row, wanted[: arguments.limit]), region_page_bytes_max)
    following: Record | None = None
    if rows and len(rows) < len(wanted):
        at_ms, id_ = wanted[len(rows) - 1].place
        following = {"atMs": at_ms, "proposalId": id_}
    return Decision({"revision": state.head.revision, "proposals": rows, "next": following})


def proposal(state: CanvasState, message: Message, context: Context) -> Decision:
    """One for the person: `would` is the outcome of approving it now, `elements` what those that it changes would be.

    Elements are in Excalidraw's form, as far as they fit (`truncated`), and what they were
    (proposed_changes.py). Refuses bad arguments, and with `not_found` an
    id that is none (canvas 3.4).
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
    terms = Terms(found.base_revision, (), context.now_ms, heeds_locks=False)
    would = attempted(draft, CHANGES[found.tool], given, terms).reply
    assert isinstance(would, dict)
    drawn = [*_drawn(draft)]
    listed = _within(drawn, region_page_bytes_max)
    shown: Record = {"would": would, "untrusted": True, "source": SOURCE, "elements": listed}
    return Decision({**reply, **shown, "truncated": len(listed) < len(drawn), **changes_of(draft)})


def _drawn(draft: Draft) -> Iterator[Record]:
    for id_ in draft.changed_ids():
        element = draft.now(id_)
        if element is not None:
            yield element


def _in_order(state: CanvasState) -> list[Proposal]:
    """Oldest first: neither the order in which rows came nor that of their names."""
    return sorted(state.proposals.values(), key=lambda one: one.place)


def _decided_of(state: CanvasState, label: str) -> Iterator[Record]:
    """What became of the caller's own proposals, the last ones first."""
    own = [one for one in state.proposals.values() if one.by == label and not one.is_pending]
    for one in sorted(own, key=lambda one: (one.decided_ms, one.place), reverse=True):
        yield {"proposalId": one.id, "stage": one.stage.value, **_verdict(one)}


def _verdict(one: Proposal) -> Record:
    return {
        "decidedBy": one.decided_by,
        "decidedAt": rfc3339(one.decided_ms),
        "decidedBecause": fenced(SOURCE, one.decided_because),
    }


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
    return row if one.is_pending else {**row, **_verdict(one)}


def _within(rows: Iterable[Record], room: int) -> list[Value]:
    """The first rows, as many as fit."""
    listed: list[Value] = []
    for row in rows:
        room -= encoded_bytes(row) + 1
        if room < 0:
            break
        listed.append(row)
    return listed
