"""What team_*, provider_* and agent_set_provider declare (mesh.md, knowledge.md)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tools.base import Kind, Scope
from tools.catalogue import BY_NAME
from tools.team import TeamCreateInput

CONTRACT = [
    ("team_list", Kind.READ, Scope.APP, set[str]()),
    ("team_detail", Kind.READ, Scope.APP, {"teamId"}),
    ("team_create", Kind.WRITE, Scope.APP, {"name"}),
    ("team_add_member", Kind.WRITE, Scope.APP, {"teamId", "agentId"}),
    ("team_remove_member", Kind.WRITE, Scope.APP, {"teamId", "agentId"}),
    ("provider_list", Kind.READ, Scope.APP, set[str]()),
    ("provider_detail", Kind.READ, Scope.APP, {"providerId"}),
    ("provider_runtime_status", Kind.READ, Scope.APP, set[str]()),
    ("agent_set_provider", Kind.ALWAYS_ASK, Scope.WORKSPACE, {"agentId", "providerId"}),
]


@pytest.mark.parametrize(("name", "kind", "scope", "required"), CONTRACT, ids=[row[0] for row in CONTRACT])
def test_kind_scope_and_required_arguments_are_the_contracts(
    name: str, kind: Kind, scope: Scope, required: set[str]
) -> None:
    """mesh 1, common 3.4, 4.2"""
    tool = BY_NAME[name]
    fields = tool.input.model_fields
    assert (tool.kind, tool.scope) == (kind, scope)
    assert {field for field, info in fields.items() if info.is_required()} == required
    assert ("workspaceId" in fields) == (scope is Scope.WORKSPACE)


def test_a_team_is_never_deleted_by_a_tool() -> None:
    """common 9"""
    assert {name for name in BY_NAME if name.startswith("team_")} == {row[0] for row in CONTRACT if "team" in row[0]}


@pytest.mark.parametrize("description", ["x" * 2_001, "nx_01jh_" + "q8Zr4kV1mN7pX2cT5wY9bD3fG6hJ0sL8aE4uI1oR7tQ"])
def test_a_description_is_bounded_and_holds_no_token(description: str) -> None:
    """common 2.2, 7.3"""
    with pytest.raises(ValidationError):
        TeamCreateInput(name="Reviewers", description=description)
