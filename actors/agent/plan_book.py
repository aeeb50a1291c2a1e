"""The plans of one agent, as rows (work-plan-tool, plan_*).

`plan/<id>` is a plan, `step/<plan id>/<number>` one of its steps, `plan/<id>/closing/<number>` what became of the
surface that this step made, once the plan is undone.

Invariants: at most one plan is open; steps are numbered from 1 without a gap; a step that is done, failed or discarded
never changes again; a surface is closed under the number of the one step that made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Field

from actors.decision import Delete, Put, RowEffect
from tools.base import Model

COLLECTED_MESSAGE: Final = (
    "Your calls are collected for the person to read: this one was noted down and not executed. It is executed only if"
    " the person runs the plan."
)
"""What a collected call is answered, and what tool_list gives as the reason."""

Phase: TypeAlias = Literal["running", "stopped", "collecting", "executing", "ended", "discarded"]
PlanEvent: TypeAlias = Literal["stop", "end", "run", "halt", "finish", "discard"]
StepPhase: TypeAlias = Literal["collected", "looking", "asked", "dispatched", "done", "failed", "discarded"]
StepEvent: TypeAlias = Literal["look", "ask", "dispatch", "happen", "fail", "put_back", "discard"]

Row = TypeVar("Row")

Carried: TypeAlias = dict[str, Any]
"""A `Record` that was checked where it entered NEXUS. pydantic cannot read the recursive type, and its own JSON type
would refuse the numbers of canvas elements that are not finite."""

PLAN_TRANSITIONS: Final[Mapping[tuple[Phase, PlanEvent], Phase]] = {
    ("running", "stop"): "stopped",
    ("running", "end"): "ended",
    ("stopped", "end"): "ended",
    ("collecting", "run"): "executing",
    ("collecting", "discard"): "discarded",
    ("collecting", "finish"): "ended",  # the run was stopped while its last step was under way
    ("executing", "halt"): "collecting",
    ("executing", "stop"): "collecting",
    ("executing", "finish"): "ended",
}
STEP_TRANSITIONS: Final[Mapping[tuple[StepPhase, StepEvent], StepPhase]] = {
    ("collected", "look"): "looking",
    ("collected", "dispatch"): "dispatched",
    ("collected", "discard"): "discarded",
    ("looking", "ask"): "asked",
    ("looking", "put_back"): "collected",
    ("asked", "dispatch"): "dispatched",
    ("asked", "put_back"): "collected",
    ("dispatched", "happen"): "done",
    ("dispatched", "fail"): "failed",
    ("dispatched", "put_back"): "collected",  # a collected step that failed may be tried anew
}
OPEN: Final[frozenset[Phase]] = frozenset(("running", "stopped", "collecting", "executing"))
UNDER_WAY: Final[frozenset[StepPhase]] = frozenset(("looking", "asked", "dispatched"))
FINAL: Final[frozenset[StepPhase]] = frozenset(("done", "failed", "discarded"))


class StepResult(Model):
    """What is kept of an answer: never the whole of it."""

    outcome: str | None = None
    code: str | None = None
    revision: int | None = None
    surfaceId: str | None = None


class Step(Model):
    """One write of the agent: dispatched while a plan ran, or collected."""

    tool: str
    kind: str
    callId: str
    """Of the call that the agent made."""
    sentAs: str | None = None
    """The call id under which it was dispatched last: its own, or a fresh one when it is tried anew."""
    lookId: str | None = None
    tries: int = 0
    """How often it was dispatched."""
    arguments: Carried
    """Whole while it may still be run, short afterwards."""
    leftOut: dict[str, int]
    """Bytes of each argument that is not kept."""
    size: int
    """Bytes of the arguments that are kept."""
    target: str
    workspaceId: str
    credential: str
    credentialMadeMs: int
    creates: str | None
    chain: list[str] = Field(default=[])
    """The agents whose tasks the agent was at when it was collected, and how many more there were (security 2.24)."""
    chainMore: int = 0
    phase: StepPhase
    at: int
    endedAt: int | None = None
    result: StepResult | None = None
    """Of a collected step that waits again: how the last try failed."""
    approvalId: str | None = None

    def after(self, event: StepEvent, **changes: object) -> Step:
        """Raises KeyError for an event that this phase does not have."""
        return self.model_copy(update={"phase": STEP_TRANSITIONS[self.phase, event], **changes})


class Halt(Model):
    """At which step the last run of a collected plan stopped, and why."""

    number: int
    code: str


class Plan(Model):
    """The row `plan/<id>`."""

    title: str
    announced: list[str]
    workspaceId: str
    credential: str
    origin: Literal["begun", "collected"]
    phase: Phase
    beganAt: int
    stoppedAt: int | None = None
    endedAt: int | None = None
    note: str | None = None
    """What the agent said when it ended the plan."""
    through: int = 0
    """The last step of the run that was ordered: what is collected later was not read when it was."""
    halt: Halt | None = None
    undoAskedAt: int | None = None

    @property
    def is_open(self) -> bool:
        return self.phase in OPEN

    def after(self, event: PlanEvent, **changes: object) -> Plan:
        """Raises KeyError for an event that this phase does not have."""
        return self.model_copy(update={"phase": PLAN_TRANSITIONS[self.phase, event], **changes})

    def may(self, event: PlanEvent) -> bool:
        return (self.phase, event) in PLAN_TRANSITIONS


class Closing(Model):
    """What became of a surface since its plan was undone."""

    kind: str
    id: str
    askedAt: int
    state: Literal["closing", "closed", "absent"]
    """`absent`: it was gone already."""
    goneAt: int | None = None


def plan_row(plan_id: str) -> str:
    return f"plan/{plan_id}"


def step_row(plan_id: str, number: int) -> str:
    return f"step/{plan_id}/{number:05}"


def closing_row(plan_id: str, number: int) -> str:
    return f"plan/{plan_id}/closing/{number:05}"


@dataclass(slots=True)
class PlanBook:
    """What the agent's owner knows of its plans."""

    plans: dict[str, Plan] = field(default_factory=dict)
    steps: dict[str, dict[int, Step]] = field(default_factory=dict)
    closings: dict[str, dict[int, Closing]] = field(default_factory=dict)
    calls: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By the id of a call or look: plan and number of its step."""

    @property
    def open_id(self) -> str | None:
        return next((plan_id for plan_id, plan in self.plans.items() if plan.is_open), None)

    def of_call(self, call_id: str) -> tuple[str, int, Step] | None:
        """The step whose call, dispatch or look has this id."""
        place = self.calls.get(call_id)
        return None if place is None else (*place, self.steps[place[0]][place[1]])

    def steps_of(self, plan_id: str) -> dict[int, Step]:
        return self.steps.get(plan_id, {})

    def apply(self, effect: RowEffect) -> None:
        """One row `plan/...` or `step/...`."""
        value = effect.value if isinstance(effect, Put) else None
        match effect.row.split("/"):
            case ["plan", plan_id]:
                if isinstance(effect, Delete):
                    self.plans.pop(plan_id, None)
                else:
                    self.plans[plan_id] = Plan.model_validate(value)
            case ["plan", plan_id, "closing", number]:
                closing = None if isinstance(effect, Delete) else Closing.model_validate(value)
                _put(self.closings, plan_id, int(number), closing)
            case ["step", plan_id, number]:
                step = None if isinstance(effect, Delete) else Step.model_validate(value)
                self._put_step(plan_id, int(number), step)
            case _:
                raise ValueError("a plan has no such row")

    def problems(self) -> list[str]:
        """What should hold of the plans of every agent and does not."""
        found = []
        if sum(plan.is_open for plan in self.plans.values()) > 1:
            found.append("more than one plan is open")
        if not self.plans.keys() >= self.steps.keys() | self.closings.keys():
            found.append("there are steps or closings without a plan")
        if any(list(steps) != list(range(1, len(steps) + 1)) for steps in self.steps.values()):
            found.append("the steps of a plan are not numbered from 1 without a gap")
        for plan_id, closings in self.closings.items():
            made = {number for number, step in self.steps_of(plan_id).items() if step.creates and step.phase == "done"}
            if not made >= closings.keys():
                found.append("a plan closes a surface that none of its steps made")
        return found

    def _put_step(self, plan_id: str, number: int, step: Step | None) -> None:
        former = self.steps_of(plan_id).get(number)
        for call_id in _calls_of(former):
            self.calls.pop(call_id, None)
        for call_id in _calls_of(step):
            self.calls[call_id] = (plan_id, number)
        _put(self.steps, plan_id, number, step)


def _calls_of(step: Step | None) -> set[str]:
    return set() if step is None else {one for one in (step.callId, step.sentAs, step.lookId) if one is not None}


def _put(rows: dict[str, dict[int, Row]], plan_id: str, number: int, row: Row | None) -> None:
    if row is not None:
        rows.setdefault(plan_id, {})[number] = row
        return
    numbered = rows.get(plan_id, {})
    numbered.pop(number, None)
    if not numbered:
        rows.pop(plan_id, None)
