"""What is said of arguments that do not fit, for every tool (common 6.2, 6.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import ValidationError

from tools.agent import AgentTriggerInput
from tools.base import Model, Tool
from tools.canvas.inputs import (
    CanvasCreateElementsInput,
    CanvasCreateInput,
    CanvasMoveElementsInput,
    CanvasQueryRegionInput,
)
from tools.catalogue import TOOLS
from tools.problems import problems_of
from tools.schema import input_schema

WRITE = {"canvasId": "c", "expectedRevision": 1, "reason": "r"}
REGION = {"canvasId": "c", "x": 0, "y": 0, "width": 1, "height": 1}


def problems(model: type[Model], arguments: Mapping[str, Any]) -> dict[str, str]:
    try:
        model.model_validate(arguments)
    except ValidationError as failure:
        return problems_of(failure)
    return {}


def element(**fields: object) -> dict[str, Any]:
    return {**WRITE, "elements": [{"type": "line", "x": 0, "y": 0, **fields}]}


@pytest.mark.parametrize("wrong", ["1", True, None, [], {}])
def test_a_number_that_is_none_is_one_problem_at_its_own_path(wrong: object) -> None:
    """common 6.3"""
    must = "must be a number"
    assert problems(CanvasCreateElementsInput, element(x=wrong)) == {"elements.0.x": must}
    assert problems(CanvasCreateElementsInput, element(points=[[0, 0], [wrong, 1]])) == {"elements.0.points.1.0": must}
    assert problems(CanvasQueryRegionInput, {**REGION, "width": wrong}) == {"width": must}


def test_an_infinite_number_is_named_where_it_does_not_fit_and_left_to_the_canvas_where_it_may_stand() -> None:
    """canvas 3.1"""
    must = "must be a finite number"
    assert problems(CanvasQueryRegionInput, {**REGION, "x": float("inf")}) == {"x": must}
    assert problems(CanvasCreateElementsInput, element(x=float("inf"))) == {}


def test_inside_free_json_the_path_leads_to_the_value_itself() -> None:
    """common 6.3"""
    held = {"dict": {"list": [1, {"float": float("inf")}]}}
    task = {"title": "t", "instructions": "i", "inputs": held}
    asked = {"agentId": "a", "task": task}
    assert problems(AgentTriggerInput, asked) == {"task.inputs.dict.list.1.float": "must be a finite number"}
    scene = {"title": "t", "reason": "r", "fromScene": {"elements": [{"x": 10**30}]}}
    assert problems(CanvasCreateInput, scene) == {"fromScene.elements.0.x": "must not be an integer beyond 64 bits"}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"label": 5}, "label"),
        ({"label": ""}, "label.text"),
        ({"label": {"fontSize": 20}}, "label.text"),
        ({"label": {"text": "Login", "size": 20}}, "label.size"),
        ({"start": "box"}, "start"),
        ({"end": {"type": "rectangle"}}, "end.id"),
        ({"end": {"id": "b"}, "endBinding": {"elementId": "b"}}, "end"),
    ],
)
def test_a_malformed_part_of_the_short_form_is_named(fields: dict[str, object], path: str) -> None:
    """common 6.3"""
    found = problems(CanvasCreateElementsInput, element(**fields))
    assert f"elements.0.{path}" in found, found


def test_an_unknown_field_and_a_wrong_combination_of_a_move_are_said_in_words() -> None:
    """common 6.3"""
    moves = {**WRITE, "moves": [{"id": "a", "dx": 1, "by": 2}, {"id": "b"}]}
    assert problems(CanvasMoveElementsInput, moves) == {
        "moves.0.by": "is not an argument here",
        "moves.1": "must have either dx, dy or both, or x, y or both",
    }


def names_in(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for inner in schema.values():
            yield from names_in(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from names_in(inner)


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=3), st.sampled_from(["c", "line", "x"])
)


@cache
def arguments_like(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Objects and lists of any form out of the names that the tool's schema knows."""
    names = st.sampled_from(sorted({*names_in(input_schema(tool)), "dict", "int", "float"}))
    inner = st.recursive(ODD, lambda part: st.lists(part, max_size=3) | st.dictionaries(names, part, max_size=4))
    return st.dictionaries(names, inner, max_size=6)


@given(st.data())
def test_every_path_leads_into_what_was_sent_but_for_a_last_step_that_is_missing(data: st.DataObject) -> None:
    """common 6.3"""
    tool = data.draw(st.sampled_from(TOOLS))
    arguments = data.draw(arguments_like(tool))
    for path, said in problems(tool.input, arguments).items():
        assert "schema" not in said
        *before, last = path.split(".")
        node: Any = arguments
        for step in before:
            node = node[int(step)] if isinstance(node, list) else node[step]
        if said != "is required":
            assert (int(last) < len(node)) if isinstance(node, list) else (last in node)


def integer_fields(tool: Tool) -> Iterator[str]:
    for name, described in tool.input.model_json_schema().get("properties", {}).items():
        if described.get("type") == "integer":
            yield name


INTEGER_ARGUMENTS = [(tool, name) for tool in TOOLS for name in integer_fields(tool)]


def test_there_are_integer_arguments_to_judge() -> None:
    assert {name for _, name in INTEGER_ARGUMENTS} == {"limit", "expectedRevision", "seconds"}


@pytest.mark.parametrize(("tool", "name"), INTEGER_ARGUMENTS, ids=lambda part: getattr(part, "name", part))
@given(
    value=st.one_of(
        st.integers(),
        st.integers(-3, 600).map(float),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.sampled_from(["1", None, [], {}, 1e300, 2.0**53, -0.0]),
    )
)
def test_integers_are_judged_as_the_advertised_schema_judges_them(tool: Tool, name: str, value: object) -> None:
    """common 1.6"""
    schema = input_schema(tool)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    is_valid = Draft202012Validator({**schema, "required": [], "properties": {name: properties[name]}}).is_valid
    assert (name not in problems(tool.input, {name: value})) == is_valid({name: value})


@given(st.integers(-3, 600).map(float) | st.floats() | st.booleans())
def test_a_font_family_is_judged_as_the_advertised_schema_judges_it(value: float) -> None:
    """common 1.6"""
    schema = CanvasCreateElementsInput.model_json_schema()["$defs"]["NewElement"]["properties"]["fontFamily"]
    found = problems(CanvasCreateElementsInput, element(fontFamily=value))
    assert (not found) == Draft202012Validator(schema).is_valid(value)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1) | st.booleans())
def test_the_sides_of_a_region_are_judged_as_the_advertised_schema_judges_them(value: float) -> None:
    """common 1.6"""
    schema = CanvasQueryRegionInput.model_json_schema()["properties"]["width"]
    found = problems(CanvasQueryRegionInput, {**REGION, "width": value})
    assert (not found) == Draft202012Validator(schema).is_valid(value)


def test_an_integral_float_reaches_the_owner_as_an_integer() -> None:
    asked = CanvasCreateElementsInput.model_validate({**element(), "expectedRevision": 1.0})
    assert type(asked.model_dump(mode="json")["expectedRevision"]) is int
