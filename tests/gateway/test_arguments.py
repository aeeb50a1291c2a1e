"""Arguments against input models (common 1.6, 6.3)."""

from __future__ import annotations

from typing import Any

import pytest

from bus.value import Record
from nexus.gateway.arguments import Arguments, check_arguments
from tests.support.gateway_bench import CanvasInput, tool
from tools.base import Route
from tools.errors import Code, Refusal

TOOL = tool("canvas_write", Route.CANVAS, arguments=CanvasInput)


def problems(arguments: dict[str, Any]) -> dict[str, str]:
    refusal = check_arguments(TOOL, arguments, {})
    assert isinstance(refusal, Refusal) and refusal.code is Code.INVALID_ARGUMENTS
    fields = refusal.details["fields"]
    assert isinstance(fields, list)
    return {str(field["path"]): str(field["problem"]) for field in fields if isinstance(field, dict)}


def test_arguments_that_fit_are_passed_on_as_they_were_given() -> None:
    given: Record = {"canvasId": "c", "elements": [{"x": 1.5}, {"x": 2, "note": None}]}
    assert check_arguments(TOOL, given, {}) == Arguments(given)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"canvasId": "is required"}),
        ({"canvasId": 5}, {"canvasId": "must be text"}),
        ({"canvasId": ""}, {"canvasId": "must have at least 1 characters"}),
        ({"canvasId": "c", "limit": 11}, {"limit": "must be at most 10"}),
        ({"canvasId": "c", "limit": "3"}, {"limit": "must be an integer"}),
        ({"canvasId": "c", "elements": [{"x": 1}, {}]}, {"elements.1.x": "is required"}),
        ({"canvasId": "c", "elements": [{"x": float("inf")}]}, {"elements.0.x": "must be a finite number"}),
        ({"canvasId": "c", "extra": 1}, {"extra": "is not an argument here"}),
    ],
)
def test_each_bad_field_is_named_by_its_path(arguments: dict[str, Any], expected: dict[str, str]) -> None:
    assert problems(arguments) == expected


def test_what_was_sent_is_never_quoted_but_for_the_names_of_unknown_fields_on_one_line() -> None:
    """common 6.2"""
    listed = problems({"canvasId": ["secret words"], "two\nlines\u202e": "more secret words"})
    assert listed == {"canvasId": "must be text", "two lines": "is not an argument here"}


def test_at_most_twenty_problems_are_listed() -> None:
    assert len(problems({"canvasId": "c", "elements": [{}] * 400})) == 20


def test_what_strict_json_found_counts_instead_of_the_emptied_arguments() -> None:
    refusal = check_arguments(TOOL, {}, {"elements.0.x": "is not a number that JSON has"})
    assert isinstance(refusal, Refusal)
    assert refusal.details["fields"] == [{"path": "elements.0.x", "problem": "is not a number that JSON has"}]
