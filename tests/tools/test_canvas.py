"""Declarations of the canvas family (canvas 2, common 1)."""

from __future__ import annotations

import pytest

from actors.canvas import RULES
from bus.value import Value
from tools.base import Family, Kind, Route, Scope, Tool
from tools.canvas import TOOLS
from tools.canvas.inputs import CanvasWrite
from tools.schema import input_schema, output_schema

_WRITES = [tool for tool in TOOLS if issubclass(tool.input, CanvasWrite)]


def _named(name: str) -> Tool:
    return next(tool for tool in TOOLS if tool.name == name)


def test_canvas_list_is_described_as_the_contract_has_it() -> None:
    """common 1.4"""
    wanted = "[Local NEXUS app] List the canvases the calling agent may read in its workspace."
    assert _named("canvas_list").description == wanted


def test_every_tool_that_is_built_is_served() -> None:
    assert sorted(tool.name for tool in TOOLS) == [
        "canvas_approve_proposal", "canvas_connect_elements", "canvas_create", "canvas_create_elements",
        "canvas_delete", "canvas_delete_elements", "canvas_get_state", "canvas_list", "canvas_lock_elements",
        "canvas_move_elements", "canvas_query_region", "canvas_reject_proposal", "canvas_restore_elements",
        "canvas_update_elements",
    ]  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_a_verb_of_its_owner_or_composed_and_needs_no_capability(tool: Tool) -> None:
    """canvas heading, common 4.5"""
    assert (tool.name in RULES.verbs) is (tool.route is not Route.COMPOSED)
    assert (tool.family, tool.scope, tool.capability) == (Family.CANVAS, Scope.WORKSPACE, None)


@pytest.mark.parametrize("tool", _WRITES, ids=lambda tool: tool.name)
def test_every_write_requires_canvas_revision_and_reason(tool: Tool) -> None:
    """canvas 2, common 5.2"""
    required = input_schema(tool)["required"]
    assert isinstance(required, list)
    assert {"canvasId", "expectedRevision", "reason"} <= set(required)
    assert tool.kind is (Kind.IRREVERSIBLE if tool.name == "canvas_delete" else Kind.WRITE)
    assert tool.volatile == {"expectedRevision", "rebase", "reason", "approvalId"}


def test_creating_a_canvas_is_budgeted_and_takes_no_revision() -> None:
    """canvas 2"""
    tool = _named("canvas_create")
    assert (tool.kind, tool.route, tool.budgeted) == (Kind.WRITE, Route.NEW_CANVAS, True)
    assert "expectedRevision" not in tool.input.model_fields


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_have_object_roots_and_admit_nothing_unknown(tool: Tool) -> None:
    """common 1.6"""
    schema = input_schema(tool)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert output_schema(tool)["type"] == "object"


def test_the_output_of_a_write_admits_every_outcome() -> None:
    """canvas 3.1"""
    for tool in (*_WRITES, _named("canvas_create")):
        for record in (
            {"outcome": "applied", "revision": 2, "elementIds": ["a"], "rebasedFrom": 1},
            {"outcome": "proposed", "proposalId": "p", "baseRevision": 3},
            {"outcome": "conflict", "currentRevision": 3, "changedSince": []},
            {"outcome": "rejected", "code": "lock", "message": "m", "holder": "h", "until": "u"},
        ):
            tool.output.model_validate(record)


def test_only_new_elements_have_defaults_in_their_schema() -> None:
    """common 1.6: a change leaves alone what it does not name, and its schema must not say otherwise"""

    def described(tool: str, model: str) -> Value:
        node: Value = input_schema(_named(tool))
        for key in ("$defs", model, "properties", "opacity"):
            assert isinstance(node, dict)
            node = node[key]
        return node

    assert described("canvas_create_elements", "NewElement") == {"default": 100, "type": "number"}
    assert described("canvas_update_elements", "ElementFields") == {"type": "number"}
