"""What teams there are, and one of them whole. The names of members are the directory's to tell."""

from __future__ import annotations

from typing import Final

from actors.decision import Context, Decision, PrincipalKind, Verb, VerbTable
from actors.parsed import parsed
from actors.teams.state import Team, TeamsState
from bus.limits import page_items_default
from bus.value import Record, Value
from tools.fence import fenced
from tools.team import NO_TEAM, TeamDetailInput, TeamListInput
from tools.times import rfc3339


def team_list(state: TeamsState, body: TeamListInput, context: Context) -> Decision:
    """One page in the order of their ids, which is that of their making for local ones."""
    following = [team_id for team_id in sorted(state.teams) if team_id > (body.cursor or "")]
    page = following[:page_items_default]
    teams: list[Value] = [entry(team_id, state.teams[team_id]) for team_id in page]
    reply: Record = {"teams": teams}
    return Decision({**reply, "nextCursor": page[-1]} if len(following) > len(page) else reply)


def team_show(state: TeamsState, body: TeamDetailInput, context: Context) -> Decision:
    """All of it; members by id."""
    team = state.teams.get(body.teamId)
    if team is None:
        return Decision(NO_TEAM)
    description = None if not team.description else fenced("team description", team.description)
    shown: Record = {
        **entry(body.teamId, team),
        "description": description,
        "createdAt": rfc3339(team.createdAt),
        "members": [*team.members],
    }
    return Decision(shown)


def entry(team_id: str, team: Team) -> Record:
    return {"teamId": team_id, "name": team.name, "memberCount": len(team.members), "origin": team.origin}


_READERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})

VERBS: Final[VerbTable[TeamsState]] = VerbTable(
    {
        "team_list": Verb(parsed(TeamListInput, team_list), _READERS),
        "team_show": Verb(parsed(TeamDetailInput, team_show), _READERS),
    }
)
