"""What the person sees of an agent's threads, and what they do to them (mesh 4.2, 4.4)."""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import Annotated, Final

from pydantic import Field

from actors.decision import Context, Decision, Delete, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.mailbox.changes import Changes
from actors.mailbox.due import end_unless_expired, is_live, lose_lease
from actors.mailbox.ending import EXPIRED, Ending, end
from actors.mailbox.envelope import task_as_sent
from actors.mailbox.following import following
from actors.mailbox.rates import full_refusal
from actors.mailbox.rows import Dated, Facts, Lease, Received, Sent, received_row, sent_row, task_row
from actors.mailbox.state import STATES, MailboxState, waits
from actors.mailbox.stored import reporting_stored
from actors.mailbox.thread import after, thread_closed
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.limits import (
    leases_per_mailbox_max,
    note_characters_max,
    page_items_default,
    page_items_max,
    purged_a_call_max,
)
from bus.value import Record, Value
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal
from tools.plain_json import encoded_bytes
from tools.task import ThreadState
from tools.tiers import TierFacts, delivery_refusal
from tools.times import rfc3339

Note = Annotated[str, Field(min_length=1, max_length=note_characters_max)]
_CANCELLED: Final = "The person cancelled this task."


class Place(Model):
    """In the order of all threads: when one was queued, in milliseconds since the epoch, and its id."""

    queuedAt: int = Field(ge=0)
    threadId: str


class ThreadsPage(Model):
    limit: int = Field(default=page_items_default, ge=1, le=page_items_max)
    states: list[ThreadState] | None = None
    """None: any."""
    before: Place | None = None
    """Only threads that were queued before that place. The same place means the same in every mailbox."""


class OfThread(Model):
    threadId: Identifier


class ThreadCancel(OfThread):
    note: Note | None = None


class MailPurge(Model):
    note: Note | None = None


class MailPending(Model):
    idleMs: int = Field(default=0, ge=0)
    limit: int = Field(default=page_items_default, ge=1, le=leases_per_mailbox_max)


class ThreadRequeued(Model):
    """What the recipient's mailbox tells the originator's."""

    threadId: str
    requeuedFrom: str
    recipientName: str
    title: str
    depth: int
    parentThreadId: str | None
    bytes: int


def threads_page(state: MailboxState, body: ThreadsPage, context: Context) -> Decision:
    """Newest first, by when they were queued."""
    if state.facts is None:
        return Decision(NOT_FOUND)
    orders = [state.by_state[wanted] for wanted in dict.fromkeys(body.states or STATES)]
    place = (10**15, "") if body.before is None else (body.before.queuedAt, body.before.threadId)
    found = [*islice(merge(*(order.before(place) for order in orders), reverse=True), body.limit + 1)]
    more = len(found) > body.limit
    threads: list[Value] = [_listed(state, thread_id, context) for _, thread_id in found[: body.limit]]
    return Decision({"threads": threads, "nextBefore": _place(found[body.limit - 1]) if more else None})


def thread_get(state: MailboxState, body: OfThread, context: Context) -> Decision:
    """One side of a thread, or what this mailbox has of it: `received` with the task, `sent` with the result."""
    received, sent = state.received.get(body.threadId), state.sent.get(body.threadId)
    if received is None and sent is None:
        return Decision(NOT_FOUND)
    return Decision(
        {
            "received": None if received is None else _whole(state, body.threadId, received, context),
            "sent": None if sent is None else _mirror(state, body.threadId, sent),
        }
    )


def thread_cancel(state: MailboxState, body: ThreadCancel, context: Context) -> Decision:
    row = state.received.get(body.threadId)
    if row is None:
        return Decision(NOT_FOUND)
    cancelled = after(row.state, "cancelled")
    if isinstance(cancelled, Refusal):
        return Decision(cancelled)
    changes = Changes(state, context)
    row = end_unless_expired(changes, body.threadId, _cancelled(body.note))
    if row.state == "expired":
        return changes.decision(thread_closed(row.state))
    return changes.decision({"threadId": body.threadId, "state": row.state})


def thread_requeue(state: MailboxState, body: OfThread, context: Context) -> Decision:
    """A new thread of an exhausted one's task, so that each thread keeps one end. Repeated, it names the same one.
    Refused for the reasons that a delivery is: nothing is queued in hope (mesh 2.2)."""
    row, facts = state.received.get(body.threadId), state.facts
    if row is None or facts is None:
        return Decision(NOT_FOUND)
    if row.requeuedAs is not None:
        return Decision({"threadId": row.requeuedAs, "requeuedFrom": body.threadId, "state": "queued"})
    if not row.keepsTask:
        return Decision(_not_requeueable(row.state))
    refusal = _redelivery_refusal(row, facts, context) or full_refusal(state, context)
    return Decision(refusal) if refusal is not None else _requeued(state, body.threadId, row, context)


def thread_requeued(state: MailboxState, body: ThreadRequeued, context: Context) -> Decision:
    """The originator's mirror of the new thread."""
    recipient = sending_owner(context, "mailbox")
    if body.threadId in state.sent:
        return DONE
    sent = Sent(
        recipientId=recipient.id,
        recipientName=body.recipientName,
        title=body.title,
        depth=body.depth,
        parentThreadId=body.parentThreadId,
        key=None,
        argumentHash=None,
        state="queued",
        outcome=None,
        reason=None,
        openedAt=context.now_ms,
        changedAt=context.now_ms,
        bytes=body.bytes,
        unseen=False,
        requeuedFrom=body.requeuedFrom,
    )
    return Decision({}, (Put(sent_row(body.threadId), sent.model_dump()),))


def mail_redeliver(state: MailboxState, body: OfThread, context: Context) -> Decision:
    """The lease is taken and the task is offered again, without using an attempt."""
    row, lease = state.received.get(body.threadId), state.leases.get(body.threadId)
    if row is None:
        return Decision(NOT_FOUND)
    if row.has_ended:
        return Decision(thread_closed(row.state))
    changes = Changes(state, context)
    if row.is_overdue(context.now_ms):
        return changes.decision(thread_closed(end(changes, body.threadId, EXPIRED).state))
    if lease is not None:
        row = lose_lease(changes, body.threadId, "redelivered", uses_attempt=False)
    return changes.decision({"threadId": body.threadId, "state": row.state, "wasLeased": lease is not None})


def mail_purge(state: MailboxState, body: MailPurge, context: Context) -> Decision:
    """Cancel what waits and nobody has leased, some at a time: call again while `remaining` is not 0. What has passed
    its deadline expires and is not counted as cancelled."""
    if state.facts is None:
        return Decision(NOT_FOUND)
    changes = Changes(state, context)
    cancelled = 0
    for _, _, thread_id in islice(state.leasable, purged_a_call_max):
        row = end_unless_expired(changes, thread_id, _cancelled(body.note))
        cancelled += row.state == "cancelled"
    return changes.decision(
        {"cancelled": cancelled, "remaining": changes.leasable_count(), "leased": changes.lease_count()}
    )


def mail_pending(state: MailboxState, body: MailPending, context: Context) -> Decision:
    """Leased deliveries that said nothing for as long, the longest silent first."""
    if state.facts is None:
        return Decision(NOT_FOUND)
    idle = sorted(
        (lease.renewedAt, thread_id)
        for thread_id, lease in state.leases.items()
        if context.now_ms - lease.renewedAt >= body.idleMs
    )
    pending: list[Value] = [
        {**_listed(state, thread_id, context), "lease": _lease(state.leases[thread_id], context)}
        for _, thread_id in idle[: body.limit]
    ]
    return Decision({"name": state.facts.name, "pending": pending, "truncated": len(idle) > body.limit})


def _requeued(state: MailboxState, thread_id: str, row: Received, context: Context) -> Decision:
    new_id = context.new_id("requeued")
    is_over = row.is_overdue(context.now_ms)
    task = {key: value for key, value in state.tasks[thread_id].items() if key != "deadline" or not is_over}
    new = row.model_copy(
        update={
            "arrival": state.next_arrival(context.now_ms),
            "state": "queued",
            "queuedAt": context.now_ms,
            "changedAt": context.now_ms,
            "deadline": None if is_over else row.deadline,
            "attempts": 0,
            "deliveries": 0,
            "isBegun": False,
            "outcome": None,
            "cause": None,
            "reason": None,
            "deliveryId": None,
            "keepsTask": False,
            "requeuedFrom": thread_id,
        }
    )
    former = row.model_copy(update={"keepsTask": False, "requeuedAs": new_id})
    parent = task.get("parentThreadId")
    mirror = ThreadRequeued(
        threadId=new_id,
        requeuedFrom=thread_id,
        recipientName="" if state.facts is None else state.facts.name,
        title=row.title,
        depth=row.depth,
        parentThreadId=parent if isinstance(parent, str) else None,
        bytes=encoded_bytes(task),
    )
    about: Record = {"threadId": new_id, "from": row.senderId, "to": context.address.id}
    effects = (
        Put(received_row(thread_id), former.model_dump()),
        Delete(task_row(thread_id)),
        Put(received_row(new_id), new.model_dump()),
        Put(task_row(new_id), task),
        Send(address.mailbox(row.senderId), "thread_requeued", mirror.model_dump(), before_reply=True),
        Event("thread.requeued", {**about, "requeuedFrom": thread_id}),
        Event("thread.queued", {**about, "workspaceId": row.workspaceId, "priority": f"p{row.rank}"}),
    )
    return Decision({"threadId": new_id, "requeuedFrom": thread_id, "state": "queued"}, effects)


def _redelivery_refusal(row: Received, facts: Facts, context: Context) -> Refusal | None:
    """What of the recipient withholds a delivery. The sender was let through when it sent, and now the person asks."""
    sender = TierFacts(row.senderId, row.workspaceId, mesh=True, ran=True, revoked=False)
    return delivery_refusal(sender, facts.for_tiers(context.address.id))


def _cancelled(note: str | None) -> Ending:
    return Ending("cancelled", "person", reason=note or _CANCELLED)


def _listed(state: MailboxState, thread_id: str, context: Context) -> Record:
    row = state.received[thread_id]
    lease = state.leases.get(thread_id)
    return {
        "threadId": thread_id,
        "state": row.state,
        "from": {"agentId": row.senderId, "name": row.senderName},
        "to": {"agentId": context.address.id, "name": "" if state.facts is None else state.facts.name},
        "workspaceId": row.workspaceId,
        "title": row.title,
        "priority": f"p{row.rank}",
        "queuedAt": rfc3339(row.queuedAt),
        "changedAt": rfc3339(row.changedAt),
        "deadline": None if row.deadline is None else rfc3339(row.deadline),
        "attempt": row.attempts if lease is None else lease.attempt,
        "deliveries": row.deliveries,
        "chainDepth": row.depth,
        "outcome": row.outcome,
        "cause": row.cause,
        "reason": row.reason,
        "canRequeue": row.keepsTask,
        "requeuedFrom": row.requeuedFrom,
        "requeuedAs": row.requeuedAs,
    }


def _whole(state: MailboxState, thread_id: str, row: Received, context: Context) -> Record:
    task, lease = state.tasks.get(thread_id), state.leases.get(thread_id)
    return {
        **_listed(state, thread_id, context),
        "chain": [link.model_dump() for link in row.originators],
        "chainMore": row.chainMore,
        "strictest": row.strictest,
        "task": None if task is None else task_as_sent(task),
        "lease": None if lease is None else _lease(lease, context),
    }


def _lease(lease: Lease, context: Context) -> Record:
    return {
        "deliveryId": lease.deliveryId,
        "runtimeId": lease.runtimeId,
        "credential": lease.credential,
        "attempt": lease.attempt,
        "since": rfc3339(lease.since),
        "until": rfc3339(lease.until),
        "idleMs": context.now_ms - lease.renewedAt,
        "isLive": is_live(lease, context.now_ms),
    }


def _mirror(state: MailboxState, thread_id: str, sent: Sent) -> Record:
    result = state.results.get(thread_id)
    return {
        "to": {"agentId": sent.recipientId, "name": sent.recipientName},
        "title": sent.title,
        "state": sent.state,
        "outcome": sent.outcome,
        "cause": sent.cause,
        "reason": sent.reason,
        "openedAt": rfc3339(sent.openedAt),
        "changedAt": rfc3339(sent.changedAt),
        "isSeen": not waits(sent),
        "parentThreadId": sent.parentThreadId,
        "requeuedFrom": sent.requeuedFrom,
        "result": None if result is None else result.model_dump(),
    }


def _place(dated: Dated) -> Record:
    return {"queuedAt": dated[0], "threadId": dated[1]}


def _not_requeueable(state: ThreadState) -> Refusal:
    message = "Only a thread that was given up after its last delivery, and whose task is still kept, can be requeued."
    return Refusal(Code.WRONG_STATE, message, details={"state": state})


_PERSON: Final = frozenset({PrincipalKind.PERSON})
_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "threads_page": Verb(parsed(ThreadsPage, threads_page), _PERSON),
        "thread_get": Verb(parsed(OfThread, thread_get), _PERSON),
        "thread_cancel": Verb(following(parsed(ThreadCancel, thread_cancel)), _PERSON),
        "thread_requeue": Verb(following(parsed(OfThread, thread_requeue)), _PERSON),
        "thread_requeued": Verb(reporting_stored(parsed(ThreadRequeued, thread_requeued)), _OWNER),
        "mail_redeliver": Verb(following(parsed(OfThread, mail_redeliver)), _PERSON),
        "mail_purge": Verb(following(parsed(MailPurge, mail_purge)), _PERSON),
        "mail_pending": Verb(parsed(MailPending, mail_pending), _PERSON),
    }
)
