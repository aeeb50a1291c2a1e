"""How a workspace is destroyed with all that is in it: the owner's part of the saga (actors/directory/deletion.py).

    destroy -> `deleting` committed, the first canvases are told `destroy` -> each `destroyed` makes room for the next
      -> none is left: only the row `gone` stays, and the directory is told `workspace_destroyed`

Channels go in the first commit, and with them what waits for the person. Canvases are told in the order of their ids, a
bounded number at once. One that is indexed later is told at once, also when everything else is gone already, so nothing
outlives its workspace. What does not answer is told again.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from actors.decision import (
    CancelTimer,
    Context,
    Decision,
    Delete,
    Effect,
    Message,
    PrincipalKind,
    Put,
    Send,
    SetTimer,
    Verb,
    VerbTable,
)
from actors.parsed import DONE, Nothing, parsed, sending_owner
from actors.workspace import channel_ends
from actors.workspace.state import DELETING_ROW, GONE_ROW, HEAD_ROW, Deleting, WorkspaceState, canvas_row
from bus import address
from bus.limits import destroyed_at_once_max, saga_retry_ms, saga_retry_ms_max
from bus.value import Record
from tools.base import Identifier, Model

_DUE: Final = "destruction_due"
"""The timer that looks after a destruction, and its verb."""


class Destroyed(Model):
    canvasId: Identifier


class DestroyAgain(Model):
    canvasId: str


def destroy(state: WorkspaceState, body: Nothing, context: Context) -> Decision:
    """May be sent again at any time: it is answered by what is left."""
    sending_owner(context, "app")
    if state.deleting is not None:
        return DONE
    first = state.canvas_ids[:destroyed_at_once_max]
    cleared = channel_ends.cleared(state.book)
    if not first:
        return Decision({}, (*cleared, *_gone(state), _acknowledgement(context)))
    begun = Deleting(told=first[-1], attempts=1)
    telling = [_telling(canvas_id, context) for canvas_id in first]
    return Decision({}, (*cleared, Put(DELETING_ROW, begun.model_dump()), *telling, _later(1, context)))


def destroyed(state: WorkspaceState, body: Destroyed, context: Context) -> Decision:
    sender = sending_owner(context, "canvas")
    if (sender.workspace, sender.id) != (context.address.id, body.canvasId):
        raise ValueError("a canvas tells of itself, in its own workspace")
    if state.deleting is None or body.canvasId not in state.canvases:
        return DONE
    return one_less(state, body.canvasId, context)


def one_less(state: WorkspaceState, canvas_id: str, context: Context) -> Decision:
    """A canvas of a workspace that is being destroyed is gone: the next one is told, or all is done."""
    deleting = state.deleting
    assert deleting is not None
    if state.canvas_ids == [canvas_id]:
        gone = (Delete(canvas_row(canvas_id)), *_gone(state), CancelTimer(_DUE), _acknowledgement(context))
        return Decision({}, gone)
    effects: list[Effect] = [Delete(canvas_row(canvas_id))]
    following = bisect_right(state.canvas_ids, deleting.told)
    told = deleting.told
    if following < len(state.canvas_ids):
        told = state.canvas_ids[following]
        effects.append(_telling(told, context))
    if told != deleting.told or deleting.attempts != 1:
        effects.append(Put(DELETING_ROW, Deleting(told=told, attempts=1).model_dump()))
    if deleting.attempts != 1:
        effects.append(_later(1, context))
    return Decision({}, tuple(effects))


def of_late_comer(state: WorkspaceState, canvas_id: str, context: Context) -> list[Effect]:
    """What a canvas that is indexed now has to be told, when its workspace is on its way out or gone."""
    if state.is_gone:
        return [_telling(canvas_id, context)]
    if state.deleting is not None and canvas_id <= state.deleting.told:
        return [_telling(canvas_id, context)]  # the others' turn comes
    return []


def destruction_due(state: WorkspaceState, body: Nothing, context: Context) -> Decision:
    """Tell those that have not answered once more, later each time."""
    deleting = state.deleting
    if deleting is None:
        return DONE
    attempts = deleting.attempts + 1
    waiting = state.canvas_ids[: bisect_right(state.canvas_ids, deleting.told)][:destroyed_at_once_max]
    again = Deleting(told=deleting.told, attempts=attempts)
    return Decision(
        {},
        (
            Put(DELETING_ROW, again.model_dump()),
            *(_telling(canvas_id, context) for canvas_id in waiting),
            _later(attempts, context),
        ),
    )


def destroy_died(state: WorkspaceState, message: Message, context: Context) -> Decision:
    """Nobody could decide it. While the workspace is being destroyed its timer looks after that, and the
    directory asks until it hears of the end; a late canvas has only this."""
    body = message.body.get("body")
    canvas_id = body.get("canvasId") if isinstance(body, dict) else None
    if not isinstance(canvas_id, str) or not state.is_gone:
        return DONE
    due_ms = context.now_ms + saga_retry_ms_max
    return Decision({}, (SetTimer(f"destroy/{canvas_id}", due_ms, "destroy_again", {"canvasId": canvas_id}),))


def destroy_again(state: WorkspaceState, body: DestroyAgain, context: Context) -> Decision:
    return Decision({}, (_telling(body.canvasId, context),))


def _telling(canvas_id: str, context: Context) -> Send:
    return Send(address.canvas(context.address.id, canvas_id), "destroy", {"canvasId": canvas_id})


def _gone(state: WorkspaceState) -> list[Effect]:
    """What removes the last of it."""
    if state.is_gone:
        return []
    return [Delete(HEAD_ROW), Delete(DELETING_ROW), Put(GONE_ROW, {})]


def _acknowledgement(context: Context) -> Send:
    told: Record = {"workspaceId": context.address.id}
    return Send(address.DIRECTORY, "workspace_destroyed", told)


def _later(attempts: int, context: Context) -> SetTimer:
    wait_ms = min(saga_retry_ms << min(attempts - 1, 16), saga_retry_ms_max)
    return SetTimer(_DUE, context.now_ms + wait_ms, _DUE, {})


_OWNER: Final = frozenset({PrincipalKind.OWNER})
_TIMER: Final = frozenset({PrincipalKind.TIMER})

VERBS: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "destroy": Verb(parsed(Nothing, destroy), _OWNER),
        "destroyed": Verb(parsed(Destroyed, destroyed), _OWNER),
        _DUE: Verb(parsed(Nothing, destruction_due), _TIMER),
        "destroy_again": Verb(parsed(DestroyAgain, destroy_again), _TIMER),
    }
)
