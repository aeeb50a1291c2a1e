"""Ending a thread: the recipient's mailbox decides, exactly once; the originator's mirrors it and is told (mesh 4)."""

from __future__ import annotations

from typing import Final

from actors.decision import Context, Decision, Effect, PrincipalKind, Put, Verb, VerbTable
from actors.mailbox.changes import Changes
from actors.mailbox.due import cancel_of_removed, take_withdrawn
from actors.mailbox.ending import Ending, ThreadChanged, end
from actors.mailbox.envelope import result_size_refusal
from actors.mailbox.following import following
from actors.mailbox.rows import Facts, Received, Result, result_row, sent_row
from actors.mailbox.state import MailboxState
from actors.mailbox.stored import reporting_stored
from actors.mailbox.thread import ENDS, EVENT_OF_REPLY, ThreadEvent, after, thread_closed
from actors.parsed import DONE, parsed, sending_owner
from bus import address
from bus.limits import due_a_turn_max
from tools.agent import AgentRejectInput, AgentReplyInput
from tools.base import Model
from tools.errors import NOT_FOUND, Refusal
from tools.plain_json import encoded_bytes


class CredentialEnded(Model):
    credential: str


def agent_reply(state: MailboxState, body: AgentReplyInput, context: Context) -> Decision:
    """It closes the thread whoever has it leased."""
    thread = _own_thread(state, body.threadId, context)
    if thread is None:
        return Decision(NOT_FOUND)
    event = EVENT_OF_REPLY[body.outcome]
    refusal = result_size_refusal(body.model_dump(include={"body", "artifacts", "usage"}))
    refusal = refusal or _end_refusal(thread, event, context)
    if refusal is not None:
        return Decision(refusal)
    changes = Changes(state, context)
    result = Result(body=body.body, artifacts=body.artifacts, usage=body.usage)
    row = end(changes, body.threadId, Ending(event, "agent_reply", outcome=body.outcome, result=result))
    return changes.decision({"threadId": body.threadId, "state": row.state, "outcome": body.outcome})


def agent_reject(state: MailboxState, body: AgentRejectInput, context: Context) -> Decision:
    thread = _own_thread(state, body.threadId, context)
    if thread is None:
        return Decision(NOT_FOUND)
    refusal = _end_refusal(thread, "rejected", context)
    if refusal is not None:
        return Decision(refusal)
    changes = Changes(state, context)
    row = end(changes, body.threadId, Ending("rejected", "agent_reject", reason=body.reason))
    return changes.decision({"threadId": body.threadId, "state": row.state})


def facts_changed(state: MailboxState, body: Facts, context: Context) -> Decision:
    """New facts from the agent's owner; only the very first come from the directory. A removed agent's open threads are
    cancelled, so that nobody waits for an answer that cannot come, and what was leased without the mesh is taken."""
    sender = sending_owner(context, "agent", "app")
    if sender not in (address.agent(context.address.id), address.DIRECTORY):
        raise ValueError("only an agent's own owner and the directory tell its facts")
    # Two senders have no order between them: the directory's first facts may come after newer ones.
    if body == state.facts or (sender == address.DIRECTORY and state.facts is not None):
        return DONE
    changes = Changes(state, context, new_facts=body)
    if body.revoked:
        cancel_of_removed(changes)
    else:
        take_withdrawn(changes, due_a_turn_max)
    return changes.decision()


def credential_ended(state: MailboxState, body: CredentialEnded, context: Context) -> Decision:
    """What was leased by a credential that is revoked or replaced holds no more, and is offered again, a bounded
    number a turn (security 2.10)."""
    if sending_owner(context, "agent").id != context.address.id:
        raise ValueError("only an agent's own owner tells of its credentials")
    changes = Changes(state, context, withdrawals={body.credential: context.now_ms})
    take_withdrawn(changes, due_a_turn_max)
    return changes.decision()


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
            "cause": body.cause,
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


def _end_refusal(thread: Received, event: ThreadEvent, context: Context) -> Refusal | None:
    ended = after(thread.state, event)
    if isinstance(ended, Refusal):
        return ended
    # The timer that ends it may be late.
    return thread_closed("expired") if thread.is_overdue(context.now_ms) else None


VERBS: Final[VerbTable[MailboxState]] = VerbTable(
    {
        "agent_reply": Verb(following(parsed(AgentReplyInput, agent_reply)), frozenset({PrincipalKind.AGENT})),
        "agent_reject": Verb(following(parsed(AgentRejectInput, agent_reject)), frozenset({PrincipalKind.AGENT})),
        "facts_changed": Verb(following(parsed(Facts, facts_changed)), frozenset({PrincipalKind.OWNER})),
        "credential_ended": Verb(
            following(parsed(CredentialEnded, credential_ended)), frozenset({PrincipalKind.OWNER})
        ),
        "thread_changed": Verb(
            reporting_stored(following(parsed(ThreadChanged, thread_changed))), frozenset({PrincipalKind.OWNER})
        ),
    }
)
