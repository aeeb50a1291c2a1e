"""From a decision to what the journal stores: rows, events, messages, answers and timers, all encoded.

Encoding comes before anything is applied, so that a value that cannot be stored fails the decision and nothing else.
Timers live beside the owner's rows under names that rules never see: `~timer/NAME` holds when, verb and body, and an
index row by due time lets the host find it (actors/timers.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from actors.admitted import dispatch_body, looked, settlement
from actors.decision import (
    Answer,
    CancelTimer,
    Decision,
    Delete,
    Dispatch,
    Event,
    Notify,
    PrincipalKind,
    Put,
    Rules,
    Send,
    SetTimer,
    TellHosts,
)
from actors.delivery import AdmittedCall, Delivery
from actors.owner import OPEN_ROWS, TIMER_ROWS, Owner
from bus.address import Address, host, projection
from bus.admitted import CALL_ADMITTED
from bus.codec import Unencodable, pack_row
from bus.envelope import Mark, Notice, Parcel, Reply
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


def followers_by_event(roster: Mapping[str, Rules[Any]]) -> Mapping[str, tuple[Address, ...]]:
    """For each type of event, the projections that follow it. A projection is the one owner of its kind."""
    followers: dict[str, tuple[Address, ...]] = {}
    for rules in roster.values():
        for kind in rules.follows:
            followers[kind] = (*followers.get(kind, ()), projection(rules.kind))
    return followers


class CommitBuilder:
    """Builds commits. `followers` are the projections that each type of event is sent to; `mourners` the kinds of owner
    that are told, by `message_died`, when a message of theirs became a dead letter."""

    def __init__(
        self,
        shards: int,
        followers: Mapping[str, tuple[Address, ...]],
        mourners: Collection[str],
    ) -> None:
        self._shards = shards
        self._followers = followers
        self._mourners = mourners

    def build(self, owner: Owner[State], delivery: Delivery, decision: Decision, now_ms: int) -> Commit:
        """Raises Unencodable. Changes nothing."""
        commit = _commit(owner, delivery, now_ms)
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
                case Dispatch(to):
                    body = dispatch_body(effect)
                    commit.outgoing.append(Outgoing(self._shard_of(to), to, CALL_ADMITTED, body, before_reply=False))
                case TellHosts(verb, body):
                    shards = range(self._shards)
                    commit.outgoing += [Outgoing(shard, host(shard), verb, body, before_reply=True) for shard in shards]
                case Notify(topic, data):
                    commit.notices.append(Notice(topic, data))
                case Answer(call_id, reply):
                    self._close(commit, owner, call_id, reply)
                case SetTimer():
                    self._set_timer(commit, owner, effect)
                case CancelTimer(name):
                    _cancel(commit, owner, name)
        if delivery.admitted is not None:
            self._tell_sender(commit, owner, delivery, delivery.admitted, decision)
        elif delivery.is_call:
            _answer_the_call(commit, delivery, decision)
        self._tell_followers(commit)
        _check_outgoing(commit)
        if any(len(key) > store_key_bytes_max for key, _ in commit.rows):
            raise Unencodable("a row's name is too long for a key")
        if commit.has_record:
            commit.record = journal_record(commit)
        return commit

    def burial(self, owner: Owner[State], delivery: Delivery, refusal: Refusal | None, now_ms: int) -> Commit:
        """What nobody could decide is put aside: a parcel as a dead letter, a timer with an event only. `refusal` is
        what whoever waits for an admitted call hears; its sender hears of its death."""
        event = Event("message.dead", {"verb": _verb(delivery), "message": _message_id(delivery)})
        buried = replace(delivery, admitted=None)
        commit = self.build(owner, buried, Decision(None, (event,)), now_ms)
        if delivery.is_settled and refusal is not None:
            _answer(commit, delivery.id, refusal, delivery.keeps_answer)
            commit.answers_added += delivery.keeps_answer
        sender = _sender(delivery)
        if delivery.handled is not None:
            commit.rows.append(_dead_letter(delivery, delivery.handled, owner.address))
            if sender is not None and sender.kind in self._mourners and delivery.message.verb != "message_died":
                body: Record = {"verb": _verb(delivery), "body": _body(delivery)}
                shard = self._shard_of(sender)
                commit.outgoing.append(Outgoing(shard, sender, "message_died", body, before_reply=False))
                _check_outgoing(commit)
        commit.record = journal_record(commit)
        return commit

    def settled_before(self, owner: Owner[State], delivery: Delivery, reply: Reply | None, now_ms: int) -> Commit:
        """For an admitted call that was decided under its id before: its sender is told `reply`, or, when it is None,
        will be told when the call that was left open is answered."""
        commit = _commit(owner, delivery, now_ms)
        assert delivery.admitted is not None
        sender = delivery.admitted.parcel.sender
        if reply is None:
            commit.opened = delivery.id
            commit.rows.append(_open_row(owner.address, delivery.id, sender))
        else:
            commit.replies.append(reply)
            commit.outgoing.append(settlement(self._shard_of(sender), sender, reply))
            _check_outgoing(commit)
        return commit

    def _shard_of(self, address: Address) -> int:
        return address.shard(self._shards)

    def _close(self, commit: Commit, owner: Owner[State], call_id: str, answer: Record | Refusal) -> None:
        """Answer a call that an earlier decision left open; whoever sent it on is told in the same commit."""
        _answer(commit, call_id, answer, is_kept=True)
        sender = owner.left_open.get(call_id)
        if sender is not None:
            commit.outgoing.append(settlement(self._shard_of(sender), sender, reply_of(call_id, answer)))
            commit.rows.append((state_key(owner.address, OPEN_ROWS + call_id), None))

    def _tell_sender(
        self, commit: Commit, owner: Owner[State], delivery: Delivery, admitted: AdmittedCall, decision: Decision
    ) -> None:
        """Of an admitted call: what became of it, or that it was left open, which is remembered until its answer."""
        sender, reply = admitted.parcel.sender, decision.reply
        if delivery.is_look:
            assert isinstance(reply, dict), "a look answers with what would happen"
            commit.outgoing.append(looked(self._shard_of(sender), sender, delivery.id, reply))
        elif reply is None:
            commit.opened = delivery.id
            commit.rows.append(_open_row(owner.address, delivery.id, sender))
            if delivery.keeps_answer:
                commit.rows.append((answer_key(delivery.id), pack_row({"open": True})))
                commit.answers_added += 1
        else:
            _answer(commit, delivery.id, reply, delivery.keeps_answer)
            commit.answers_added += delivery.keeps_answer
            commit.outgoing.append(settlement(self._shard_of(sender), sender, reply_of(delivery.id, reply)))

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


def _commit(owner: Owner[State], delivery: Delivery, now_ms: int) -> Commit:
    return Commit(
        owner=owner.address,
        incarnation=owner.incarnation,
        call_id=delivery.origin_call,
        by=delivery.principal.label(),
        at_ms=now_ms,
        handled=delivery.handled,
        is_privileged=_is_privileged(owner, delivery),
        credential=delivery.principal.credential,
        chain=delivery.principal.chain,
        chain_more=delivery.principal.chain_more,
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


def _open_row(owner: Address, call_id: str, sender: Address) -> Write:
    return state_key(owner, OPEN_ROWS + call_id), pack_row(str(sender))


def _dead_letter(delivery: Delivery, handled: Handled, owner: Address) -> Write:
    letter: Record = {"to": str(owner), "verb": _verb(delivery), "body": _body(delivery)}
    letter |= {"message": _message_id(delivery), "from": str(_sender(delivery)), "call": delivery.origin_call}
    return dead_letter_key(handled.source, handled.mark), pack_row(letter)


# As the parcel came, also when it brought an agent's call.


def _verb(delivery: Delivery) -> str:
    return delivery.message.verb if delivery.admitted is None else delivery.admitted.parcel.verb


def _body(delivery: Delivery) -> Record:
    return delivery.message.body if delivery.admitted is None else delivery.admitted.parcel.body


def _message_id(delivery: Delivery) -> str:
    return delivery.id if delivery.admitted is None else delivery.admitted.parcel.message_id


def _sender(delivery: Delivery) -> Address | None:
    return delivery.principal.owner if delivery.admitted is None else delivery.admitted.parcel.sender
