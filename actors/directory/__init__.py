"""The directory, `app/-/directory`: the one owner of what must hold across workspaces and agents.

Invariants: names of workspaces are unique, names of agents are unique within their workspace and those of agents that
inherit over all of them, every agent's workspace exists or it is nowhere, and once there is a workspace exactly one is
active. A workspace that is being deleted counts as one that does not exist, but for its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.decision import RowEffect, Rules, Verb
from actors.directory import agents, channel_members, creating, deletion, members, scopes, workspaces
from actors.directory.invariants import problems
from actors.directory.state import DirectoryState, apply


class DirectoryRules(Rules[DirectoryState]):
    """The one owner of what must be unique or bounded over all workspaces and agents."""

    @property
    def kind(self) -> str:
        return "app"

    @property
    def verbs(self) -> Mapping[str, Verb[DirectoryState]]:
        return _TABLE.verbs

    def new_state(self) -> DirectoryState:
        return DirectoryState()

    def apply(self, state: DirectoryState, effect: RowEffect) -> None:
        apply(state, effect)

    def problems(self, state: DirectoryState) -> list[str]:
        return problems(state)


_TABLE: Final = (
    workspaces.VERBS
    | deletion.VERBS
    | agents.VERBS
    | members.VERBS
    | scopes.VERBS
    | creating.VERBS
    | channel_members.VERBS
)
RULES: Final = DirectoryRules()
