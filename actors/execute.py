"""The owner's half of a call's journey (the gateway's half: nexus/gateway/call.py). Reads top to bottom.

Envelope in -> already answered? say the same -> the owner decides -> its effects are applied and handed to the journal
-> when they are on disk, replies, messages and events leave. Runs on the pool thread that has the owner's turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import structlog

from actors.decision import Answer, Context, Decision, Delete, Event, Put, Send, Verb
from actors.delivery import Delivery
from actors.owner import Owner
from bus.address import Address
from bus.clock import Clock
from bus.codec import CorruptRow, pack_row, unpack_row
from bus.envelope import Reply
from bus.journal import Commit, Journal, Outgoing
from bus.store import Store, answer_key, dead_letter_key, state_key
from bus.value import Record
from tools.errors import Code, Refusal

State = TypeVar("State")
_log = structlog.get_logger("execute")


class Desk(Protocol):
    """What execution needs of its host."""

    store: Store
    journal: Journal
    clock: Clock

    def shard_of(self, address: Address) -> int: ...

    def next_incarnation(self) -> int: ...

    def reply(self, reply: Reply) -> None:
        """Answer the call now. From any thread."""
        ...

    def parcel_submitted(self, delivery: Delivery) -> None:
        """The effect of a parcel is with the journal: the next of its stream may be decided. From any thread."""
        ...

    def parcel_failed(self, delivery: Delivery, is_defect: bool) -> None:
        """The parcel must come again: deciding it went wrong (a defect), or its effect was not stored.

        From any thread.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Open:
    """A call that was decided and waits for an `Answer`; a repeat joins it."""


def execute(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    """One message's whole journey. Never raises: what goes wrong is answered, or the parcel comes again."""
    try:
        _execute(owner, delivery, desk)
    except CorruptRow:
        _log.exception("state_corrupt", owner=str(owner.address))
        _went_wrong(owner, delivery, desk)
    except Exception:  # noqa: BLE001 - a defect in one decision must not end the host; it is logged and answered
        _log.exception("decision_failed", owner=str(owner.address), verb=delivery.message.verb)
        _went_wrong(owner, delivery, desk)


def _execute(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    if owner.is_spoiled:
        desk.journal.flush()
        owner.forget(desk.next_incarnation())
    if delivery.gives_up:
        event = Event("message.dead", {"verb": delivery.message.verb, "message": delivery.id})
        _submit(owner, delivery, desk, Decision(None, (event,)), dead_letter=True)
        return
    known = _already_answered(delivery, desk)
    if known is not None:
        if isinstance(known, Reply):
            desk.reply(known)
        return
    verb = _permitted_verb(owner, delivery)
    state = owner.load(desk.store, verb.head_only)
    context = Context(desk.clock.now_ms(), delivery.principal, delivery.id, owner.address)
    decision = verb.decide(state, delivery.message, context)
    if decision.effects and not owner.is_whole:
        owner.load(desk.store, head_only=False)
    _submit(owner, delivery, desk, decision)


def _already_answered(delivery: Delivery, desk: Desk) -> Reply | _Open | None:
    if not delivery.is_call:
        return None
    stored = desk.store.get(answer_key(delivery.id))
    if stored is None:
        return None
    answer = unpack_row(stored)
    assert isinstance(answer, dict)
    if "open" in answer:
        return _Open()
    ok, error = answer.get("ok"), answer.get("error")
    return Reply(delivery.id, ok if isinstance(ok, dict) else None, error if isinstance(error, dict) else None)


def _permitted_verb(owner: Owner[State], delivery: Delivery) -> Verb[State]:
    verb = owner.rules.verbs[delivery.message.verb]
    if delivery.principal.kind not in verb.callers:
        raise PermissionError(f"{delivery.principal.kind} may not send {delivery.message.verb}")
    return verb


def _submit(owner: Owner[State], delivery: Delivery, desk: Desk, decision: Decision, dead_letter: bool = False) -> None:
    """Encode everything, then apply, then hand to the journal: a bad value fails before anything changed."""
    commit = _commit_of(owner, delivery, desk, decision)
    if dead_letter:
        commit.rows.append(_dead_letter(delivery, owner.address))
    if not commit.writes_anything and not owner.has_uncommitted:
        for reply in commit.replies:
            desk.reply(reply)
        return
    rows = [effect for effect in decision.effects if isinstance(effect, (Put, Delete))]
    if rows:
        state = owner.load(desk.store, head_only=False)
        owner.is_spoiled = True  # until every effect is in: a half applied state must not be used
        for effect in rows:
            owner.rules.apply(state, effect)
        owner.is_spoiled = False
    owner.submitted += 1
    desk.journal.submit(commit)
    if delivery.handled is not None:
        desk.parcel_submitted(delivery)


def _commit_of(owner: Owner[State], delivery: Delivery, desk: Desk, decision: Decision) -> Commit:
    commit = Commit(
        owner=owner.address,
        incarnation=owner.incarnation,
        call_id=delivery.origin_call,
        by=delivery.principal.label(),
        at_ms=desk.clock.now_ms(),
        handled=delivery.handled,
        released=_settles(owner),
        failed=_gives_back(owner, delivery, desk),
    )
    for effect in decision.effects:
        match effect:
            case Put(row, value):
                commit.rows.append((state_key(owner.address, row), pack_row(value)))
            case Delete(row):
                commit.rows.append((state_key(owner.address, row), None))
            case Event(kind, data):
                pack_row(data)
                commit.events.append((kind, data))
            case Send(to, verb, body, before_reply):
                pack_row(body)
                commit.outgoing.append(Outgoing(desk.shard_of(to), to, verb, body, before_reply))
            case Answer(call_id, reply):
                _answer(commit, call_id, reply, is_kept=True)
    if delivery.is_call:
        if decision.reply is None:
            commit.rows.append((answer_key(delivery.id), pack_row({"open": True})))
        else:
            _answer(commit, delivery.id, decision.reply, is_kept=bool(decision.effects))
    return commit


def _answer(commit: Commit, call_id: str, answer: Record | Refusal, is_kept: bool) -> None:
    """Only answers of calls that had effects are kept; a read may simply be decided again."""
    reply = reply_of(call_id, answer)
    if is_kept:
        kept: Record = {"ok": reply.ok} if reply.ok is not None else {"error": reply.error}
        commit.rows.append((answer_key(call_id), pack_row(kept)))
    commit.replies.append(reply)


def reply_of(call_id: str, answer: Record | Refusal) -> Reply:
    if isinstance(answer, Refusal):
        return Reply(call_id, None, answer.to_record())
    return Reply(call_id, answer, None)


def _settles(owner: Owner[State]) -> Callable[[], None]:
    def released() -> None:
        owner.settled += 1

    return released


def _gives_back(owner: Owner[State], delivery: Delivery, desk: Desk) -> Callable[[bool], None]:
    def failed(is_full: bool) -> None:
        owner.is_spoiled = True
        owner.settled += 1
        if delivery.is_call:
            desk.reply(reply_of(delivery.id, _STORAGE_FULL if is_full else _NOT_STORED))
        if delivery.handled is not None:
            desk.parcel_failed(delivery, is_defect=False)

    return failed


_STORAGE_FULL = Refusal(
    Code.STORAGE_FULL, "The disk that holds NEXUS is full, so nothing was changed. Free some space and call again."
)
_NOT_STORED = Refusal(
    Code.UNAVAILABLE, "The change could not be stored and was not made. Try again in a moment.", retryable=True
)


def _dead_letter(delivery: Delivery, owner: Address) -> tuple[bytes, bytes]:
    assert delivery.handled is not None
    letter: Record = {"to": str(owner), "verb": delivery.message.verb, "body": delivery.message.body}
    letter |= {"message": delivery.id, "from": delivery.principal.label(), "call": delivery.origin_call}
    return dead_letter_key(delivery.handled.source, delivery.handled.mark), pack_row(letter)


def _went_wrong(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    """Nothing of the decision was submitted. The state is loaded again; the caller hears an incident id only."""
    owner.is_spoiled = True
    if delivery.is_call:
        incident = desk.clock.new_id()
        _log.error("incident", incident=incident, owner=str(owner.address), call=delivery.id)
        message = "NEXUS made a mistake and changed nothing. Report the incident to the person who runs NEXUS."
        desk.reply(reply_of(delivery.id, Refusal(Code.INTERNAL, message, details={"incidentId": incident})))
    if delivery.handled is not None:
        desk.parcel_failed(delivery, is_defect=True)
