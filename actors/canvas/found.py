"""How a canvas begins through a tool, and who may do what on it: canvas_create and canvas_grant.

A new canvas is decided by the owner of its fresh id. A scene of one part is taken in at once; a larger one is set
aside and taken in step by step, and the call is answered when the canvas is there (taking_in.py).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from actors.canvas import outcome
from actors.canvas.access import may_write, parsed
from actors.canvas.arrival import Facts, Founding, Phase
from actors.canvas.importing import ALREADY_THERE, beginning, refusal_of_size
from actors.canvas.locking import dropped
from actors.canvas.opening import founding_by, indexed, opened, opening
from actors.canvas.outcome import Rejected
from actors.canvas.state import CanvasState, role_row
from actors.canvas.taking_in import CONTINUE, complete, going_on, raw_rows, step, take
from actors.decision import Answer, Context, Decision, Delete, Effect, Event, Message, Put, Send
from actors.parsed import Nothing
from bus.address import is_id
from bus.limits import agents_per_workspace_max, part_bytes_max, part_elements_max, scene_bytes_max
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.canvas.inputs import CanvasCreateInput
from tools.canvas.scene_parts import announcement_of, encoded_bytes, parts_of
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments


class CanvasGrant(Model):
    agentId: Identifier
    role: Literal["none", "viewer", "commenter", "editor", "owner"] = Field(description="`none` takes the role away.")


def create_canvas(state: CanvasState, message: Message, context: Context) -> Decision:
    arguments = parsed(CanvasCreateInput, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is not None or state.arriving is not None or state.gone is not None:
        return Decision(ALREADY_THERE)
    founding = founding_by(context, arguments.title, arguments.reason, outcome.CREATED)
    scene = message.body.get("fromScene")
    if not isinstance(scene, dict):
        return Decision(opened(context), tuple(opening(context, founding, 0, 0)))
    if not isinstance(scene.get("elements"), list):
        return Decision(invalid_arguments({"fromScene.elements": "must be a list: this is no Excalidraw scene"}))
    return _with_scene(context, founding, scene)


def _with_scene(context: Context, founding: Founding, scene: Record) -> Decision:
    said = announcement_of(scene)
    elements, size = said["elements"], encoded_bytes(scene)
    assert isinstance(elements, int)
    if size > scene_bytes_max:
        message = "The scene is larger than can be taken in. Split it, or leave out large pictures."
        return Decision(Refusal(Code.TOO_LARGE, message, details={"limit": scene_bytes_max}))
    refused = refusal_of_size(elements, 0, 0, encoded_bytes(said["rest"]))
    if refused is not None:
        return Decision(refused)
    facts = Facts(founding, elements, Phase.UNPACKING, waiting=context.call_id)
    begun = beginning(facts, said["rest"])
    if elements > part_elements_max or size > part_bytes_max:
        return Decision(None, (*begun, *raw_rows(parts_of(scene)), *going_on(facts, context)))
    return _at_once(context, begun, scene)


def _at_once(context: Context, begun: list[Effect], scene: Record) -> Decision:
    """All steps one after the other on a state of their own; what is left of it is what this one message writes."""
    scratch = CanvasState()
    rows: dict[str, Value] = {}
    left: list[Effect] = []
    _apply(scratch, begun, rows, left)
    assert scratch.arriving is not None
    try:
        for part in parts_of(scene):
            _apply(scratch, take(scratch, scratch.arriving, part), rows, left)
    except Rejected as refused:
        return Decision(outcome.rejected(refused.code, refused.message))
    scratch.arriving.facts = complete(scratch.arriving, context.call_id)
    reply: Record | Refusal | None = None
    while reply is None:
        _apply(scratch, step(scratch, scratch.arriving, context), rows, left)
        reply = next((effect.reply for effect in left if isinstance(effect, Answer)), None)
    if scratch.head is None:
        return Decision(reply)
    puts = [Put(row, value) for row, value in rows.items()]
    return Decision(reply, (*puts, *(effect for effect in left if isinstance(effect, Event | Send))))


def _apply(scratch: CanvasState, effects: list[Effect], rows: dict[str, Value], left: list[Effect]) -> None:
    for effect in effects:
        match effect:
            case Put(row, value):
                rows[row] = value
                scratch.apply(effect)
            case Delete(row):
                rows.pop(row, None)
                scratch.apply(effect)
            case Send(verb=verb) if verb == CONTINUE:
                pass
            case _:
                left.append(effect)


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
    ends = arguments.role == "none" or not may_write(arguments.role)
    event: Record = {"canvasId": context.address.id, "agentId": arguments.agentId, "role": arguments.role}
    return Decision(
        reply,
        (
            Delete(row) if arguments.role == "none" else Put(row, {"role": arguments.role}),
            Event(outcome.ROLE_GRANTED, event),
            *(dropped(state, arguments.agentId, context) if ends else ()),
            indexed(context, state.head.title, roles),
        ),
    )


def roles(state: CanvasState, message: Message, context: Context) -> Decision:
    """Every role that the person granted, or that creating gave. Decided from head rows alone."""
    arguments = parsed(Nothing, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is None:
        return Decision(NOT_FOUND)
    held: list[Value] = [{"agentId": agent_id, "role": role} for agent_id, role in sorted(state.roles.items())]
    return Decision({"title": state.head.title, "revision": state.head.revision, "roles": held})
