"""Agents as members of something that spans workspaces: whether they exist, and for whom; and under which name."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from actors.decision import Context, Decision, PrincipalKind, Send, Verb, VerbTable
from actors.directory.state import NOWHERE, DirectoryState
from actors.parsed import parsed, sending_owner
from bus.limits import team_members_max, teams_max
from bus.value import Record, Value
from tools.base import Identifier, Model


class MembersAsked(Model):
    callId: str
    agentIds: Annotated[list[str], Field(max_length=teams_max * team_members_max)]
    workspaceId: str | None
    """Only agents of this workspace exist for whoever asks; None: the person, for whom all do."""


class AgentsNamed(Model):
    agentIds: Annotated[list[Identifier], Field(max_length=team_members_max)]


def members_asked(state: DirectoryState, body: MembersAsked, context: Context) -> Decision:
    """Answered by `members_told`, in one stream with what the teams are told of removals (`agent_gone`)."""
    sender = sending_owner(context, "teams")
    found: list[Value] = [agent_id for agent_id in body.agentIds if _exists(state, agent_id, body.workspaceId)]
    return Decision({}, (Send(sender, "members_told", {"callId": body.callId, "agentIds": found}),))


def agents_named(state: DirectoryState, body: AgentsNamed, context: Context) -> Decision:
    """Their names, in the order of the names; of members of teams, which are app-wide (common 3.4). Nothing else of an
    agent of another workspace is told."""
    scope = context.principal.workspace_id
    found: list[Record] = [
        {
            "agentId": agent_id,
            "name": state.agents[agent_id].name,
            "inYourWorkspace": scope != NOWHERE and state.agents[agent_id].workspaceId == scope,
        }
        for agent_id in body.agentIds
        if agent_id in state.agents
    ]
    ordered: list[Value] = [*sorted(found, key=lambda one: (str(one["name"]), str(one["agentId"])))]
    return Decision({"agents": ordered})


def _exists(state: DirectoryState, agent_id: str, workspace_id: str | None) -> bool:
    agent = state.agents.get(agent_id)
    if agent is None:
        return False
    return workspace_id is None or (workspace_id != NOWHERE and agent.workspaceId == workspace_id)


VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "members_asked": Verb(parsed(MembersAsked, members_asked), frozenset({PrincipalKind.OWNER})),
        "agents_named": Verb(parsed(AgentsNamed, agents_named), frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})),
    }
)
