"""The declarations of workspace_*."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bus.limits import deletion_deadline_ms, grid_columns_max
from tools.base import Capability, Kind, Route, Tool, ToolInput
from tools.schema import input_schema, output_schema
from tools.setting_catalogue import GRID_COLUMNS
from tools.workspace import (
    TOOLS,
    WORKSPACE_CURRENT,
    WORKSPACE_DELETE,
    WORKSPACE_GET,
    WorkspaceDeleteInput,
    WorkspaceGetInput,
    WorkspaceUpdateInput,
)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_needs_mesh(tool: Tool) -> None:
    """common 1.6, common 4.5"""
    assert tool.capability is Capability.MESH
    for schema in (input_schema(tool), output_schema(tool)):
        assert schema["type"] == "object"


def test_what_changes_workspaces_always_asks() -> None:
    """common 4.2"""
    assert {tool.name: tool.kind for tool in TOOLS} == {
        "workspace_create": Kind.ALWAYS_ASK,
        "workspace_current": Kind.READ,
        "workspace_delete": Kind.IRREVERSIBLE,
        "workspace_get": Kind.READ,
        "workspace_list": Kind.READ,
        "workspace_update": Kind.ALWAYS_ASK,
    }


def test_workspace_delete_carries_its_caution_and_has_time_for_all_that_goes() -> None:
    """common 1.8, 6.4"""
    text = WORKSPACE_DELETE.description
    assert "only when the person asked for exactly this, never to tidy up" in text
    assert "last_workspace" in text
    assert WORKSPACE_DELETE.deadline_ms == deletion_deadline_ms


@pytest.mark.parametrize("model", [WorkspaceUpdateInput, WorkspaceDeleteInput])
def test_what_is_changed_or_deleted_is_named_by_its_target(model: type[ToolInput]) -> None:
    """common 3.2"""
    with pytest.raises(ValidationError, match="workspaceId"):
        model.model_validate({"name": "x"} if model is WorkspaceUpdateInput else {})


def test_the_grid_of_a_new_workspace_may_be_as_wide_as_the_setting_says() -> None:
    assert GRID_COLUMNS.maximum == grid_columns_max


def test_tools_stand_in_the_order_of_their_names() -> None:
    """common 1.1"""
    assert [tool.name for tool in TOOLS] == sorted(tool.name for tool in TOOLS)


def test_workspace_current_carries_its_caution() -> None:
    """common 1.8: scope is not the person's active workspace; call this first when a family answers empty"""
    text = WORKSPACE_CURRENT.description
    assert text.startswith("[Local NEXUS app] ")
    assert "never report your scope as the person's active workspace, and say both when they differ" in text
    assert "Call this first when a family answers empty" in text


def test_workspace_get_takes_its_target_and_is_decided_by_the_workspace() -> None:
    """common 3.2"""
    assert WORKSPACE_GET.route is Route.WORKSPACE
    with pytest.raises(ValidationError, match="workspaceId"):
        WorkspaceGetInput.model_validate({})
