"""The declarations of plan_*: what a call may carry, and what passes when."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bus.limits import plan_announced_max, plan_note_characters_max, plan_step_characters_max
from tools.base import Capability, Kind, Route, Scope
from tools.catalogue import BY_NAME, TOOLS
from tools.plan import PlanBeginInput, PlanEndInput, PlanGetInput

PLAN_TOOLS = [BY_NAME[name] for name in ("plan_begin", "plan_end", "plan_get")]


def test_plans_need_no_capability_and_are_decided_by_the_callers_own_agent() -> None:
    """common 4.5"""
    for tool in PLAN_TOOLS:
        assert (tool.scope, tool.capability, tool.route) == (Scope.WORKSPACE, None, Route.OWN_AGENT)
        assert tool.capability is not Capability.MESH
    assert [tool.kind for tool in PLAN_TOOLS] == [Kind.WRITE, Kind.WRITE, Kind.READ]


def test_of_all_tools_so_far_only_plan_end_passes_after_a_stop() -> None:
    """common 4.3"""
    assert [tool.name for tool in TOOLS if tool.passes_when_stopped] == ["plan_end"]


def test_a_title_is_required_and_steps_are_not() -> None:
    """common 1.6"""
    assert PlanBeginInput.model_validate({"title": "Draw"}).steps == []
    assert PlanEndInput.model_validate({}).note is None
    assert PlanGetInput.model_validate({}).planId is None
    with pytest.raises(ValidationError, match="title"):
        PlanBeginInput.model_validate({"steps": ["One"]})


@pytest.mark.parametrize(
    "steps",
    [
        ["x"] * (plan_announced_max + 1),
        ["x" * (plan_step_characters_max + 1)],
        [""],
        ["  \n "],
        "One",
    ],
)
def test_announcements_are_bounded_and_say_something(steps: object) -> None:
    with pytest.raises(ValidationError, match="steps"):
        PlanBeginInput.model_validate({"title": "Draw", "steps": steps})


def test_a_note_is_bounded() -> None:
    with pytest.raises(ValidationError, match="note"):
        PlanEndInput.model_validate({"note": "x" * (plan_note_characters_max + 1)})
