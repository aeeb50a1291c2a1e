"""What the directory tells workspaces about the agents in their channels and on their canvases: who can be named there,
who is gone, and who works elsewhere.

A workspace that has an agent in a channel or a request, on a canvas, or keeps what it asked for, is noted with the
agent, and told when the agent is removed (`member_gone`) or pinned elsewhere (`member_left`: its roles on canvases end,
canvas 1.1); at once, when that is so already. One that inherits acts elsewhere for a while and is neither.
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


def removed_everywhere(state: DirectoryState, agent_id: str, agent: ListedAgent) -> list[Effect]:
    """What tells every workspace that may have the agent in a channel or on a canvas that it is gone."""
    return [_gone(agent_id, workspace_id) for workspace_id in _known_in(state, agent)]


def left_for(state: DirectoryState, agent_id: str, former: ListedAgent, placed: ListedAgent) -> list[Effect]:
    """What ends the roles that the agent has in other workspaces than the one that the person pins it to. One that
    inherits from now on keeps them: it comes back with the person."""
    if placed.inherits:
        return []
    left = [workspace_id for workspace_id in _known_in(state, former) if workspace_id != placed.workspaceId]
    return [_left(agent_id, workspace_id) for workspace_id in left]


def gone_died(state: DirectoryState, message: Message, context: Context) -> Decision:
    """A workspace's owner could not take an agent out of its channels, or off its canvases: it is told again."""
    told = message.body.get("body")
    body = told if isinstance(told, dict) else {}
    agent_id, workspace_id = str(body.get("agentId")), str(body.get("workspaceId"))
    if workspace_id not in state.workspaces:
        return DONE
    again: Record = {"agentId": agent_id, "workspaceId": workspace_id}
    due_ms = context.now_ms + saga_retry_ms_max
    return Decision({}, (SetTimer(f"gone/{workspace_id}/{agent_id}", due_ms, "gone_again", again),))


def gone_again(state: DirectoryState, body: GoneAgain, context: Context) -> Decision:
    """By what holds now: it may have come back since."""
    return Decision({}, tuple(_absent(state, body.agentId, body.workspaceId)))


def noted(state: DirectoryState, agent_ids: Iterable[str], workspace_id: str) -> list[Effect]:
    """What has the workspace told when these are removed or leave; of those that are not there it is told at once."""
    effects: list[Effect] = []
    for agent_id in agent_ids:
        effects += _absent(state, agent_id, workspace_id)
        agent = state.agents.get(agent_id)
        if agent is not None and workspace_id not in agent.notedIn:
            kept = [former for former in agent.notedIn if former in state.workspaces]
            row = agent.model_copy(update={"notedIn": [*kept, workspace_id]})
            effects.append(Put(agent_row(agent_id), row.model_dump()))
    return effects


def _absent(state: DirectoryState, agent_id: str, workspace_id: str) -> list[Effect]:
    """What the workspace is told of an agent that is not one of its own."""
    agent = state.agents.get(agent_id)
    if workspace_id not in state.workspaces:
        return []
    if agent is None:
        return [_gone(agent_id, workspace_id)]
    is_elsewhere = not agent.inherits and agent.workspaceId != workspace_id
    return [_left(agent_id, workspace_id)] if is_elsewhere else []


def _known_in(state: DirectoryState, agent: ListedAgent) -> list[str]:
    """Where it may have left something: each that is noted with it, and where it works now."""
    places = dict.fromkeys((*agent.notedIn, agent.workspaceId))
    return [workspace_id for workspace_id in places if workspace_id in state.workspaces]


def _gone(agent_id: str, workspace_id: str) -> Send:
    return _telling("member_gone", agent_id, workspace_id)


def _left(agent_id: str, workspace_id: str) -> Send:
    return _telling("member_left", agent_id, workspace_id)


def _telling(verb: str, agent_id: str, workspace_id: str) -> Send:
    # before_reply: when the person is answered, the roles are on their way out and nothing more can be asked for there.
    body: Record = {"agentId": agent_id, "workspaceId": workspace_id}
    return Send(address.workspace(workspace_id), verb, body, before_reply=True)


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
