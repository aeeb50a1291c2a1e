"""What is told of plans: to their agent (plan_get) and, with everything, to the person. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from actors.agent.approvals import approval_id
from actors.agent.plan_admission import card_of_step
from actors.agent.plan_book import Closing, PlanBook, Step, StepPhase
from actors.agent.plan_steps import step_id
from actors.agent.shortening import json_bytes, shortened
from actors.agent.state import AgentState
from actors.decision import Context, Decision, PrincipalKind, Verb, VerbTable
from actors.parsed import Nothing, parsed
from bus.address import Address
from bus.limits import page_items_max, plan_arguments_shown_bytes_max, plan_page_bytes_max, plan_steps_max
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments
from tools.fence import Fence
from tools.plan import PlanGetInput
from tools.times import rfc3339

_ANNOUNCED: Final = "announced plan step"
_NOTE: Final = "plan note"
_STATE: Final[dict[StepPhase, str]] = {"looking": "running", "dispatched": "running", "asked": "awaiting_approval"}
_CURSOR: Final = re.compile(r"(.{1,150})~(\d{1,5})\Z")

StepNumber = Annotated[int, Field(ge=0, le=plan_steps_max)]


class PlanShow(Model):
    planId: Identifier | None = None
    """None: the open plan, else the last one."""
    after: StepNumber = 0
    limit: Annotated[int, Field(ge=0, le=page_items_max)] = page_items_max


class PlanStep(Model):
    planId: Identifier
    number: StepNumber


_NO_PLAN: Final = Refusal(Code.WRONG_STATE, "You have no plan in this workspace yet. plan_begin makes one.")


def plan_get(state: AgentState, body: PlanGetInput, context: Context) -> Decision:
    """A plan of another workspace than the caller's scope is none (common 3.3)."""
    if context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    plan_id, after = body.planId, 0
    if body.cursor is not None:
        place = _CURSOR.match(body.cursor)
        if place is None or body.planId not in (None, place[1]):
            return Decision(invalid_arguments({"cursor": "is not a nextCursor of this plan; start again without one"}))
        plan_id, after = place[1], int(place[2])
    inside = context.principal.workspace_id
    plan_id = _latest(state.plans, inside) if plan_id is None else plan_id
    plan = state.plans.plans.get(plan_id or "")
    if plan_id is None:
        return Decision(_NO_PLAN)
    if plan is None or plan.workspaceId != inside:
        return Decision(NOT_FOUND)
    steps = state.plans.steps_of(plan_id)
    numbers = [number for number in steps if number > after][: body.limit]
    listed: list[Value] = [_for_agent(plan_id, number, steps[number]) for number in numbers]
    announced: list[Value] = [_fenced(_ANNOUNCED, text) for text in plan.announced]
    reply: Record = {
        "planId": plan_id,
        "title": plan.title,
        "state": plan.phase,
        "beganAt": rfc3339(plan.beganAt),
        "endedAt": _time(plan.endedAt),
        "announced": announced,
        "happened": listed,
        "stepCount": len(steps),
        "note": None if plan.note is None else _fenced(_NOTE, plan.note),
        "nextCursor": f"{plan_id}~{numbers[-1]}" if numbers and numbers[-1] < len(steps) else None,
    }
    return Decision(reply)


def plans_list(state: AgentState, body: Nothing, context: Context) -> Decision:
    """Every plan that is kept, newest first, without its steps."""
    listed: list[Value] = [_plan(state, plan_id, context) for plan_id in _newest_first(state.plans)]
    return Decision({"plans": listed})


def plan_show(state: AgentState, body: PlanShow, context: Context) -> Decision:
    """One plan with a page of its steps; `next` is the number to go on after."""
    plan_id = _latest(state.plans, None) if body.planId is None else body.planId
    if plan_id is None or plan_id not in state.plans.plans:
        return Decision(NOT_FOUND)
    plan, steps = state.plans.plans[plan_id], state.plans.steps_of(plan_id)
    closings = state.plans.closings.get(plan_id, {})
    page: list[Value] = []
    used, last = 0, body.after
    for number in range(body.after + 1, min(len(steps), body.after + body.limit) + 1):
        shown = _for_person(number, steps[number], closings.get(number))
        used += json_bytes(shown)
        if page and used > plan_page_bytes_max:
            break
        page.append(shown)
        last = number
    announced: list[Value] = list(plan.announced)
    reply: Record = {
        **_plan(state, plan_id, context),
        "announced": announced,
        "note": plan.note,
        "steps": page,
        "next": last if last < len(steps) else None,
    }
    return Decision(reply)


def plan_step(state: AgentState, body: PlanStep, context: Context) -> Decision:
    """One step with all that is kept of its arguments."""
    step = state.plans.steps_of(body.planId).get(body.number)
    if step is None:
        return Decision(NOT_FOUND)
    closing = state.plans.closings.get(body.planId, {}).get(body.number)
    shown = _for_person(body.number, step, closing)
    shown |= {"arguments": step.arguments, "leftOut": {**step.leftOut}}
    return Decision({"planId": body.planId, "step": shown})


def _plan(state: AgentState, plan_id: str, context: Context) -> Record:
    book, plan = state.plans, state.plans.plans[plan_id]
    asked = (number for number, step in book.steps_of(plan_id).items() if step.phase == "asked")
    cards = (card_of_step(state, plan_id, number, context) for number in asked)
    card = next((one for one in cards if one is not None), None)
    phases = [step.phase for step in book.steps_of(plan_id).values()]
    return {
        "planId": plan_id,
        "title": plan.title,
        "workspaceId": plan.workspaceId,
        "credential": plan.credential,
        "origin": plan.origin,
        "phase": plan.phase,
        "beganAt": rfc3339(plan.beganAt),
        "stoppedAt": _time(plan.stoppedAt),
        "endedAt": _time(plan.endedAt),
        "undoAskedAt": _time(plan.undoAskedAt),
        "halt": None if plan.halt is None else plan.halt.model_dump(),
        "awaitsApproval": None if card is None else approval_id(context.address.id, card),
        "announcedCount": len(plan.announced),
        "stepCount": len(phases),
        "doneCount": phases.count("done"),
        "waitingCount": phases.count("collected"),
        "underWayCount": phases.count("dispatched"),
        "closingCount": sum(one.state == "closing" for one in book.closings.get(plan_id, {}).values()),
    }


def _for_agent(plan_id: str, number: int, step: Step) -> Record:
    return {"stepId": step_id(plan_id, number), **_shown(number, step), "endedAt": _time(step.endedAt)} | {
        "at": rfc3339(step.at)
    }


def _for_person(number: int, step: Step, closing: Closing | None) -> Record:
    kept, left_out = shortened(step.arguments, plan_arguments_shown_bytes_max)
    place = Address.parse(step.target)
    has_surface = step.creates is not None and step.phase == "done"
    return {
        **_shown(number, step),
        "kind": step.kind,
        "at": rfc3339(step.at),
        "endedAt": _time(step.endedAt),
        "callId": step.sentAs or step.callId,
        "credential": step.credential,
        "workspaceId": step.workspaceId,
        "target": step.target,
        "approvalId": step.approvalId,
        "arguments": kept,
        "leftOut": {**step.leftOut, **left_out},
        "creates": None if step.creates is None else {"kind": step.creates, "id": place.id},
        "surface": ("open" if closing is None else closing.state) if has_surface else None,
    }


def _shown(number: int, step: Step) -> Record:
    result: Record = {} if step.result is None else step.result.model_dump()
    return {"number": number, "tool": step.tool, "state": _STATE.get(step.phase, step.phase), **result}


def _latest(book: PlanBook, inside: str | None) -> str | None:
    """The open plan, else the last one; of one workspace, if it is given."""
    among = [one for one in _newest_first(book) if inside in (None, book.plans[one].workspaceId)]
    return next((one for one in among if book.plans[one].is_open), among[0] if among else None)


def _newest_first(book: PlanBook) -> Iterator[str]:
    yield from sorted(book.plans, key=lambda plan_id: (book.plans[plan_id].beganAt, plan_id), reverse=True)


def _fenced(source: str, text: str) -> Record:
    return Fence(source=source, text=text).model_dump()


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else rfc3339(milliseconds)


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "plan_get": Verb(parsed(PlanGetInput, plan_get), frozenset({PrincipalKind.AGENT})),
        "plans_list": Verb(parsed(Nothing, plans_list), _PERSON),
        "plan_show": Verb(parsed(PlanShow, plan_show), _PERSON),
        "plan_step": Verb(parsed(PlanStep, plan_step), _PERSON),
    }
)
