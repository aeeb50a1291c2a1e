"""Leases: a delivery to a runtime for a while, renewed while it works, offered again when it is lost (mesh 4.4).

Invariants: at most one live lease a thread; a lease that is over acknowledges nothing; a thread that waits again does
so in its old place; after the fifth delivery without an answer the thread ends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import Annotated, Final, Literal

from pydantic import Field

from actors.decision import Context, Decision, PrincipalKind, Verb, VerbTable
from actors.mailbox.changes import Changes
from actors.mailbox.due import is_live, lose_lease, settle_due, withdrawn
from actors.mailbox.ending import Ending, end
from actors.mailbox.envelope import result_size_refusal, task_as_sent
from actors.mailbox.following import following
from actors.mailbox.rows import Lease, Received, Result, Turn
from actors.mailbox.state import MailboxState
from actors.mailbox.thread import EVENT_OF_REPLY, after, thread_closed
from actors.parsed import parsed
from bus.limits import (
    identifier_characters_max,
    lease_bytes_a_call_max,
    lease_ms,
    leases_a_call_max,
    leases_per_mailbox_max,
    note_characters_max,
    reason_characters_max,
    reply_artifacts_max,
)
from bus.value import Record, Value
from tools.base import Identifier, Model, Reason
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments, unavailable
from tools.fence import plain_name
from tools.plain_json import JsonList, JsonObject, encoded_bytes
from tools.redact import redacted
from tools.task import Outcome
from tools.times import rfc3339

DeliveryId = Annotated[str, Field(min_length=1, max_length=identifier_characters_max)]


class MailLease(Model):
    runtimeId: Identifier
    count: int = Field(default=1, ge=1, le=leases_a_call_max)
    bytes: int = Field(default=lease_bytes_a_call_max, ge=1, le=lease_bytes_a_call_max)
    """Of the tasks together, as JSON; the first is given even if it is larger."""


class MailRenew(Model):
    runtimeId: Identifier
    deliveryIds: list[DeliveryId] = Field(max_length=leases_per_mailbox_max)


class OfDelivery(Model):
    """One delivery, and if the caller knows it the runtime that holds it."""

    deliveryId: DeliveryId
    runtimeId: Identifier | None = None


class MailProgress(OfDelivery):
    text: str = Field(max_length=note_characters_max)


class MailFinish(OfDelivery):
    outcome: Literal["completed", "failed", "partial", "rejected"]
    body: str = ""
    artifacts: JsonList = Field(default=[], max_length=reply_artifacts_max)
    usage: JsonObject | None = None
    reason: Reason | None = None


def mail_lease(state: MailboxState, body: MailLease, context: Context) -> Decision:
    """The first tasks that wait, each under a lease of its own. `isMoreDue`: time has ended more than one turn settles,
    so nothing is given; ask again at once."""
    facts = state.facts
    if context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    if facts is None:
        return Decision(unavailable())
    if facts.revoked or not facts.mesh:
        message = "The agent may not take tasks now: the mesh capability is the person's to give."
        return Decision(Refusal(Code.CAPABILITY_MISSING, message))
    changes = Changes(state, context)
    # While more is due than one turn settles, nothing is leased: what comes free may stand before what waits.
    is_more_due = settle_due(changes)
    deliveries: list[Value] = [] if is_more_due or facts.paused else [*_lease_some(changes, body)]
    return changes.decision(
        {
            "deliveries": deliveries,
            "waiting": changes.leasable_count(),
            "isPaused": facts.paused,
            "isMoreDue": is_more_due,
        }
    )


def mail_renew(state: MailboxState, body: MailRenew, context: Context) -> Decision:
    """Also how a runtime hears that a delivery is over: cancelled, expired, taken."""
    if context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    changes = Changes(state, context)
    renewed: list[Value] = []
    lost: list[Value] = []
    for delivery_id in dict.fromkeys(body.deliveryIds):
        held = _held(changes, OfDelivery(deliveryId=delivery_id, runtimeId=body.runtimeId))
        if isinstance(held, Refusal):
            lost.append({"deliveryId": delivery_id, "threadId": _thread_of(delivery_id), **_why_lost(held)})
        else:
            until = _renew(changes, held)
            renewed.append({"deliveryId": delivery_id, "leaseUntil": rfc3339(until)})
    return changes.decision({"renewed": renewed, "lost": lost})


def mail_held(state: MailboxState, body: MailRenew, context: Context) -> Decision:
    """As mail_renew says what is lost, and renews nothing: for whoever asks on behalf of a runtime that may hang."""
    if context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    changes = Changes(state, context)
    held: list[Value] = []
    lost: list[Value] = []
    for delivery_id in dict.fromkeys(body.deliveryIds):
        found = _held(changes, OfDelivery(deliveryId=delivery_id, runtimeId=body.runtimeId))
        if isinstance(found, Refusal):
            lost.append({"deliveryId": delivery_id, "threadId": _thread_of(delivery_id), **_why_lost(found)})
        else:
            held.append(delivery_id)
    return Decision({"held": held, "lost": lost})


def mail_start(state: MailboxState, body: OfDelivery, context: Context) -> Decision:
    """Work begins. Safe to repeat."""
    changes = Changes(state, context)
    held = _held(changes, body)
    if isinstance(held, Refusal):
        return Decision(held)
    until = _renew(changes, held)
    row = changes.open_thread(held)
    if row.state == "delivered":
        row = changes.step(held, "started", isBegun=True)
        if not state.received[held].isBegun:
            changes.tell_originator(held, {"threadId": held, "state": "working"})
        changes.event("thread.started", held, attempt=changes.lease_of(held).attempt)
    return changes.decision({"threadId": held, "state": row.state, "leaseUntil": rfc3339(until)})


def mail_progress(state: MailboxState, body: MailProgress, context: Context) -> Decision:
    """One line into the event log, for the person. It renews too."""
    changes = Changes(state, context)
    held = _held(changes, body)
    if isinstance(held, Refusal):
        return Decision(held)
    until = _renew(changes, held)
    changes.event("thread.progress", held, text=_one_line(body.text))
    return changes.decision({"threadId": held, "leaseUntil": rfc3339(until)})


def mail_release(state: MailboxState, body: OfDelivery, context: Context) -> Decision:
    """Give a delivery back: before work began that uses no attempt; after, it is given up."""
    changes = Changes(state, context)
    held = _held(changes, body)
    if isinstance(held, Refusal):
        return Decision(held)
    row = lose_lease(changes, held, "given_up", uses_attempt=changes.open_thread(held).state == "working")
    return changes.decision({"threadId": held, "state": row.state})


def mail_finish(state: MailboxState, body: MailFinish, context: Context) -> Decision:
    """The end of a delivery. The same said again by the delivery that ended the thread is answered as the first time;
    another end meets the one that won (mesh 4.2)."""
    changes = Changes(state, context)
    ended_before = state.received.get(_thread_of(body.deliveryId))
    is_repeat = ended_before is not None and ended_before.deliveryId == body.deliveryId
    if ended_before is not None and is_repeat and ended_before.finish in (None, _digest(body)) and _may(context):
        return Decision(_finished(_thread_of(body.deliveryId), ended_before))
    held = _held(changes, body)
    refusal = held if isinstance(held, Refusal) else _finish_refusal(body)
    if refusal is not None or isinstance(held, Refusal):
        return Decision(refusal)
    event = "rejected" if body.outcome == "rejected" else EVENT_OF_REPLY[body.outcome]
    following_state = after(changes.open_thread(held).state, event)
    if isinstance(following_state, Refusal):
        return Decision(following_state)
    outcome: Outcome | None = None if body.outcome == "rejected" else body.outcome
    ending = Ending(
        event,
        "mail_finish",
        outcome=outcome,
        reason=body.reason,
        result=None if outcome is None else Result(body=body.body, artifacts=body.artifacts, usage=body.usage),
        delivery_id=body.deliveryId,
        finish=_digest(body),
    )
    return changes.decision(_finished(held, end(changes, held, ending)))


def _digest(body: MailFinish) -> str:
    """What was said, to be known again."""
    said = body.model_dump(include={"outcome", "body", "artifacts", "usage", "reason"})
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _finish_refusal(body: MailFinish) -> Refusal | None:
    if body.outcome == "rejected" and not (body.reason or "").strip():
        return invalid_arguments({"reason": "is required to decline a task"})
    return result_size_refusal(body.model_dump(include={"body", "artifacts", "usage"}))


def _finished(thread_id: str, row: Received) -> Record:
    return {"threadId": thread_id, "state": row.state, "outcome": row.outcome}


def _lease_some(changes: Changes, body: MailLease) -> Iterator[Record]:
    """The first that wait, in their order, that no live lease holds (mesh 4.6)."""
    room = leases_per_mailbox_max - changes.lease_count()
    used = 0
    for given, turn in enumerate(islice(_candidates(changes), min(body.count, max(room, 0)))):
        thread_id = turn[2]
        task = task_as_sent(changes.state.tasks[thread_id])
        used += encoded_bytes(task)
        if given and used > body.bytes:
            return
        yield {**_leased(changes, thread_id, body.runtimeId), "task": task}


def _candidates(changes: Changes) -> Iterator[Turn]:
    for turn in merge([*changes.freed()], changes.state.leasable):
        row = changes.thread(turn[2])
        if row is not None and row.waits and changes.lease(turn[2]) is None and not row.is_overdue(changes.now_ms):
            yield turn


def _leased(changes: Changes, thread_id: str, runtime_id: str) -> Record:
    now_ms, is_first = changes.now_ms, changes.open_thread(thread_id).state == "queued"
    row = changes.step(thread_id, "leased", deliveries=changes.open_thread(thread_id).deliveries + 1)
    lease = Lease(
        deliveryId=f"{thread_id}.{changes.context.new_id(f'delivery {thread_id}')}",
        runtimeId=runtime_id,
        credential=changes.context.principal.credential,
        attempt=row.attempts + 1,
        since=now_ms,
        renewedAt=now_ms,
        until=now_ms + lease_ms,
    )
    changes.leases[thread_id] = lease
    if is_first:
        changes.tell_originator(thread_id, {"threadId": thread_id, "state": row.state})
    changes.event("thread.delivered" if is_first else "thread.redelivered", thread_id, attempt=lease.attempt)
    return {
        "threadId": thread_id,
        "deliveryId": lease.deliveryId,
        "attempt": lease.attempt,
        "leaseUntil": rfc3339(lease.until),
        "from": {"agentId": row.senderId, "name": row.senderName},
        "workspaceId": row.workspaceId,
        "queuedAt": rfc3339(row.queuedAt),
        "chainDepth": row.depth,
    }


def _held(changes: Changes, body: OfDelivery) -> str | Refusal:
    """The thread that this delivery holds, or why it holds none: then nothing changes."""
    thread_id = _thread_of(body.deliveryId)
    row, lease = changes.thread(thread_id), changes.lease(thread_id)
    if not _may(changes.context) or row is None:
        return NOT_FOUND
    if row.has_ended:
        return thread_closed(row.state)
    if row.is_overdue(changes.now_ms):
        return thread_closed("expired")
    is_it = lease is not None and lease.deliveryId == body.deliveryId
    if lease is None or not is_it or not is_live(lease, changes.now_ms) or withdrawn(changes, lease) is not None:
        return _not_held(row)
    if body.runtimeId not in (None, lease.runtimeId):
        return _not_held(row)
    return thread_id


def _may(context: Context) -> bool:
    """A gateway gives back on behalf of a runtime that cannot any more; everything else the agent says itself."""
    return context.principal.kind is PrincipalKind.GATEWAY or context.principal.agent_id == context.address.id


def _renew(changes: Changes, thread_id: str) -> int:
    """The end of the lease, in milliseconds since the epoch."""
    until = changes.now_ms + lease_ms
    renewed = {"renewedAt": changes.now_ms, "until": until, "isGrace": False}
    changes.leases[thread_id] = changes.lease_of(thread_id).model_copy(update=renewed)
    return until


def _one_line(text: str) -> str:
    """Made one line before credentials are replaced: none is hidden by what is left out of a line."""
    return plain_name(redacted(plain_name(text, note_characters_max)), reason_characters_max)


def _not_held(row: Received) -> Refusal:
    message = "This delivery is over: its lease ended or was taken, and the task is offered again. Drop what it began."
    return Refusal(Code.WRONG_STATE, message, details={"state": row.state})


def _why_lost(refusal: Refusal) -> Record:
    reason = "lease_lost" if refusal.code is Code.WRONG_STATE else refusal.code.value
    return {"reason": reason, "state": refusal.details.get("state")}


def _thread_of(delivery_id: str) -> str:
    return delivery_id.partition(".")[0]


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_BACK: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.GATEWAY})

VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "mail_lease": Verb(following(parsed(MailLease, mail_lease)), _AGENT),
        "mail_renew": Verb(following(parsed(MailRenew, mail_renew)), _AGENT),
        "mail_held": Verb(parsed(MailRenew, mail_held), _AGENT),
        "mail_start": Verb(following(parsed(OfDelivery, mail_start)), _AGENT),
        "mail_progress": Verb(following(parsed(MailProgress, mail_progress)), _AGENT),
        "mail_release": Verb(following(parsed(OfDelivery, mail_release)), _BACK),
        "mail_finish": Verb(following(parsed(MailFinish, mail_finish)), _AGENT),
    }
)
