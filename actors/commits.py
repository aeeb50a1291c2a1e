"""From a decision to what the journal stores: rows, events, messages, answers and timers, all encoded.

Encoding comes before anything is applied, so that a value that cannot be stored fails the decision and nothing else.
Timers live beside the owner's rows under names that rules never see: `~timer/NAME` holds when, verb and body, and an
index row by due time lets the host find it (actors/timers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from actors.decision import Answer, CancelTimer, Decision, Delete, Event, PrincipalKind, Put, Send, SetTimer
from actors.delivery import Delivery
from actors.owner import TIMER_ROWS, Owner
from bus.address import Address
from bus.codec import Unencodable, pack_row
from bus.envelope import Mark, Parcel, Reply
from bus.journal import Commit, Handled, Outgoing, journal_record
from bus.limits import store_key_bytes_max
from bus.parcels import parcel_row
from bus.store import Write, answer_key, dead_letter_key, state_key, timer_key
from bus.value import Record
from tools.errors import Refusal

State = TypeVar("State")
_LONGEST_ID = "0" * 64
"""Stands for the message id, which the writer gives."""


def reply_of(call_id: str, answer: Record | Refusal) -> Reply:
    """What leaves for a call that was answered."""
    if isinstance(answer, Refusal):
        return Reply(call_id, None, answer.to_record())
    return Reply(call_id, answer, None)


class CommitBuilder:
    """Builds commits. `followers` are the projections that each type of event is sent to; `mourners` the kinds of owner
    that are told, by `message_died`, when a message of theirs became a dead letter."""

    def __init__(
        self,
        shard_of: Callable[[Address], int],
        followers: Mapping[str, tuple[Address, ...]],
        mourners: Collection[str],
    ) -> None:
        self._shard_of = shard_of
        self._followers = followers
        self._mourners = mourners

    def build(self, owner: Owner[State], delivery: Delivery, decision: Decision, now_ms: int) -> Commit:
        """Raises Unencodable. Changes nothing."""
        commit = Commit(
            owner=owner.address,
            incarnation=owner.incarnation,
            call_id=delivery.origin_call,
            by=delivery.principal.label(),
            at_ms=now_ms,
            handled=delivery.handled,
            is_privileged=_is_privileged(owner, delivery),
        )
        if delivery.timer is not None:
            commit.rows += timer_rows(owner.address, delivery.timer.name, delivery.timer.due_ms)
        for effect in decision.effects:
            match effect:
                case Put(row, value):
                    packed = pack_row(value, owner.rules.record_version)
                    commit.rows.append((state_key(owner.address, row), packed))
                case Delete(row):
                    commit.rows.append((state_key(owner.address, row), None))
                case Event(kind, data):
                    commit.events.append((kind, data))
                case Send(to, verb, body, before_reply):
                    commit.outgoing.append(Outgoing(self._shard_of(to), to, verb, body, before_reply))
                case Answer(call_id, reply):
                    _answer(commit, call_id, reply, is_kept=True)
                case SetTimer():
                    self._set_timer(commit, owner, effect)
                case CancelTimer(name):
                    _cancel(commit, owner, name)
        if delivery.is_call:
            _answer_the_call(commit, delivery, decision)
        self._tell_followers(commit)
        _check_outgoing(commit)
        if any(len(key) > store_key_bytes_max for key, _ in commit.rows):
            raise Unencodable("a row's name is too long for a key")
        if commit.has_record:
            commit.record = journal_record(commit)
        return commit

    def burial(self, owner: Owner[State], delivery: Delivery, now_ms: int) -> Commit:
        """What nobody could decide is put aside: a parcel as a dead letter, a timer with an event only."""
        event = Event("message.dead", {"verb": delivery.message.verb, "message": delivery.id})
        commit = self.build(owner, delivery, Decision(None, (event,)), now_ms)
        sender = delivery.principal.owner
        if delivery.handled is not None:
            commit.rows.append(_dead_letter(delivery, delivery.handled, owner.address))
            if sender is not None and sender.kind in self._mourners and delivery.message.verb != "message_died":
                body: Record = {"verb": delivery.message.verb, "body": delivery.message.body}
                shard = self._shard_of(sender)
                commit.outgoing.append(Outgoing(shard, sender, "message_died", body, before_reply=False))
                _check_outgoing(commit)
        commit.record = journal_record(commit)
        return commit

    def _set_timer(self, commit: Commit, owner: Owner[State], timer: SetTimer) -> None:
        _cancel(commit, owner, timer.name)
        row: Record = {"due": timer.due_ms, "verb": timer.verb, "body": timer.body}
        commit.rows.append((state_key(owner.address, TIMER_ROWS + timer.name), pack_row(row)))
        commit.rows.append((timer_key(timer.due_ms, owner.address, timer.name), pack_row(None)))
        earliest = commit.timer_due_ms
        commit.timer_due_ms = timer.due_ms if earliest is None else min(earliest, timer.due_ms)

    def _tell_followers(self, commit: Commit) -> None:
        """In the same commit, so that a projection misses nothing and hears nothing that was undone."""
        wanted: dict[Address, list[tuple[str, Record]]] = {}
        for kind, data in commit.events:
            for follower in self._followers.get(kind, ()):
                wanted.setdefault(follower, []).append((kind, data))
        for follower, events in wanted.items():
            body: Record = {
                "owner": str(commit.owner),
                "by": commit.by,
                "at": commit.at_ms,
                "events": [{"type": kind, "data": data} for kind, data in events],
            }
            commit.outgoing.append(
                Outgoing(self._shard_of(follower), follower, "events_happened", body, before_reply=False)
            )


def _is_privileged(owner: Owner[State], delivery: Delivery) -> bool:
    """See bus/reserve.py."""
    if not delivery.is_call or delivery.principal.kind is PrincipalKind.PERSON:
        return True
    verb = owner.rules.verbs.get(delivery.message.verb)
    return verb is not None and verb.writes_on_full_disk


def _check_outgoing(commit: Commit) -> None:
    """Raises Unencodable for a message whose row the writer could not encode: there it would end the host."""
    for out in commit.outgoing:
        parcel = Parcel(0, Mark(0, 0), out.sender or commit.owner, out.to, out.verb, out.body, _LONGEST_ID, _LONGEST_ID)
        pack_row(parcel_row(parcel))


def timer_rows(owner: Address, name: str, due_ms: int) -> list[Write]:
    """What to remove when a timer is over."""
    return [(timer_key(due_ms, owner, name), None), (state_key(owner, TIMER_ROWS + name), None)]


def _cancel(commit: Commit, owner: Owner[State], name: str) -> None:
    present = owner.timers.get(name)
    if present is not None:
        commit.rows += timer_rows(owner.address, name, present.due_ms)


def _answer_the_call(commit: Commit, delivery: Delivery, decision: Decision) -> None:
    if decision.reply is None:
        commit.opened = delivery.id
        commit.rows.append((answer_key(delivery.id), pack_row({"open": True})))
        commit.answers_added += 1
    else:
        is_kept = bool(decision.effects) or delivery.keeps_answer
        _answer(commit, delivery.id, decision.reply, is_kept)
        commit.answers_added += is_kept


def _answer(commit: Commit, call_id: str, answer: Record | Refusal, is_kept: bool) -> None:
    """Of calls without a key only answers that had effects are kept; a read may simply be decided again."""
    reply = reply_of(call_id, answer)
    if is_kept:
        kept: Record = {"ok": reply.ok} if reply.ok is not None else {"error": reply.error}
        commit.rows.append((answer_key(call_id), pack_row(kept)))
    commit.replies.append(reply)


def _dead_letter(delivery: Delivery, handled: Handled, owner: Address) -> Write:
    letter: Record = {"to": str(owner), "verb": delivery.message.verb, "body": delivery.message.body}
    letter |= {"message": delivery.id, "from": delivery.principal.label(), "call": delivery.origin_call}
    return dead_letter_key(handled.source, handled.mark), pack_row(letter)
