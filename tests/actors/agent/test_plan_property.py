"""Whatever agent, person and owners do in whatever order: plans stay complete and a restart builds the same
(work-plan-tool, plan_*; common 8.1)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actors.agent.plan_book import FINAL, Step
from actors.agent.plan_steps import open_plan
from bus.value import Record
from tests.actors.agent.planning import AGENT, FINGERPRINT, WORKSPACE, Planning
from tests.support.bench import PERSON, agent, owner
from tools.errors import Code, Refusal

choices = st.integers(0, 10**6)


class Plans(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.planning = Planning()
        self.final: dict[tuple[str, int], Step] = {}
        """Steps that came to their end, as they were then."""
        self.under_way: list[str] = []
        """Ids of recorded or dispatched calls that are not settled yet."""
        self.seen = 0
        """How many of the bench's dispatches are among those, or are looks."""
        self.looks: list[str] = []
        self.past: list[str] = []
        """Ids of calls that are settled."""
        self.closed: set[tuple[str, str]] = set()

    @property
    def phase(self) -> str | None:
        found = open_plan(self.planning.bench.state)
        return None if found is None else found.phase

    @property
    def pending(self) -> bool:
        return any(approval.state == "pending" for approval in self.planning.bench.state.approvals.values())

    @property
    def made(self) -> bool:
        every = self.planning.bench.state.plans.steps.values()
        return any(step.creates and step.phase == "done" for steps in every for step in steps.values())

    @property
    def plan_ids(self) -> list[str]:
        return [*self.planning.bench.state.plans.plans]

    def _some_plan(self, choice: int) -> str:
        """Mostly the open one, where there is something to decide."""
        plan_ids = self.plan_ids or ["a1.none"]
        open_id = self.planning.bench.state.plans.open_id
        return plan_ids[choice % len(plan_ids)] if open_id is None or choice % 4 == 0 else open_id

    def _follow(self) -> None:
        for sent in self.planning.bench.dispatched[self.seen :]:
            (self.looks if sent.is_look else self.under_way).append(sent.call_id)
        self.seen = len(self.planning.bench.dispatched)

    @precondition(lambda self: self.phase is None)
    @rule()
    def begin(self) -> None:
        self.planning.bench.send("plan_begin", {"title": "T", "steps": ["One"]}, agent(AGENT, WORKSPACE))

    @precondition(lambda self: self.phase in ("running", "stopped"))
    @rule()
    def end(self) -> None:
        self.planning.end("Done.")

    @precondition(lambda self: self.phase == "running")
    @rule(makes=st.booleans())
    def record(self, makes: bool) -> None:
        call = self.planning.creation() if makes else self.planning.write()
        before = len(self.planning.bench.state.plans.calls)
        self.planning.record(call)
        if len(self.planning.bench.state.plans.calls) > before:
            self.under_way.append(call.call_id)

    @rule(makes=st.booleans(), kind=st.sampled_from(["write", "write", "irreversible"]))
    def collect(self, makes: bool, kind: str) -> None:
        call = self.planning.creation() if makes else self.planning.write()
        answer = self.planning.collect(replace(call, kind=kind))
        if self.planning.bench.state.plans.of_call(call.call_id) is None:
            assert isinstance(answer, Refusal)

    @precondition(lambda self: self.phase == "collecting")
    @rule(choice=choices, through=st.none() | st.integers(1, 6))
    def run(self, choice: int, through: int | None) -> None:
        body: Record = {"planId": self._some_plan(choice), "through": through}
        self.planning.bench.send("plan_run", body, PERSON)
        self._follow()

    @precondition(lambda self: self.under_way)
    @rule(choice=choices, fails=st.booleans())
    def settle(self, choice: int, fails: bool) -> None:
        call_id = self.under_way.pop(choice % len(self.under_way))
        self.planning.settle(call_id, None, Code.NOT_FOUND if fails else None)
        self.past.append(call_id)
        self._follow()

    @precondition(lambda self: self.past)
    @rule(choice=choices, fails=st.booleans())
    def settle_again(self, choice: int, fails: bool) -> None:
        """What is told twice has one effect."""
        before = dict(self.planning.bench.rows)
        self.planning.settle(self.past[choice % len(self.past)], None, Code.INTERNAL if fails else None)
        assert self.planning.bench.rows == before

    @precondition(lambda self: self.looks)
    @rule(fails=st.booleans())
    def look(self, fails: bool) -> None:
        would: Record = {"error": {"code": "not_found"}} if fails else {"ok": {}}
        told: Record = {"callId": self.looks.pop(), "would": would, "fingerprint": FINGERPRINT}
        self.planning.bench.send("looked", told, owner(self.planning.bench.address))
        self._follow()

    @precondition(lambda self: self.pending)
    @rule(decision=st.sampled_from(["approve", "deny"]))
    def decide(self, decision: str) -> None:
        self.planning.decide(decision)
        self._follow()

    @precondition(lambda self: self.phase is not None)
    @rule(choice=choices, verb=st.sampled_from(["plan_stop", "plan_discard", "plan_stop"]))
    def decide_plan(self, choice: int, verb: str) -> None:
        self.planning.person(verb, planId=self._some_plan(choice))

    @precondition(lambda self: self.made)
    @rule(choice=choices, confirmed=st.integers(0, 3))
    def undo(self, choice: int, confirmed: int) -> None:
        plan_id = self._some_plan(choice)
        answer = self.planning.person("plan_undo", planId=plan_id)
        if isinstance(answer, dict):
            self._assert_undo_lists_each_surface_once(plan_id, answer)
            waiting = [one for one in _records(answer) if one["state"] == "closing"]
            for one in waiting[:confirmed]:
                self.closed.add((plan_id, str(one["id"])))
                self.planning.gone(plan_id, str(one["id"]))
            for closed_id, canvas_id in self.closed:
                if closed_id in self.plan_ids:
                    self.planning.gone(closed_id, canvas_id, existed=False)

    def _assert_undo_lists_each_surface_once(self, plan_id: str, answer: Record) -> None:
        steps = self.planning.steps(plan_id)
        made = [step.target.rpartition("/")[2] for step in steps if step.creates and step.phase == "done"]
        listed = [str(one["id"]) for one in _records(answer)]
        assert listed == made[::-1]
        assert len(set(listed)) == len(listed)
        for one in _records(answer):
            assert one["state"] == ("closed" if (plan_id, str(one["id"])) in self.closed else "closing")

    @rule()
    def pass_time(self) -> None:
        self.planning.clock.advance(10)

    @invariant()
    def at_most_one_plan_is_open_and_steps_have_no_gap(self) -> None:
        assert self.planning.bench.rules.problems(self.planning.bench.state) == []

    @invariant()
    def a_step_that_came_to_its_end_never_changes_again(self) -> None:
        now = {
            (plan_id, number): step
            for plan_id, steps in self.planning.bench.state.plans.steps.items()
            for number, step in steps.items()
            if step.phase in FINAL
        }
        kept = self.planning.bench.state.plans.plans
        assert {place: step for place, step in self.final.items() if place[0] in kept}.items() <= now.items()
        self.final = now

    @invariant()
    def one_step_of_a_run_is_under_way_at_a_time(self) -> None:
        for plan_id, plan in self.planning.bench.state.plans.plans.items():
            if plan.origin == "collected":
                phases = self.planning.phases(plan_id)
                assert sum(phase in ("looking", "asked", "dispatched") for phase in phases) <= 1
                if plan.phase == "executing":
                    assert any(phase in ("looking", "asked", "dispatched") for phase in phases)

    @invariant()
    def nothing_waits_in_a_plan_that_is_over(self) -> None:
        for plan_id, plan in self.planning.bench.state.plans.plans.items():
            if not plan.is_open:
                assert {"collected", "looking", "asked"}.isdisjoint(self.planning.phases(plan_id))

    @invariant()
    def a_restart_builds_the_same(self) -> None:
        self.planning.assert_reloads()


def _records(answer: Record) -> list[Record]:
    listed = answer["surfaces"]
    assert isinstance(listed, list)
    return [one for one in listed if isinstance(one, dict)]


TestPlans = Plans.TestCase
TestPlans.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
