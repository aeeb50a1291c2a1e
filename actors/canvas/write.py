"""The journey of every write to a canvas: arguments, role, revision, elements, one commit (canvas 3.2).

The order is the contract's: whoever has no role learns nothing; an old revision is a conflict before any element is
looked at. Rules raise Rejected; whatever they had drafted is dropped, so a refused call changes nothing (canvas 3.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from actors.canvas import outcome
from actors.canvas.access import may_write, parsed, seen
from actors.canvas.draft import Draft
from actors.canvas.outcome import Rejected
from actors.canvas.state import CanvasState, Head
from actors.decision import Context, Decide, Decision, Message
from bus.value import Record
from tools.canvas.inputs import CanvasWrite
from tools.errors import Refusal

Arguments = TypeVar("Arguments", bound=CanvasWrite)


def write(model: type[Arguments], what: str, change: Callable[[Draft, Arguments], None]) -> Decide[CanvasState]:
    """The decision of a tool whose rule is `change`; `what` is how conflicts and the history name it."""

    def decide(state: CanvasState, message: Message, context: Context) -> Decision:
        arguments = parsed(model, message)
        if isinstance(arguments, Refusal):
            return Decision(arguments)
        found = seen(state, context)
        if isinstance(found, Refusal):
            return Decision(found)
        head, role = found
        if not may_write(role):
            return _rejected("role", f"Your role here is {role}; changing elements takes editor. Ask the person.")
        differs = revision_differs(state, head, arguments.expectedRevision)
        if differs is not None:
            return Decision(differs)
        draft = Draft(state, head, context, what, arguments.reason)
        try:
            change(draft, arguments)
            return draft.finish()
        except Rejected as refused:
            return _rejected(refused.code, refused.message)

    return decide


def revision_differs(state: CanvasState, head: Head, expected: int) -> Record | None:
    """The outcome for a call that does not speak of the present revision (canvas 3.2)."""
    if expected < head.revision:
        return outcome.conflict(state, head.revision, expected)
    if expected > head.revision:
        return outcome.rejected("revision_ahead", "expectedRevision is newer than the canvas. Read its state again.")
    return None


def as_of_now(state: CanvasState, arguments: Record) -> Record:
    """The same write, of the present revision: a collected step is meant for the canvas as it then is."""
    return arguments if state.head is None else {**arguments, "expectedRevision": state.head.revision}


def shown_of(state: CanvasState, message: Message, context: Context) -> Record:
    """What a card shows of the canvas, and what may not change before the call runs (common 5.3)."""
    return {} if state.head is None else {"title": state.head.title, "canvasId": context.address.id}


def _rejected(code: str, message: str) -> Decision:
    return Decision(outcome.rejected(code, message))
