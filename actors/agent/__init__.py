"""An agent's owner, `agent/-/ID`: identity, credentials, and the admission of its calls.

Invariants: only hashes of tokens are kept; a removed agent has no credential and authenticates nobody; the authority
version never goes down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.agent import (
    access,
    approval_state,
    authority,
    deciding,
    guest,
    identity,
    lending,
    plan_rules,
    provider,
    reach,
    settling,
    stored,
    working_for,
)
from actors.agent.state import AgentState, apply, problems
from actors.decision import RowEffect, Rules, Verb


class AgentRules(Rules[AgentState]):
    """One agent: who it is, what it may, and the admission of its calls."""

    @property
    def kind(self) -> str:
        return "agent"

    @property
    def verbs(self) -> Mapping[str, Verb[AgentState]]:
        return _TABLE.verbs

    def new_state(self) -> AgentState:
        return AgentState()

    def apply(self, state: AgentState, effect: RowEffect) -> None:
        apply(state, effect)

    def problems(self, state: AgentState) -> list[str]:
        return problems(state)


_TABLE: Final = (
    access.VERBS
    | approval_state.VERBS
    | authority.VERBS
    | deciding.VERBS
    | guest.VERBS
    | identity.VERBS
    | lending.VERBS
    | plan_rules.VERBS
    | provider.VERBS
    | reach.VERBS
    | settling.VERBS
    | stored.VERBS
    | working_for.VERBS
)
RULES: Final = AgentRules()
