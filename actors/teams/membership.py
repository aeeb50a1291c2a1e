"""Who belongs to a local team.

Whether an agent exists, and for whom, is the directory's to say: an addition waits, as a `pending/<call id>` row, for
`members_told`, or for the news that the question died. The directory sends that and `agent_gone` in one stream, so a
removed agent never stays a member.
"""

from __future__ import annotations

from typing import Final

from actors.decision import (
    Answer,
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    Message,
    PrincipalKind,
    Put,
    Send,
    Verb,
    VerbTable,
)
from actors.parsed import DONE, MessageDied, parsed, sending_owner
from actors.teams.provisioning import provisioned
from actors.teams.state import Pending, Team, TeamsState, pending_row, team_row
from bus import address
from bus.limits import team_members_max
from bus.value import Record
from tools.base import Model
from tools.errors import NOT_FOUND, Code, Refusal, unavailable
from tools.team import CLOUD_MANAGED, NO_TEAM, NOT_A_MEMBER, TeamAddMemberInput, TeamRemoveMemberInput

_FULL: Final = Refusal(
    Code.WRONG_STATE,
    "This team has as many members as a team may have. Take one out first, or use another team.",
    details={"limit": team_members_max},
)
_UNHEARD: Final = unavailable("The team could not be changed. Tell the person if this happens again.")


class MembersTold(Model):
    callId: str
    agentIds: list[str]
    """Of those that were asked about, the ones that exist for whoever asks."""


class AgentGone(Model):
    agentId: str


def team_add_member(state: TeamsState, body: TeamAddMemberInput, context: Context) -> Decision:
    """An agent may add those that it can name, which are in its workspace (common 3.3); the person any."""
    team = _changeable(state, body.teamId)
    if isinstance(team, Refusal):
        return Decision(team)
    if body.agentId not in team.members and len(team.members) >= team_members_max:
        return Decision(_FULL)
    is_person = context.principal.kind is PrincipalKind.PERSON
    asked: Record = {
        "callId": context.call_id,
        "agentIds": [body.agentId],
        "workspaceId": None if is_person else context.principal.workspace_id,
    }
    waiting = Pending(teamId=body.teamId, agentId=body.agentId)
    effects = (
        Put(pending_row(context.call_id), waiting.model_dump()),
        Send(address.DIRECTORY, "members_asked", asked),
    )
    return Decision(None, effects)


def members_told(state: TeamsState, body: MembersTold, context: Context) -> Decision:
    sending_owner(context, "app")
    waiting = state.pending.get(body.callId)
    if waiting is None:
        return DONE
    if waiting.teams is not None:
        reply, effects = provisioned(state, waiting.teams, frozenset(body.agentIds), context)
    else:
        reply, effects = _added(state, str(waiting.teamId), str(waiting.agentId), body)
    return Decision({}, (Delete(pending_row(body.callId)), *effects, Answer(body.callId, reply)))


def team_remove_member(state: TeamsState, body: TeamRemoveMemberInput, context: Context) -> Decision:
    team = _changeable(state, body.teamId)
    if isinstance(team, Refusal):
        return Decision(team)
    if body.agentId not in team.members:
        return Decision(NOT_A_MEMBER)
    left = _without(team, body.agentId)
    effects = (
        Put(team_row(body.teamId), left.model_dump()),
        Event("team.member_removed", {"teamId": body.teamId, "agentId": body.agentId}),
    )
    return Decision(_reply(body.teamId, left, body.agentId, changed=True), effects)


def agent_gone(state: TeamsState, body: AgentGone, context: Context) -> Decision:
    """The person removed the agent: no team has it any more, of whatever origin."""
    sending_owner(context, "app")
    effects: list[Effect] = []
    for team_id, team in sorted(state.teams.items()):
        if body.agentId in team.members:
            effects.append(Put(team_row(team_id), _without(team, body.agentId).model_dump()))
            effects.append(Event("team.member_removed", {"teamId": team_id, "agentId": body.agentId}))
    return Decision({}, tuple(effects))


def message_died(state: TeamsState, body: MessageDied, context: Context) -> Decision:
    """The directory could not say who exists: nothing changes, and whoever waits hears that."""
    call_id = body.waiting_call("members_asked")
    if call_id is None or call_id not in state.pending:
        return DONE
    return Decision({}, (Delete(pending_row(call_id)), Answer(call_id, _UNHEARD)))


def shown_of(state: TeamsState, message: Message, context: Context) -> Record:
    """What a card shows of the team, and what may not change until the call runs (common 5.3)."""
    team_id = str(message.body.get("teamId"))
    team = state.teams.get(team_id)
    return {} if team is None else {"team": team.name, "teamId": team_id}


def _added(
    state: TeamsState, team_id: str, agent_id: str, told: MembersTold
) -> tuple[Record | Refusal, tuple[Effect, ...]]:
    """Judged anew: the team may have changed meanwhile."""
    team = _changeable(state, team_id)
    if isinstance(team, Refusal):
        return team, ()
    if agent_id not in told.agentIds:
        return NOT_FOUND, ()
    if agent_id in team.members:
        return _reply(team_id, team, agent_id, changed=False), ()
    if len(team.members) >= team_members_max:
        return _FULL, ()
    grown = team.model_copy(update={"members": [*team.members, agent_id]})
    effects = (
        Put(team_row(team_id), grown.model_dump()),
        Event("team.member_added", {"teamId": team_id, "agentId": agent_id}),
    )
    return _reply(team_id, grown, agent_id, changed=True), effects


def _changeable(state: TeamsState, team_id: str) -> Team | Refusal:
    team = state.teams.get(team_id)
    if team is None:
        return NO_TEAM
    return CLOUD_MANAGED if team.origin == "cloud" else team


def _without(team: Team, agent_id: str) -> Team:
    return team.model_copy(update={"members": [one for one in team.members if one != agent_id]})


def _reply(team_id: str, team: Team, agent_id: str, *, changed: bool) -> Record:
    return {"teamId": team_id, "agentId": agent_id, "memberCount": len(team.members), "changed": changed}


_CHANGERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})
_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[TeamsState]] = VerbTable(
    {
        "team_add_member": Verb(parsed(TeamAddMemberInput, team_add_member), _CHANGERS, fingerprint=shown_of),
        "team_remove_member": Verb(parsed(TeamRemoveMemberInput, team_remove_member), _CHANGERS, fingerprint=shown_of),
        "members_told": Verb(parsed(MembersTold, members_told), _OWNER),
        "agent_gone": Verb(parsed(AgentGone, agent_gone), _OWNER),
        "message_died": Verb(parsed(MessageDied, message_died), _OWNER),
    }
)
