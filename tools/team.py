"""team_*: named groups of agents (mesh.md). A team gives nobody a right; it only says who belongs together.

Teams are app-wide: a team may have members of several workspaces, and whoever has the mesh capability reads them by
name. An agent brings in only agents that it can name in its own workspace. Cloud teams are read-only.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field

from bus.limits import team_description_characters_max
from tools.base import (
    Capability,
    Family,
    Identifier,
    Integer,
    Kind,
    Model,
    Name,
    PageCursor,
    Route,
    Scope,
    Tool,
    ToolInput,
)
from tools.errors import Code, Refusal
from tools.fence import Fence
from tools.problems import problem
from tools.secrets import holds_own_token

NO_TEAM: Final = Refusal(Code.NOT_FOUND, "There is no team of that id. Call team_list for those there are.")
"""Teams are app-wide: whoever asks is shown all of them, so an unknown id says no more than that."""
NOT_A_MEMBER: Final = Refusal(
    Code.NOT_FOUND, "No agent of that id is a member of this team. Call team_detail for those that are."
)
CLOUD_MANAGED: Final = Refusal(
    Code.CLOUD_MANAGED,
    "This team is managed in the cloud and cannot be changed here. Make a local team with team_create instead.",
)

Origin: TypeAlias = Literal["local", "cloud"]


def _without_token(text: str) -> str:
    if holds_own_token(text):
        raise problem("must not hold a token of NEXUS")
    return text


Description = Annotated[str, Field(max_length=team_description_characters_max), AfterValidator(_without_token)]


class TeamListInput(ToolInput):
    cursor: PageCursor = None


class TeamEntry(Model):
    teamId: str
    name: str
    memberCount: Integer
    origin: Origin = Field(description="cloud: it is managed elsewhere and cannot be changed here.")


class TeamListOutput(Model):
    teams: list[TeamEntry]
    nextCursor: str | None = None


class TeamDetailInput(ToolInput):
    teamId: Identifier


class TeamMember(Model):
    agentId: str
    name: str
    inYourWorkspace: bool = Field(description="False: you cannot reach it, nor read more of it than this.")


class TeamDetailOutput(TeamEntry):
    description: Fence | None
    createdAt: str
    members: list[TeamMember] = Field(description="The agents that belong to it now, by name.")


class TeamCreateInput(ToolInput):
    name: Name
    description: Description | None = None


class TeamCreateOutput(Model):
    teamId: str
    name: str


class TeamAddMemberInput(ToolInput):
    teamId: Identifier
    agentId: Identifier = Field(description="An agent of your own workspace; you yourself may be one.")


class TeamMembershipOutput(Model):
    teamId: str
    agentId: str
    memberCount: Integer
    changed: bool


class TeamRemoveMemberInput(ToolInput):
    teamId: Identifier
    agentId: Identifier


_READ_ONLY: Final = "None: it only reads."

TEAM_ADD_MEMBER: Final = Tool(
    name="team_add_member",
    family=Family.TEAM,
    kind=Kind.WRITE,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.TEAMS,
    summary=(
        "Add an agent of your workspace to a local team. It gains no right and keeps its identity. A team from the "
        "cloud cannot be changed here (cloud_managed)."
    ),
    input=TeamAddMemberInput,
    output=TeamMembershipOutput,
    side_effects="The team has one member more.",
    reversibility="team_remove_member takes it out again.",
)

TEAM_CREATE: Final = Tool(
    name="team_create",
    family=Family.TEAM,
    kind=Kind.WRITE,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.TEAMS,
    summary=(
        "Make a local team without members. Its name must differ clearly from every other team's on this machine. "
        "Add agents with team_add_member."
    ),
    input=TeamCreateInput,
    output=TeamCreateOutput,
    side_effects="A team exists that every agent with the mesh capability can read.",
    reversibility="Only the person can delete a team.",
)

TEAM_DETAIL: Final = Tool(
    name="team_detail",
    family=Family.TEAM,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.COMPOSED,
    summary="Read one team: its description and the agents that belong to it now, by name.",
    input=TeamDetailInput,
    output=TeamDetailOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

TEAM_LIST: Final = Tool(
    name="team_list",
    family=Family.TEAM,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.TEAMS,
    summary=(
        "List the teams of this machine with the number of their members, and whether each is local or managed in the "
        "cloud."
    ),
    input=TeamListInput,
    output=TeamListOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

TEAM_REMOVE_MEMBER: Final = Tool(
    name="team_remove_member",
    family=Family.TEAM,
    kind=Kind.WRITE,
    scope=Scope.APP,
    capability=Capability.MESH,
    route=Route.TEAMS,
    summary=(
        "Take an agent out of a local team. The agent itself stays as it is. A team from the cloud cannot be changed "
        "here (cloud_managed)."
    ),
    input=TeamRemoveMemberInput,
    output=TeamMembershipOutput,
    side_effects="The team has one member less.",
    reversibility="team_add_member brings it back, if it is of your workspace.",
)

TOOLS: Final[tuple[Tool, ...]] = (TEAM_ADD_MEMBER, TEAM_CREATE, TEAM_DETAIL, TEAM_LIST, TEAM_REMOVE_MEMBER)
