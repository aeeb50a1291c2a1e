"""Cloud teams: all of them at once, from the person's file (`nexus team provision`)."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Final

from pydantic import Field

from actors.decision import Context, Decision, Delete, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.name_index import NameIndex, name_problem
from actors.parsed import parsed
from actors.teams.changes import PERSON
from actors.teams.state import Pending, ProvisionedTeam, Team, TeamsState, pending_row, team_row
from bus import address
from bus.limits import team_members_max, teams_max
from bus.value import Record
from tools.base import Identifier, Model, Name
from tools.errors import Refusal, invalid_arguments
from tools.team import Description


class CloudTeam(Model):
    teamId: Identifier
    name: Name
    description: Description | None = None
    members: Annotated[list[Identifier], Field(max_length=team_members_max)]


class TeamsProvision(Model):
    teams: Annotated[list[CloudTeam], Field(max_length=teams_max)]


def teams_provision(state: TeamsState, body: TeamsProvision, context: Context) -> Decision:
    """Refused whole, or replaces every cloud team in one commit, once the directory has said which members exist."""
    teams = [
        ProvisionedTeam(
            teamId=one.teamId,
            name=one.name,
            description=one.description or None,
            members=list(dict.fromkeys(one.members)),
        )
        for one in body.teams
    ]
    refusal = _refusal(state, teams)
    if refusal is not None:
        return Decision(refusal)
    members = sorted(set(chain.from_iterable(one.members for one in teams)))
    asked: Record = {"callId": context.call_id, "agentIds": [*members], "workspaceId": None}
    effects = (
        Put(pending_row(context.call_id), Pending(teams=teams).model_dump()),
        Send(address.DIRECTORY, "members_asked", asked),
    )
    return Decision(None, effects)


def provisioned(
    state: TeamsState, teams: list[ProvisionedTeam], existing: frozenset[str], context: Context
) -> tuple[Record | Refusal, tuple[Effect, ...]]:
    """The reply and what makes it so. Judged anew: local teams may have come meanwhile."""
    refusal = _refusal(state, teams)
    if refusal is not None:
        return refusal, ()
    kept = {one.teamId for one in teams}
    former = {team_id: team for team_id, team in state.teams.items() if team.origin == "cloud"}
    removed = sorted(former.keys() - kept)
    effects: list[Effect] = [Delete(team_row(team_id)) for team_id in removed]
    for one in teams:
        known = former.get(one.teamId)
        row = Team(
            name=one.name,
            description=one.description,
            origin="cloud",
            createdAt=context.now_ms if known is None else known.createdAt,
            createdBy=PERSON,
            members=[member for member in one.members if member in existing],
        )
        effects.append(Put(team_row(one.teamId), row.model_dump()))
    effects.append(Event("team.provisioned", {"count": len(teams), "removed": len(removed)}))
    return {"teams": len(teams), "removed": len(removed)}, tuple(effects)


def _refusal(state: TeamsState, teams: list[ProvisionedTeam]) -> Refusal | None:
    """Names are unique among all teams, ids too; the file may not take what a local team has."""
    local = {team_id: team for team_id, team in state.teams.items() if team.origin == "local"}
    problems: dict[str, str] = {}
    if len(local) + len(teams) > teams_max:
        problems["teams"] = f"with the local ones there may be {teams_max} teams in all"
    names, ids = NameIndex(), set(local)
    for team_id, team in local.items():
        names.add(team_id, team.name)
    for number, one in enumerate(teams):
        if not address.is_id(one.teamId):
            problems[f"teams.{number}.teamId"] = "may hold letters, digits, dash and underscore, at most 64"
        elif one.teamId in ids:
            problems[f"teams.{number}.teamId"] = "another team has this id"
        problem = name_problem(names, one.name, "team")
        if problem is not None:
            problems[f"teams.{number}.name"] = problem
        ids.add(one.teamId)
        names.add(one.teamId, one.name)
    return invalid_arguments(problems) if problems else None


VERBS: Final[VerbTable[TeamsState]] = VerbTable(
    {"teams_provision": Verb(parsed(TeamsProvision, teams_provision), frozenset({PrincipalKind.PERSON}))}
)
