"""Running a collected plan, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from actors.agent.plan_steps import StepCall, open_plan
from bus import address
from bus.value import Record
from tests.actors.agent.planning import AGENT, MADE_MS, WORKSPACE, Planning
from tests.support.bench import agent, owner
from tests.support.reading import at
from tools.errors import Code, Refusal


@pytest.fixture
def planning() -> Planning:
    return Planning()


def test_steps_go_out_one_after_the_other_under_the_ids_of_their_calls(planning: Planning) -> None:
    calls = [planning.creation(), planning.write(), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    sent = planning.bench.dispatched
    for number, call in enumerate(calls, 1):
        assert [(one.to, one.call_id) for one in sent] == [(each.target, each.call_id) for each in calls[:number]]
        planning.settle(call.call_id)
    assert planning.phases(plan_id) == ["done"] * 3
    assert planning.plan(plan_id).phase == "ended"
    assert open_plan(planning.bench.state) is None
    planning.assert_reloads()


def test_a_step_goes_out_as_its_agents_call_with_the_revision_of_now(planning: Planning) -> None:
    call = planning.write(dx=5)
    planning.person("plan_run", planId=planning.collect_all(call))
    (sent,) = planning.bench.dispatched
    assert (sent.tool, sent.arguments, sent.as_of_now, sent.is_look) == (call.tool, call.arguments, True, False)
    assert sent.stamp == {
        "agentId": AGENT,
        "workspaceId": WORKSPACE,
        "credential": "default",
        "version": 1,
        "issuedMs": planning.clock.now_ms(),
    }


def test_what_was_collected_after_the_run_was_ordered_stays_collected(planning: Planning) -> None:
    """The person has not read it."""
    first = planning.write()
    plan_id = planning.collect_all(first)
    planning.person("plan_run", planId=plan_id)
    planning.collect_all(planning.write())
    planning.settle(first.call_id)
    assert (planning.phases(plan_id), planning.plan(plan_id).phase) == (["done", "collected"], "collecting")


def test_a_run_goes_as_far_as_the_person_has_read(planning: Planning) -> None:
    calls = [planning.write() for _ in range(3)]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id, through=2)
    for call in calls[:2]:
        planning.settle(call.call_id)
    assert planning.phases(plan_id) == ["done", "done", "collected"]
    assert len(planning.bench.dispatched) == 2


@pytest.mark.parametrize(
    ("ok", "error", "code"),
    [
        ({"outcome": "conflict", "code": "version_conflict"}, None, "version_conflict"),
        ({"outcome": "rejected", "code": "role_required"}, None, "role_required"),
        (None, Code.NOT_FOUND, "not_found"),
    ],
)
def test_the_first_step_that_fails_stops_the_run_and_another_run_goes_on_from_it(
    planning: Planning, ok: Record | None, error: Code | None, code: str
) -> None:
    calls = [planning.write(), planning.write(), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    planning.settle(calls[0].call_id)
    planning.settle(calls[1].call_id, ok, error)
    assert planning.phases(plan_id) == ["done", "collected", "collected"]
    halt = planning.plan(plan_id).halt
    assert halt is not None and (halt.number, halt.code) == (2, code)
    assert len(planning.bench.dispatched) == 2
    planning.person("plan_run", planId=plan_id)
    retried = planning.bench.dispatched[-1]
    assert retried.call_id != calls[1].call_id, "its owner would repeat the answer that it gave under that id"
    planning.settle(retried.call_id)
    planning.settle(calls[2].call_id)
    assert planning.phases(plan_id) == ["done"] * 3
    planning.assert_reloads()


def test_a_creation_that_is_tried_anew_still_makes_the_reserved_surface(planning: Planning) -> None:
    """common 4.4"""
    call = planning.creation()
    plan_id = planning.collect_all(call)
    planning.person("plan_run", planId=plan_id)
    planning.settle(call.call_id, None, Code.STORAGE_FULL)
    planning.person("plan_run", planId=plan_id)
    retried = planning.bench.dispatched[-1]
    assert (retried.to, retried.call_id != call.call_id) == (call.target, True)
    planning.settle(retried.call_id)
    (step,) = planning.steps(plan_id)
    assert step.result is not None and step.result.surfaceId == call.target.id


def test_the_answer_to_a_former_try_changes_nothing(planning: Planning) -> None:
    call = planning.write()
    plan_id = planning.collect_all(call)
    planning.person("plan_run", planId=plan_id)
    planning.settle(call.call_id, None, Code.NOT_FOUND)
    planning.settle(call.call_id)
    assert planning.phases(plan_id) == ["collected"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Planning.revoke, Code.UNIDENTIFIED_CALLER),
        (Planning.pin_elsewhere, Code.SCOPE_MISMATCH),
    ],
)
def test_each_step_is_admitted_as_things_then_stand(
    planning: Planning, change: Callable[[Planning], None], code: Code
) -> None:
    calls = [planning.write(), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    change(planning)
    planning.settle(calls[0].call_id)
    assert planning.phases(plan_id) == ["done", "collected"]
    assert at(planning.person("plan_show", planId=plan_id), "halt", "code") == code.value
    assert len(planning.bench.dispatched) == 1


def test_a_step_that_was_never_sent_keeps_its_own_call_id(planning: Planning) -> None:
    """What refused it was admission, so no owner has seen that id."""
    call = planning.creation()
    plan_id = planning.collect_all(call)
    planning.person("agent_set_withheld", tool="canvas_create", withheld=True)
    assert at(planning.person("plan_run", planId=plan_id), "phase") == "collecting"
    planning.person("agent_set_withheld", tool="canvas_create", withheld=False)
    planning.person("plan_run", planId=plan_id)
    assert [sent.call_id for sent in planning.bench.dispatched] == [call.call_id]


def test_a_creation_is_charged_when_it_is_run_and_not_when_it_is_collected(planning: Planning) -> None:
    plan_id = planning.collect_all(planning.creation(), planning.write())
    assert planning.bench.state.budget.lifetime == 0
    planning.person("plan_run", planId=plan_id)
    planning.settle(planning.bench.dispatched[-1].call_id)
    assert planning.bench.state.budget.lifetime == 1


def test_a_creation_that_is_tried_anew_is_charged_once_and_not_refused_for_its_own_charge(planning: Planning) -> None:
    planning.person("agent_set_budget", lifetime=1)
    plan_id = planning.collect_all(planning.creation())
    for code in (Code.STORAGE_FULL, Code.UNAVAILABLE):
        planning.person("plan_run", planId=plan_id)
        planning.settle(planning.bench.dispatched[-1].call_id, None, code)
    assert planning.bench.state.budget.lifetime == 1
    assert len(planning.bench.dispatched) == 2


def test_a_creation_beyond_the_budget_ends_the_run(planning: Planning) -> None:
    planning.person("agent_set_budget", lifetime=0)
    plan_id = planning.collect_all(planning.creation())
    planning.person("plan_run", planId=plan_id)
    assert at(planning.person("plan_show", planId=plan_id), "halt", "code") == "budget_exhausted"
    assert planning.bench.dispatched == []


def test_the_mode_of_the_agent_does_not_stand_in_the_way_of_what_the_person_runs(planning: Planning) -> None:
    planning.person("agent_set_mode", mode="plan_collect")
    call = planning.write()
    planning.person("plan_run", planId=planning.collect_all(call))
    assert [sent.call_id for sent in planning.bench.dispatched] == [call.call_id]


def test_a_withheld_tool_is_not_run(planning: Planning) -> None:
    plan_id = planning.collect_all(planning.write())
    planning.person("agent_set_withheld", tool="canvas_move_elements", withheld=True)
    planning.person("plan_run", planId=plan_id)
    assert at(planning.person("plan_show", planId=plan_id), "halt", "code") == "capability_disabled"


def test_stopping_a_run_lets_the_step_under_way_end_and_sends_no_other(planning: Planning) -> None:
    calls = [planning.write(), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    planning.person("plan_stop", planId=plan_id)
    planning.settle(calls[0].call_id)
    assert (planning.phases(plan_id), len(planning.bench.dispatched)) == (["done", "collected"], 1)
    planning.person("plan_run", planId=plan_id)
    planning.settle(calls[1].call_id)
    assert planning.plan(plan_id).phase == "ended"


def test_a_run_that_is_ordered_while_a_step_is_under_way_waits_for_it(planning: Planning) -> None:
    calls = [planning.write(), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    planning.person("plan_stop", planId=plan_id)
    planning.person("plan_run", planId=plan_id)
    assert len(planning.bench.dispatched) == 1
    planning.settle(calls[0].call_id)
    assert len(planning.bench.dispatched) == 2


def test_a_discarded_step_is_never_run_and_what_was_run_stays(planning: Planning) -> None:
    calls = [planning.write(), planning.write(text="x" * 3_000)]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id, through=1)
    refused = planning.person("plan_discard", planId=plan_id)
    assert isinstance(refused, Refusal) and refused.code is Code.WRONG_STATE
    planning.settle(calls[0].call_id)
    planning.person("plan_discard", planId=plan_id)
    assert planning.phases(plan_id) == ["done", "discarded"]
    assert planning.steps(plan_id)[1].leftOut == {"text": 3_002}
    assert isinstance(planning.person("plan_run", planId=plan_id), Refusal)
    planning.assert_reloads()


def test_a_step_under_way_in_a_discarded_plan_ends_and_does_not_wait_again(planning: Planning) -> None:
    call = planning.write()
    plan_id = planning.collect_all(call, planning.write())
    planning.person("plan_run", planId=plan_id)
    planning.person("plan_stop", planId=plan_id)
    planning.person("plan_discard", planId=plan_id)
    planning.settle(call.call_id, None, Code.NOT_FOUND)
    assert planning.phases(plan_id) == ["failed", "discarded"]


@pytest.mark.parametrize("verb", ["plan_run", "plan_discard", "plan_stop", "plan_undo"])
def test_an_unknown_plan_is_not_found(planning: Planning, verb: str) -> None:
    refusal = planning.person(verb, planId="a1.none")
    assert isinstance(refusal, Refusal) and refusal.code is Code.NOT_FOUND


def test_a_collected_plan_begin_names_the_very_plan_that_it_is_a_step_of(planning: Planning) -> None:
    begin = StepCall(
        "plan_begin", "write", {"title": "Draw"}, address.agent(AGENT), "k1", WORKSPACE, "default", MADE_MS, None
    )
    end = replace(begin, tool="plan_end", arguments={"note": "Done."}, call_id="k2")
    plan_id = planning.collect_all(begin, end)
    planning.person("plan_run", planId=plan_id)
    caller = agent(AGENT, WORKSPACE)
    assert planning.bench.send("plan_begin", {"title": "Draw", "steps": ["One"]}, caller, "k1") == {
        "planId": plan_id,
        "state": "executing",
    }
    planning.settle("k1", {"planId": plan_id})
    assert at(planning.bench.send("plan_end", {"note": "Done."}, caller, "k2"), "state") == "executing"
    planning.settle("k2", {"planId": plan_id})
    plan = planning.plan(plan_id)
    assert (plan.title, plan.announced, plan.note, plan.phase) == ("Draw", ["One"], "Done.", "ended")


def test_a_run_of_an_agent_that_is_removed_stops_where_it_is(planning: Planning) -> None:
    calls = [planning.write(), planning.write()]
    plan_id = planning.collect_all(*calls)
    planning.person("plan_run", planId=plan_id)
    planning.bench.send("agent_removed", {"agentId": AGENT}, owner(address.DIRECTORY))
    planning.settle(calls[0].call_id)
    assert planning.phases(plan_id) == ["done", "collected"]
    assert planning.plan(plan_id).phase == "collecting"
    assert len(planning.bench.dispatched) == 1
