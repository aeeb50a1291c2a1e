"""The declarations of workspace_*."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tools.base import Capability, Kind, Route, Tool
from tools.schema import input_schema, output_schema
from tools.workspace import TOOLS, WORKSPACE_CURRENT, WORKSPACE_GET, WorkspaceGetInput


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_a_read_that_needs_mesh(tool: Tool) -> None:
    """common 1.6, common 4.5"""
    assert (tool.kind, tool.capability) == (Kind.READ, Capability.MESH)
    for schema in (input_schema(tool), output_schema(tool)):
        assert schema["type"] == "object"


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
