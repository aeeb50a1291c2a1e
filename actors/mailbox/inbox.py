"""Reading a mailbox (mesh 1, 4.3, 4.5): what waits, what is open, what became of the tasks sent.

Reading is safe to repeat: it uses up nothing. Its only effects are that tasks listed for the first time become
`delivered`, which their senders are told, and that news listed for the first time no longer counts as waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import merge
from typing import Final

from pydantic import Field

from actors.decision import Context, Decision, Effect, PrincipalKind, Put, Verb, VerbTable
from actors.mailbox.changes import Changes
from actors.mailbox.envelope import AUTHOR, shown_task
from actors.mailbox.following import following
from actors.mailbox.keeping import is_listed, without_old_notices
from actors.mailbox.paging import BadCursor, Page, Places, page_of
from actors.mailbox.request_notices import listed_requests, seen_requests
from actors.mailbox.rows import Received, Turn, sent_row
from actors.mailbox.state import MailboxState
from actors.mailbox.thread import WAITS
from actors.parsed import parsed
from bus.limits import (
    context_ref_shown_bytes_max,
    inbox_deliveries_bytes_max,
    inbox_items_max,
    inbox_notifications_bytes_max,
    inbox_open_threads_bytes_max,
    inbox_requests_bytes_max,
)
from bus.value import Record, Value
from tools.agent import AgentInboxInput
from tools.base import Model
from tools.errors import NOT_FOUND, invalid_arguments
from tools.fence import fenced, fenced_data
from tools.task import EndCause
from tools.times import rfc3339

_LAST: Final = "\U0010ffff"
"""Behind every id."""

_AUTHOR_OF_REASON: Final[Mapping[EndCause, str]] = {
    "person": "the person",
    "deadline": "NEXUS",
    "recipient_removed": "NEXUS",
    "delivery_exhausted": "NEXUS",
}


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
    found = _deliveries(state, places, context.now_ms, is_read=True)
    deliveries = page_of(found, body.limit, inbox_deliveries_bytes_max, _resolved_bytes)
    notices = page_of(_notices(state, places, context.now_ms), body.limit, inbox_notifications_bytes_max)
    open_threads = page_of(_open_threads(state), inbox_items_max, inbox_open_threads_bytes_max)
    asked = listed_requests(state, context.now_ms) if body.cursor is None else iter(())
    requests = page_of(asked, inbox_items_max, inbox_requests_bytes_max)
    following_places = Places(_place_after(deliveries, places), notices.last or places.notice)
    reply: Record = {
        "deliveries": deliveries.items,
        "openThreads": open_threads.items,
        "openThreadsTruncated": open_threads.more,
        "notifications": notices.items,
        "requests": requests.items,
        "waiting": state.waiting,
        "isPaused": state.facts is not None and state.facts.paused,
        "nextCursor": following_places.cursor() if deliveries.more or notices.more else None,
    }
    changes = Changes(state, context)
    _show(changes, deliveries)
    shown = changes.decision(reply)
    seen = (*_seen(state, notices, context.now_ms), *seen_requests(state, requests))
    return Decision(reply, (*shown.effects, *seen))


def mailbox_peek(state: MailboxState, body: MailboxPeek, context: Context) -> Decision:
    """What waits, for the person, who takes nothing by looking."""
    if state.facts is None:
        return Decision(NOT_FOUND)
    found = _deliveries(state, Places(), context.now_ms, is_read=False)
    deliveries = page_of(found, body.limit, inbox_deliveries_bytes_max, _resolved_bytes)
    # What is worked on does not wait, however old it is.
    firsts = [first for waits in WAITS if (first := state.by_state[waits].first()) is not None]
    reply: Record = {
        "name": state.facts.name,
        "deliveries": deliveries.items,
        "queued": len(state.queue),
        "waiting": state.waiting,
        "leased": len(state.leases),
        "leasable": len(state.leasable),
        "deadLetters": len(state.dead_letters),
        "oldestQueuedAt": rfc3339(min(firsts)[0]) if firsts else None,
        "isPaused": state.facts.paused,
        "truncated": deliveries.more,
    }
    return Decision(reply)


def _deliveries(state: MailboxState, places: Places, now_ms: int, *, is_read: bool) -> Iterator[tuple[Turn, Record]]:
    """By priority, then arrival (mesh 4.6), leased or not. A paused agent keeps what it has and is shown no more."""
    is_paused = state.facts is not None and state.facts.paused
    order = state.delivered if is_read and is_paused else state.queue
    for place in order.after((*places.delivery, _LAST)):
        thread_id = place[2]
        if state.received[thread_id].is_overdue(now_ms):
            continue
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
                "attempt": _attempt(state, thread_id, thread),
                "task": shown_task(state.tasks[thread_id]),
            },
        )


def _notices(state: MailboxState, places: Places, now_ms: int) -> Iterator[tuple[tuple[int, str], Record]]:
    """Newest first, each thread's latest state."""
    for place in state.notices.before(places.notice):
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
                "cause": sent.cause,
                "reason": None if sent.reason is None else fenced(_author(sent.cause), sent.reason),
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
    owed = ((changed_ms, thread_id, "recipient") for changed_ms, thread_id in state.owed)
    sent = ((changed_ms, thread_id, "originator") for changed_ms, thread_id in state.opened)
    for changed_ms, thread_id, role in merge(owed, sent):
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


def _attempt(state: MailboxState, thread_id: str, row: Received) -> int:
    """How many deliveries to runtimes there were, one under way included."""
    lease = state.leases.get(thread_id)
    return row.attempts if lease is None else lease.attempt


def _author(cause: EndCause | None) -> str:
    return AUTHOR if cause is None else _AUTHOR_OF_REASON.get(cause, AUTHOR)


def _resolved_bytes(delivery: Record) -> int:
    """What the gateway adds when it reads the context references as the recipient (mesh 3.2)."""
    task = delivery["task"]
    references = task.get("contextRefs") if isinstance(task, dict) else None
    return context_ref_shown_bytes_max * len(references) if isinstance(references, list) else 0


def _show(changes: Changes, deliveries: Page[Turn]) -> None:
    for thread_id in _ids(deliveries.items):
        if changes.open_thread(thread_id).state == "queued":
            row = changes.step(thread_id, "shown")
            changes.tell_originator(thread_id, {"threadId": thread_id, "state": row.state})
            changes.event("thread.delivered", thread_id)


def _seen(state: MailboxState, notices: Page[tuple[int, str]], now_ms: int) -> Iterator[Effect]:
    for thread_id in _ids(notices.items):
        sent = state.sent[thread_id]
        if sent.unseen:
            yield Put(sent_row(thread_id), sent.model_copy(update={"unseen": False}).model_dump())
    yield from without_old_notices(state, now_ms)


def _ids(items: list[Value]) -> Iterator[str]:
    return (str(item["threadId"]) for item in items if isinstance(item, dict))


def _place_after(deliveries: Page[Turn], places: Places) -> tuple[int, int]:
    return places.delivery if deliveries.last is None else deliveries.last[:2]


VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "agent_inbox": Verb(following(parsed(AgentInboxInput, agent_inbox)), frozenset({PrincipalKind.AGENT})),
        "mailbox_peek": Verb(parsed(MailboxPeek, mailbox_peek), frozenset({PrincipalKind.PERSON})),
    }
)
