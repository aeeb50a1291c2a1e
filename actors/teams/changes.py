"""Local teams come and go: made by agents and the person, deleted by the person alone (common 9)."""

from __future__ import annotations

from typing import Final

from actors.decision import Context, Decision, Delete, Event, PrincipalKind, Put, Verb, VerbTable
from actors.name_index import name_refusal
from actors.parsed import parsed
from actors.teams.state import Team, TeamsState, team_row
from bus.identifier import made_id
from bus.limits import teams_max, teams_per_agent_max
from tools.base import Identifier, Model
from tools.errors import Code, Refusal
from tools.team import CLOUD_MANAGED, NO_TEAM, TeamCreateInput

_TOO_MANY: Final = Refusal(
    Code.WRONG_STATE,
    "There are as many teams as NEXUS keeps. Use one of those that exist.",
    details={"limit": teams_max},
)
_TOO_MANY_OF_YOURS: Final = Refusal(
    Code.WRONG_STATE,
    "You have made as many teams as one agent may. Use one of those, or ask the person to delete one.",
    details={"limit": teams_per_agent_max},
)
PERSON: Final = "person"


class TeamDelete(Model):
    teamId: Identifier


def team_create(state: TeamsState, body: TeamCreateInput, context: Context) -> Decision:
    refusal = name_refusal(state.names, body.name, "team") or _room_refusal(state, context)
    if refusal is not None:
        return Decision(refusal)
    team_id = made_id(context.call_id, "team")
    agent_id = context.principal.agent_id
    row = Team(
        name=body.name,
        description=body.description or None,
        origin="local",
        createdAt=context.now_ms,
        createdBy=agent_id or PERSON,
        members=[],
    )
    effects = (Put(team_row(team_id), row.model_dump()), Event("team.created", {"teamId": team_id}))
    return Decision({"teamId": team_id, "name": body.name}, effects)


def team_delete(state: TeamsState, body: TeamDelete, context: Context) -> Decision:
    team = state.teams.get(body.teamId)
    if team is None:
        return Decision(NO_TEAM)
    if team.origin == "cloud":
        return Decision(CLOUD_MANAGED)
    effects = (Delete(team_row(body.teamId)), Event("team.deleted", {"teamId": body.teamId}))
    return Decision({"teamId": body.teamId, "name": team.name}, effects)


def _room_refusal(state: TeamsState, context: Context) -> Refusal | None:
    if len(state.teams) >= teams_max:
        return _TOO_MANY
    agent_id = context.principal.agent_id
    made = sum(team.createdBy == agent_id for team in state.teams.values()) if agent_id else 0
    return _TOO_MANY_OF_YOURS if made >= teams_per_agent_max else None


VERBS: Final[VerbTable[TeamsState]] = VerbTable(
    {
        "team_create": Verb(
            parsed(TeamCreateInput, team_create), frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})
        ),
        "team_delete": Verb(parsed(TeamDelete, team_delete), frozenset({PrincipalKind.PERSON})),
    }
)
