"""plan_begin and plan_end of the agent; stop, run and discard of the person; the looks of a run (0009). Pure."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from actors.agent import plan_reads, plan_undo
from actors.agent.plan_admission import asked_for_step
from actors.agent.plan_book import Carried, Plan, PlanEvent, StepResult, plan_row
from actors.agent.plan_run import Run
from actors.agent.plan_steps import Settlement, call_of, ended, new_plan_id, removed_for_another, result_of
from actors.agent.standing import mode_in_force
from actors.agent.state import AgentState
from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Verb, VerbTable
from actors.parsed import DONE, parsed
from bus.limits import plan_steps_max
from bus.value import Record
from tools.autonomy import Mode
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal
from tools.plan import PlanBeginInput, PlanEndInput

_ANOTHER_IS_OPEN: Final = Refusal(
    Code.WRONG_STATE,
    "You have an open plan already. End it with plan_end first, or ask the person when it holds collected calls.",
)
_NONE_TO_END: Final = Refusal(
    Code.WRONG_STATE, "You have no running plan to end. Calls that were collected are the person's to run or discard."
)
_IN_WORDS: Final = {
    "stop": "Only a plan that runs can be stopped, or the run of a collected one. This one does not.",
    "run": "Only collected calls can be run, and this plan has none that wait, or is being run already.",
    "discard": "Only collected calls can be discarded. Stop a run first; a plan that an agent began is ended by it.",
}


class OnePlan(Model):
    planId: Identifier


class PlanRun(Model):
    planId: Identifier
    through: Annotated[int, Field(ge=1, le=plan_steps_max)] | None = None
    """The last step that the person has read; None is every step that there is now."""


class Looked(Model):
    """What a target would do with a call: the answer to a dispatch that is a look."""

    callId: str
    would: Carried
    fingerprint: Carried | None = None


def plan_begin(state: AgentState, body: PlanBeginInput, context: Context) -> Decision:
    """A collected plan_begin that is being run names the very plan that it is a step of."""
    book = state.plans
    if state.living() is None or context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    within = _run_of(state, context)
    if within is not None:
        plan = book.plans[within].model_copy(update={"title": body.title, "announced": list(body.steps)})
        return Decision({"planId": within, "state": plan.phase}, (Put(plan_row(within), plan.model_dump()),))
    if book.open_id is not None:
        return Decision(_ANOTHER_IS_OPEN)
    plan = Plan(
        title=body.title,
        announced=list(body.steps),
        workspaceId=context.principal.workspace_id,
        credential=context.principal.credential,
        origin="begun",
        phase="running",
        beganAt=context.now_ms,
    )
    plan_id = new_plan_id(context)
    effects: tuple[Effect, ...] = (
        *removed_for_another(book),
        Put(plan_row(plan_id), plan.model_dump()),
        Event("plan.begun", {"planId": plan_id, "announced": len(plan.announced)}),
    )
    return Decision({"planId": plan_id, "state": plan.phase}, effects)


def plan_end(state: AgentState, body: PlanEndInput, context: Context) -> Decision:
    """Ends what runs or was stopped; of a plan that is being run it only leaves the note."""
    if state.living() is None or context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    within = _run_of(state, context)
    if within is not None:
        noted = state.plans.plans[within].model_copy(update={"note": body.note})
        return _ended(state, within, noted, (Put(plan_row(within), noted.model_dump()),))
    plan_id = state.plans.open_id
    plan = state.plans.plans.get(plan_id or "")
    if plan_id is None or plan is None or not plan.may("end"):
        return Decision(_NONE_TO_END)
    return _ended(state, plan_id, plan.after("end"), ended(state, plan_id, context, body.note))


def _ended(state: AgentState, plan_id: str, plan: Plan, effects: tuple[Effect, ...]) -> Decision:
    reply: Record = {
        "planId": plan_id,
        "state": plan.phase,
        "wasStopped": plan.origin == "begun" and plan.stoppedAt is not None,
        "stepCount": len(state.plans.steps_of(plan_id)),
    }
    return Decision(reply, effects)


def _run_of(state: AgentState, context: Context) -> str | None:
    """The collected plan of which this very call is the step that was sent out, or would be: where calls are
    collected, only a look comes here otherwise (0009)."""
    known, head, open_id = state.plans.of_call(context.call_id), state.living(), state.plans.open_id
    if known is None:
        collects = head is not None and mode_in_force(state, head, context) is Mode.PLAN_COLLECT and open_id is not None
        return open_id if collects and state.plans.plans[open_id or ""].origin == "collected" else None
    plan_id, _, step = known
    is_run = step.phase == "dispatched" and state.plans.plans[plan_id].origin == "collected"
    return plan_id if is_run else None


def plan_stop(state: AgentState, body: OnePlan, context: Context) -> Decision:
    """From now on its writes are refused, until the agent ends it; a removed agent's ends at once."""
    plan = state.plans.plans.get(body.planId)
    if plan is None:
        return Decision(NOT_FOUND)
    if plan.phase == "stopped" and state.living() is not None:
        return _told(body.planId, plan, changed=False)
    if plan.phase == "stopped":
        return _told(body.planId, plan.after("end"), ended(state, body.planId, context))
    if not plan.may("stop"):
        return _refused("stop")
    change = Run.of(state, body.planId, context)
    change.stop()
    effects = tuple(change.effects)
    if state.living() is None and change.plan.may("end"):
        gone = change.plan.after("end", endedAt=context.now_ms)
        effects += (Put(plan_row(body.planId), gone.model_dump()), Event("plan.ended", {"planId": body.planId}))
        return _told(body.planId, gone, effects)
    return _told(body.planId, change.plan, effects)


def plan_run(state: AgentState, body: PlanRun, context: Context) -> Decision:
    plan = state.plans.plans.get(body.planId)
    if plan is None:
        return Decision(NOT_FOUND)
    change = Run.of(state, body.planId, context)
    through = min(body.through or plan_steps_max, len(change.steps))
    if not plan.may("run") or not any(number <= through for number in change.left):
        return _refused("run")
    change.begin(through)
    return _told(body.planId, change.plan, tuple(change.effects))


def plan_discard(state: AgentState, body: OnePlan, context: Context) -> Decision:
    plan = state.plans.plans.get(body.planId)
    if plan is None:
        return Decision(NOT_FOUND)
    if not plan.may("discard"):
        return _refused("discard")
    change = Run.of(state, body.planId, context)
    change.discard()
    return _told(body.planId, change.plan, tuple(change.effects))


def looked(state: AgentState, body: Looked, context: Context) -> Decision:
    """A step that needs a card was looked at by its target: ask the person, unless it would fail anyway."""
    known = state.plans.of_call(body.callId)
    if known is None or known[2].phase != "looking" or known[2].lookId != body.callId:
        return DONE
    plan_id, number, step = known
    change = Run.of(state, plan_id, context)
    ok, error = body.would.get("ok"), body.would.get("error")
    would = Settlement(ok if isinstance(ok, dict) else None, error if isinstance(error, dict) else None)
    if would.error is not None or (would.ok is not None and not would.happened):
        change.fail(number, "put_back", result_of(would, step))
        return Decision({}, tuple(change.effects))
    asked = asked_for_step(state, call_of(step), body.fingerprint or {}, plan_id, number, context)
    if isinstance(asked, Refusal):
        change.fail(number, "put_back", StepResult(code=asked.code.value))
        return Decision({}, tuple(change.effects))
    change.ask(number)
    return Decision({}, (*change.effects, *asked))


def _told(plan_id: str, plan: Plan, effects: tuple[Effect, ...] = (), *, changed: bool = True) -> Decision:
    reply: Record = {
        "planId": plan_id,
        "title": plan.title,
        "phase": plan.phase,
        "changed": changed,
        "halt": None if plan.halt is None else plan.halt.model_dump(),
    }
    return Decision(reply, effects)


def _refused(event: PlanEvent) -> Decision:
    return Decision(Refusal(Code.WRONG_STATE, _IN_WORDS[event]))


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_PERSON: Final = frozenset({PrincipalKind.PERSON})
_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[AgentState]] = (
    VerbTable(
        {
            "plan_begin": Verb(parsed(PlanBeginInput, plan_begin), _AGENT),
            "plan_end": Verb(parsed(PlanEndInput, plan_end), _AGENT),
            "plan_stop": Verb(parsed(OnePlan, plan_stop), _PERSON),
            "plan_run": Verb(parsed(PlanRun, plan_run), _PERSON),
            "plan_discard": Verb(parsed(OnePlan, plan_discard), _PERSON),
            "looked": Verb(parsed(Looked, looked), _OWNER),
        }
    )
    | plan_reads.VERBS
    | plan_undo.VERBS
)
