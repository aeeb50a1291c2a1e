"""Which agents have roles on the workspace's canvases, and how those of one that is gone end (canvas 1.1).

    member_gone or member_left from the directory -> `role_ends` to the first canvases where the agent has a role, and
    a message to oneself for the next ones -> each canvas takes the role away and tells the index

The directory is told of every agent that gets its first role on a canvas, and answers at once if that agent is not one
of this workspace any more: so a canvas that was being made, or a grant that was on its way, leaves no role behind.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from actors.decision import Context, Decision, Effect, PrincipalKind, Send, Verb, VerbTable
from actors.parsed import parsed, sending_owner
from actors.workspace.state import IndexedCanvas, WorkspaceState
from bus import address
from bus.limits import roles_ended_at_once_max
from bus.value import Record
from tools.base import Identifier, Model

_ON: Final = "roles_end_on"


class MemberLeft(Model):
    agentId: Identifier
    workspaceId: Identifier


class RolesEndOn(Model):
    agentId: Identifier
    after: Identifier


class RolesOf(Model):
    agentId: Identifier


def noted(state: WorkspaceState, canvas_id: str, row: IndexedCanvas, context: Context) -> list[Effect]:
    """What tells the directory of the agents that have a role on the canvas now and had none."""
    former = state.canvases.get(canvas_id)
    had = former.roles if former is not None else {}
    return [
        Send(address.DIRECTORY, "member_noted", {"agentId": agent_id, "workspaceId": context.address.id})
        for agent_id in sorted(row.roles)
        if agent_id not in had
    ]


def member_left(state: WorkspaceState, body: MemberLeft, context: Context) -> Decision:
    """The person pinned the agent elsewhere. It stays in channels, for it may come back; a role is granted anew."""
    sending_owner(context, "app")
    return Decision({}, tuple(roles_ending(state, body.agentId, context)))


def roles_end_on(state: WorkspaceState, body: RolesEndOn, context: Context) -> Decision:
    if context.principal.owner != context.address:
        raise ValueError("only the workspace itself goes on with what it began")
    return Decision({}, tuple(roles_ending(state, body.agentId, context, body.after)))


def roles_ending(state: WorkspaceState, agent_id: str, context: Context, after: str = "") -> list[Effect]:
    """What ends the agent's roles on the canvases that follow `after`, a bounded number with each message. Nothing in a
    workspace that is being destroyed, for there the canvases go."""
    if state.living() is None:
        return []
    held = _held(state, agent_id, after)
    first = held[:roles_ended_at_once_max]
    told: Record = {"agentId": agent_id}
    effects: list[Effect] = [
        Send(address.canvas(context.address.id, canvas_id), "role_ends", told) for canvas_id in first
    ]
    if len(held) > len(first):
        effects.append(Send(context.address, _ON, {"agentId": agent_id, "after": first[-1]}))
    return effects


def roles_of(state: WorkspaceState, body: RolesOf, context: Context) -> Decision:
    """On how many canvases the agent has a role, for the person who is about to remove it. `ownedAlone`: those of which
    it is owner and no other agent is."""
    held = [state.canvases[canvas_id].roles for canvas_id in _held(state, body.agentId, "")]
    owned = [roles for roles in held if roles[body.agentId] == "owner"]
    alone = sum([*roles.values()].count("owner") == 1 for roles in owned)
    return Decision({"canvases": len(held), "ownedAlone": alone})


def _held(state: WorkspaceState, agent_id: str, after: str) -> list[str]:
    following = state.canvas_ids[bisect_right(state.canvas_ids, after) :]
    return [canvas_id for canvas_id in following if agent_id in state.canvases[canvas_id].roles]


_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "member_left": Verb(parsed(MemberLeft, member_left), _OWNER),
        _ON: Verb(parsed(RolesEndOn, roles_end_on), _OWNER),
        "roles_of": Verb(parsed(RolesOf, roles_of), frozenset({PrincipalKind.PERSON})),
    }
)
