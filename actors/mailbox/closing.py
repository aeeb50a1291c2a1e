"""Ending a thread: the recipient's mailbox decides, exactly once; the originator's mirrors it and is told (mesh 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.decision import Context, Decision, Delete, Effect, Event, PrincipalKind, Put, Send, Verb, VerbTable
from actors.mailbox.envelope import reply_size_refusal
from actors.mailbox.keeping import without_old_ends
from actors.mailbox.state import (
    FACTS_ROW,
    Facts,
    MailboxState,
    Received,
    Result,
    received_row,
    result_row,
    sent_row,
    task_row,
)
from actors.mailbox.stored import reporting_stored
from actors.mailbox.thread import ENDS, EVENT_OF_REPLY, ThreadEvent, after
from actors.mailbox.waiting import reporting_waiting
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.value import Record
from tools.agent import AgentRejectInput, AgentReplyInput, Outcome, ThreadState
from tools.base import Model
from tools.errors import NOT_FOUND, Refusal
from tools.plain_json import encoded_bytes


class ThreadChanged(Model):
    """What the recipient's mailbox tells the originator's."""

    threadId: str
    state: ThreadState
    outcome: Outcome | None = None
    reason: str | None = None
    result: Result | None = None


_EVENT_OF_END: Final[Mapping[ThreadState, str]] = {
    "completed": "thread.completed",
    "failed": "thread.failed",
    "rejected": "thread.rejected",
    "cancelled": "thread.cancelled",
}


def agent_reply(state: MailboxState, body: AgentReplyInput, context: Context) -> Decision:
    refusal = reply_size_refusal(body)
    thread = _own_thread(state, body.threadId, context)
    if thread is None or refusal is not None:
        return Decision(NOT_FOUND if thread is None else refusal)
    ended = after(thread.state, EVENT_OF_REPLY[body.outcome])
    if isinstance(ended, Refusal):
        return Decision(ended)
    result = Result(body=body.body, artifacts=body.artifacts, usage=body.usage)
    news = ThreadChanged(threadId=body.threadId, state=ended, outcome=body.outcome, result=result)
    reply: Record = {"threadId": body.threadId, "state": ended, "outcome": body.outcome}
    return Decision(reply, _end(state, news, "agent_reply", context))


def agent_reject(state: MailboxState, body: AgentRejectInput, context: Context) -> Decision:
    thread = _own_thread(state, body.threadId, context)
    if thread is None:
        return Decision(NOT_FOUND)
    ended = after(thread.state, "rejected")
    if isinstance(ended, Refusal):
        return Decision(ended)
    news = ThreadChanged(threadId=body.threadId, state=ended, reason=body.reason)
    reply: Record = {"threadId": body.threadId, "state": ended}
    return Decision(reply, _end(state, news, "agent_reject", context))


def facts_changed(state: MailboxState, body: Facts, context: Context) -> Decision:
    """New facts from the agent's owner; only the very first come from the directory. A removed agent's open threads are
    cancelled, so that nobody waits for an answer that cannot come."""
    sender = sending_owner(context, "agent", "app")
    if sender not in (address.agent(context.address.id), address.DIRECTORY):
        raise ValueError("only an agent's own owner and the directory tell its facts")
    # Two senders have no order between them: the directory's first facts may come after newer ones.
    if body == state.facts or (sender == address.DIRECTORY and state.facts is not None):
        return DONE
    effects: list[Effect] = [Put(FACTS_ROW, body.model_dump())]
    if body.revoked:
        for _, thread_id in state.arrivals.items:
            effects.extend(_cancelled(state, thread_id, "recipient_removed", context))
    return Decision({}, tuple(effects))


def thread_changed(state: MailboxState, body: ThreadChanged, context: Context) -> Decision:
    """The originator's side: the mirror follows; work begun and ends are news until a reading lists them."""
    sender = sending_owner(context, "mailbox")
    mirror = state.sent.get(body.threadId)
    if mirror is None or mirror.state in ENDS or mirror.state == body.state:
        return DONE
    if sender.id != mirror.recipientId:
        raise ValueError("only the recipient's mailbox changes a thread")
    changed = mirror.model_copy(
        update={
            "state": body.state,
            "outcome": body.outcome,
            "reason": body.reason,
            "changedAt": context.now_ms,
            "bytes": mirror.bytes if body.state not in ENDS else _kept_bytes(body.result),
        }
    )
    changed = changed.model_copy(update={"unseen": changed.is_notice})
    effects: list[Effect] = [Put(sent_row(body.threadId), changed.model_dump())]
    if body.result is not None:
        effects.append(Put(result_row(body.threadId), body.result.model_dump()))
    return Decision({}, tuple(effects))


def _kept_bytes(result: Result | None) -> int:
    return 0 if result is None else encoded_bytes(result.model_dump())


def _own_thread(state: MailboxState, thread_id: str, context: Context) -> Received | None:
    """A thread that was sent to the caller; any other answers like one that never was (common 3.3)."""
    return state.received.get(thread_id) if context.principal.agent_id == context.address.id else None


def _cancelled(state: MailboxState, thread_id: str, event: ThreadEvent, context: Context) -> tuple[Effect, ...]:
    ended = after(state.received[thread_id].state, event)
    assert not isinstance(ended, Refusal)
    reason = "The agent that this task was sent to has been removed."
    return _ended(state, ThreadChanged(threadId=thread_id, state=ended, reason=reason), event, context)


def _end(state: MailboxState, news: ThreadChanged, cause: str, context: Context) -> tuple[Effect, ...]:
    return (*_ended(state, news, cause, context), *without_old_ends(state))


def _ended(state: MailboxState, news: ThreadChanged, cause: str, context: Context) -> tuple[Effect, ...]:
    """The event says by what the thread ended (mesh 4.7)."""
    thread = state.received[news.threadId]
    kept = thread.model_copy(update={"state": news.state, "changedAt": context.now_ms})
    told: Record = {
        "threadId": news.threadId,
        "from": thread.senderId,
        "to": context.address.id,
        "workspaceId": thread.workspaceId,
        "cause": cause,
        "outcome": news.outcome,
    }
    return (
        Put(received_row(news.threadId), kept.model_dump()),
        Delete(task_row(news.threadId)),
        # before_reply: whoever was answered finds the end in the originator's inbox.
        Send(address.mailbox(thread.senderId), "thread_changed", news.model_dump(), before_reply=True),
        Event("thread.partial" if news.outcome == "partial" else _EVENT_OF_END[news.state], told),
    )


_AGENT: Final = frozenset({PrincipalKind.AGENT})
_OWNER: Final = frozenset({PrincipalKind.OWNER})

VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "agent_reply": Verb(reporting_waiting(parsed(AgentReplyInput, agent_reply)), _AGENT),
        "agent_reject": Verb(reporting_waiting(parsed(AgentRejectInput, agent_reject)), _AGENT),
        "facts_changed": Verb(reporting_waiting(parsed(Facts, facts_changed)), _OWNER),
        "thread_changed": Verb(reporting_stored(reporting_waiting(parsed(ThreadChanged, thread_changed))), _OWNER),
    }
)
