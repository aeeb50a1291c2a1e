"""The person's verbs about teams: all that agents may do, deleting, and the cloud teams of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from bus.address import DIRECTORY, TEAMS
from bus.limits import team_members_max, teams_max
from bus.value import Record, Value, records
from nexus.gateway.naming import Named, resolve
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, chosen, text
from nexus.gateway.person_table import Nothing, Run, Typed, checked
from tools.base import Model, Name
from tools.errors import Refusal, invalid_arguments
from tools.team import Description


class TeamNamed(Model):
    team: Typed


class TeamCreate(Model):
    name: Name
    description: Description | None = None


class TeamMember(Model):
    team: Typed
    agent: Typed
    workspace: Typed | None = None


class MemberInFile(Model):
    agent: Typed
    workspace: Typed | None = None


class TeamInFile(Model):
    """One cloud team of `teams.json`. A member is an agent's id or name, or both parts of where it is."""

    id: Typed
    name: Name
    description: Description | None = None
    members: Annotated[list[Typed | MemberInFile], Field(max_length=team_members_max)] = Field(default=[])


class TeamsProvision(Model):
    teams: Annotated[list[TeamInFile], Field(max_length=teams_max)]


async def team_list(owners: Owners, _: Nothing) -> Record:
    return {"teams": [*await _teams(owners)]}


async def team_show(owners: Owners, asked: TeamNamed) -> Record:
    meant = await _meant(owners, asked.team)
    team = await owners.read(TEAMS, "team_show", {"teamId": meant.id})
    named = await owners.read(DIRECTORY, "agents_named", {"agentIds": team.get("members")})
    directory = await owners.directory()
    places = {text(one, "agentId"): text(one, "workspaceId") for one in directory.agents}
    members: list[Value] = [
        {
            "agentId": one.get("agentId"),
            "name": one.get("name"),
            "workspace": directory.workspace_name(places.get(text(one, "agentId"), "")) or None,
        }
        for one in records(named, "agents")
    ]
    described = team.get("description")
    description = described.get("text") if isinstance(described, dict) else None
    return {**team, "description": description, "memberCount": len(members), "members": members}


async def team_create(owners: Owners, asked: TeamCreate) -> Record:
    body: Record = {"name": asked.name}
    if asked.description is not None:
        body["description"] = asked.description
    return await owners.ask(TEAMS, "team_create", body)


async def team_add(owners: Owners, asked: TeamMember) -> Record:
    return await _membership(owners, asked, "team_add_member")


async def team_remove(owners: Owners, asked: TeamMember) -> Record:
    return await _membership(owners, asked, "team_remove_member")


async def team_delete(owners: Owners, asked: TeamNamed) -> Record:
    meant = await _meant(owners, asked.team)
    return await owners.ask(TEAMS, "team_delete", {"teamId": meant.id})


async def team_provision(owners: Owners, asked: TeamsProvision) -> Record:
    """All cloud teams are those of the file from now on, or nothing has changed and it is said what is wrong in it."""
    directory = await owners.directory()
    problems: dict[str, str] = {}
    teams: list[Value] = []
    for number, team in enumerate(asked.teams):
        members: list[Value] = []
        for place, member in enumerate(team.members):
            found = _member(directory, member)
            if isinstance(found, Refusal):
                problems[f"teams.{number}.members.{place}"] = "names no agent, or more than one; give its id"
            else:
                members.append(found.id)
        teams.append({"teamId": team.id, "name": team.name, "description": team.description, "members": members})
    if problems:
        raise VerbRefused.by(invalid_arguments(problems))
    return await owners.ask(TEAMS, "teams_provision", {"teams": teams})


async def _membership(owners: Owners, asked: TeamMember, verb: str) -> Record:
    team = await _meant(owners, asked.team)
    agent = (await owners.directory()).agent(asked.agent, asked.workspace)
    told = await owners.ask(TEAMS, verb, {"teamId": team.id, "agentId": agent.id})
    return {**told, "team": team.name, "name": agent.name}


async def _teams(owners: Owners) -> list[Record]:
    found: list[Record] = []
    cursor: Value = None
    while True:
        page = await owners.read(TEAMS, "team_list", {} if cursor is None else {"cursor": cursor})
        found += records(page, "teams")
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return found


async def _meant(owners: Owners, typed: str) -> Named:
    """The team of that id or name. Raises VerbRefused."""
    named = [Named(text(one, "teamId"), text(one, "name")) for one in await _teams(owners)]
    return chosen(resolve("team", typed, named))


def _member(directory: Directory, member: str | MemberInFile) -> Named | Refusal:
    try:
        if isinstance(member, str):
            return directory.agent(member, None)
        return directory.agent(member.agent, member.workspace)
    except VerbRefused as refused:
        return Refusal.from_record(refused.error)


VERBS: Final[Mapping[str, Run]] = {
    "team.list": checked(Nothing, team_list),
    "team.show": checked(TeamNamed, team_show),
    "team.create": checked(TeamCreate, team_create),
    "team.add": checked(TeamMember, team_add),
    "team.remove": checked(TeamMember, team_remove),
    "team.delete": checked(TeamNamed, team_delete),
    "team.provision": checked(TeamsProvision, team_provision),
}
