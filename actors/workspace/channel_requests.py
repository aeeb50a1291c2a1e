"""Invitations to channels that agents ask for (mesh 6): they wait for the person, and change nothing before.

    agent_invite_to_channel -> the directory is asked whether the caller can name the agent -> `invitee_answered`
      -> the call is answered, and the request waits -> the person decides, or what it is about goes

Only who is a member of a channel learns that it exists, and only of agents of its workspace that they do (common 3.3):
so the directory's word comes before anything that the channel's members could tell.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

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
from actors.parsed import DONE, Nothing, parsed, sending_owner
from actors.workspace.channel_book import ChannelRequest, request_row
from actors.workspace.channel_ends import ended
from actors.workspace.channels import joining
from actors.workspace.state import WorkspaceState
from bus.address import DIRECTORY
from bus.identifier import made_id
from bus.limits import channel_requests_max, channel_requests_per_agent_max, reason_characters_max
from bus.value import Record, Value
from tools.agent_channels import AgentInviteToChannelInput
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal, rate_limited, unavailable
from tools.times import rfc3339

_OWN_ID: Final = Refusal(Code.WRONG_STATE, "You are a member of this channel already. Invite another agent.")
_MEMBER: Final = Refusal(Code.WRONG_STATE, "This agent is a member of the channel already, so nothing was asked.")
_UNHEARD: Final = unavailable("The request could not be made. Tell the person if this happens again.")


class InviteeAnswered(Model):
    requestId: Identifier
    isThere: bool


class RequestDecide(Model):
    requestId: Identifier
    decision: Literal["accept", "decline"]
    note: str | None = Field(default=None, min_length=1, max_length=reason_characters_max)


def agent_invite_to_channel(state: WorkspaceState, body: AgentInviteToChannelInput, context: Context) -> Decision:
    """Leaves the call open until the directory has said whether there is such an agent for the caller."""
    caller = context.principal
    if state.living() is None or caller.workspace_id != context.address.id:
        return Decision(NOT_FOUND)
    book = state.book
    if book.channel_of(body.channelId, caller.agent_id) is None:
        return Decision(NOT_FOUND)
    if body.agentId == caller.agent_id:
        return Decision(_OWN_ID)
    same = book.requests_about(channel_id=body.channelId, agent_id=body.agentId, requester_id=caller.agent_id)
    for request_id, request in same:
        return _repeated(request_id, request, context)
    refusal = room_refusal(state, caller.agent_id)
    if refusal is not None:
        return Decision(refusal)
    request_id = made_id(context.call_id, "request")
    made = ChannelRequest(
        requesterId=caller.agent_id,
        agentId=body.agentId,
        channelId=body.channelId,
        note=body.note,
        at=context.now_ms,
        calls=[context.call_id],
    )
    asked: Record = {"requestId": request_id, "requesterId": caller.agent_id, "agentId": body.agentId}
    asked["workspaceId"] = context.address.id
    return Decision(None, (Put(request_row(request_id), made.model_dump()), Send(DIRECTORY, "invitee_named", asked)))


def invitee_answered(state: WorkspaceState, body: InviteeAnswered, context: Context) -> Decision:
    """It may have ended meanwhile, with its channel; then its calls are answered."""
    sending_owner(context, "app")
    request = state.book.requests.get(body.requestId)
    if request is None or request.is_pending:
        return DONE
    if not body.isThere:
        return _answered(body.requestId, request, NOT_FOUND)
    if state.book.channel_of(request.channelId, request.agentId) is not None:
        return _answered(body.requestId, request, _MEMBER)
    pending = request.model_copy(update={"calls": []})
    effects: list[Effect] = [Put(request_row(body.requestId), pending.model_dump())]
    effects += [Answer(call_id, _told(body.requestId)) for call_id in request.calls]
    effects.append(asked_event(body.requestId, request))
    return Decision({}, tuple(effects))


def invitee_died(state: WorkspaceState, message: Message, context: Context) -> Decision:
    """The directory could not decide: whoever waits hears that nothing was asked."""
    body = message.body.get("body")
    request_id = str(body.get("requestId")) if isinstance(body, dict) else ""
    request = state.book.requests.get(request_id)
    return DONE if request is None or request.is_pending else _answered(request_id, request, _UNHEARD)


def channel_requests(state: WorkspaceState, body: Nothing, context: Context) -> Decision:
    """What waits for the person, oldest first; bounded by how many may."""
    if state.living() is None:
        return Decision(NOT_FOUND)
    waiting: list[Value] = [
        {
            "requestId": request_id,
            "requesterId": request.requesterId,
            "agentId": request.agentId,
            "channelId": request.channelId,
            "channelName": state.book.channels[request.channelId].name,
            "note": request.note,
            "at": rfc3339(request.at),
        }
        for request_id, request in state.book.requests_about()
        if request.is_pending
    ]
    return Decision({"requests": waiting})


def request_decide(state: WorkspaceState, body: RequestDecide, context: Context) -> Decision:
    """Accepted, the agent joins and everybody who asked for that is told; a full channel is refused and it waits on."""
    request = state.book.requests.get(body.requestId) if state.living() is not None else None
    if request is None or not request.is_pending:
        return Decision(NOT_FOUND)
    reply: Record = {
        "requestId": body.requestId,
        "agentId": request.agentId,
        "channelId": request.channelId,
        "channelName": state.book.channels[request.channelId].name,
    }
    if body.decision == "decline":
        effects = ended(state.book, body.requestId, "declined", body.note)
        return Decision({**reply, "outcome": "declined"}, tuple(effects))
    joined = joining(state, request.channelId, request.agentId, context, body.note)
    if isinstance(joined, Refusal):
        return Decision(joined)
    return Decision({**reply, "outcome": "joined"}, tuple(joined))


def room_refusal(state: WorkspaceState, requester_id: str) -> Refusal | None:
    """Why the agent can put nothing more before the person now."""
    if state.book.waiting_of(requester_id) >= channel_requests_per_agent_max:
        return rate_limited(
            "As many of your requests wait for the person as may. Wait until some are decided.",
            {"limit": channel_requests_per_agent_max, "limitName": "agent"},
        )
    if state.book.waiting() >= channel_requests_max:
        return rate_limited(
            "As many requests wait for the person in this workspace as may. Try again when some are decided.",
            {"limit": channel_requests_max, "limitName": "workspace"},
        )
    return None


def asked_event(request_id: str, request: ChannelRequest) -> Event:
    data: Record = {
        "requestId": request_id,
        "channelId": request.channelId,
        "agentId": request.agentId,
        "requesterId": request.requesterId,
    }
    return Event("channel.invitation_asked", data)


def channel_shown(state: WorkspaceState, message: Message, context: Context) -> Record:
    """What a card shows of the channel that a call names, and what may not change meanwhile (common 5.3)."""
    channel_id = str(message.body.get("channelId"))
    channel = state.book.channel_of(channel_id, context.principal.agent_id)
    return {} if channel is None else {"channel": channel.name, "channelId": channel_id}


def _repeated(request_id: str, request: ChannelRequest, context: Context) -> Decision:
    """The same request while it waits is the same one."""
    if request.is_pending:
        return Decision(_told(request_id))
    if context.call_id in request.calls:
        return Decision(None)
    joined = request.model_copy(update={"calls": [*request.calls, context.call_id]})
    return Decision(None, (Put(request_row(request_id), joined.model_dump()),))


def _answered(request_id: str, request: ChannelRequest, refusal: Refusal) -> Decision:
    answers = (Answer(call_id, refusal) for call_id in request.calls)
    return Decision({}, (Delete(request_row(request_id)), *answers))


def _told(request_id: str) -> Record:
    return {"requestId": request_id, "state": "pending"}


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_OWNER: Final = frozenset({PrincipalKind.OWNER})
_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "agent_invite_to_channel": Verb(
            parsed(AgentInviteToChannelInput, agent_invite_to_channel), _AGENT, fingerprint=channel_shown
        ),
        "invitee_answered": Verb(parsed(InviteeAnswered, invitee_answered), _OWNER),
        "channel_requests": Verb(parsed(Nothing, channel_requests), _PERSON),
        "request_decide": Verb(parsed(RequestDecide, request_decide), _PERSON),
    }
)
