"""Undoing a plan: the surfaces that its steps made are closed by their owners, newest first (work-plan-tool, plan_*).

The plan keeps what became of each surface. Asking again sends again only for those that nobody has confirmed, so undo
is safe to repeat at any time; owners close what is there and say whether it was.
"""

from __future__ import annotations

from typing import Final

from actors.agent.plan_book import Closing, Step, closing_row, plan_row
from actors.agent.state import AgentState
from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.parsed import DONE, parsed
from bus.address import Address
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal

_UNDER_WAY: Final = Refusal(
    Code.WRONG_STATE,
    "Calls of this plan are under way, so what it made is not known yet. Stop it, wait until they have ended, and undo"
    " it then.",
)


class PlanUndo(Model):
    planId: Identifier


class SurfaceGone(Model):
    planId: str
    kind: str
    id: str
    existed: bool


def plan_undo(state: AgentState, body: PlanUndo, context: Context) -> Decision:
    """Tell the owner of each surface that the plan made, and that is not known to be gone, to close it."""
    plan = state.plans.plans.get(body.planId)
    if plan is None:
        return Decision(NOT_FOUND)
    steps = state.plans.steps_of(body.planId)
    if plan.phase == "executing" or any(step.phase == "dispatched" for step in steps.values()):
        return Decision(_UNDER_WAY)
    known = state.plans.closings.get(body.planId, {})
    effects: list[Effect] = []
    listed: list[Value] = []
    for number, step in surfaces_of(steps):
        closing = known.get(number)
        place = Address.parse(step.target)
        if closing is None:
            closing = Closing(kind=step.creates or "", id=place.id, askedAt=context.now_ms, state="closing")
            effects.append(Put(closing_row(body.planId, number), closing.model_dump()))
        if closing.state == "closing":
            told: Record = {"planId": body.planId, "agentId": context.address.id}
            effects.append(Send(place, "surface_closed", told))
        listed.append({"number": number, "kind": closing.kind, "id": closing.id, "state": closing.state})
    if effects:
        asked = plan.model_copy(update={"undoAskedAt": context.now_ms})
        effects.append(Put(plan_row(body.planId), asked.model_dump()))
        effects.append(Event("plan.undo_asked", {"planId": body.planId, "surfaces": len(listed)}))
    return Decision({"planId": body.planId, "title": plan.title, "surfaces": listed}, tuple(effects))


def surface_gone(state: AgentState, body: SurfaceGone, context: Context) -> Decision:
    """The owner of a surface says that it is no more; `existed`, that it was there until now."""
    closings = state.plans.closings.get(body.planId, {})
    meant = (number for number, one in closings.items() if (one.kind, one.id) == (body.kind, body.id))
    number = next(meant, None)
    if number is None:
        return DONE  # the plan made room for another one meanwhile
    closing = closings[number]
    step = state.plans.steps_of(body.planId)[number]
    if str(context.principal.owner) != step.target:
        raise ValueError("only a surface's own owner says that it is gone")
    if closing.state != "closing":
        return DONE  # a repeat: what was closed at first is absent now
    gone = closing.model_copy(update={"state": "closed" if body.existed else "absent", "goneAt": context.now_ms})
    told: Record = {"planId": body.planId, "number": number, "existed": body.existed}
    return Decision({}, (Put(closing_row(body.planId, number), gone.model_dump()), Event("plan.surface_gone", told)))


def surfaces_of(steps: dict[int, Step]) -> list[tuple[int, Step]]:
    """The steps that made a surface, newest first."""
    made = [(number, step) for number, step in steps.items() if step.creates and step.phase == "done"]
    return made[::-1]


VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "plan_undo": Verb(parsed(PlanUndo, plan_undo), frozenset({PrincipalKind.PERSON})),
        "surface_gone": Verb(parsed(SurfaceGone, surface_gone), frozenset({PrincipalKind.OWNER})),
    }
)
