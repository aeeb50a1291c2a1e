"""How a canvas begins and what only the person asks of it: canvas_create, canvas_import, canvas_grant, canvas_export.

A new canvas is decided by the owner of its fresh id, together with the message that puts it into its workspace's
index, so that whoever created it finds it in the list (before_reply). Grants update that index too.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from actors.canvas import outcome
from actors.canvas.access import parsed
from actors.canvas.outcome import Rejected
from actors.canvas.scene_import import Imported, read_scene, scene_from_text
from actors.canvas.state import (
    HEAD,
    SCENE,
    CanvasState,
    Entry,
    Head,
    element_row,
    file_row,
    history_row,
    role_row,
)
from actors.decision import Context, Decision, Delete, Effect, Event, Message, PrincipalKind, Put, Send
from bus import address
from bus.address import is_id
from bus.limits import agents_per_workspace_max, import_bytes_max, scene_bytes_max
from bus.value import Record, Value
from tools.base import Identifier, Model, Name
from tools.canvas.inputs import CanvasCreateInput
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments

INDEXED: Final = "canvas_indexed"
_ALREADY_THERE: Final = Refusal(Code.WRONG_STATE, "This canvas exists already. Ask for a new one.")
_IMPORT_REASON: Final = "imported by the person"


class CanvasImport(Model):
    """`scene`: the content of an .excalidraw file, as JSON text or as the object in it."""

    title: Name
    # Not JsonValue: what cannot be kept is left out element by element, not refused with the whole file.
    scene: dict[str, object] | str


class CanvasGrant(Model):
    agentId: Identifier
    role: Literal["none", "viewer", "commenter", "editor", "owner"] = Field(description="`none` takes the role away.")


def create_canvas(state: CanvasState, message: Message, context: Context) -> Decision:
    arguments = parsed(CanvasCreateInput, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    scene = message.body.get("fromScene")
    found = _Founding(arguments.title, arguments.reason, outcome.CREATED)
    return _found(state, context, found, scene if isinstance(scene, dict) else None, "fromScene", scene_bytes_max)


def import_canvas(state: CanvasState, message: Message, context: Context) -> Decision:
    arguments = parsed(CanvasImport, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    given = message.body["scene"]
    scene = scene_from_text(given, "scene") if isinstance(given, str) else given
    if isinstance(scene, Refusal):
        return Decision(scene)
    assert isinstance(scene, dict)
    found = _Founding(arguments.title, _IMPORT_REASON, outcome.IMPORTED)
    return _found(state, context, found, scene, "scene", import_bytes_max)


class _Founding:
    def __init__(self, title: str, reason: str, event: str) -> None:
        self.title = title
        self.reason = reason
        self.event = event


def _found(
    state: CanvasState, context: Context, founding: _Founding, scene: Record | None, path: str, bytes_max: int
) -> Decision:
    if state.head is not None:
        return Decision(_ALREADY_THERE)
    imported: Imported | Refusal = Imported()
    if scene is not None:
        try:
            imported = read_scene(scene, path, bytes_max, context.number)
        except Rejected as refused:
            return Decision(outcome.rejected(refused.code, refused.message))
    if isinstance(imported, Refusal):
        return Decision(imported)
    reply: Record = {"outcome": "applied", "canvasId": context.address.id, "revision": 1}
    if scene is not None:
        reply |= imported.report()
    return Decision(reply, tuple(_founding_effects(context, founding, imported)))


def _founding_effects(context: Context, founding: _Founding, imported: Imported) -> list[Effect]:
    by = context.principal.label()
    entries = [
        Entry.from_record({"element": element, "revision": 1, "by": by, "what": "created"})
        for element in imported.elements.values()
    ]
    live = sum(entry.is_live for entry in entries)
    head = Head(founding.title, 1, live, len(entries) - live, by, context.now_ms, context.now_ms)
    roles = {context.principal.agent_id: "owner"} if context.principal.kind is PrincipalKind.AGENT else {}
    effects: list[Effect] = [Put(HEAD, head.to_record())]
    effects += [Put(role_row(agent_id), {"role": role}) for agent_id, role in roles.items()]
    effects += [Put(element_row(str(entry.element["id"])), entry.to_record()) for entry in entries]
    effects += [Put(file_row(id_), file) for id_, file in imported.files.items()]
    if imported.rest:
        effects.append(Put(SCENE, imported.rest))
    history: Record = {
        "revision": 1,
        "atMs": context.now_ms,
        "by": by,
        "credential": context.principal.credential,
        "callId": context.call_id,
        "what": "created",
        "reason": founding.reason,
        "elements": [],  # everything: nothing was there before
    }
    effects.append(Put(history_row(1), history))
    effects.append(Event(founding.event, {"canvasId": context.address.id, "elements": len(entries)}))
    effects.append(_indexed(context, head, roles))
    return effects


def _indexed(context: Context, head: Head, roles: dict[str, str]) -> Send:
    listed: dict[str, Value] = dict(roles)
    body: Record = {"canvasId": context.address.id, "title": head.title, "roles": listed}
    return Send(address.workspace(context.address.workspace), INDEXED, body, before_reply=True)


def grant_role(state: CanvasState, message: Message, context: Context) -> Decision:
    """Roles do not advance the revision (canvas 3.3)."""
    arguments = parsed(CanvasGrant, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is None:
        return Decision(NOT_FOUND)
    if not is_id(arguments.agentId):
        return Decision(invalid_arguments({"agentId": "is not the id of an agent"}))
    roles = {agent_id: role for agent_id, role in state.roles.items() if agent_id != arguments.agentId}
    if arguments.role != "none":
        roles[arguments.agentId] = arguments.role
    if len(roles) > agents_per_workspace_max:
        return Decision(
            Refusal(Code.TOO_LARGE, "So many agents cannot have a role on one canvas. Take some away first.")
        )
    reply: Record = {"agentId": arguments.agentId, "role": arguments.role, "revision": state.head.revision}
    if roles == state.roles:
        return Decision(reply)
    row = role_row(arguments.agentId)
    event: Record = {"canvasId": context.address.id, "agentId": arguments.agentId, "role": arguments.role}
    return Decision(
        reply,
        (
            Delete(row) if arguments.role == "none" else Put(row, {"role": arguments.role}),
            Event(outcome.ROLE_GRANTED, event),
            _indexed(context, state.head, roles),
        ),
    )
