"""The person's import: announced, brought in parts, finished; or aborted (docs/decisions/0006).

Parts are numbered from 0 and come in order, each when the one before it is answered; a repeated one changes nothing.
The first part that breaks a rule ends the import. `import_finish` is answered when the canvas is there.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from actors.canvas import outcome
from actors.canvas.access import parsed
from actors.canvas.arrival import ARRIVING, Arriving, Facts, Phase
from actors.canvas.opening import founding_by
from actors.canvas.outcome import Rejected
from actors.canvas.plain import fault_of
from actors.canvas.state import SCENE, CanvasState
from actors.canvas.taking_in import complete, digest_of, give_up, going_on, take
from actors.decision import CancelTimer, Context, Decision, Effect, Message, Put, SetTimer
from bus.limits import (
    elements_per_canvas_max,
    import_idle_ms_max,
    scene_elements_bytes_max,
    scene_files_bytes_max,
    scene_rest_bytes_max,
)
from bus.value import Record, Value
from tools.base import Identifier, Model, Name
from tools.canvas.scene_parts import ELSEWHERE, encoded_bytes
from tools.errors import Code, Refusal

ALREADY_THERE: Final = Refusal(Code.WRONG_STATE, "This canvas exists already, or did. Ask for a new one.")
_NO_IMPORT: Final = Refusal(Code.WRONG_STATE, "No such import is under way here. Begin again.")
_OUT_OF_ORDER: Final = Refusal(Code.WRONG_STATE, "This is not the part that comes next. Begin again.")
_INCOMPLETE: Final = Refusal(Code.WRONG_STATE, "Not every part of the scene has come. Send the rest first.")
IDLE: Final = "import_idle"
"""The timer that looks after an import, and its verb."""
_REASON: Final = "imported by the person"
_MIB: Final = 1024 * 1024


class ImportBegin(Model):
    """What scene_parts.announcement_of says of a scene, under a title."""

    title: Name
    elements: int = Field(ge=0)
    elementBytes: int = Field(ge=0)
    fileBytes: int = Field(ge=0)
    # Not JsonValue: what cannot be kept is left out field by field, not refused with the whole file.
    rest: dict[str, object]


class ImportPart(Model):
    importId: Identifier
    number: int = Field(ge=0)
    elements: list[object] = Field(default_factory=list)
    pieces: list[object] = Field(default_factory=list)


class ImportNamed(Model):
    importId: Identifier


def begin(state: CanvasState, message: Message, context: Context) -> Decision:
    arguments = parsed(ImportBegin, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    if state.head is not None or state.arriving is not None or state.gone is not None:
        return Decision(ALREADY_THERE)
    refused = refusal_of_size(
        arguments.elements, arguments.elementBytes, arguments.fileBytes, encoded_bytes(message.body["rest"])
    )
    if refused is not None:
        return Decision(refused)
    founding = founding_by(context, arguments.title, _REASON, outcome.IMPORTED)
    effects = beginning(Facts(founding, arguments.elements, Phase.RECEIVING), message.body["rest"])
    reply: Record = {"importId": context.call_id, "canvasId": context.address.id}
    return Decision(reply, (*effects, _look_later(0, context)))


def refusal_of_size(elements: int, element_bytes: int, file_bytes: int, rest_bytes: int) -> Record | Refusal | None:
    """Said before anything is stored (canvas 4.5): `rejected`, or `too_large` with the limit in bytes."""
    if elements > elements_per_canvas_max:
        return outcome.rejected("limits", f"The scene has more than {elements_per_canvas_max} elements.")
    for size, limit, what in (
        (element_bytes, scene_elements_bytes_max, "elements take"),
        (file_bytes, scene_files_bytes_max, "files take"),
        (rest_bytes, scene_rest_bytes_max, "other fields take"),
    ):
        if size > limit:
            message = f"The scene's {what} more than {limit // _MIB} MiB. Split it, or leave out large pictures."
            return Refusal(Code.TOO_LARGE, message, details={"limit": limit})
    return None


def beginning(facts: Facts, rest: Value) -> list[Effect]:
    """The rows with which a scene begins to come in."""
    kept: Record = {}
    if isinstance(rest, dict):
        kept = {name: value for name, value in rest.items() if name not in ELSEWHERE and fault_of(value) is None}
    return [Put(ARRIVING, facts.to_record()), *([Put(SCENE, kept)] if kept else [])]


def part(state: CanvasState, message: Message, context: Context) -> Decision:
    arguments = parsed(ImportPart, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    arriving = _named(state, arguments.importId)
    if arriving is None or arriving.facts.phase is Phase.CLEARING:
        return Decision(_NO_IMPORT)
    if arguments.number < len(arriving.parts):
        is_same = arriving.parts[arguments.number].digest == digest_of(message.body)
        return Decision({"parts": len(arriving.parts)} if is_same else _OUT_OF_ORDER)
    if arguments.number > len(arriving.parts) or arriving.facts.phase is not Phase.RECEIVING:
        return Decision(_OUT_OF_ORDER)
    try:
        effects = take(state, arriving, message.body)
    except Rejected as refused:
        return Decision(outcome.rejected(refused.code, refused.message), tuple(_given_up(arriving, context)))
    return Decision({"parts": len(arriving.parts) + 1}, tuple(effects))


def finish(state: CanvasState, message: Message, context: Context) -> Decision:
    """Leaves the call open; the step that writes the head, or one that is refused, answers it."""
    arguments = parsed(ImportNamed, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    arriving = _named(state, arguments.importId)
    if arriving is None or arriving.facts.phase is not Phase.RECEIVING:
        return Decision(_NO_IMPORT)
    last = arriving.last_part
    if arriving.seen != arriving.facts.announced or (last is not None and last.open_file is not None):
        return Decision(_INCOMPLETE)
    return Decision(None, (*going_on(complete(arriving, context.call_id), context), CancelTimer(IDLE)))


def abort(state: CanvasState, message: Message, context: Context) -> Decision:
    """Give up an import that is still being received. Changes nothing when there is none, or it is finished."""
    arguments = parsed(ImportNamed, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    arriving = _named(state, arguments.importId)
    if arriving is None or arriving.facts.phase is not Phase.RECEIVING:
        return Decision({})
    return Decision({}, tuple(_given_up(arriving, context)))


def idle(state: CanvasState, message: Message, context: Context) -> Decision:
    """Nobody may be going on with the import any more: its sender is gone, and the gateway that would have said so."""
    arriving = state.arriving
    if arriving is None or arriving.facts.phase is not Phase.RECEIVING:
        return Decision({})
    if message.body["parts"] != len(arriving.parts):
        return Decision({}, (_look_later(len(arriving.parts), context),))
    return Decision({}, tuple(give_up(arriving.facts, context)))


def _look_later(parts: int, context: Context) -> SetTimer:
    return SetTimer(IDLE, context.now_ms + import_idle_ms_max, IDLE, {"parts": parts})


def _given_up(arriving: Arriving, context: Context) -> list[Effect]:
    return [*give_up(arriving.facts, context), CancelTimer(IDLE)]


def _named(state: CanvasState, import_id: str) -> Arriving | None:
    arriving = state.arriving
    return arriving if arriving is not None and arriving.facts.founding.call_id == import_id else None
