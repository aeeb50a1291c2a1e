"""agent_create (mesh 6): what an agent may ask for here, and how often; the directory decides whether it is made.

agent_create -> accepted and noted -> `agent_asked_for` to the directory, which makes it or not, tells the requester
  and says `creation_ended` -> the new agent's join to a channel waits for the person
"""

from __future__ import annotations

from typing import Final

from actors.decision import Context, Decision, Effect, Event, Message, PrincipalKind, Put, Send, Verb, VerbTable
from actors.parsed import DONE, parsed, sending_owner
from actors.workspace.channel_book import ChannelRequest, Creation, Creations, creations_row, request_row
from actors.workspace.channel_ends import creation_refused, request_notice
from actors.workspace.channel_requests import asked_event, channel_shown, room_refusal
from actors.workspace.state import WorkspaceState
from bus.address import DIRECTORY
from bus.identifier import made_id
from bus.limits import agent_creation_rate_ms, agent_creations_max
from bus.value import Record
from tools.agent_channels import AgentCreateInput
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Refusal, rate_limited, unavailable


class CreationEnded(Model):
    requestId: Identifier
    requesterId: Identifier
    agentId: Identifier | None
    """None: it was refused."""


def agent_create(state: WorkspaceState, body: AgentCreateInput, context: Context) -> Decision:
    """What is refused here was not asked for and does not count."""
    caller = context.principal
    if state.living() is None or caller.workspace_id != context.address.id:
        return Decision(NOT_FOUND)
    refusal = None
    if body.channelId is not None:
        refusal = NOT_FOUND if state.book.channel_of(body.channelId, caller.agent_id) is None else None
        refusal = refusal or room_refusal(state, caller.agent_id)
    former = state.book.creations.get(caller.agent_id, Creations(asked=[])).counted(context.now_ms)
    refusal = refusal or _rate_refusal(former, context.now_ms)
    if refusal is not None:
        return Decision(refusal)
    request_id = made_id(context.call_id, "request")
    creation = Creation(requestId=request_id, at=context.now_ms, channelId=body.channelId, isOpen=True)
    asked: Record = {
        "requestId": request_id,
        "requesterId": caller.agent_id,
        "workspaceId": context.address.id,
        **body.model_dump(exclude={"workspaceId"}),
    }
    data: Record = {"requestId": request_id, "workspaceId": context.address.id, "channelId": body.channelId}
    effects = (
        _row(caller.agent_id, [*former, creation]),
        Send(DIRECTORY, "agent_asked_for", asked),
        Event("agent.asked_for", data),
    )
    return Decision({"requestId": request_id, "state": "accepted"}, effects)


def creation_ended(state: WorkspaceState, body: CreationEnded, context: Context) -> Decision:
    """The directory has decided, and told the requester. What is gone with its workspace or requester asks nothing."""
    sending_owner(context, "app")
    creation = _open(state, body.requesterId, body.requestId)
    if creation is None:
        return DONE
    effects: list[Effect] = [_closed(state, body.requesterId, creation)]
    if body.agentId is not None and creation.channelId is not None:
        effects += _asked_to_join(state, body.requesterId, creation.channelId, body.agentId, context)
    return Decision({}, tuple(effects))


def creation_died(state: WorkspaceState, message: Message, context: Context) -> Decision:
    """The directory could not decide it: its requester must not wait for ever."""
    told = message.body.get("body")
    body = told if isinstance(told, dict) else {}
    requester_id, request_id = str(body.get("requesterId")), str(body.get("requestId"))
    creation = _open(state, requester_id, request_id)
    if creation is None:
        return DONE
    refused = creation_refused(requester_id, request_id, unavailable())
    return Decision({}, (_closed(state, requester_id, creation), refused))


def _asked_to_join(
    state: WorkspaceState, requester_id: str, channel_id: str, agent_id: str, context: Context
) -> list[Effect]:
    """A request of its own, in which the new agent's id tells what it belongs to; there was room kept for it."""
    request_id = context.new_id("request")
    if state.book.channel_of(channel_id, requester_id) is None:
        told: Record = {"requestId": request_id, "kind": "channel_invite", "outcome": "refused", "agentId": agent_id}
        return [request_notice(requester_id, {**told, "channelId": channel_id, "code": NOT_FOUND.code.value})]
    request = ChannelRequest(
        requesterId=requester_id, agentId=agent_id, channelId=channel_id, note=None, at=context.now_ms
    )
    return [Put(request_row(request_id), request.model_dump()), asked_event(request_id, request)]


def _open(state: WorkspaceState, requester_id: str, request_id: str) -> Creation | None:
    creations = state.book.creations.get(requester_id)
    every = () if creations is None or state.living() is None else creations.asked
    return next((one for one in every if one.requestId == request_id and one.isOpen), None)


def _closed(state: WorkspaceState, requester_id: str, creation: Creation) -> Put:
    every = state.book.creations[requester_id].asked
    closed = creation.model_copy(update={"isOpen": False})
    return _row(requester_id, [closed if one == creation else one for one in every])


def _row(agent_id: str, asked: list[Creation]) -> Put:
    return Put(creations_row(agent_id), Creations(asked=asked).model_dump())


def _rate_refusal(former: list[Creation], now_ms: int) -> Refusal | None:
    if len(former) < agent_creations_max:
        return None
    frees_at = min(creation.at for creation in former) + agent_creation_rate_ms
    return rate_limited(
        "You have asked for as many agents as you may within an hour. Work with those that there are, or try later.",
        {"limit": agent_creations_max, "retryAfterSeconds": max(1, -((now_ms - frees_at) // 1000))},
    )


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[WorkspaceState]] = VerbTable(
    {
        "agent_create": Verb(parsed(AgentCreateInput, agent_create), _AGENT, fingerprint=channel_shown),
        "creation_ended": Verb(parsed(CreationEnded, creation_ended), _OWNER),
    }
)
