"""The journey of every write to a canvas: arguments, role, revision, elements, locks, one commit (canvas 3.2).

The order is the contract's: whoever has no role learns nothing; an old revision is a conflict before any element is
looked at, unless the call may be rebased. A commenter's write goes the same way up to its commit, where it is stored as
a proposal instead (proposing.py). Rules raise Rejected; whatever they had drafted is dropped, so a refused call changes
nothing (canvas 3.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from actors.canvas.access import asked, may_write
from actors.canvas.attempt import Change, Terms, attempted
from actors.canvas.draft import Draft
from actors.canvas.proposing import proposed
from actors.canvas.state import CanvasState
from actors.decision import Context, Decide, Decision, Message, PrincipalKind
from bus.value import Record
from tools.canvas.inputs import CanvasWrite

Arguments = TypeVar("Arguments", bound=CanvasWrite)


def write(model: type[Arguments], what: str, rule: Callable[[Draft, Arguments], None]) -> Decide[CanvasState]:
    """The decision of a tool whose rule is `rule`; `what` is how conflicts and the history name it."""
    return written(Change(model, what, rule))


def written(change: Change[Arguments]) -> Decide[CanvasState]:
    """The decision of a tool that makes `change`."""

    def decide(state: CanvasState, message: Message, context: Context) -> Decision:
        words = "proposing changes takes commenter, making them editor"
        found = asked(change.arguments, state, message, context, "commenter", words)
        if isinstance(found, Decision):
            return found
        arguments, head, role = found
        draft = Draft(state, head, context, change.what, arguments.reason)
        is_person = context.principal.kind is PrincipalKind.PERSON
        writers = (context.principal.label(),)
        terms = Terms(arguments.expectedRevision, writers, context.now_ms, heeds_locks=not is_person)
        decision = attempted(draft, change, arguments, terms)
        if not decision.effects or may_write(role):
            return decision
        return proposed(draft, message)

    return decide


def as_of_now(state: CanvasState, arguments: Record) -> Record:
    """The same write, of the present revision: a collected step is meant for the canvas as it then is."""
    return arguments if state.head is None else {**arguments, "expectedRevision": state.head.revision}


def shown_of(state: CanvasState, message: Message, context: Context) -> Record:
    """What a card shows of the canvas, and what may not change before the call runs (common 5.3)."""
    return {} if state.head is None else {"title": state.head.title, "canvasId": context.address.id}
