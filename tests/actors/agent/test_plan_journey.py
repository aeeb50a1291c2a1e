"""Plans through admission, over owners in memory: recorded, stopped, collected, run (common 4, work-plan-tool)."""

from __future__ import annotations

import pytest

from bus import address
from bus.value import Record
from tests.support.admitting import Caller, Came
from tests.support.bench import PERSON
from tests.support.exchange import Home
from tests.support.reading import at
from tools.catalogue import BY_NAME
from tools.errors import Code
from tools.plan import PlanGetOutput
from tools.schema import Collected

ADA = address.agent("a1")
BOX: Record = {"type": "rectangle", "x": 0, "y": 0, "width": 10, "height": 10}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    return home


def call(home: Home, tool: str, **arguments: object) -> Came:
    """Writes of canvases say why they are made."""
    reason = {"reason": "test"} if "reason" in BY_NAME[tool].input.model_fields else {}
    return Caller(home, "a1").call(BY_NAME[tool], {**arguments, **reason})  # type: ignore[dict-item]


def draw(home: Home, canvas_id: object, revision: int = 1) -> Came:
    return call(home, "canvas_create_elements", canvasId=canvas_id, expectedRevision=revision, elements=[BOX])


def done(came: Came) -> Record:
    assert came.ok is not None, came.error
    return came.ok


def mode(home: Home, mode: str) -> None:
    home.ok(ADA, "agent_set_mode", {"mode": mode}, PERSON)


def plan(home: Home, **arguments: object) -> PlanGetOutput:
    return PlanGetOutput.model_validate(done(call(home, "plan_get", **arguments)))


def test_each_write_of_a_running_plan_is_a_step_with_its_result_and_reads_are_none(home: Home) -> None:
    done(call(home, "plan_begin", title="Draw", steps=["Make a board", "Draw a box"]))
    made = done(call(home, "canvas_create", title="Board"))["canvasId"]
    draw(home, made)
    draw(home, made, revision=1)
    draw(home, "nowhere")
    call(home, "canvas_get_state", canvasId=made)
    shown = plan(home)
    assert [(step.tool, step.state, step.outcome, step.revision, step.code) for step in shown.happened] == [
        ("canvas_create", "done", "applied", 1, None),
        ("canvas_create_elements", "done", "applied", 2, None),
        ("canvas_create_elements", "failed", "conflict", None, None),
        ("canvas_create_elements", "failed", None, None, "not_found"),
    ]
    assert (shown.happened[0].surfaceId, [fence.text for fence in shown.announced]) == (
        made,
        ["Make a board", "Draw a box"],
    )
    done(call(home, "plan_end", note="One box."))
    draw(home, made, revision=2)
    assert plan(home).stepCount == 4
    home.assert_reloads()


def test_after_a_stop_writes_are_refused_reads_go_on_and_plan_end_passes_in_every_mode(home: Home) -> None:
    """common 4.1, 4.3"""
    for each in ("auto", "approval", "plan", "plan_collect"):
        mode(home, "auto")
        plan_id = done(call(home, "plan_begin", title="Draw"))["planId"]
        made = done(call(home, "canvas_create", title="Board"))["canvasId"]
        home.ok(ADA, "plan_stop", {"planId": plan_id}, PERSON)
        mode(home, each)
        assert draw(home, made).code == Code.PLAN_STOPPED
        assert call(home, "plan_begin", title="Another").code == Code.PLAN_STOPPED
        done(call(home, "canvas_get_state", canvasId=made))
        assert done(call(home, "plan_end"))["wasStopped"] is True
        assert draw(home, made).code != Code.PLAN_STOPPED
        for one in home.bench(ADA).state.plans.plans:
            home.call(ADA, "plan_discard", {"planId": one}, PERSON)


def test_collected_calls_build_on_the_ids_that_they_reserve_and_become_real_when_they_are_run(home: Home) -> None:
    """common 4.2, 4.4"""
    mode(home, "plan_collect")
    form = done(call(home, "canvas_create", title="Board"))
    assert Collected.model_validate(form).executed is False
    done(draw(home, form["canvasId"]))
    assert draw(home, "nowhere").code == Code.NOT_FOUND, "what is certain to be refused is not collected"
    assert call(home, "canvas_get_state", canvasId=form["canvasId"]).code == Code.NOT_FOUND
    assert [step.state for step in plan(home).happened] == ["collected", "collected"]
    home.ok(ADA, "plan_run", {"planId": form["planId"]}, PERSON)
    home.settle()
    shown = plan(home, planId=form["planId"])
    assert (shown.state, [step.state for step in shown.happened]) == ("ended", ["done", "done"])
    state = done(call(home, "canvas_get_state", canvasId=form["canvasId"]))
    assert at(state, "revision") == 2
    assert home.bench(ADA).state.budget.lifetime == 1
    home.assert_reloads()


def test_beginning_and_ending_a_plan_are_collected_like_any_write(home: Home) -> None:
    """common 4.3"""
    mode(home, "plan_collect")
    done(call(home, "canvas_create", title="Board"))
    form = done(call(home, "plan_begin", title="Draw", steps=["Make a board"]))
    done(call(home, "plan_end", note="Ready."))
    home.ok(ADA, "plan_run", {"planId": form["planId"]}, PERSON)
    home.settle()
    shown = plan(home)
    assert (shown.planId, shown.title, shown.state) == (form["planId"], "Draw", "ended")
    assert (shown.note is not None and shown.note.text, shown.announced[0].text) == ("Ready.", "Make a board")


def test_discarded_calls_never_happen(home: Home) -> None:
    mode(home, "plan_collect")
    form = done(call(home, "canvas_create", title="Board"))
    home.ok(ADA, "plan_discard", {"planId": form["planId"]}, PERSON)
    assert call(home, "canvas_get_state", canvasId=form["canvasId"]).code == Code.NOT_FOUND
    assert home.bench(ADA).state.budget.lifetime == 0


def test_a_call_whose_key_was_used_is_answered_its_collected_form_again(home: Home) -> None:
    """common 8.2"""
    mode(home, "plan_collect")
    caller = Caller(home, "a1")
    first = caller.call(BY_NAME["canvas_create"], {"title": "Board", "reason": "test"}, key="k")
    assert caller.call(BY_NAME["canvas_create"], {"title": "Board", "reason": "test"}, key="k").ok == first.ok
    assert plan(home).stepCount == 1
