"""workspace_*: which workspaces there are and which one is the caller's (workspace.md, workspace_*)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from bus.limits import deletion_deadline_ms, grid_columns_max
from tools.agent import Color
from tools.base import (
    AS_INTEGER,
    Capability,
    Family,
    Identifier,
    Kind,
    Model,
    Name,
    Route,
    Scope,
    ScopedInput,
    Tool,
    ToolInput,
)
from tools.problems import problem


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


GridColumns = Annotated[int, Field(ge=1, le=grid_columns_max), AS_INTEGER]


class WorkspaceCreateInput(ScopedInput):
    name: Name = Field(description="No other workspace may have it, or one that looks like it.")
    color: Color | None = Field(default=None, description="As #rrggbb in lower case; chosen when left out.")
    gridColumns: GridColumns | None = Field(default=None, description="Of its pane grid; a setting when left out.")


class WorkspaceCreateOutput(Model):
    id: str
    name: str


class WorkspaceUpdateInput(ToolInput):
    # Not a ScopedInput: here workspaceId is the target, which the directory compares with the scope (common 3.2).
    workspaceId: Identifier = Field(description="Your own workspace; workspace_current tells its id.")
    name: Name | None = Field(default=None, description="No other workspace may have it, or one that looks like it.")
    color: Color | None = Field(default=None, description="As #rrggbb in lower case.")
    gridColumns: GridColumns | None = Field(default=None, description="Of its pane grid.")

    @model_validator(mode="after")
    def _changes_something(self) -> WorkspaceUpdateInput:
        if self.name is None and self.color is None and self.gridColumns is None:
            raise problem("must give at least one of name, color and gridColumns")
        return self


class WorkspaceUpdateOutput(Model):
    id: str
    name: str
    updated: list[Literal["name", "color", "gridColumns"]]


class WorkspaceDeleteInput(ToolInput):
    # Not a ScopedInput: workspaceId is the target, and may be any workspace's.
    workspaceId: Identifier = Field(description="The workspace to delete, by the id that workspace_list gives.")


class WorkspaceDeleteOutput(Model):
    id: str
    name: str


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

WORKSPACE_CREATE: Final = Tool(
    name="workspace_create",
    family=Family.WORKSPACE,
    kind=Kind.ALWAYS_ASK,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.DIRECTORY,
    summary=(
        "Make a new, empty workspace in the background. The person's active workspace stays, and so does your own "
        "scope: you cannot read or act inside the new workspace. The person always decides first."
    ),
    input=WorkspaceCreateInput,
    output=WorkspaceCreateOutput,
    side_effects="Makes a workspace that the person sees in every list.",
    reversibility="workspace_delete, or the person, deletes it again.",
)

WORKSPACE_UPDATE: Final = Tool(
    name="workspace_update",
    family=Family.WORKSPACE,
    kind=Kind.ALWAYS_ASK,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.DIRECTORY,
    summary=(
        "Change the name, color or grid columns of your own workspace; what you leave out stays. Any other "
        "workspaceId than your own is refused scope_mismatch. Its identity, creation time and room mode never change. "
        "The person always decides first."
    ),
    input=WorkspaceUpdateInput,
    output=WorkspaceUpdateOutput,
    side_effects="Changes how the workspace is named and shown, for the person and for every agent.",
    reversibility="Set the former values again.",
)

WORKSPACE_DELETE: Final = Tool(
    name="workspace_delete",
    family=Family.WORKSPACE,
    kind=Kind.IRREVERSIBLE,
    scope=Scope.WORKSPACE,
    capability=Capability.MESH,
    route=Route.DIRECTORY,
    summary=(
        "Delete a workspace with everything in it: sessions, layout, canvases and their history, its memories. Call it "
        "only when the person asked for exactly this, never to tidy up, and never as a step of something else. Agents "
        "pinned there, you too if it is your own, are then in no workspace until the person pins them anew. The last "
        "workspace is refused last_workspace. The person always decides first."
    ),
    input=WorkspaceDeleteInput,
    output=WorkspaceDeleteOutput,
    side_effects="Destroys the workspace and all that is in it; agents pinned there lose their scope.",
    reversibility="Nothing brings it back but a backup.",
    frees_space=True,
    deadline_ms=deletion_deadline_ms,
)

TOOLS: Final[tuple[Tool, ...]] = (
    WORKSPACE_CREATE,
    WORKSPACE_CURRENT,
    WORKSPACE_DELETE,
    WORKSPACE_GET,
    WORKSPACE_LIST,
    WORKSPACE_UPDATE,
)
