"""How a canvas ends: canvas_delete, the undo of its creation, the end of its workspace (canvas.md 1.2, 2).

With the commit that decides it the canvas is there for nobody any more. Its rows are removed afterwards, a bounded
number with each of the messages that the owner sends itself; which are left follows from the rows alone, so a host that
was killed goes on where it was. The row `gone` stays: an id is never used twice.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Final

from actors.canvas import outcome
from actors.canvas.access import asked, parsed
from actors.canvas.lock import LAPSE
from actors.canvas.proposal import proposal_row
from actors.canvas.state import (
    GONE,
    HEAD,
    SCENE,
    CanvasState,
    Gone,
    element_row,
    file_row,
    history_row,
    lock_row,
    piece_row,
    role_row,
)
from actors.canvas.usage import usage_gone
from actors.decision import CancelTimer, Context, Decision, Delete, Effect, Event, Message, Put, Send
from actors.parsed import Nothing, sending_owner
from bus import address
from bus.limits import part_elements_max
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.canvas.inputs import CanvasDeleteInput
from tools.errors import Refusal

CLEAR: Final = "clear_rows"
_ROWS_AT_ONCE: Final = 2 * part_elements_max
_PIECES_AT_ONCE: Final = 16


class SurfaceClosed(Model):
    planId: Identifier
    agentId: Identifier


def delete(state: CanvasState, message: Message, context: Context) -> Decision:
    """canvas_delete (canvas 1.2, 2): an owner of it and the person, at the present revision. What is wrong is an
    outcome or a refusal; it raises nothing."""
    found = asked(CanvasDeleteInput, state, message, context, "owner", "deleting the canvas takes owner")
    if isinstance(found, Decision):
        return found
    arguments, head, _ = found
    if arguments.expectedRevision < head.revision:  # it touches everything, so nothing is disjoint to it
        return Decision(outcome.conflict(state, head.revision, arguments.expectedRevision))
    return Decision(outcome.applied(head.revision, ()), tuple(_ended(state, context)))


def destroy(state: CanvasState, message: Message, context: Context) -> Decision:
    """Its workspace is deleted. Answered when the canvas is there for nobody; one that never was is as good as gone."""
    workspace = address.workspace(context.address.workspace)
    if sending_owner(context, "workspace") != workspace:
        raise ValueError("a canvas is destroyed by its own workspace only")
    acknowledgement = Send(workspace, "destroyed", {"canvasId": context.address.id})
    return Decision({}, (*_ended(state, context), acknowledgement))


def surface_closed(state: CanvasState, message: Message, context: Context) -> Decision:
    """The person undoes a plan of the agent that made it (work-plan-tool, undo): whatever was done to it since."""
    body = SurfaceClosed.model_validate(message.body)
    agent = sending_owner(context, "agent")
    head = state.head
    if body.agentId != agent.id or (head is not None and head.created_by != agent.id):
        raise ValueError("a plan of an agent closes only what that agent made")
    told: Record = {"planId": body.planId, "kind": "canvas", "id": context.address.id, "existed": head is not None}
    return Decision({}, (*_ended(state, context), Send(agent, "surface_gone", told)))


def surface_facts(state: CanvasState, message: Message, context: Context) -> Decision:
    """What the person should know before an undo deletes it."""
    arguments = parsed(Nothing, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    head = state.head
    if head is None:
        nobody: list[Value] = []
        return Decision({"exists": False, "title": "", "changedByOthers": False, "sharedWith": nobody})
    changed = head.others or any(entry.by != head.created_by for entry in state.entries.values())
    shared: list[Value] = [agent_id for agent_id in sorted(state.roles) if agent_id != head.created_by]
    return Decision({"exists": True, "title": head.title, "changedByOthers": changed, "sharedWith": shared})


def clear(state: CanvasState, message: Message, context: Context) -> Decision:
    """Remove some of what is left. A message that comes when nothing is changes nothing."""
    if context.principal.owner != context.address:
        raise ValueError("only the canvas itself clears its rows")
    gone = state.gone
    if gone is None or gone.cleared:
        return Decision({})
    rows = _rows_left(state)
    if rows:
        return Decision({}, (*map(Delete, rows), _next(context)))
    if gone.history:
        first = max(gone.history - _ROWS_AT_ONCE, 0)
        revisions = (Delete(history_row(number)) for number in range(first + 1, gone.history + 1))
        return Decision({}, (*revisions, Put(GONE, replace(gone, history=first).to_record()), _next(context)))
    return Decision({}, (Put(GONE, replace(gone, cleared=True).to_record()),))


def _ended(state: CanvasState, context: Context) -> list[Effect]:
    """What makes the canvas be there no more. Nothing if it is not."""
    head = state.head
    if head is None:
        return []
    gone = Gone(context.principal.label(), context.now_ms, head.revision, head.revision)
    told: Record = {"canvasId": context.address.id}
    return [
        Delete(HEAD),
        *(Delete(role_row(agent_id)) for agent_id in sorted(state.roles)),
        Delete(SCENE),
        CancelTimer(LAPSE),
        Put(GONE, gone.to_record()),
        Event(outcome.DELETED, {**told, "revision": head.revision, "elements": head.live + head.deleted}),
        # before_reply: whoever was answered does not find it in a list any more.
        Send(address.workspace(context.address.workspace), "canvas_gone", told, before_reply=True),
        *usage_gone(head.usage, context),
        _next(context),
    ]


def _rows_left(state: CanvasState) -> list[str]:
    """Of elements and files, last come first: what is applied last is cheapest to take out."""
    beside = [*map(lock_row, state.locks.all()), *map(proposal_row, state.proposals)]
    if beside:
        return beside[:_ROWS_AT_ONCE]
    if state.pieces:
        id_, pieces = next(reversed(state.pieces.items()))
        first = max(len(pieces) - _PIECES_AT_ONCE, 0)
        return [piece_row(id_, number) for number in reversed(range(first, len(pieces)))]
    if state.files:
        return [file_row(id_) for id_ in islice(reversed(state.files), _ROWS_AT_ONCE)]
    return [element_row(id_) for id_ in islice(reversed(state.entries), _ROWS_AT_ONCE)]


def _next(context: Context) -> Send:
    return Send(context.address, CLEAR, {})
