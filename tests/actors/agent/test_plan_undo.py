"""Undoing a plan: what it made is closed, newest first, and that is safe to repeat."""

from __future__ import annotations

import pytest

from tests.actors.agent.planning import AGENT, Planning, canvas
from tests.support.bench import PERSON, owner
from tests.support.reading import at
from tools.errors import Code, Refusal
from tools.times import rfc3339


@pytest.fixture
def planning() -> Planning:
    return Planning()


def _made(planning: Planning, count: int) -> tuple[str, list[str]]:
    """A plan with `count` canvases, and their ids, oldest first."""
    plan_id = planning.begin()
    made = []
    for _ in range(count):
        call = planning.creation()
        planning.record(call)
        planning.settle(call.call_id)
        made.append(call.target.id)
    return plan_id, made


def _told(planning: Planning) -> list[str]:
    return [send.to.id for send in planning.bench.sent if send.verb == "surface_closed"]


def test_surfaces_that_were_made_are_closed_newest_first_by_their_owners(planning: Planning) -> None:
    plan_id, made = _made(planning, 3)
    planning.record(planning.write())
    failed = planning.creation()
    planning.record(failed)
    planning.settle(failed.call_id, None, Code.BUDGET_EXHAUSTED)
    planning.settle(planning.steps(plan_id)[3].callId)
    planning.end()
    planning.person("plan_undo", planId=plan_id)
    assert _told(planning) == made[::-1]
    (send, *_) = [one for one in planning.bench.sent if one.verb == "surface_closed"]
    assert (send.to, send.body) == (canvas(made[2]), {"planId": plan_id, "agentId": AGENT})


def test_undo_is_recorded_with_what_became_of_each_surface(planning: Planning) -> None:
    plan_id, (first, second) = _made(planning, 2)
    planning.person("plan_undo", planId=plan_id)
    planning.clock.advance(5)
    planning.gone(plan_id, first)
    planning.gone(plan_id, second, existed=False)
    shown = planning.person("plan_show", planId=plan_id)
    assert [at(shown, "steps", place, "surface") for place in (0, 1)] == ["closed", "absent"]
    assert at(shown, "undoAskedAt") == rfc3339(planning.clock.now_ms() - 5)
    (closing, _) = planning.bench.state.plans.closings[plan_id].values()
    assert closing.goneAt == planning.clock.now_ms()
    planning.assert_reloads()


def test_a_repeat_sends_again_only_what_nobody_has_confirmed(planning: Planning) -> None:
    plan_id, (first, second) = _made(planning, 2)
    planning.person("plan_undo", planId=plan_id)
    planning.gone(plan_id, second)
    planning.person("plan_undo", planId=plan_id)
    assert _told(planning) == [second, first, first]
    planning.gone(plan_id, first)
    decision = planning.bench.decide("plan_undo", {"planId": plan_id}, PERSON)
    assert decision.effects == ()


def test_a_surface_that_was_closed_stays_so_when_its_owner_is_told_twice(planning: Planning) -> None:
    plan_id, (first,) = _made(planning, 1)
    planning.person("plan_undo", planId=plan_id)
    planning.gone(plan_id, first)
    planning.gone(plan_id, first, existed=False)
    assert at(planning.person("plan_undo", planId=plan_id), "surfaces", 0, "state") == "closed"


def test_a_plan_with_calls_under_way_cannot_be_undone_yet(planning: Planning) -> None:
    plan_id, _ = _made(planning, 1)
    call = planning.creation()
    planning.record(call)
    refusal = planning.person("plan_undo", planId=plan_id)
    assert isinstance(refusal, Refusal) and refusal.code is Code.WRONG_STATE
    planning.settle(call.call_id)
    assert len(at(planning.person("plan_undo", planId=plan_id), "surfaces")) == 2


def test_what_a_run_made_since_is_undone_by_another_undo(planning: Planning) -> None:
    calls = [planning.creation(), planning.creation()]
    for call in calls:
        planning.collect(call)
    plan_id = str(at(planning.person("plan_show"), "planId"))
    planning.person("plan_run", planId=plan_id, through=1)
    assert isinstance(planning.person("plan_undo", planId=plan_id), Refusal)
    planning.settle(calls[0].call_id)
    planning.person("plan_undo", planId=plan_id)
    planning.gone(plan_id, calls[0].target.id)
    planning.person("plan_run", planId=plan_id)
    planning.settle(calls[1].call_id)
    planning.person("plan_undo", planId=plan_id)
    assert _told(planning) == [call.target.id for call in calls]


def test_only_a_surfaces_own_owner_says_that_it_is_gone(planning: Planning) -> None:
    plan_id, (first,) = _made(planning, 1)
    planning.person("plan_undo", planId=plan_id)
    with pytest.raises(ValueError, match="own owner"):
        planning.bench.send(
            "surface_gone", {"planId": plan_id, "kind": "canvas", "id": first, "existed": True}, owner(canvas("other"))
        )


def test_a_late_answer_of_a_plan_that_is_gone_changes_nothing(planning: Planning) -> None:
    planning.gone("a1.none", "c1")
    assert planning.bench.state.plans.closings == {}
