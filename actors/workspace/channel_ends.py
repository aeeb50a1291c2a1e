"""How a request of an agent ends: its row goes, and whoever asked is told by a notice in its mailbox (mesh 6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from actors.decision import Answer, Delete, Effect, Event, Send
from actors.workspace.channel_book import ChannelBook, ChannelRequest, channel_row, creations_row, request_row
from bus import address
from bus.value import Record
from tools.errors import NOT_FOUND, Refusal

Outcome: TypeAlias = Literal["joined", "declined", "refused"]


def ended(book: ChannelBook, request_id: str, outcome: Outcome, note: str | None = None) -> list[Effect]:
    """`refused`: what it was about is not there any more. One that nobody was answered yet is answered by that."""
    request = book.requests[request_id]
    effects: list[Effect] = [Delete(request_row(request_id))]
    if not request.is_pending:
        return [*effects, *(Answer(call_id, NOT_FOUND) for call_id in request.calls)]
    told: Record = {
        "requestId": request_id,
        "kind": "channel_invite",
        "outcome": outcome,
        "agentId": request.agentId,
        "channelId": request.channelId,
        "channelName": book.channels[request.channelId].name,
    }
    if outcome == "refused":
        told["code"] = NOT_FOUND.code.value
    if note is not None:
        told["note"] = note
    return [*effects, request_notice(request.requesterId, told), _event(request_id, request, outcome)]


def ended_each(
    book: ChannelBook, requests: Iterable[tuple[str, ChannelRequest]], outcome: Outcome, note: str | None = None
) -> list[Effect]:
    return [effect for request_id, _ in requests for effect in ended(book, request_id, outcome, note)]


def cleared(book: ChannelBook) -> list[Effect]:
    """What takes everything about channels away, when their workspace is destroyed."""
    return [
        *ended_each(book, sorted(book.requests.items()), "refused"),
        *(Delete(channel_row(channel_id)) for channel_id in sorted(book.channels)),
        *(Delete(creations_row(agent_id)) for agent_id in sorted(book.creations)),
    ]


def creation_refused(requester_id: str, request_id: str, refusal: Refusal) -> Send:
    """An agent that was asked for could not even be decided on."""
    told: Record = {"requestId": request_id, "kind": "agent_create", "outcome": "refused", "code": refusal.code.value}
    return request_notice(requester_id, told)


def request_notice(requester_id: str, told: Record) -> Send:
    return Send(address.mailbox(requester_id), "request_ended", told)


def _event(request_id: str, request: ChannelRequest, outcome: Outcome) -> Event:
    data: Record = {
        "requestId": request_id,
        "channelId": request.channelId,
        "agentId": request.agentId,
        "requesterId": request.requesterId,
        "outcome": outcome,
    }
    return Event("channel.invitation_ended", data)
