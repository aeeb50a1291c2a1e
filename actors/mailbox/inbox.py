"""Reading a mailbox (mesh 1, 4.3, 4.5): what waits, what is open, what became of the tasks sent.

Reading is safe to repeat: it uses up nothing. Its only effects are that tasks listed for the first time become
`delivered`, which their senders are told, and that news listed for the first time no longer counts as waiting.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from heapq import merge
from typing import Final

from pydantic import Field

from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.mailbox.envelope import AUTHOR, shown_task
from actors.mailbox.keeping import is_listed, without_old_notices
from actors.mailbox.paging import BadCursor, Page, Places, page_of
from actors.mailbox.state import MailboxState, Received, received_row, sent_row
from actors.mailbox.thread import after
from actors.mailbox.waiting import reporting_waiting
from actors.parsed import parsed
from bus import address
from bus.limits import (
    inbox_deliveries_bytes_max,
    inbox_items_max,
    inbox_notifications_bytes_max,
    inbox_open_threads_bytes_max,
)
from bus.value import Record, Value
from tools.agent import AgentInboxInput
from tools.base import Model
from tools.errors import NOT_FOUND, Refusal, invalid_arguments
from tools.fence import fenced, fenced_data
from tools.times import rfc3339


class MailboxPeek(Model):
    limit: int = Field(ge=1, le=inbox_items_max)


def agent_inbox(state: MailboxState, body: AgentInboxInput, context: Context) -> Decision:
    if context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    try:
        places = Places.parse(body.cursor)
    except BadCursor:
        return Decision(invalid_arguments({"cursor": "is not a nextCursor of agent_inbox"}))
    # What this reading shows has been delivered by it, so that the first reading and the next say the same.
    deliveries = page_of(_deliveries(state, places, is_read=True), body.limit, inbox_deliveries_bytes_max)
    notices = page_of(_notices(state, places, context.now_ms), body.limit, inbox_notifications_bytes_max)
    open_threads = page_of(_open_threads(state), inbox_items_max, inbox_open_threads_bytes_max)
    following = Places(_place_after(deliveries, places), notices.last or places.notice)
    reply: Record = {
        "deliveries": deliveries.items,
        "openThreads": open_threads.items,
        "openThreadsTruncated": open_threads.more,
        "notifications": notices.items,
        "waiting": state.waiting,
        "nextCursor": following.cursor() if deliveries.more or notices.more else None,
    }
    return Decision(reply, (*_shown(state, deliveries, context), *_seen(state, notices, context.now_ms)))


def mailbox_peek(state: MailboxState, body: MailboxPeek, context: Context) -> Decision:
    """What waits, for the person, who takes nothing by looking."""
    if state.facts is None:
        return Decision(NOT_FOUND)
    deliveries = page_of(_deliveries(state, Places(), is_read=False), body.limit, inbox_deliveries_bytes_max)
    reply: Record = {
        "name": state.facts.name,
        "deliveries": deliveries.items,
        "queued": len(state.queue.items),
        "waiting": state.waiting,
        "truncated": deliveries.more,
    }
    return Decision(reply)


def _deliveries(state: MailboxState, places: Places, *, is_read: bool) -> Iterator[tuple[tuple[int, int, str], Record]]:
    """By priority, then arrival (mesh 4.6)."""
    items = state.queue.items
    start = bisect_right(items, (*places.delivery, "\U0010ffff"))
    for place in items[start:]:
        thread_id = place[2]
        thread = state.received[thread_id]
        yield (
            place,
            {
                "threadId": thread_id,
                "from": {"agentId": thread.senderId, "name": thread.senderName},
                "workspaceId": thread.workspaceId,
                "state": "delivered" if is_read else thread.state,
                "queuedAt": rfc3339(thread.queuedAt),
                "chainDepth": thread.depth,
                "task": shown_task(state.tasks[thread_id]),
            },
        )


def _notices(state: MailboxState, places: Places, now_ms: int) -> Iterator[tuple[tuple[int, str], Record]]:
    """Newest first, each thread's latest state."""
    items = state.notices.items
    for place in reversed(items[: bisect_left(items, places.notice)]):
        changed_ms, thread_id = place
        if not is_listed(changed_ms, now_ms):
            return
        sent = state.sent[thread_id]
        yield (
            place,
            {
                "threadId": thread_id,
                "peer": {"agentId": sent.recipientId, "name": sent.recipientName},
                "title": sent.title,
                "state": sent.state,
                "outcome": sent.outcome,
                "reason": None if sent.reason is None else fenced(AUTHOR, sent.reason),
                "result": _result(state, thread_id),
                "changedAt": rfc3339(changed_ms),
                "isNew": sent.unseen,
            },
        )


def _result(state: MailboxState, thread_id: str) -> Record | None:
    result = state.results.get(thread_id)
    if result is None:
        return None
    plain = result.model_dump()
    return {
        "body": fenced(AUTHOR, result.body),
        "artifacts": fenced_data(AUTHOR, plain["artifacts"]) if result.artifacts else None,
        "usage": None if result.usage is None else fenced_data(AUTHOR, plain["usage"]),
    }


def _open_threads(state: MailboxState) -> Iterator[tuple[str, Record]]:
    """In short and oldest change first: tasks the agent was shown and owes an answer, and tasks it sent."""
    received = ((state.received[thread_id], thread_id) for _, thread_id in state.arrivals.items)
    owed = ((thread.changedAt, thread_id, "recipient") for thread, thread_id in received if thread.state != "queued")
    sent = ((changed_ms, thread_id, "originator") for changed_ms, thread_id in state.opened.items)
    for changed_ms, thread_id, role in merge(sorted(owed), sent):
        row = state.received[thread_id] if role == "recipient" else state.sent[thread_id]
        peer = (row.senderId, row.senderName) if isinstance(row, Received) else (row.recipientId, row.recipientName)
        yield (
            thread_id,
            {
                "threadId": thread_id,
                "role": role,
                "peer": {"agentId": peer[0], "name": peer[1]},
                "title": row.title,
                "state": row.state,
                "changedAt": rfc3339(changed_ms),
            },
        )


def _shown(state: MailboxState, deliveries: Page[tuple[int, int, str]], context: Context) -> Iterator[Effect]:
    for thread_id in _thread_ids(deliveries.items):
        thread = state.received[thread_id]
        if thread.state != "queued":
            continue
        delivered = after(thread.state, "shown")
        assert not isinstance(delivered, Refusal)
        row = thread.model_copy(update={"state": delivered, "changedAt": context.now_ms})
        yield Put(received_row(thread_id), row.model_dump())
        yield Send(address.mailbox(thread.senderId), "thread_changed", {"threadId": thread_id, "state": delivered})
        yield Event("thread.delivered", {"threadId": thread_id, "from": thread.senderId, "to": context.address.id})


def _seen(state: MailboxState, notices: Page[tuple[int, str]], now_ms: int) -> Iterator[Effect]:
    for thread_id in _thread_ids(notices.items):
        sent = state.sent[thread_id]
        if sent.unseen:
            yield Put(sent_row(thread_id), sent.model_copy(update={"unseen": False}).model_dump())
    yield from without_old_notices(state, now_ms)


def _thread_ids(items: list[Value]) -> Iterator[str]:
    return (str(item["threadId"]) for item in items if isinstance(item, dict))


def _place_after(deliveries: Page[tuple[int, int, str]], places: Places) -> tuple[int, int]:
    return places.delivery if deliveries.last is None else deliveries.last[:2]


VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "agent_inbox": Verb(reporting_waiting(parsed(AgentInboxInput, agent_inbox)), frozenset({PrincipalKind.AGENT})),
        "mailbox_peek": Verb(parsed(MailboxPeek, mailbox_peek), frozenset({PrincipalKind.PERSON})),
    }
)
