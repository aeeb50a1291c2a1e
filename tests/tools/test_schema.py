"""JSON schemas of tools (common 1.6)."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from pydantic import Field, ValidationError

from tests.support.gateway_bench import TOOLS, tool
from tools.base import Family, Kind, Model, Route, Scope, ScopedInput, Tool
from tools.errors import Code, Refusal, invalid_arguments
from tools.schema import input_schema, output_schema


class Titled(Model):
    title: str = Field(title="Dropped", description="A property may be called title.")


class NestedInput(ScopedInput):
    title: str
    parts: list[Titled]


class NestedOutput(Model):
    title: str
    parts: list[Titled]


NESTED = Tool(
    name="canvas_nested",
    family=Family.CANVAS,
    kind=Kind.READ,
    scope=Scope.WORKSPACE,
    capability=None,
    route=Route.CANVAS,
    summary="A tool of the tests.",
    input=NestedInput,
    output=NestedOutput,
    side_effects="None.",
    reversibility="Nothing to undo.",
)


def validator(schema: Any) -> Any:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("each", [*TOOLS, NESTED], ids=lambda each: each.name)
def test_both_roots_are_objects_and_valid_schemas(each: Tool) -> None:
    for schema in (input_schema(each), output_schema(each)):
        assert schema["type"] == "object"
        validator(schema)


def test_an_input_schema_admits_what_the_model_admits_and_nothing_unknown() -> None:
    schema = validator(input_schema(NESTED))
    assert schema.is_valid({"title": "a", "parts": [{"title": "b"}]})
    assert schema.is_valid({"title": "a", "parts": [], "workspaceId": "w"})
    assert not schema.is_valid({"title": "a", "parts": [], "more": 1})
    assert not schema.is_valid({"title": "a", "parts": [{"title": "b", "more": 1}]})
    assert not schema.is_valid({"title": "a"})


@pytest.mark.parametrize(
    "content",
    [
        {"title": "a", "parts": [{"title": "b"}]},
        {"executed": False, "status": "collected", "planId": "p", "stepId": "s"},
        {"executed": False, "status": "collected", "planId": "p", "stepId": "s", "canvasId": "reserved"},
        {"error": Refusal(Code.NOT_FOUND, "Nothing is here.").to_record()},
        {"error": invalid_arguments({"a.0": "must be text"}).to_record()},
        {"error": Refusal(Code.APPROVAL_REQUIRED, "Ask.", details={"approvalId": "x"}).to_record()},
    ],
)
def test_an_output_schema_admits_success_collected_and_error(content: dict[str, Any]) -> None:
    """common 1.6, 4.4, 6.1"""
    assert validator(output_schema(NESTED)).is_valid(content)


@pytest.mark.parametrize(
    "content", [{}, {"title": "a"}, {"error": {"code": "not_found"}}, {"executed": True, "status": "collected"}]
)
def test_an_output_schema_admits_nothing_else(content: dict[str, Any]) -> None:
    assert not validator(output_schema(NESTED)).is_valid(content)


def test_title_annotations_are_dropped_and_properties_called_title_are_kept() -> None:
    def titles(node: Any, *, names: bool = False) -> int:
        if isinstance(node, list):
            return sum(map(titles, node))
        if not isinstance(node, dict):
            return 0
        here = int("title" in node and not names)
        return here + sum(titles(value, names=key in ("properties", "$defs")) for key, value in node.items())

    for schema in (input_schema(NESTED), output_schema(NESTED)):
        assert titles(schema) == 0
        definitions = schema["$defs"]
        assert isinstance(definitions, dict)
        titled = definitions["Titled"]
        assert isinstance(titled, dict) and titled["properties"] == {
            "title": {"description": "A property may be called title.", "type": "string"}
        }


def test_schemas_are_the_same_each_time() -> None:
    """common 1.2"""
    declared = tool("canvas_read", Route.CANVAS)
    assert input_schema(declared) == input_schema(declared)
    assert list(output_schema(declared)) == list(output_schema(declared))


def test_what_does_not_fit_is_not_quoted_by_the_error_that_a_log_may_hold() -> None:
    """common 7.4"""
    with pytest.raises(ValidationError) as failure:
        Titled.model_validate({"title": ["a secret"], "another": "a secret"})
    assert "title" in str(failure.value)
    assert "a secret" not in str(failure.value)
