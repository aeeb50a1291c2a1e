"""Sending a task: from the caller's mailbox to the recipient's and back (docs/decisions/0001).

The caller's mailbox checks what only it knows (size, parent thread, depth of the chain), keeps an `offer` row and
leaves the call open. The recipient's mailbox decides last, by its own facts. Its answer closes the call. Nothing is
ever queued in hope: what cannot be delivered is refused (mesh 2.2).
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

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
from actors.mailbox.envelope import task_bytes, task_size_refusal
from actors.mailbox.following import following
from actors.mailbox.keeping import without_old_notices
from actors.mailbox.originators import stricter
from actors.mailbox.rates import rate_refusal, room_refusal
from actors.mailbox.rows import (
    ChainLink,
    Facts,
    Offer,
    Received,
    Sent,
    offer_row,
    received_row,
    sent_row,
    task_row,
)
from actors.mailbox.state import MailboxState
from actors.mailbox.stored import reporting_stored
from actors.mailbox.thread import ENDS
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.identifier import made_id
from bus.limits import chain_agents_max, chain_depth_max
from bus.value import Record
from tools.agent import AgentTriggerInput
from tools.autonomy import ModeName
from tools.base import Model
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments, unavailable
from tools.task import TaskEnvelope
from tools.tiers import TierFacts, delivery_refusal


class TaskOffered(Model):
    threadId: str
    sender: Facts
    task: TaskEnvelope
    depth: int
    chain: list[ChainLink] = Field(default=[])
    """The agents that led to it, the sender last. Offers of older releases do not tell."""
    chainMore: int = 0
    """How many more led to it than are named."""
    strictest: ModeName = "auto"


class TaskAccepted(Model):
    threadId: str
    recipientName: str


class TaskRefused(Model):
    threadId: str
    refusal: dict[str, object]


def agent_trigger(state: MailboxState, body: AgentTriggerInput, context: Context) -> Decision:
    facts = state.facts
    if context.principal.agent_id != context.address.id:
        return Decision(NOT_FOUND)
    if facts is None:
        return Decision(unavailable())
    key = None if body.idempotencyKey is None else f"{context.principal.workspace_id}/{body.idempotencyKey}"
    argument_hash = None if key is None else _argument_hash(body)
    if key is not None and key in state.keys:
        return _repeated(state, state.keys[key], argument_hash, context)
    depth = _depth(state, body.task, context)
    refusal = task_size_refusal(body.task) or _deadline_refusal(body.task, context)
    refusal = refusal or (depth if isinstance(depth, Refusal) else rate_refusal(state, context))
    if refusal is None:
        refusal = _recipient_refusal(body.agentId, facts.for_tiers(context.address.id))
    if refusal is not None or isinstance(depth, Refusal):
        return Decision(refusal)
    thread_id = made_id(context.call_id, "thread")
    offer = Offer(
        callIds=[context.call_id],
        recipientId=body.agentId,
        title=body.task.title,
        depth=depth,
        parentThreadId=body.task.parentThreadId,
        key=key,
        argumentHash=argument_hash,
        bytes=task_bytes(body.task),
    )
    offered: Record = {
        "threadId": thread_id,
        "sender": facts.model_copy(update={"blocked": []}).model_dump(),
        "task": body.task.model_dump(exclude_defaults=True),
        "depth": depth,
        **_chain(state, body.task, facts, context),
    }
    effects: tuple[Effect, ...] = (
        Put(offer_row(thread_id), offer.model_dump()),
        Send(address.mailbox(body.agentId), "task_offered", offered),
        Event("thread.offered", {"threadId": thread_id, "from": context.address.id, "to": body.agentId}),
        *without_old_notices(state, context.now_ms),
    )
    return Decision(None, effects)


def task_offered(state: MailboxState, body: TaskOffered, context: Context) -> Decision:
    """The recipient's side. Safe to repeat: a thread that is here already is accepted again and not queued twice."""
    sender = sending_owner(context, "mailbox")
    facts = state.facts
    if body.threadId in state.received:
        return Decision({}, (_acceptance(body.threadId, sender, state),))
    refusal = _delivery_refusal(state, body.sender, sender.id, context)
    if refusal is not None or facts is None:
        refusal = refusal or NOT_FOUND
        told: Record = {"threadId": body.threadId, "refusal": refusal.to_record()}
        refused: Record = {
            "threadId": body.threadId,
            "from": sender.id,
            "to": context.address.id,
            "code": refusal.code.value,
        }
        return Decision({}, (Send(sender, "task_refused", told), Event("thread.refused", refused)))
    received = Received(
        senderId=sender.id,
        senderName=body.sender.name,
        workspaceId=body.sender.workspaceId,
        title=body.task.title,
        rank=int(body.task.priority[1]),
        arrival=state.next_arrival(context.now_ms),
        depth=body.depth,
        state="queued",
        queuedAt=context.now_ms,
        changedAt=context.now_ms,
        deadline=body.task.deadline_ms,
        chain=body.chain,
        chainMore=body.chainMore,
        strictest=body.strictest,
    )
    queued: Record = {
        "threadId": body.threadId,
        "from": sender.id,
        "to": context.address.id,
        "workspaceId": received.workspaceId,
        "priority": body.task.priority,
    }
    effects = (
        Put(received_row(body.threadId), received.model_dump()),
        Put(task_row(body.threadId), body.task.model_dump(exclude_defaults=True)),
        _acceptance(body.threadId, sender, state),
        Event("thread.queued", queued),
    )
    return Decision({}, effects)


def task_accepted(state: MailboxState, body: TaskAccepted, context: Context) -> Decision:
    offer = state.offers.get(body.threadId)
    if offer is None or sending_owner(context, "mailbox").id != offer.recipientId:
        return DONE
    sent = Sent(
        recipientId=offer.recipientId,
        recipientName=body.recipientName,
        title=offer.title,
        depth=offer.depth,
        parentThreadId=offer.parentThreadId,
        key=offer.key,
        argumentHash=offer.argumentHash,
        bytes=offer.bytes,
        state="queued",
        outcome=None,
        reason=None,
        openedAt=context.now_ms,
        changedAt=context.now_ms,
        unseen=False,
    )
    effects: list[Effect] = [
        # In this order: the offer's key passes to the sent thread.
        Delete(offer_row(body.threadId)),
        Put(sent_row(body.threadId), sent.model_dump()),
    ]
    effects.extend(Answer(call_id, _queued(body.threadId)) for call_id in offer.callIds)
    return Decision({}, tuple(effects))


def task_refused(state: MailboxState, body: TaskRefused, context: Context) -> Decision:
    offer = state.offers.get(body.threadId)
    if offer is None or sending_owner(context, "mailbox").id != offer.recipientId:
        return DONE
    return _refused(body.threadId, offer, Refusal.from_record(body.model_dump()["refusal"]))


def message_died(state: MailboxState, message: Message, context: Context) -> Decision:
    """An offer that nobody could decide became a dead letter: its sender must not wait for ever (mesh 4.7)."""
    offered = message.body.get("body")
    thread_id = offered.get("threadId") if isinstance(offered, dict) else None
    offer = state.offers.get(thread_id) if isinstance(thread_id, str) else None
    if message.body.get("verb") != "task_offered" or offer is None or not isinstance(thread_id, str):
        return DONE
    return _refused(thread_id, offer, _UNDELIVERABLE)


def _refused(thread_id: str, offer: Offer, refusal: Refusal) -> Decision:
    answers = (Answer(call_id, refusal) for call_id in offer.callIds)
    return Decision({}, (Delete(offer_row(thread_id)), *answers))


_UNDELIVERABLE: Final = Refusal(
    Code.UNAVAILABLE,
    "The task could not be put into the other agent's mailbox and was not sent. Tell the person if this happens again.",
    retryable=True,
)


def _repeated(state: MailboxState, thread_id: str, argument_hash: str | None, context: Context) -> Decision:
    """A call under a key that was used before: the first answer, or the wait for it, or a mismatch (common 8.2)."""
    offer, sent = state.offers.get(thread_id), state.sent.get(thread_id)
    first = offer or sent
    assert first is not None
    if first.argumentHash != argument_hash:
        message = "This idempotency key was used for a different task. Use a new key for a new task."
        return Decision(Refusal(Code.IDEMPOTENCY_MISMATCH, message))
    if offer is None:
        return Decision(_queued(thread_id))
    if context.call_id in offer.callIds:
        return Decision(None)
    joined = offer.model_copy(update={"callIds": [*offer.callIds, context.call_id]})
    return Decision(None, (Put(offer_row(thread_id), joined.model_dump()),))


def _depth(state: MailboxState, task: TaskEnvelope, context: Context) -> int | Refusal:
    """Where in a chain the new thread stands: 1 without a parent (mesh 3.3)."""
    if task.parentThreadId is None:
        return 1
    parent = state.received.get(task.parentThreadId)
    if parent is None:
        return NOT_FOUND
    state_now = "expired" if not parent.has_ended and parent.is_overdue(context.now_ms) else parent.state
    if state_now in ENDS:
        message = "The parent thread has ended, so no task can serve it. Leave parentThreadId out or name an open one."
        return Refusal(Code.THREAD_CLOSED, message, details={"state": state_now})
    if parent.depth >= chain_depth_max:
        message = "The chain of tasks is as deep as it may become. Do this part yourself, or answer what you have."
        return Refusal(Code.WRONG_STATE, message, details={"limit": chain_depth_max})
    return parent.depth + 1


def _deadline_refusal(task: TaskEnvelope, context: Context) -> Refusal | None:
    deadline_ms = task.deadline_ms
    if deadline_ms is None or deadline_ms > context.now_ms:
        return None
    return invalid_arguments({"task.deadline": "must lie ahead of now"})


def _chain(state: MailboxState, task: TaskEnvelope, facts: Facts, context: Context) -> Record:
    """The agents that lead to this task and the strictest of their modes (security 2.24): those of the parent, all of
    them, then those that the sender works for besides, then the sender. So nothing is laundered by leaving the parent
    out, by naming another one, or by working for many."""
    parent = None if task.parentThreadId is None else state.received.get(task.parentThreadId)
    links = [] if parent is None else parent.originators
    room = max(chain_agents_max - len(links) - 1, 0)
    others = state.originators.named(state.received.get, room, frozenset(link.agentId for link in links))
    sender = ChainLink(agentId=context.address.id, name=facts.name)
    strictest = stricter(facts.mode, state.originators.strictest())
    return {
        "chain": [link.model_dump() for link in (*links, *others.links, sender)],
        # The parent may not have been shown yet.
        "chainMore": others.more if parent is None else max(others.more, parent.chainMore),
        "strictest": strictest if parent is None else stricter(strictest, parent.strictest),
    }


def _recipient_refusal(recipient_id: str, caller: TierFacts) -> Refusal | None:
    """What the caller's own mailbox can already say about the recipient."""
    if not address.is_id(recipient_id):
        return NOT_FOUND
    return delivery_refusal(caller, caller) if recipient_id == caller.agent_id else None


def _delivery_refusal(state: MailboxState, caller: Facts, caller_id: str, context: Context) -> Refusal | None:
    facts = state.facts
    if facts is None or not facts.workspaceId or facts.workspaceId != caller.workspaceId:
        return NOT_FOUND  # agents that are nowhere are not together either
    refusal = delivery_refusal(caller.for_tiers(caller_id), facts.for_tiers(context.address.id))
    if refusal is not None:
        return refusal
    return room_refusal(state, caller_id, context)


def _acceptance(thread_id: str, sender: address.Address, state: MailboxState) -> Send:
    name = "" if state.facts is None else state.facts.name
    return Send(sender, "task_accepted", {"threadId": thread_id, "recipientName": name})


def _queued(thread_id: str) -> Record:
    return {"threadId": thread_id, "state": "queued"}


def _argument_hash(body: AgentTriggerInput) -> str:
    arguments = {"agentId": body.agentId, "task": body.task.model_dump()}
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "agent_trigger": Verb(reporting_stored(following(parsed(AgentTriggerInput, agent_trigger))), _AGENT),
        "task_offered": Verb(following(parsed(TaskOffered, task_offered)), _OWNER),
        "task_accepted": Verb(parsed(TaskAccepted, task_accepted), _OWNER),
        "task_refused": Verb(reporting_stored(parsed(TaskRefused, task_refused)), _OWNER),
        "message_died": Verb(reporting_stored(message_died), _OWNER),
    }
)
