"""What the directory tells workspaces about the agents in their channels: who can be named there, and who is gone.

A workspace that has an agent in a channel or a request, or keeps what it asked for, is noted with the agent, and told
`member_gone` when the agent is removed; at once, when it is not there any more. One that acts elsewhere for a while is
not gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.decision import Context, Decision, Effect, Message, PrincipalKind, Put, Send, SetTimer, Verb, VerbTable
from actors.directory.state import DirectoryState, ListedAgent, agent_row
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.limits import saga_retry_ms_max
from bus.value import Record
from tools.base import Identifier, Model


class MemberNoted(Model):
    agentId: Identifier
    workspaceId: Identifier


class InviteeNamed(Model):
    requestId: Identifier
    requesterId: Identifier
    agentId: Identifier
    workspaceId: Identifier


class GoneAgain(Model):
    agentId: str
    workspaceId: str


def member_noted(state: DirectoryState, body: MemberNoted, context: Context) -> Decision:
    _must_be_its_own(context, body.workspaceId)
    return Decision({}, tuple(noted(state, (body.agentId,), body.workspaceId)))


def invitee_named(state: DirectoryState, body: InviteeNamed, context: Context) -> Decision:
    """Whether the requester can name the agent: both act in that workspace now (common 3.3)."""
    _must_be_its_own(context, body.workspaceId)
    both = (body.requesterId, body.agentId)
    known = [state.agents.get(agent_id) for agent_id in both]
    is_there = all(agent is not None and agent.workspaceId == body.workspaceId for agent in known)
    answer: Record = {"requestId": body.requestId, "isThere": is_there}
    noting = noted(state, both, body.workspaceId) if is_there else []
    return Decision({}, (*noting, Send(address.workspace(body.workspaceId), "invitee_answered", answer)))


def leaving_channels(state: DirectoryState, agent_id: str, agent: ListedAgent) -> list[Effect]:
    """What tells every workspace that has the agent in a channel that it is gone."""
    return [_gone(agent_id, workspace_id) for workspace_id in agent.notedIn if workspace_id in state.workspaces]


def gone_died(state: DirectoryState, message: Message, context: Context) -> Decision:
    """A workspace's owner could not take an agent out of its channels: it is told again."""
    told = message.body.get("body")
    body = told if isinstance(told, dict) else {}
    agent_id, workspace_id = str(body.get("agentId")), str(body.get("workspaceId"))
    if workspace_id not in state.workspaces:
        return DONE
    again: Record = {"agentId": agent_id, "workspaceId": workspace_id}
    due_ms = context.now_ms + saga_retry_ms_max
    return Decision({}, (SetTimer(f"gone/{workspace_id}/{agent_id}", due_ms, "gone_again", again),))


def gone_again(state: DirectoryState, body: GoneAgain, context: Context) -> Decision:
    is_gone = body.agentId not in state.agents and body.workspaceId in state.workspaces
    return Decision({}, (_gone(body.agentId, body.workspaceId),)) if is_gone else DONE


def noted(state: DirectoryState, agent_ids: Iterable[str], workspace_id: str) -> list[Effect]:
    """What has the workspace told when these are removed; of those that are not there it is told at once."""
    effects: list[Effect] = []
    for agent_id in agent_ids:
        agent = state.agents.get(agent_id)
        if agent is None:
            effects.append(_gone(agent_id, workspace_id))
        elif workspace_id not in agent.notedIn:
            kept = [former for former in agent.notedIn if former in state.workspaces]
            row = agent.model_copy(update={"notedIn": [*kept, workspace_id]})
            effects.append(Put(agent_row(agent_id), row.model_dump()))
    return effects


def _gone(agent_id: str, workspace_id: str) -> Send:
    return Send(address.workspace(workspace_id), "member_gone", {"agentId": agent_id, "workspaceId": workspace_id})


def _must_be_its_own(context: Context, workspace_id: str) -> None:
    if sending_owner(context, "workspace") != address.workspace(workspace_id):
        raise ValueError("a workspace's owner speaks of its own channels only")


_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[DirectoryState]] = VerbTable(
    {
        "member_noted": Verb(parsed(MemberNoted, member_noted), _OWNER),
        "invitee_named": Verb(parsed(InviteeNamed, invitee_named), _OWNER),
        "gone_again": Verb(parsed(GoneAgain, gone_again), frozenset({PrincipalKind.TIMER})),
    }
)
