"""What admission notes down: writes of a running plan, and collected calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actors.agent import plan_steps
from actors.agent.plan_book import COLLECTED_MESSAGE
from actors.agent.plan_steps import OpenPlan, Settlement, depends_on_collected, open_plan
from actors.agent.shortening import shortened
from bus.limits import plans_kept_max
from bus.value import Record
from tests.actors.agent.planning import Planning
from tests.support.reading import at
from tools.errors import Code, Refusal
from tools.schema import Collected


@pytest.fixture
def planning() -> Planning:
    return Planning()


def test_a_write_is_a_step_only_while_a_plan_runs(planning: Planning) -> None:
    planning.record(planning.write())
    plan_id = planning.begin()
    call = planning.write()
    planning.record(call)
    planning.person("plan_stop", planId=plan_id)
    planning.record(planning.write())
    assert [step.callId for step in planning.steps(plan_id)] == [call.call_id]


def test_a_write_that_is_admitted_again_under_its_call_id_is_one_step(planning: Planning) -> None:
    plan_id = planning.begin()
    call = planning.write()
    planning.record(call)
    planning.record(call)
    assert len(planning.steps(plan_id)) == 1


def test_beginning_and_ending_a_plan_are_not_steps_of_it(planning: Planning) -> None:
    plan_id = planning.begin()
    planning.record(replace(planning.write(), tool="plan_end"))
    assert planning.steps(plan_id) == []


def test_a_recorded_step_keeps_small_arguments_and_a_summary_of_the_result(planning: Planning) -> None:
    plan_id = planning.begin()
    call = planning.write(elements="x" * 5_000)
    planning.record(call)
    planning.settle(call.call_id, {"outcome": "applied", "revision": 7, "elements": ["x" * 5_000]})
    (step,) = planning.steps(plan_id)
    assert (step.arguments, step.leftOut) == ({"canvasId": "c1"}, {"elements": 5_002})
    assert step.result is not None
    assert step.result.model_dump(exclude_none=True) == {"outcome": "applied", "revision": 7}
    assert len(str(planning.bench.rows)) < 5_000


@pytest.mark.parametrize(
    ("ok", "error", "phase"),
    [
        ({"outcome": "applied"}, None, "done"),
        ({"name": "no canvas"}, None, "done"),
        ({"outcome": "conflict", "code": "version_conflict"}, None, "failed"),
        ({"outcome": "rejected", "code": "role_required"}, None, "failed"),
        (None, Code.NOT_FOUND, "failed"),
    ],
)
def test_a_step_is_done_when_its_call_had_its_effect(
    planning: Planning, ok: Record | None, error: Code | None, phase: str
) -> None:
    plan_id = planning.begin()
    call = planning.write()
    planning.record(call)
    planning.settle(call.call_id, ok, error)
    assert planning.phases(plan_id) == [phase]
    planning.settle(call.call_id, None, Code.INTERNAL)
    planning.settle("a call of no step")
    assert planning.phases(plan_id) == [phase]


def test_a_step_completes_also_when_its_plan_has_ended_meanwhile(planning: Planning) -> None:
    plan_id = planning.begin()
    call = planning.write()
    planning.record(call)
    planning.end()
    planning.settle(call.call_id)
    assert planning.phases(plan_id) == ["done"]
    planning.assert_reloads()


def test_a_full_plan_refuses_a_write_rather_than_leaving_it_out(
    planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_steps, "plan_steps_max", 2)
    planning.begin()
    for _ in range(2):
        assert planning.record(planning.write()) == {}
    refusal = planning.record(planning.write())
    assert isinstance(refusal, Refusal) and refusal.code is Code.TOO_LARGE


def test_a_collected_call_is_answered_the_collected_form_with_the_id_it_reserves(planning: Planning) -> None:
    """common 4.4"""
    call = planning.creation()
    form = planning.collect(call)
    assert isinstance(form, dict)
    assert Collected.model_validate(form).executed is False
    assert (form["canvasId"], form["message"]) == (call.target.id, COLLECTED_MESSAGE)
    plan_id = str(form["planId"])
    assert (planning.plan(plan_id).title, planning.phases(plan_id)) == ("Collected calls", ["collected"])
    assert open_plan(planning.bench.state) == OpenPlan(plan_id, "collecting")
    assert planning.bench.dispatched == []


def test_a_call_that_is_collected_again_is_answered_the_same_and_noted_once(planning: Planning) -> None:
    call = planning.creation()
    assert planning.collect(call) == planning.collect(call)
    assert at(planning.collect(planning.write()), "stepId") != at(planning.collect(call), "stepId")
    assert len(planning.bench.state.plans.calls) == 2


def test_collecting_ends_a_plan_that_was_running(planning: Planning) -> None:
    """A change of mode must not leave a plan that nothing can end: plan_end would be collected too."""
    running = planning.begin()
    form = planning.collect(planning.write())
    assert (planning.plan(running).phase, at(form, "planId") != running) == ("ended", True)


def test_calls_of_two_workspaces_are_not_collected_in_one_plan(planning: Planning) -> None:
    """common 3.5"""
    planning.collect(planning.write())
    refusal = planning.collect(replace(planning.write(), workspace_id="w2"))
    assert isinstance(refusal, Refusal) and refusal.code is Code.WRONG_STATE


@pytest.mark.parametrize(("limit", "value"), [("plan_steps_max", 2), ("plan_collected_bytes_max", 400)])
def test_what_can_be_collected_is_bounded_in_steps_and_bytes(
    planning: Planning, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(plan_steps, limit, value)
    calls = [planning.write(text="x" * 150) for _ in range(3)]
    answers = [planning.collect(call) for call in calls]
    assert [isinstance(answer, Refusal) for answer in answers] == [False, False, True]
    refusal = answers[-1]
    assert isinstance(refusal, Refusal) and refusal.code is Code.TOO_LARGE
    assert planning.collect(calls[0]) == answers[0], "what is noted already needs no room"


def test_a_dry_run_is_not_certain_for_what_a_waiting_step_makes_or_changes(planning: Planning) -> None:
    """common 4.6"""
    creation = planning.creation()
    plan_id = str(at(planning.collect(creation), "planId"))
    planning.collect(planning.write("c1"))
    state = planning.bench.state
    for canvas_id, depends in ((creation.target.id, True), ("c1", True), ("c2", False)):
        assert depends_on_collected(state, planning.write(canvas_id)) is depends
    planning.person("plan_discard", planId=plan_id)
    assert not depends_on_collected(planning.bench.state, planning.write(creation.target.id))


def test_a_running_plan_makes_no_dry_run_uncertain(planning: Planning) -> None:
    planning.begin()
    planning.record(planning.write("c1"))
    assert not depends_on_collected(planning.bench.state, planning.write("c1"))


def test_the_oldest_ended_plans_make_room_and_an_open_one_stays(planning: Planning) -> None:
    kept = []
    for _ in range(plans_kept_max + 2):
        kept.append(planning.begin())
        planning.record(planning.write())
        planning.clock.advance(1)
        planning.end()
    assert list(planning.bench.state.plans.plans) == kept[2:]
    assert {row.split("/")[1] for row in planning.bench.rows if row.startswith(("plan/", "step/"))} == set(kept[2:])
    planning.assert_reloads()


def test_short_arguments_are_the_smallest_that_fit() -> None:
    kept, left_out = shortened({"big": "x" * 100, "small": 1, "infinite": float("inf")}, 40)
    assert (kept, left_out) == ({"small": 1, "infinite": float("inf")}, {"big": 102})


def test_a_settlement_says_whether_anything_happened() -> None:
    assert Settlement({}, None).happened
    assert not Settlement(None, {"code": "internal"}).happened
