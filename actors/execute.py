"""The owner's half of a call's journey (the gateway's half: nexus/gateway/call.py). Reads top to bottom.

Envelope in -> already answered? say the same -> the owner decides -> its effects are applied and handed to the journal
-> when they are on disk, replies, messages and events leave. Runs on the pool thread that has the owner's turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, TypeVar

import structlog

from actors import admitted
from actors.cold import ColdRowDamaged
from actors.commits import CommitBuilder, reply_of
from actors.decision import ColdRow, Context, Decision, Delete, Message, PrincipalKind, Put, Verb
from actors.delivery import Delivery, DueTimer
from actors.host_notices import HostNotices
from actors.kept_answers import Open, kept_answer
from actors.owner import Owner
from actors.principal import stale
from bus.clock import Clock
from bus.codec import CorruptRow
from bus.envelope import Reply
from bus.journal import Commit, Journal
from bus.known_calls import KnownCalls
from bus.reserve import Reserve
from bus.store import Store, timer_key
from bus.value import Record
from tools.errors import Code, Refusal

State = TypeVar("State")
_log = structlog.get_logger("execute")


class Desk(Protocol):
    """What execution needs of its host."""

    store: Store
    journal: Journal
    clock: Clock
    commits: CommitBuilder
    known: KnownCalls
    reserve: Reserve
    notices: HostNotices

    @property
    def answers_floor(self) -> str:
        """Calls with this id or an older one are never decided: their answers may be gone."""
        ...

    def next_incarnation(self) -> int: ...

    def reply(self, reply: Reply) -> None:
        """Answer the call now. From any thread."""
        ...

    def reply_again(self, reply: Reply) -> None:
        """Answer a repeat with what is stored, once what the first answer waited for is through. From any thread."""
        ...

    def joined(self, call_id: str) -> None:
        """The call was left open before, and that is on disk: its answer comes by itself. From any thread."""
        ...

    def submitted(self, delivery: Delivery) -> None:
        """The effect of a parcel is with the journal: the next of its stream may be decided. From any thread."""
        ...

    def failed(self, delivery: Delivery, is_defect: bool) -> None:
        """A parcel or timer must come again: deciding it went wrong (a defect), or its effect was not stored.

        From any thread.
        """
        ...


def execute(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    """One message's whole journey. Never raises: what goes wrong is answered, or the parcel comes again."""
    try:
        _execute(owner, delivery, desk)
    except CorruptRow:
        _quarantine(owner, delivery, desk)
    except ColdRowDamaged:
        _log.exception("cold_row_damaged", owner=str(owner.address), verb=delivery.message.verb)
        _refuse_damaged(owner, delivery, desk, _COLD_ROW_DAMAGED)
    except Exception:  # noqa: BLE001 - a defect in one decision must not end the host; it is logged and answered
        _log.exception("decision_failed", owner=str(owner.address), verb=delivery.message.verb)
        _went_wrong(owner, delivery, desk)


def _execute(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    if owner.is_spoiled or (delivery.admitted is not None and _may_be_on_its_way(owner, delivery, desk)):
        desk.journal.flush()
        if owner.is_spoiled:
            owner.forget(desk.next_incarnation())
        if owner.actor_inbox.has_earlier:  # given back just now, and to be decided in its order
            owner.postpone(delivery)
            return
    known = _already_answered(delivery, desk)
    if known is not None:
        _say_again(owner, delivery, desk, known)
        return
    if delivery.gives_up and delivery.timer is None:
        _bury(owner, delivery, desk)
        return
    if owner.is_quarantined:
        _refuse_damaged(owner, delivery, desk, _QUARANTINED)
        return
    if delivery.is_late:
        _refuse(owner, delivery, desk, admitted.TOO_LATE)
        return
    if not _needs_head_only(owner, delivery) and not owner.load_some(desk.store):
        owner.postpone(delivery)  # a large state is loaded in turns, so that no other owner waits for it
        return
    if not _is_prepared(owner, delivery):
        owner.postpone(delivery)
        return
    if delivery.timer is not None:
        timer = owner.timers.get(delivery.timer.name)
        if timer is None or timer.due_ms != delivery.timer.due_ms:
            _drop_old_timer(owner, delivery, delivery.timer, desk)
            return
        delivery = replace(delivery, message=Message(timer.verb, timer.body))
        if delivery.gives_up:  # only now: it may have been set anew since it failed
            _bury(owner, delivery, desk)
            return
    _decide(owner, delivery, desk)


def _needs_head_only(owner: Owner[State], delivery: Delivery) -> bool:
    verb = owner.rules.verbs.get(delivery.message.verb)
    return delivery.timer is None and verb is not None and verb.head_only


def _is_prepared(owner: Owner[State], delivery: Delivery) -> bool:
    """Whether what the verb looks at is there, after one more step towards it."""
    verb = owner.rules.verbs.get(delivery.message.verb)
    if delivery.timer is not None or verb is None or verb.prepare is None:
        return True
    assert owner.state is not None
    return verb.prepare(owner.state)


def _may_be_on_its_way(owner: Owner[State], delivery: Delivery, desk: Desk) -> bool:
    """Whether a call of an admitted call's id may have been decided and not be on disk yet. For calls that come by a
    link their host sees to that (actors/callers.py)."""
    return owner.has_uncommitted and desk.known.may_be_known(delivery.id)


def _already_answered(delivery: Delivery, desk: Desk) -> Reply | Open | None:
    """The three states of a call id: running (open), answered, or too old to know. A look has no state, and an admitted
    call is never too old: its stream brings it once in effect."""
    if delivery.is_look or (delivery.admitted is None and not delivery.is_call):
        return None
    return kept_answer(delivery.id, desk, heeds_floor=delivery.admitted is None)


def _say_again(owner: Owner[State], delivery: Delivery, desk: Desk, known: Reply | Open) -> None:
    """A repeat joins an open call or hears the first answer; of an admitted one its sender is told that."""
    reply = known if isinstance(known, Reply) else None
    if delivery.admitted is None:
        if reply is None:
            desk.joined(delivery.id)
        else:
            desk.reply_again(reply)
        return
    if reply is None:
        owner.load(desk.store, head_only=False)
        owner.left_open[delivery.id] = delivery.admitted.parcel.sender
    _hand_in(owner, delivery, desk, desk.commits.settled_before(owner, delivery, reply, desk.clock.now_ms()))


def _refuse(owner: Owner[State], delivery: Delivery, desk: Desk, refusal: Refusal) -> None:
    """Answer without deciding: nothing happened. An admitted call is settled with that, or the look at it answered."""
    if delivery.admitted is None:
        answer = admitted.refused(delivery, refusal).reply
        assert answer is not None
        desk.reply(reply_of(delivery.id, answer))
        return
    decision = admitted.refused(delivery, refusal)
    _hand_in(owner, delivery, desk, desk.commits.build(owner, delivery, decision, desk.clock.now_ms()))


def _decide(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    principal = delivery.principal
    if principal.kind is PrincipalKind.AGENT and desk.notices.is_narrowed(principal.agent_id, principal.version):
        if delivery.admitted is None:
            desk.reply(stale(delivery.id))
        else:
            _refuse(owner, delivery, desk, admitted.NARROWED)
        return
    verb = _permitted_verb(owner, delivery)
    state = owner.load(desk.store, verb.head_only)
    handled = delivery.handled
    source = None if handled is None else (handled.source, handled.mark.sequence)
    cold = _cold_rows(owner, verb, delivery, desk)
    settings = desk.notices.settings
    context = Context(desk.clock.now_ms(), principal, delivery.id, owner.address, source, settings, cold)
    if delivery.is_look or delivery.admitted is not None:
        decision = admitted.decide(verb, state, delivery, context)
    else:
        decision = verb.decide(state, delivery.message, context)
    if not owner.is_whole and (decision.effects or (delivery.is_settled and decision.reply is None)):
        owner.load(desk.store, head_only=False)
    _submit(owner, delivery, desk, decision)


def _cold_rows(owner: Owner[State], verb: Verb[State], delivery: Delivery, desk: Desk) -> tuple[ColdRow, ...]:
    """What the verb's decision reads beside the state. Raises ColdRowDamaged."""
    wanted = None if verb.cold_rows is None else verb.cold_rows(delivery.message)
    return () if wanted is None else owner.cold_rows(desk.store, wanted)


def _permitted_verb(owner: Owner[State], delivery: Delivery) -> Verb[State]:
    verb = owner.rules.verbs[delivery.message.verb]
    if delivery.principal.kind not in verb.callers:
        raise PermissionError(f"{delivery.principal.kind} may not send {delivery.message.verb}")
    return verb


def _submit(owner: Owner[State], delivery: Delivery, desk: Desk, decision: Decision) -> None:
    """Encode everything, then apply, then hand to the journal: a bad value fails before anything changed."""
    commit = desk.commits.build(owner, delivery, decision, desk.clock.now_ms())
    if not commit.writes_anything and not owner.has_uncommitted:
        if owner.is_spoiled:  # the writer gave back what this read saw, after the look at the top: in this order
            _execute(owner, delivery, desk)
            return
        for reply in commit.replies:
            desk.reply(reply)
        return
    if desk.reserve.refuses(commit):  # before it is applied, so that nothing is decided on top of it
        desk.reply(reply_of(delivery.id, _STORAGE_FULL))
        return
    if delivery.is_settled and desk.reserve.is_closed and not isinstance(decision.reply, Refusal):
        _refuse(owner, delivery, desk, _STORAGE_FULL)  # an agent's call too; what it leaves is that it was refused
        return
    _apply(owner, delivery, desk, decision)
    _hand_in(owner, delivery, desk, commit)


def _apply(owner: Owner[State], delivery: Delivery, desk: Desk, decision: Decision) -> None:
    """What raises here spoils the owner (`_went_wrong`), since a half applied state must not be used. The flag is never
    lowered here: the writer may have raised it a moment ago."""
    for effect in decision.effects:
        if isinstance(effect, Put | Delete):
            owner.apply(desk.store, effect)
    owner.change_timers(delivery, decision)
    owner.change_open(delivery, decision)


def _hand_in(owner: Owner[State], delivery: Delivery, desk: Desk, commit: Commit) -> None:
    commit.released = _settles(owner)
    commit.failed = _gives_back(owner, delivery, desk, is_read=not commit.writes_anything)
    commit.timer = delivery.timer
    owner.submitted += 1
    if commit.opened is not None:
        desk.known.note(commit.opened)
    for reply in commit.replies:
        desk.known.note(reply.call_id)
    desk.journal.submit(commit)
    if delivery.handled is not None:
        desk.submitted(delivery)


def _bury(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    """What nobody could decide is put aside, so that what waits behind it goes on. The owner is not loaded."""
    refusal = (
        Refusal(Code.INTERNAL, _MISTAKE, details=_incident(owner, delivery, desk)) if delivery.is_settled else None
    )
    commit = desk.commits.burial(owner, delivery, refusal, desk.clock.now_ms())
    _hand_in(owner, delivery, desk, commit)


def _drop_old_timer(owner: Owner[State], delivery: Delivery, timer: DueTimer, desk: Desk) -> None:
    """It was set anew or cancelled meanwhile: only its index row is left."""
    commit = Commit(owner.address, owner.incarnation, delivery.id, delivery.principal.label(), desk.clock.now_ms())
    commit.is_privileged = True
    commit.rows.append((timer_key(timer.due_ms, owner.address, timer.name), None))
    _hand_in(owner, delivery, desk, commit)


def _settles(owner: Owner[State]) -> Callable[[], None]:
    def released() -> None:
        owner.settled += 1

    return released


def _gives_back(owner: Owner[State], delivery: Delivery, desk: Desk, is_read: bool) -> Callable[[bool], None]:
    """A read is decided again, before all that came after it and so from what is on disk: a full disk refuses writes
    only. So is what the person wanted and only stood on what did not fit (bus/reserve.py)."""
    number = owner.actor_inbox.in_hand

    def failed(is_full: bool) -> None:
        owner.is_spoiled = True
        again = is_read or (delivery.principal.kind is PrincipalKind.PERSON and not is_full)
        if delivery.is_call and again:
            owner.take_again(delivery, number)  # before it counts as settled, so that the owner is never idle between
        owner.settled += 1
        if delivery.is_call and not again:
            desk.reply(reply_of(delivery.id, _STORAGE_FULL if is_full else _NOT_STORED))
        elif not delivery.is_call:
            desk.failed(delivery, is_defect=False)

    return failed


_STORAGE_FULL = Refusal(
    Code.STORAGE_FULL, "The disk that holds NEXUS is full, so nothing was changed. Free some space and call again."
)
_NOT_STORED = Refusal(
    Code.UNAVAILABLE, "The change could not be stored and was not made. Try again in a moment.", retryable=True
)
_MISTAKE = "NEXUS made a mistake and changed nothing. Report the incident to the person who runs NEXUS."


def _went_wrong(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    """Nothing of the decision was submitted. The state is loaded again; the caller hears an incident id only."""
    owner.is_spoiled = True
    if delivery.is_call:
        desk.reply(reply_of(delivery.id, Refusal(Code.INTERNAL, _MISTAKE, details=_incident(owner, delivery, desk))))
    else:
        desk.failed(delivery, is_defect=True)


def _quarantine(owner: Owner[State], delivery: Delivery, desk: Desk) -> None:
    """A stored row fails its checksum: this owner stops until it is loaded anew; everybody else goes on."""
    _log.exception("owner_quarantined", owner=str(owner.address))
    owner.is_quarantined = True
    _refuse_damaged(owner, delivery, desk, _QUARANTINED)


_QUARANTINED: Final = "What is stored of this is damaged, and it is out of use until the person has mended it."
_COLD_ROW_DAMAGED: Final = "A part of what is stored of its past is damaged, so this cannot be read until it is mended."


def _refuse_damaged(owner: Owner[State], delivery: Delivery, desk: Desk, message: str) -> None:
    if delivery.is_call or delivery.admitted is not None:
        details = _incident(owner, delivery, desk)
        _refuse(owner, delivery, desk, Refusal(Code.UNAVAILABLE, message, retryable=True, details=details))
    elif delivery.timer is not None:
        desk.failed(delivery, is_defect=False)  # it rings again, until what is stored is mended
    else:
        _bury(owner, delivery, desk)


def _incident(owner: Owner[State], delivery: Delivery, desk: Desk) -> Record:
    incident = desk.clock.new_id()
    _log.error("incident", incident=incident, owner=str(owner.address), call=delivery.id)
    return {"incidentId": incident}
