"""A workspace's owner: its name and look, and the index of its canvases with who has which role on them.

Rows: `head` and `canvas/<id>`. The canvas itself is the authority on its roles; this index is what lists are made
from, kept by messages of the canvas owners. Nothing here limits canvases: by the time the index hears of one it exists.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import Field

from actors.decision import Context, Decision, Principal, PrincipalKind, Put, RowEffect, Rules, Verb, VerbTable
from actors.parsed import DONE, parsed, sending_owner
from bus.limits import grid_columns_default, page_items_max
from bus.value import Value
from tools.base import Identifier, Model, Name
from tools.errors import NOT_FOUND, Code, Refusal
from tools.times import rfc3339
from tools.workspace import WorkspaceGetInput

_PALETTE: Final = ("#1971c2", "#2f9e44", "#e8590c", "#9c36b5", "#0c8599", "#e03131")


class Head(Model):
    name: str
    color: str
    gridColumns: int
    roomMode: Literal["local"]
    roots: list[str]
    createdAt: int


class IndexedCanvas(Model):
    title: str
    roles: dict[str, str]
    """Agent id -> role."""


@dataclass(slots=True)
class WorkspaceState:
    head: Head | None = None
    canvases: dict[str, IndexedCanvas] = field(default_factory=dict)
    canvas_ids: list[str] = field(default_factory=list)
    """The keys of `canvases`, sorted."""


class WorkspaceCreated(Model):
    name: Name
    root: str | None = None
    createdAt: int


class CanvasIndexed(Model):
    canvasId: Identifier
    title: Name
    roles: dict[str, str]


class ReadableCanvases(Model):
    after: str | None = None
    limit: int = Field(ge=1, le=page_items_max)


def workspace_created(state: WorkspaceState, body: WorkspaceCreated, context: Context) -> Decision:
    if state.head is not None:
        return DONE
    head = Head(
        name=body.name,
        color=_PALETTE[context.number("color") % len(_PALETTE)],
        gridColumns=grid_columns_default,
        roomMode="local",
        roots=[] if body.root is None else [body.root],
        createdAt=body.createdAt,
    )
    return Decision({}, (Put("head", head.model_dump()),))


def canvas_indexed(state: WorkspaceState, body: CanvasIndexed, context: Context) -> Decision:
    sender = sending_owner(context, "canvas")
    if (sender.workspace, sender.id) != (context.address.id, body.canvasId):
        raise ValueError("a canvas indexes itself, in its own workspace")
    row = IndexedCanvas(title=body.title, roles=body.roles)
    if state.canvases.get(body.canvasId) == row:
        return DONE
    return Decision({}, (Put(f"canvas/{body.canvasId}", row.model_dump()),))


def readable_canvases(state: WorkspaceState, body: ReadableCanvases, context: Context) -> Decision:
    """One page of the canvases on which the caller has a role; the person has every right on each."""
    if not _may_look(context):
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


def workspace_get(state: WorkspaceState, body: WorkspaceGetInput, context: Context) -> Decision:
    if body.workspaceId != context.address.id:
        message = "You can read only the workspace that you are pinned to. Call workspace_current for its id."
        return Decision(Refusal(Code.SCOPE_MISMATCH, message))
    head = state.head
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


def _may_look(context: Context) -> bool:
    principal = context.principal
    return principal.kind is PrincipalKind.PERSON or principal.workspace_id == context.address.id


def _role(canvas: IndexedCanvas, principal: Principal) -> str | None:
    return "owner" if principal.kind is PrincipalKind.PERSON else canvas.roles.get(principal.agent_id)


class WorkspaceRules(Rules[WorkspaceState]):
    """One workspace: its looks, its roots, and the index of its canvases."""

    @property
    def kind(self) -> str:
        return "workspace"

    @property
    def verbs(self) -> Mapping[str, Verb[WorkspaceState]]:
        return _TABLE.verbs

    def new_state(self) -> WorkspaceState:
        return WorkspaceState()

    def apply(self, state: WorkspaceState, effect: RowEffect) -> None:
        match effect.row.partition("/"), effect:
            case ("head", _, _), Put(_, value):
                state.head = Head.model_validate(value)
            case ("canvas", _, canvas_id), Put(_, value):
                if canvas_id not in state.canvases:
                    insort(state.canvas_ids, canvas_id)
                state.canvases[canvas_id] = IndexedCanvas.model_validate(value)
            case _:
                raise ValueError("a workspace has no such row")

    def problems(self, state: WorkspaceState) -> list[str]:
        if state.head is None and state.canvases:
            return ["there are canvases without a workspace"]
        return [] if sorted(state.canvases) == state.canvas_ids else ["the index of canvases is out of order"]


_OWNER: Final = frozenset({PrincipalKind.OWNER})
_READERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})
_TABLE: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "workspace_created": Verb(parsed(WorkspaceCreated, workspace_created), _OWNER),
        "canvas_indexed": Verb(parsed(CanvasIndexed, canvas_indexed), _OWNER),
        "readable_canvases": Verb(parsed(ReadableCanvases, readable_canvases), _READERS),
        "workspace_get": Verb(parsed(WorkspaceGetInput, workspace_get), _READERS),
    }
)
RULES: Final = WorkspaceRules()
