"""The one owner of teams, `teams/-/teams` (mesh.md, team_*).

Invariants: names of teams are unique, whatever their origin; members are agents that the directory knows, so a removed
agent is a member of nothing; cloud teams change only as a whole, by the person's file. Nothing here touches an agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.decision import RowEffect, Rules, Verb
from actors.teams import changes, membership, provisioning, reads
from actors.teams.state import TeamsState, apply, problems


class TeamsRules(Rules[TeamsState]):
    """Every team of the home, local and from the cloud."""

    @property
    def kind(self) -> str:
        return "teams"

    @property
    def verbs(self) -> Mapping[str, Verb[TeamsState]]:
        return _TABLE.verbs

    def new_state(self) -> TeamsState:
        return TeamsState()

    def apply(self, state: TeamsState, effect: RowEffect) -> None:
        apply(state, effect)

    def problems(self, state: TeamsState) -> list[str]:
        return problems(state)


_TABLE: Final = reads.VERBS | changes.VERBS | membership.VERBS | provisioning.VERBS
RULES: Final = TeamsRules()
