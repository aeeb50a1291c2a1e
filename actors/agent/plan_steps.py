"""The steps that an agent's admission notes down: writes while a plan runs, and calls that are collected.

Pure; admission calls these and commits what they answer together with what it decides. Running a collected plan is in
plan_run.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from actors.agent.plan_book import (
    COLLECTED_MESSAGE,
    FINAL,
    Phase,
    Plan,
    PlanBook,
    Step,
    StepResult,
    closing_row,
    plan_row,
    step_row,
)
from actors.agent.shortening import json_bytes, shortened
from actors.agent.state import AgentState
from actors.decision import Context, Delete, Effect, Event, Put
from bus.address import Address
from bus.identifier import made_id
from bus.limits import (
    plan_arguments_kept_bytes_max,
    plan_collected_bytes_max,
    plan_steps_max,
    plan_word_characters_max,
    plans_kept_max,
    plans_removed_at_once_max,
)
from bus.value import Record, Value
from tools.autonomy import took_effect
from tools.errors import Code, Refusal

COLLECTED_TITLE: Final = "Collected calls"
NOT_STEPS: Final = frozenset({"plan_begin", "plan_end"})

_RESERVES: Final[Mapping[str, tuple[str, str]]] = {
    "workspace_create": ("id", "workspace"),
    "agent_create": ("requestId", "request"),
    "agent_invite_to_channel": ("requestId", "request"),
    "agent_trigger": ("threadId", "thread"),
    "team_create": ("teamId", "team"),
}
"""What makes something whose id the target does not tell, since one owner keeps many: the answer's field and the kind
by which its owner derives the id from the call's (bus/identifier.py, made_id)."""
_ABOUT: Final[Mapping[str, frozenset[str]]] = {
    "teams": frozenset({"teamId"}),
    "mailbox": frozenset({"threadId", "parentThreadId"}),
    "workspace": frozenset(),
    "providers": frozenset(),
}
"""By kind of an owner that keeps many things: the arguments that name the one which a call is about. What names none of
an earlier step's cannot come to pass by it."""

OpenPhase: TypeAlias = Literal["running", "stopped", "collecting", "executing"]


@dataclass(frozen=True, slots=True)
class StepCall:
    """A write, as admission knows it."""

    tool: str
    kind: str
    """read, write, irreversible or always_ask."""
    arguments: Record
    target: Address
    call_id: str
    workspace_id: str
    credential: str
    credential_made_ms: int
    creates: str | None
    """The kind of surface that a budgeted tool makes ("canvas"), whose id is `target.id`."""
    chain: tuple[str, ...] = ()
    """The agents whose tasks the caller was at, and how many more there were (security 2.24)."""
    chain_more: int = 0


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """The one plan of an agent that has not ended."""

    plan_id: str
    phase: OpenPhase


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a dispatched call ended: exactly one of the two is there."""

    ok: Record | None
    error: Record | None

    @property
    def happened(self) -> bool:
        return self.ok is not None and took_effect(self.ok)

    @property
    def is_unknown(self) -> bool:
        """Whether it may have happened: then nothing repeats it silently (common 8.3)."""
        return self.error is not None and self.error.get("code") == Code.OUTCOME_UNKNOWN.value

    @property
    def may_be_tried_again(self) -> bool:
        return self.error is not None and self.error.get("retryable") is True


PLAN_FULL: Final = Refusal(
    Code.TOO_LARGE,
    "Your plan has as many steps as a plan can have. End it with plan_end and begin another one.",
    details={"limit": plan_steps_max},
)
_COLLECTED_FULL: Final = Refusal(
    Code.TOO_LARGE,
    "As many calls as can be collected wait for the person already. Ask the person to run or discard them.",
    details={"limit": plan_steps_max},
)
_COLLECTED_ELSEWHERE: Final = Refusal(
    Code.WRONG_STATE,
    "Calls that you made in another workspace still wait for the person to run or discard them. Ask the person first.",
)


def open_plan(state: AgentState) -> OpenPlan | None:
    """The plan of this agent that is running, stopped (not ended yet), collecting, or being run by the person."""
    plan_id = state.plans.open_id
    if plan_id is None:
        return None
    return OpenPlan(plan_id, _open_phase(state.plans.plans[plan_id].phase))


def recorded(state: AgentState, call: StepCall, context: Context) -> tuple[Effect, ...] | Refusal:
    """The step of a write that is dispatched in this commit; empty when no plan runs or the step is there already.

    A refusal when the plan is full: a write that the plan does not show must not happen.
    """
    book, plan_id = state.plans, state.plans.open_id
    if plan_id is None or book.plans[plan_id].phase != "running":
        return ()
    if call.tool in NOT_STEPS or call.call_id in book.calls:
        return ()
    number = len(book.steps_of(plan_id)) + 1
    if number > plan_steps_max:
        return PLAN_FULL
    kept, left_out = shortened(call.arguments, plan_arguments_kept_bytes_max)
    step = _step(call, kept, context).model_copy(
        update={"leftOut": left_out, "phase": "dispatched", "sentAs": call.call_id, "tries": 1}
    )
    return (
        Put(step_row(plan_id, number), step.model_dump()),
        Event("plan.step_recorded", {"planId": plan_id, "number": number, "callId": call.call_id}),
    )


def collected(state: AgentState, call: StepCall, context: Context) -> tuple[tuple[Effect, ...], Record] | Refusal:
    """Notes a step of the collecting plan, making that plan if none is open, and the form that the call is answered.

    A plan that was running ends: the person has changed the mode, and from then on nothing of it would be executed.
    """
    known = state.plans.of_call(call.call_id)
    if known is not None:
        plan_id, number, _ = known
        return (), _collected_form(plan_id, number, call)
    effects: list[Effect] = []
    plan_id = state.plans.open_id or ""
    plan = state.plans.plans.get(plan_id)
    if plan is not None and plan.may("end"):
        effects += ended(state, plan_id, context)
        plan = None
    if plan is None:
        plan_id = new_plan_id(context)
        plan = Plan(
            title=COLLECTED_TITLE,
            announced=[],
            workspaceId=call.workspace_id,
            credential=call.credential,
            origin="collected",
            phase="collecting",
            beganAt=context.now_ms,
        )
        effects += [*removed_for_another(state.plans), Put(plan_row(plan_id), plan.model_dump())]
    elif plan.workspaceId != call.workspace_id:
        return _COLLECTED_ELSEWHERE
    steps = state.plans.steps_of(plan_id)
    step = _step(call, call.arguments, context)
    waiting = sum(one.size for one in steps.values() if one.phase not in FINAL)
    if len(steps) >= plan_steps_max or waiting + step.size > plan_collected_bytes_max:
        return _COLLECTED_FULL
    number = len(steps) + 1
    effects += [
        Put(step_row(plan_id, number), step.model_dump()),
        Event("plan.collected", {"planId": plan_id, "number": number, "callId": call.call_id}),
    ]
    return tuple(effects), _collected_form(plan_id, number, call)


def depends_on_collected(state: AgentState, call: StepCall) -> bool:
    """Whether an earlier collected step addresses or makes what this call is about, so that a dry run's refusal is not
    certain."""
    plan_id = state.plans.open_id
    if plan_id is None or state.plans.plans[plan_id].origin != "collected":
        return False
    steps = state.plans.steps_of(plan_id).values()
    earlier = [step for step in steps if step.phase not in FINAL and step.target == str(call.target)]
    names = _ABOUT.get(call.target.kind)
    if names is None:
        return bool(earlier)
    about = _named(call.arguments, names)
    return any(about & (_named(step.arguments, names) | _reserved(step)) for step in earlier)


def ended(state: AgentState, plan_id: str, context: Context, note: str | None = None) -> tuple[Effect, ...]:
    """A running or stopped plan ends."""
    plan = state.plans.plans[plan_id].after("end", endedAt=context.now_ms, note=note)
    count = len(state.plans.steps_of(plan_id))
    return Put(plan_row(plan_id), plan.model_dump()), Event("plan.ended", {"planId": plan_id, "steps": count})


def new_plan_id(context: Context) -> str:
    """It names its owner, like an approval's."""
    return f"{context.address.id}.{context.new_id('plan')}"


def step_id(plan_id: str, number: int) -> str:
    return f"{plan_id}.{number}"


def call_of(step: Step) -> StepCall:
    """What admission is asked about when the step is run. What was sent before is paid for: it makes one surface."""
    return StepCall(
        step.tool,
        step.kind,
        step.arguments,
        Address.parse(step.target),
        step.callId,
        step.workspaceId,
        step.credential,
        step.credentialMadeMs,
        step.creates if step.tries == 0 else None,
        (*step.chain,),
        step.chainMore,
    )


def result_of(settlement: Settlement, step: Step) -> StepResult:
    """The summary that a step keeps."""
    if settlement.ok is None:
        return StepResult(code=_word((settlement.error or {}).get("code")))
    revision = settlement.ok.get("revision")
    return StepResult(
        outcome=_word(settlement.ok.get("outcome")),
        code=_word(settlement.ok.get("code")),
        revision=revision if isinstance(revision, int) and not isinstance(revision, bool) else None,
        surfaceId=Address.parse(step.target).id if step.creates and settlement.happened else None,
    )


def removed_for_another(book: PlanBook) -> Iterator[Effect]:
    """The rows of the oldest plans that have ended, when there are too many; a few at a time."""
    surplus = min(len(book.plans) + 1 - plans_kept_max, plans_removed_at_once_max)
    over = sorted((plan.beganAt, plan_id) for plan_id, plan in book.plans.items() if not plan.is_open)
    for _, plan_id in over[: max(surplus, 0)]:
        yield from (Delete(closing_row(plan_id, number)) for number in book.closings.get(plan_id, ()))
        yield from (Delete(step_row(plan_id, number)) for number in reversed(book.steps_of(plan_id)))
        yield Delete(plan_row(plan_id))
        yield Event("plan.removed", {"planId": plan_id})


def _step(call: StepCall, arguments: Record, context: Context) -> Step:
    return Step(
        tool=call.tool,
        kind=call.kind,
        callId=call.call_id,
        arguments=arguments,
        leftOut={},
        size=json_bytes(arguments),
        target=str(call.target),
        workspaceId=call.workspace_id,
        credential=call.credential,
        credentialMadeMs=call.credential_made_ms,
        creates=call.creates,
        chain=[*call.chain],
        chainMore=call.chain_more,
        phase="collected",
        at=context.now_ms,
    )


def _collected_form(plan_id: str, number: int, call: StepCall) -> Record:
    form: Record = {
        "executed": False,
        "status": "collected",
        "planId": plan_id,
        "stepId": step_id(plan_id, number),
        "message": COLLECTED_MESSAGE,
    }
    if call.creates is not None:
        form[f"{call.creates}Id"] = call.target.id
    reserved = _RESERVES.get(call.tool)
    if reserved is not None:
        form[reserved[0]] = made_id(call.call_id, reserved[1])
    return form


def _named(arguments: Record, names: frozenset[str]) -> frozenset[str]:
    """The values of these arguments, at the top or one level below (a Task Envelope's parent)."""
    records = (arguments, *(one for one in arguments.values() if isinstance(one, dict)))
    found = (one.get(name) for one in records for name in names)
    return frozenset(value for value in found if isinstance(value, str))


def _reserved(step: Step) -> frozenset[str]:
    reserved = _RESERVES.get(step.tool)
    return frozenset() if reserved is None else frozenset({made_id(step.callId, reserved[1])})


def _open_phase(phase: Phase) -> OpenPhase:
    assert phase != "ended" and phase != "discarded"
    return phase


def _word(value: Value) -> str | None:
    return value[:plan_word_characters_max] if isinstance(value, str) else None
