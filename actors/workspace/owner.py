"""What a workspace's owner is told and what it shows, and its table of verbs. How it ends is in destruction.py, what
channels are and who asks for what in channels.py, channel_requests.py and creations.py."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from pydantic import Field

from actors.decision import (
    Context,
    Decide,
    Decision,
    Delete,
    Effect,
    Message,
    Principal,
    PrincipalKind,
    Put,
    RowEffect,
    Rules,
    Verb,
    VerbTable,
)
from actors.parsed import DONE, Nothing, parsed, sending_owner
from actors.workspace import channel_requests, channels, creations, destruction, roles
from actors.workspace.state import HEAD_ROW, Head, IndexedCanvas, WorkspaceState, apply, canvas_row, problems
from bus.limits import canvases_per_workspace_max, page_items_max
from bus.value import Value
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal
from tools.times import rfc3339
from tools.workspace import WorkspaceGetInput

_PALETTE: Final = ("#1971c2", "#2f9e44", "#e8590c", "#9c36b5", "#0c8599", "#e03131")

_NO_ROOM: Final = Refusal(
    Code.WRONG_STATE,
    "The workspace has as many canvases as it can hold. Draw on one that is there, or have canvases deleted that "
    "nobody needs.",
    details={"limit": canvases_per_workspace_max},
)


class WorkspaceCreated(Model):
    name: Name
    root: str | None = None
    createdAt: int
    color: str | None = None
    gridColumns: int


class WorkspaceChanged(Model):
    """What is absent stays."""

    name: Name | None = None
    color: str | None = None
    gridColumns: int | None = None


class CanvasIndexed(Model):
    canvasId: Identifier
    title: Name
    roles: dict[str, str]


class CanvasGone(Model):
    canvasId: Identifier


class ReadableCanvases(Model):
    after: str | None = None
    limit: int = Field(ge=1, le=page_items_max)


def workspace_created(state: WorkspaceState, body: WorkspaceCreated, context: Context) -> Decision:
    sending_owner(context, "app")
    if state.head is not None or state.is_gone:
        return DONE
    head = Head(
        name=body.name,
        color=body.color or _PALETTE[context.number("color") % len(_PALETTE)],
        gridColumns=body.gridColumns,
        roomMode="local",
        roots=[] if body.root is None else [body.root],
        createdAt=body.createdAt,
    )
    return Decision({}, (Put(HEAD_ROW, head.model_dump()),))


def workspace_changed(state: WorkspaceState, body: WorkspaceChanged, context: Context) -> Decision:
    sending_owner(context, "app")
    head = state.living()
    if head is None:
        return DONE
    changed = head.model_copy(update=body.model_dump(exclude_none=True))
    return DONE if changed == head else Decision({}, (Put(HEAD_ROW, changed.model_dump()),))


def canvas_indexed(state: WorkspaceState, body: CanvasIndexed, context: Context) -> Decision:
    _must_be_of_itself(context, body.canvasId)
    row = IndexedCanvas(title=body.title, roles=body.roles)
    late = destruction.of_late_comer(state, body.canvasId, context)
    if state.is_gone or state.canvases.get(body.canvasId) == row:
        return Decision({}, tuple(late))
    noting = roles.noted(state, body.canvasId, row, context)
    effects: list[Effect] = [Put(canvas_row(body.canvasId), row.model_dump()), *late, *noting]
    return Decision({}, tuple(effects))


def canvas_gone(state: WorkspaceState, body: CanvasGone, context: Context) -> Decision:
    """It was deleted by itself. While the workspace is destroyed that is as good as its answer."""
    _must_be_of_itself(context, body.canvasId)
    if body.canvasId not in state.canvases:
        return DONE
    if state.deleting is not None:
        return destruction.one_less(state, body.canvasId, context)
    return Decision({}, (Delete(canvas_row(body.canvasId)),))


def readable_canvases(state: WorkspaceState, body: ReadableCanvases, context: Context) -> Decision:
    """One page of the canvases on which the caller has a role; the person has every right on each."""
    if state.deleting is not None or state.is_gone or not _may_look(context):
        return Decision(NOT_FOUND)
    found: list[Value] = []
    last_id: str | None = None
    next_after: str | None = None
    start = bisect_right(state.canvas_ids, body.after or "")
    for canvas_id in state.canvas_ids[start:]:
        canvas = state.canvases[canvas_id]
        role = _role(canvas, context.principal)
        if role is None:
            continue
        if len(found) == body.limit:
            next_after = last_id
            break
        found.append({"canvasId": canvas_id, "title": canvas.title, "role": role})
        last_id = canvas_id
    return Decision({"canvases": found, "nextAfter": next_after})


def room_for_canvas(state: WorkspaceState, body: Nothing, context: Context) -> Decision:
    """Whether one more canvas may be made here, asked before it is (common 8.5). Not who may: admission says that."""
    if state.living() is None or not _may_look(context):
        return Decision(NOT_FOUND)
    return Decision({} if len(state.canvases) < canvases_per_workspace_max else _NO_ROOM)


def workspace_get(state: WorkspaceState, body: WorkspaceGetInput, context: Context) -> Decision:
    if body.workspaceId != context.address.id:
        message = "You can read only the workspace that you are pinned to. Call workspace_current for its id."
        return Decision(Refusal(Code.SCOPE_MISMATCH, message))
    head = state.living()
    if head is None or not _may_look(context):
        return Decision(NOT_FOUND)
    detail: dict[str, Value] = {
        "id": context.address.id,
        "name": head.name,
        "color": head.color,
        "gridColumns": head.gridColumns,
        "roomMode": head.roomMode,
        "createdAt": rfc3339(head.createdAt),
    }
    return Decision({"workspace": detail})


def message_died(state: WorkspaceState, message: Message, context: Context) -> Decision:
    """Nobody could decide a message of ours: what waits for its answer must not wait for ever."""
    died = _DIED.get(str(message.body.get("verb")))
    return DONE if died is None else died(state, message, context)


def _must_be_of_itself(context: Context, canvas_id: str) -> None:
    sender = sending_owner(context, "canvas")
    if (sender.workspace, sender.id) != (context.address.id, canvas_id):
        raise ValueError("a canvas tells of itself, in its own workspace")


def _may_look(context: Context) -> bool:
    principal = context.principal
    return principal.kind is PrincipalKind.PERSON or principal.workspace_id == context.address.id


def _role(canvas: IndexedCanvas, principal: Principal) -> str | None:
    return "owner" if principal.kind is PrincipalKind.PERSON else canvas.roles.get(principal.agent_id)


class WorkspaceRules(Rules[WorkspaceState]):
    """One workspace: its looks, its roots, its channels, and the index of its canvases."""

    @property
    def kind(self) -> str:
        return "workspace"

    @property
    def verbs(self) -> Mapping[str, Verb[WorkspaceState]]:
        return _TABLE.verbs

    def new_state(self) -> WorkspaceState:
        return WorkspaceState()

    def apply(self, state: WorkspaceState, effect: RowEffect) -> None:
        apply(state, effect)

    def problems(self, state: WorkspaceState) -> list[str]:
        return problems(state)


_DIED: Final[Mapping[str, Decide[WorkspaceState]]] = {
    "destroy": destruction.destroy_died,
    "member_noted": channels.note_died,
    "role_ends": channels.note_died,
    "invitee_named": channel_requests.invitee_died,
    "agent_asked_for": creations.creation_died,
}
_OWNER: Final = frozenset({PrincipalKind.OWNER})
_READERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})
_OWN: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "message_died": Verb(message_died, _OWNER),
        "workspace_created": Verb(parsed(WorkspaceCreated, workspace_created), _OWNER),
        "workspace_changed": Verb(parsed(WorkspaceChanged, workspace_changed), _OWNER),
        "canvas_indexed": Verb(parsed(CanvasIndexed, canvas_indexed), _OWNER),
        "canvas_gone": Verb(parsed(CanvasGone, canvas_gone), _OWNER),
        "readable_canvases": Verb(parsed(ReadableCanvases, readable_canvases), _READERS),
        "room_for_canvas": Verb(parsed(Nothing, room_for_canvas), _READERS),
        "workspace_get": Verb(parsed(WorkspaceGetInput, workspace_get), _READERS),
    }
)
_TABLE: Final = roles.VERBS | destruction.VERBS | channels.VERBS | channel_requests.VERBS | creations.VERBS | _OWN
RULES: Final = WorkspaceRules()
