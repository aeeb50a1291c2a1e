"""Running a collected plan: its steps go out one after the other, each admitted as things then stand. Pure.

    collected -> dispatched -> done                              an ordinary write
    collected -> looking -> asked -> dispatched -> done          a step that needs a card of its own

A step goes out under the call id of the call that was collected, so that the id which it reserved becomes the real one.
The first step that cannot be done ends the run: it waits again as collected, and so does what follows. When it is tried
anew after its owner has seen it, it gets a fresh call id, since under the former one the owner would repeat its answer;
its target stays the same, so a reserved id is still that of the one surface that the step can make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from actors.agent.plan_admission import charged, step_refusal, withdrawn
from actors.agent.plan_book import FINAL, UNDER_WAY, Halt, Plan, Step, StepEvent, StepResult, plan_row, step_row
from actors.agent.plan_steps import Settlement, call_of, result_of
from actors.agent.shortening import shortened
from actors.agent.state import AgentState
from actors.decision import Context, Dispatch, Effect, Event, Put
from bus.address import Address
from bus.admitted import marks_of_chain
from bus.limits import plan_arguments_kept_bytes_max
from bus.value import Record
from tools.errors import Code

NEEDS_A_CARD: Final = frozenset({"irreversible", "always_ask"})


def settled(state: AgentState, call_id: str, settlement: Settlement, context: Context) -> tuple[Effect, ...]:
    """Completes the step of that call, and in a run sends the next one out. Empty for a call that is no step's.

    A look that could not be made (its message died) is told by the look's id, and ends the run there.
    """
    known = state.plans.of_call(call_id)
    if known is None:
        return ()
    plan_id, number, step = known
    change = Run.of(state, plan_id, context)
    if step.phase == "looking" and step.lookId == call_id:
        change.fail(number, "put_back", result_of(settlement, step))
    elif step.phase == "dispatched" and step.sentAs == call_id:
        change.settle(number, settlement)
    return tuple(change.effects)


def step_approved(
    state: AgentState,
    plan_id: str,
    number: int,
    fingerprint: Record,
    approval_id: str,
    context: Context,
) -> tuple[Effect, ...]:
    """The person approved the card of this step. Empty when no run waits for it any more (see `awaits_card`)."""
    if not awaits_card(state, plan_id, number):
        return ()
    change = Run.of(state, plan_id, context)
    refusal = step_refusal(state, call_of(change.steps[number]), context)
    if refusal is not None:
        change.fail(number, "put_back", StepResult(code=refusal.code.value))
    else:
        change.dispatch(number, fingerprint or None, approval_id)
    return tuple(change.effects)


def step_denied(
    state: AgentState,
    plan_id: str,
    number: int,
    context: Context,
    code: Code = Code.APPROVAL_DENIED,
) -> tuple[Effect, ...]:
    """The card of this step was denied, or lapsed (`code`): the run ends there. Empty when no run waits for it."""
    if not awaits_card(state, plan_id, number):
        return ()
    change = Run.of(state, plan_id, context)
    change.fail(number, "put_back", StepResult(code=code.value))
    return tuple(change.effects)


def abandoned(state: AgentState, context: Context) -> tuple[Effect, ...]:
    """The open plan of an agent that is removed goes no further: its run stops, and one that it began is over. What
    was collected stays for the person to read or discard."""
    plan_id = state.plans.open_id
    if plan_id is None:
        return ()
    change = Run.of(state, plan_id, context)
    if change.plan.may("stop"):
        change.stop()
    if change.plan.may("end"):
        change.end()
    return tuple(change.effects)


def awaits_card(state: AgentState, plan_id: str, number: int) -> bool:
    """Whether a run waits for the person to decide the card of this step."""
    step = state.plans.steps_of(plan_id).get(number)
    return step is not None and step.phase == "asked"


@dataclass(slots=True)
class Run:
    """One plan as this decision changes it. `effects` are what the decision must commit."""

    state: AgentState
    plan_id: str
    context: Context
    plan: Plan
    steps: dict[int, Step]
    effects: list[Effect] = field(default_factory=list)

    @classmethod
    def of(cls, state: AgentState, plan_id: str, context: Context) -> Run:
        return cls(state, plan_id, context, state.plans.plans[plan_id], dict(state.plans.steps_of(plan_id)))

    @property
    def left(self) -> list[int]:
        """The numbers of steps that wait to be run."""
        return [number for number, step in self.steps.items() if step.phase == "collected"]

    @property
    def is_busy(self) -> bool:
        return any(step.phase in UNDER_WAY for step in self.steps.values())

    def begin(self, through: int) -> None:
        """Run what is collected up to step `through`."""
        self._put_plan(self.plan.after("run", through=through, halt=None))
        self._event("plan.run_begun", through=through)
        self.go_on()

    def go_on(self) -> None:
        """Send the next step out unless one is under way; at the end of what was ordered the run is over."""
        if self.is_busy:
            return
        if self.plan.phase == "executing":
            due = next((number for number in self.left if number <= self.plan.through), None)
            if due is not None:
                self._send_out(due)
                return
            if self.left:  # collected since the run was ordered
                self._put_plan(self.plan.after("halt"))
        if not self.left and self.plan.may("finish"):
            self._put_plan(self.plan.after("finish", endedAt=self.context.now_ms))
            self._event("plan.ended", steps=len(self.steps))

    def settle(self, number: int, settlement: Settlement) -> None:
        """A dispatched step has its outcome."""
        result = result_of(settlement, self.steps[number])
        if settlement.happened:
            self._change(number, "happen", result=result, endedAt=self.context.now_ms, **self._kept(number))
            self._settled_event(number, result)
            self.go_on()
        elif settlement.is_unknown or self.plan.origin == "begun" or not self.plan.is_open:
            self._change(number, "fail", result=result, endedAt=self.context.now_ms)
            self._settled_event(number, result)
            self._halt(number, result)
        else:
            self.fail(number, "put_back", result)

    def fail(self, number: int, event: StepEvent | None, result: StepResult) -> None:
        """The step waits again, with why; the run, if it goes on at all, ends at it."""
        self._change(number, event, result=result, lookId=None)
        self._settled_event(number, result)
        self._halt(number, result)

    def _halt(self, number: int, result: StepResult) -> None:
        """The run, if there is one, ends at this step."""
        if self.plan.phase == "executing":
            code = result.code or Code.WRONG_STATE.value
            self._put_plan(self.plan.after("halt", halt=Halt(number=number, code=code)))
            self._event("plan.run_halted", number=number, code=code)

    def ask(self, number: int) -> None:
        """The step has been looked at and waits for its card."""
        self._change(number, "ask", lookId=None)
        self._event("plan.run_paused", number=number)

    def dispatch(self, number: int, fingerprint: Record | None = None, approval_id: str | None = None) -> None:
        step = self.steps[number]
        sent_as = step.callId if step.tries == 0 else self.context.new_id(f"step {number}")
        self._change(number, "dispatch", sentAs=sent_as, tries=step.tries + 1, approvalId=approval_id, result=None)
        self.effects += charged(self.state, call_of(step), sent_as, self.context)
        self._send(number, sent_as, fingerprint, is_look=False)

    def stop(self) -> None:
        """No further step goes out. What is dispatched comes to its end; an open card is withdrawn."""
        for number, step in list(self.steps.items()):
            if step.phase in ("looking", "asked"):
                self.effects += withdrawn(self.state, self.plan_id, number, self.context)
                self._change(number, "put_back", lookId=None)
        self._put_plan(self.plan.after("stop", stoppedAt=self.context.now_ms))
        self._event("plan.stopped")

    def end(self) -> None:
        """Nothing more is noted down in it."""
        self._put_plan(self.plan.after("end", endedAt=self.context.now_ms))
        self._event("plan.ended", steps=len(self.steps))

    def discard(self) -> None:
        """What was not run never will be."""
        for number in self.left:
            self._change(number, "discard", endedAt=self.context.now_ms, **self._kept(number))
        self._put_plan(self.plan.after("discard", endedAt=self.context.now_ms))
        self._event("plan.discarded", steps=len(self.steps))

    def _send_out(self, number: int) -> None:
        step = self.steps[number]
        refusal = step_refusal(self.state, call_of(step), self.context)
        if refusal is not None:
            self.fail(number, None, StepResult(code=refusal.code.value))
        elif step.kind in NEEDS_A_CARD:
            look_id = self.context.new_id(f"look {number}")
            self._change(number, "look", lookId=look_id, result=None)
            self._send(number, look_id, None, is_look=True)
        else:
            self.dispatch(number)

    def _send(self, number: int, call_id: str, fingerprint: Record | None, *, is_look: bool) -> None:
        step, head = self.steps[number], self.state.head
        assert head is not None, "admission refuses the steps of an agent that was never made"
        stamp: Record = {
            "agentId": self.context.address.id,
            "workspaceId": step.workspaceId,
            "credential": step.credential,
            "version": head.version,
            "issuedMs": self.context.now_ms,
            **marks_of_chain(step.chain, step.chainMore),
        }
        self.effects.append(
            Dispatch(
                Address.parse(step.target),
                step.tool,
                step.arguments,
                call_id,
                stamp,
                fingerprint=fingerprint,
                as_of_now=True,
                is_look=is_look,
            )
        )

    def _kept(self, number: int) -> dict[str, object]:
        """Of the arguments of a step that is not run again only the small ones are kept."""
        step = self.steps[number]
        if step.leftOut or step.phase in FINAL:
            return {}
        arguments, left_out = shortened(step.arguments, plan_arguments_kept_bytes_max)
        return {"arguments": arguments, "leftOut": left_out}

    def _change(self, number: int, event: StepEvent | None, **changes: object) -> None:
        step = self.steps[number]
        changed = step.model_copy(update=changes) if event is None else step.after(event, **changes)
        self.steps[number] = changed
        self.effects.append(Put(step_row(self.plan_id, number), changed.model_dump()))

    def _put_plan(self, plan: Plan) -> None:
        self.plan = plan
        self.effects.append(Put(plan_row(self.plan_id), plan.model_dump()))

    def _settled_event(self, number: int, result: StepResult) -> None:
        word = result.code or result.outcome
        self._event("plan.step_settled", number=number, outcome=word if word is not None else "ok")

    def _event(self, type_: str, **data: int | str) -> None:
        self.effects.append(Event(type_, {"planId": self.plan_id, **data}))
