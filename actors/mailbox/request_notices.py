"""What became of what an agent asked for: notices listed for 24 hours, as those of threads are (mesh 4.3, 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Verb, VerbTable
from actors.mailbox.following import following
from actors.mailbox.keeping import is_listed, without_old_requests
from actors.mailbox.paging import Page
from actors.mailbox.rows import RequestEnd, RequestNotice, request_row
from actors.mailbox.state import MailboxState
from actors.parsed import DONE, parsed, sending_owner
from bus.limits import reason_characters_max
from bus.value import Record
from tools.fence import fenced
from tools.times import rfc3339

_NOTED_BY: Final = {"joined": "the person", "declined": "the person", "created": "NEXUS", "refused": "NEXUS"}
"""Who wrote the note: what the person decides, the person; what the rules decide, NEXUS."""


def request_ended(state: MailboxState, body: RequestEnd, context: Context) -> Decision:
    """From the owner that had the request. Safe to repeat."""
    sending_owner(context, "app", "workspace")
    if body.requestId in state.requests:
        return DONE
    notice = RequestNotice(**body.model_dump(), endedAt=context.now_ms, unseen=True)
    told: Record = {
        "requestId": body.requestId,
        "agentId": context.address.id,
        "kind": body.kind,
        "outcome": body.outcome,
    }
    effects: tuple[Effect, ...] = (
        *without_old_requests(state, context.now_ms),
        Put(request_row(body.requestId), notice.model_dump()),
        Event("request.ended", told),
    )
    return Decision({}, effects)


def listed_requests(state: MailboxState, now_ms: int) -> Iterator[tuple[str, Record]]:
    """Those that no reading has listed first, then newest first."""
    listed = ((row, id_) for id_, row in state.requests.items() if is_listed(row.endedAt, now_ms))
    for row, id_ in sorted(listed, key=lambda each: (each[0].unseen, each[0].endedAt, each[1]), reverse=True):
        channel: Record | None = None
        if row.channelId is not None:
            channel = {"channelId": row.channelId, "name": row.channelName or ""}
        yield (
            id_,
            {
                "requestId": id_,
                "kind": row.kind,
                "outcome": row.outcome,
                "agentId": row.agentId,
                "channel": channel,
                "code": row.code,
                "note": None if row.note is None else fenced(_NOTED_BY[row.outcome], row.note, reason_characters_max),
                "endedAt": rfc3339(row.endedAt),
                "isNew": row.unseen,
            },
        )


def seen_requests(state: MailboxState, requests: Page[str]) -> Iterator[Effect]:
    for item in requests.items:
        assert isinstance(item, dict)
        row = state.requests[str(item["requestId"])]
        if row.unseen:
            yield Put(request_row(row.requestId), row.model_copy(update={"unseen": False}).model_dump())


VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {"request_ended": Verb(following(parsed(RequestEnd, request_ended)), frozenset({PrincipalKind.OWNER}))}
)
