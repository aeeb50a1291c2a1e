"""A plan's life as its agent and the person see it: begin, stop, end, read."""

from __future__ import annotations

from typing import get_args

import orjson
import pytest

from actors.agent.plan_book import PLAN_TRANSITIONS, STEP_TRANSITIONS, Phase, Plan, PlanEvent
from actors.agent.plan_steps import OpenPlan, open_plan
from bus import address
from bus.events import CATALOGUE
from bus.limits import (
    page_items_max,
    plan_announced_max,
    plan_note_characters_max,
    plan_step_characters_max,
    result_bytes_max,
)
from tests.actors.agent.planning import AGENT, WORKSPACE, Planning
from tests.support.bench import agent, owner
from tests.support.reading import at
from tools.errors import NOT_FOUND, Code, Refusal
from tools.plan import PlanBeginOutput, PlanEndOutput, PlanGetOutput


@pytest.fixture
def planning() -> Planning:
    return Planning()


def _code(answer: object) -> Code | None:
    return answer.code if isinstance(answer, Refusal) else None


def test_an_agent_has_one_open_plan(planning: Planning) -> None:
    reply = planning.bench.send("plan_begin", {"title": "Draw"}, agent(AGENT, WORKSPACE))
    plan_id = PlanBeginOutput.model_validate(reply).planId
    assert open_plan(planning.bench.state) == OpenPlan(plan_id, "running")
    assert _code(planning.bench.send("plan_begin", {"title": "Again"}, agent(AGENT, WORKSPACE))) is Code.WRONG_STATE
    ended = PlanEndOutput.model_validate(planning.end("All done."))
    assert (ended.planId, ended.state, ended.wasStopped) == (plan_id, "ended", False)
    assert planning.begin() != plan_id


def test_a_plan_can_be_begun_by_its_own_agent_only(planning: Planning) -> None:
    for verb, body in (("plan_begin", {"title": "Draw"}), ("plan_end", {}), ("plan_get", {})):
        assert planning.bench.send(verb, {**body}, agent("a2", WORKSPACE)) == NOT_FOUND


def test_a_stop_holds_until_the_agent_ends_the_plan(planning: Planning) -> None:
    """common 4.3"""
    plan_id = planning.begin()
    assert at(planning.person("plan_stop", planId=plan_id), "phase") == "stopped"
    assert open_plan(planning.bench.state) == OpenPlan(plan_id, "stopped")
    assert at(planning.person("plan_stop", planId=plan_id), "changed") is False
    ended = PlanEndOutput.model_validate(planning.end())
    assert (ended.wasStopped, open_plan(planning.bench.state)) == (True, None)
    assert _code(planning.person("plan_stop", planId=plan_id)) is Code.WRONG_STATE


@pytest.mark.parametrize("is_stopped", [False, True])
def test_the_plan_of_an_agent_that_is_removed_ends_and_can_still_be_undone(
    planning: Planning, is_stopped: bool
) -> None:
    plan_id = planning.begin()
    if is_stopped:
        planning.person("plan_stop", planId=plan_id)
    planning.bench.send("agent_removed", {"agentId": AGENT}, owner(address.DIRECTORY))
    assert planning.plan(plan_id).phase == "ended"
    assert not isinstance(planning.person("plan_undo", planId=plan_id), Refusal)


def test_what_runs_can_be_neither_run_nor_discarded_and_what_is_collected_not_ended(planning: Planning) -> None:
    plan_id = planning.begin()
    assert _code(planning.person("plan_run", planId=plan_id)) is Code.WRONG_STATE
    assert _code(planning.person("plan_discard", planId=plan_id)) is Code.WRONG_STATE
    planning.end()
    planning.collect(planning.write())
    assert _code(planning.end()) is Code.WRONG_STATE
    assert _code(planning.bench.send("plan_begin", {"title": "T"}, agent(AGENT, WORKSPACE))) is Code.WRONG_STATE


def test_announced_stands_beside_happened_and_texts_are_fenced(planning: Planning) -> None:
    """common 7.1"""
    plan_id = planning.begin("Draw", "Make a box", "Label it")
    call = planning.creation()
    planning.record(call)
    planning.settle(call.call_id, {"outcome": "applied", "revision": 1})
    planning.end("Ready.")
    shown = PlanGetOutput.model_validate(planning.get())
    assert (shown.planId, shown.title, shown.state, shown.stepCount) == (plan_id, "Draw", "ended", 1)
    assert [(fence.untrusted, fence.text) for fence in shown.announced] == [(True, "Make a box"), (True, "Label it")]
    assert shown.note is not None and (shown.note.untrusted, shown.note.text) == (True, "Ready.")
    (step,) = shown.happened
    assert (step.tool, step.state, step.outcome, step.revision, step.surfaceId) == (
        "canvas_create",
        "done",
        "applied",
        1,
        call.target.id,
    )


def test_without_an_id_the_open_plan_is_read_and_else_the_last(planning: Planning) -> None:
    assert _code(planning.get()) is Code.WRONG_STATE
    plan_ids = []
    for _ in range(2):
        plan_ids.append(planning.begin())
        planning.clock.advance(1)
        planning.end()
    assert at(planning.get(), "planId") == plan_ids[1]
    assert at(planning.get(planId=plan_ids[0]), "planId") == plan_ids[0]
    plan_ids.append(planning.begin())
    assert at(planning.get(), "planId") == plan_ids[2]


def test_a_plan_of_another_workspace_is_not_found(planning: Planning) -> None:
    """common 3.3"""
    plan_id = planning.begin()
    for body in ({"planId": plan_id}, {"planId": "a1.none"}, {}, {"cursor": f"{plan_id}~1"}):
        told = planning.bench.send("plan_get", {**body}, agent(AGENT, "w2"))
        assert _code(told) is (Code.NOT_FOUND if body else Code.WRONG_STATE)


def test_steps_are_read_page_by_page(planning: Planning) -> None:
    """common 7.3"""
    plan_id = planning.begin()
    for _ in range(5):
        planning.record(planning.write())
    numbers, cursor = [], None
    while True:
        page = PlanGetOutput.model_validate(planning.get(limit=2, **({} if cursor is None else {"cursor": cursor})))
        assert page.planId == plan_id
        numbers += [step.number for step in page.happened]
        cursor = page.nextCursor
        if cursor is None:
            break
        if len(numbers) == 2:  # what comes meanwhile does not shift the pages
            planning.record(planning.write())
    assert numbers == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("cursor", ["", "7", "other~1", "~", "a1.none~x"])
def test_a_cursor_of_something_else_is_refused(planning: Planning, cursor: str) -> None:
    plan_id = planning.begin()
    assert _code(planning.get(planId=plan_id, cursor=cursor)) is Code.INVALID_ARGUMENTS


def test_the_largest_page_is_a_result_that_fits(planning: Planning) -> None:
    """common 6.4"""
    planning.begin("\U0001f600" * 200, *["\x01" * plan_step_characters_max] * plan_announced_max)
    for _ in range(page_items_max + 1):
        call = planning.creation()
        planning.record(call)
        planning.settle(call.call_id, {"outcome": "x" * 500, "code": "\x01" * 500, "revision": 2**53})
    planning.end("\x01" * plan_note_characters_max)
    page = planning.get(limit=page_items_max)
    assert len(at(page, "happened")) == page_items_max
    assert len(orjson.dumps(page)) <= result_bytes_max


def test_the_person_sees_arguments_short_in_the_list_and_whole_by_themselves(planning: Planning) -> None:
    plan_id = str(at(planning.collect(planning.write(text="x" * 9_000)), "planId"))
    shown = planning.person("plan_show", planId=plan_id)
    assert at(shown, "steps", 0, "arguments") == {"canvasId": "c1"}
    assert at(shown, "steps", 0, "leftOut") == {"text": 9_002}
    step = planning.person("plan_step", planId=plan_id, number=1)
    assert at(step, "step", "arguments") == {"canvasId": "c1", "text": "x" * 9_000}
    assert planning.person("plan_step", planId=plan_id, number=2) == NOT_FOUND


def test_the_person_reads_a_plan_in_pages_and_lists_plans_without_steps(planning: Planning) -> None:
    plan_id = planning.begin("Draw", "One")
    for _ in range(3):
        planning.record(planning.write())
    first = planning.person("plan_show", limit=2)
    assert (at(first, "planId"), at(first, "next"), at(first, "announced")) == (plan_id, 2, ["One"])
    rest = planning.person("plan_show", planId=plan_id, after=2)
    assert ([at(rest, "steps", 0, "number")], at(rest, "next")) == ([3], None)
    (listed,) = at(planning.person("plans_list"), "plans")
    assert (listed["title"], listed["stepCount"], "steps" in listed) == ("Draw", 3, False)


@pytest.mark.parametrize("phase", get_args(Phase))
@pytest.mark.parametrize("event", get_args(PlanEvent))
def test_an_event_that_a_phase_does_not_have_is_refused(phase: Phase, event: PlanEvent) -> None:
    plan = Plan(title="T", announced=[], workspaceId="w", credential="d", origin="begun", phase=phase, beganAt=0)
    expected = PLAN_TRANSITIONS.get((phase, event))
    assert plan.may(event) is (expected is not None)
    if expected is None:
        with pytest.raises(KeyError):
            plan.after(event)
    else:
        assert plan.after(event).phase == expected


def test_what_is_over_stays_over() -> None:
    assert {before for before, _ in PLAN_TRANSITIONS}.isdisjoint({"ended", "discarded"})
    assert {before for before, _ in STEP_TRANSITIONS}.isdisjoint({"done", "failed", "discarded"})


def test_events_of_plans_are_in_the_catalogue_and_hold_ids_and_counts_only(planning: Planning) -> None:
    planning.begin("A secret title", "A secret step")
    planning.record(planning.write(text="A secret text"))
    planning.end("A secret note")
    kinds = {event.type for event in planning.bench.events if event.type.startswith("plan.")}
    assert kinds and kinds <= CATALOGUE.keys()
    assert not any("secret" in str(event.data) for event in planning.bench.events)
