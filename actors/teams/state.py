"""The teams' rows: `team/<id>`, and `pending/<call id>` for a change that waits for the directory."""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.decision import Put, RowEffect
from actors.name_index import NameIndex
from bus.limits import team_members_max, teams_max
from tools.base import Model
from tools.team import Origin


def team_row(team_id: str) -> str:
    return f"team/{team_id}"


def pending_row(call_id: str) -> str:
    return f"pending/{call_id}"


class Team(Model):
    name: str
    description: str | None
    origin: Origin
    createdAt: int
    createdBy: str
    """An agent's id, or `person`."""
    members: list[str]
    """Ids of agents, in the order in which they came. The directory tells when one is removed."""


class ProvisionedTeam(Model):
    """One cloud team as the person's file has it."""

    teamId: str
    name: str
    description: str | None
    members: list[str]


class Pending(Model):
    """A change whose agents the directory is asked about: one member for `teamId`, or all cloud teams anew."""

    teamId: str | None = None
    agentId: str | None = None
    teams: list[ProvisionedTeam] | None = None


@dataclass(slots=True)
class TeamsState:
    """Every team by id."""

    teams: dict[str, Team] = field(default_factory=dict)
    names: NameIndex = field(default_factory=NameIndex)
    pending: dict[str, Pending] = field(default_factory=dict)


def apply(state: TeamsState, effect: RowEffect) -> None:
    match effect.row.partition("/"), effect:
        case ("team", _, team_id), _:
            former = state.teams.pop(team_id, None)
            if former is not None:
                state.names.drop(team_id, former.name)
            if isinstance(effect, Put):
                team = Team.model_validate(effect.value)
                state.teams[team_id] = team
                state.names.add(team_id, team.name)
        case ("pending", _, call_id), Put(_, value):
            state.pending[call_id] = Pending.model_validate(value)
        case ("pending", _, call_id), _:
            state.pending.pop(call_id, None)
        case _:
            raise ValueError("teams have no such row")


def problems(state: TeamsState) -> list[str]:
    """What should hold of every stored state and does not."""
    found = []
    if len(state.teams) > teams_max:
        found.append("there are more teams than there may be")
    if any(len(team.members) > team_members_max for team in state.teams.values()):
        found.append("a team has more members than it may have")
    if any(len(team.members) != len(set(team.members)) for team in state.teams.values()):
        found.append("a team has a member twice")
    if any(state.names.holder_of(team.name, id_) is not None for id_, team in state.teams.items()):
        found.append("two teams have the same name, or names that look alike")
    return found
