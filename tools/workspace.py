"""workspace_*: which workspaces there are and which one is the caller's (workspace.md, workspace_*)."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from tools.base import Capability, Family, Identifier, Kind, Model, Route, Scope, ScopedInput, Tool, ToolInput


class WorkspaceName(Model):
    """A workspace as anyone on this machine may know it."""

    id: str
    name: str


class WorkspaceDetail(Model):
    """A workspace as those pinned to it may know it."""

    id: str
    name: str
    color: str
    gridColumns: int
    roomMode: Literal["local"]
    createdAt: str


class WorkspaceCurrentInput(ScopedInput):
    pass


class WorkspaceCurrentOutput(Model):
    workspace: WorkspaceName
    resolution: Literal["pinned", "inherited"]
    activeWorkspace: WorkspaceName | None = Field(description="The person's active workspace, not yours.")
    isCallerScopeActiveForUser: bool


class WorkspaceListInput(ScopedInput):
    pass


class ListedWorkspace(Model):
    id: str
    name: str
    isCallerScope: bool
    isActive: bool
    detail: WorkspaceDetail | None = Field(default=None, description="Only for your own workspace.")


class WorkspaceListOutput(Model):
    workspaces: list[ListedWorkspace]
    truncated: bool = False


class WorkspaceGetInput(ToolInput):
    # Not a ScopedInput: here workspaceId is the target, which the workspace's owner decides (common 3.2).
    workspaceId: Identifier = Field(description="Your own workspace; workspace_current tells its id.")


class WorkspaceGetOutput(Model):
    workspace: WorkspaceDetail


_READ_ONLY: Final = "None: it only reads."

WORKSPACE_CURRENT: Final = Tool(
    name="workspace_current",
    family=Family.WORKSPACE,
    kind=Kind.READ,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary=(
        "Tell which workspace your calls act in (`workspace`), how that was resolved, and which workspace the person "
        "has active (`activeWorkspace`). They are two different things: never report your scope as the person's "
        "active workspace, and say both when they differ. Call this first when a family answers empty: what you "
        "look for may be in another workspace than yours."
    ),
    input=WorkspaceCurrentInput,
    output=WorkspaceCurrentOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

WORKSPACE_LIST: Final = Tool(
    name="workspace_list",
    family=Family.WORKSPACE,
    kind=Kind.READ,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary=(
        "List every workspace on this machine by id and name, saying which one is yours (`isCallerScope`) and which "
        "one the person has active (`isActive`). Detail is given for your own only; you cannot act in another one."
    ),
    input=WorkspaceListInput,
    output=WorkspaceListOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

WORKSPACE_GET: Final = Tool(
    name="workspace_get",
    family=Family.WORKSPACE,
    kind=Kind.READ,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.WORKSPACE,
    summary=(
        "Read your own workspace: name, color, grid columns, room mode and when it was made. Any other workspaceId "
        "than your own is refused scope_mismatch; workspace_current tells your own."
    ),
    input=WorkspaceGetInput,
    output=WorkspaceGetOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

TOOLS: Final[tuple[Tool, ...]] = (WORKSPACE_CURRENT, WORKSPACE_GET, WORKSPACE_LIST)
