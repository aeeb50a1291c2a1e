"""A shard host: the owners of one shard, in memory and on disk, and their links to everybody else.

Invariants:
- The loop thread alone delivers to owners, keeps the table of owners, waiting callers and streams, and sends. It
  decides nothing itself but admissions with a call riding on them, of owners that are idle: those are short (0007).
- A call id is given to its owner once until its answer, or that it was left open, is on disk (actors/callers.py).
- A reply whose decision sent messages marked `before_reply` waits, bounded, until their receivers have committed.
- An owner is dropped from memory only on the loop thread, when it is idle: then nothing can be on its way to it.

Threads: the loop's; pool threads that run owners' turns; the journal's writer. What the latter two have to say comes in
through `_from_thread`, which wakes the loop once for many.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from actors import admitted
from actors.callers import Callers, Waiter
from actors.commits import CommitBuilder, followers_by_event, reply_of
from actors.decision import Message, Principal, PrincipalKind, Rules
from actors.delivery import Delivery, DueTimer
from actors.execute import execute
from actors.host_notices import HostNotices
from actors.inbound import Inbound
from actors.inspect import Inspector
from actors.kept_answers import kept_answer
from actors.listening import Listening
from actors.nobody import NOBODY
from actors.onward import Admitting
from actors.outbound import Outbox
from actors.owner import Executor, Owner
from actors.principal import StaleStamp, principal_of, stale
from actors.replies import DEFECT, Replies
from actors.timers import Timers
from actors.upkeep import Upkeep
from bus.address import HOST, Address
from bus.address import host as host_address
from bus.admitted import CALL_ADMITTED, STAMP_DISPATCHED, STAMP_LOOK
from bus.clock import Clock
from bus.codec import CorruptRow, unpack_row
from bus.envelope import Acknowledgement, Call, Envelope, LinkClass, Listen, Mark, Parcel, Reply
from bus.journal import Commit, GroupWriter, Handled, Journal
from bus.known_calls import KnownCalls
from bus.limits import inspection_wait_ms_max, owner_idle_ms, owner_sweep_ms
from bus.link import Peer
from bus.parcels import mark_from
from bus.reserve import ReserveState
from bus.store import Store, mark_key
from bus.wire import Scheduler
from tools.errors import Code, Refusal

_log = structlog.get_logger("host")


@dataclass(frozen=True, slots=True)
class Place:
    """Which shard this is, and of how many."""

    shard: int
    shards: int


class Host:
    """Assembled by the composition root: `attach` gives it the journal and the way to send."""

    def __init__(
        self,
        place: Place,
        roster: Mapping[str, Rules[Any]],
        *,
        store: Store,
        clock: Clock,
        scheduler: Scheduler,
        executor: Executor,
        beside: Executor,
        backups: Path | None = None,
    ) -> None:
        """`beside` runs what takes long and is no owner's turn; `backups` is the folder that copies go to."""
        self.place = place
        self.store = store
        self.clock = clock
        self._roster = roster
        self._scheduler = scheduler
        self._executor = executor
        self._incarnations = itertools.count(1)
        self._owners: dict[Address, Owner[Any]] = {}
        self.callers = Callers()
        self.replies = Replies(place.shard, place.shards, self.callers, self._take_call)
        self._inbound: dict[int, Inbound] = {}
        self._sources: dict[int, Peer] = {}
        self._from_threads: deque[Callable[[], None]] = deque()
        self._wake_is_due = False
        self.known = KnownCalls(store)
        mourners = {kind for kind, rules in roster.items() if "message_died" in rules.verbs}
        self.commits = CommitBuilder(place.shards, followers_by_event(roster), mourners)
        self.notices = HostNotices(place.shard, store, clock)
        self.timers = Timers(store, clock, scheduler, self._give_timer)
        self.outbox = Outbox(
            place.shard, store, scheduler, self.replies.leave, self._take_parcel, self.next_incarnation
        )
        self.inspector = Inspector(place.shard, store, self._live, self._counts)
        self.upkeep = Upkeep(
            (place.shard, place.shards),
            roster,
            store=store,
            clock=clock,
            scheduler=scheduler,
            beside=beside,
            from_thread=self._from_thread,
            next_incarnation=self.next_incarnation,
            counts=self._counts,
            backups=backups,
        )

    def attach(self, journal: Journal, writer: GroupWriter, send: Callable[[Peer, Envelope], None]) -> None:
        """Begin: take up again the messages and timers that were not handled when the shard last ended."""
        self.journal = journal
        self._retention, self.reserve = writer.retention, writer.reserve
        self._send = send
        self.replies.attach(send)
        self.listening = Listening(send)
        self.outbox.attach(journal)
        self.upkeep.attach(journal)
        self.outbox.resume_local()
        self.timers.start()
        self._scheduler.call_later(owner_sweep_ms / 1000, self._sweep)

    # What arrives, on the loop thread.

    def received(self, peer: Peer, envelope: Envelope) -> None:
        """An envelope from a link whose other end has proved its class. Never raises: more may stand in its frame."""
        try:
            self._receive(peer, envelope)
        except Exception:  # noqa: BLE001 - a defect with one envelope must not take those behind it along
            _log.exception("envelope_failed", kind=type(envelope).__name__, link=peer.link_class.value)
            if isinstance(envelope, Call):
                self.replies.leave(Reply(envelope.call_id, None, DEFECT))

    def _receive(self, peer: Peer, envelope: Envelope) -> None:
        match envelope:
            case Call():
                self._call(peer, envelope)
            case Parcel() if peer.link_class is LinkClass.SHARD and peer.name == str(envelope.source):
                self._sources[envelope.source] = peer
                self._take_parcel(envelope)
            case Listen() if peer.link_class is LinkClass.GATEWAY:
                self.listening.heard(peer, envelope)
            case _:
                _log.warning("envelope_ignored", kind=type(envelope).__name__, link=peer.link_class.value)

    def _call(self, peer: Peer, call: Call) -> None:
        stamp = call.stamp
        if stamp is not None and stamp.get(STAMP_DISPATCHED) is True and peer.link_class is LinkClass.GATEWAY:
            self._join(peer, call)
        else:
            self._take_call(peer, peer if call.onward is None else Admitting(peer, call), call)

    def _take_call(self, peer: Peer, waiter: Waiter, call: Call) -> None:
        if not self.callers.called(waiter, call.call_id, call.deadline_ms):
            return
        stamp, now_ms = call.stamp, self.clock.now_ms()
        try:
            principal = principal_of(peer, stamp, now_ms, self.notices)
        except StaleStamp:
            self.replies.leave(stale(call.call_id))
            return
        except PermissionError:
            self.replies.leave(reply_of(call.call_id, _NO_SUCH_CALL))
            return
        if call.to.kind == HOST:
            self._inspect(call, principal)
            return
        delivery = Delivery(
            Message(call.verb, call.body),
            principal,
            call.call_id,
            call.call_id,
            is_call=True,
            is_late=call.deadline_ms < now_ms,
            is_look=stamp is not None and stamp.get(STAMP_LOOK) is True,
            keeps_answer=stamp is not None and stamp.get("keep") is True,
        )
        self._deliver(call.to, delivery, is_brief=call.onward is not None)

    def _join(self, peer: Peer, call: Call) -> None:
        """Wait for a call that a parcel brings: its answer comes when it is decided, or is on disk already."""
        if self.callers.joined(peer, call.call_id, call.deadline_ms):
            known = kept_answer(call.call_id, self)
            if isinstance(known, Reply):
                self.reply_again(known)

    def _inspect(self, call: Call, principal: Principal) -> None:
        if principal.kind is not PrincipalKind.PERSON:
            self.replies.leave(reply_of(call.call_id, _NO_SUCH_CALL))
            return
        asked = self.upkeep if self.upkeep.takes(call.verb) else self.inspector
        asked.ask(call, lambda answer: self.replies.leave(reply_of(call.call_id, answer)))
        if self.inspector.is_listening(call.call_id):
            wait_ms = min(call.deadline_ms - self.clock.now_ms(), inspection_wait_ms_max)
            self._scheduler.call_later(wait_ms / 1000, lambda: self.inspector.stop_listening(call.call_id))

    def _take_parcel(self, parcel: Parcel) -> None:
        self.notices.heard(parcel)
        inbound = self._inbound.get(parcel.source)
        if inbound is None:
            inbound = Inbound(parcel.source, self._durable_mark(parcel.source), self._scheduler, self._give)
            self._inbound[parcel.source] = inbound
        if not inbound.receive(parcel) and inbound.durable is not None:
            self._acknowledge(parcel.source, inbound.durable)

    def _durable_mark(self, source: int) -> Mark | None:
        stored = self.store.get(mark_key(source))
        if stored is None:
            return None
        try:
            return mark_from(unpack_row(stored))
        except CorruptRow:
            _log.critical("mark_unreadable", source=source)
            if source == self.place.shard:
                return None  # a message to this shard leaves the outbox with its effect: what is there was not handled
            raise  # from another shard nothing can be taken: what was handled is not known

    def _give(self, parcel: Parcel, handled: Handled, gives_up: bool) -> None:
        if parcel.verb == CALL_ADMITTED:
            delivery = admitted.delivery_of(parcel, handled, gives_up, self.answers_floor)
            if delivery is not None:
                if delivery.is_settled:
                    self.callers.given(delivery.id)
                self._deliver(parcel.to, delivery)
                return
        principal = Principal(PrincipalKind.OWNER, owner=parcel.sender)
        message = Message(parcel.verb, parcel.body)
        delivery = Delivery(
            message, principal, parcel.message_id, parcel.origin_call, handled=handled, gives_up=gives_up
        )
        self._deliver(parcel.to, delivery)

    def _give_timer(self, owner: Address, name: str, due_ms: int, gives_up: bool) -> None:
        message_id = f"timer:{owner}:{name}:{due_ms}"
        principal = Principal(PrincipalKind.TIMER, owner=owner)
        timer = DueTimer(name, due_ms)
        message = Message(f"timer {name}", {})
        self._deliver(owner, Delivery(message, principal, message_id, message_id, timer=timer, gives_up=gives_up))

    def _deliver(self, to: Address, delivery: Delivery, is_brief: bool = False) -> None:
        owner = self._owners.get(to)
        if owner is None:
            rules = self._roster.get(to.kind, NOBODY)
            owner = Owner(to, rules, self.next_incarnation(), self._executor, self._execute)
            self._owners[to] = owner
        owner.last_used_ms = self.clock.now_ms()
        self.upkeep.activity.delivered(to)
        if not (is_brief and self._is_handled_now(owner, delivery)):
            owner.actor_ref.tell(delivery)

    def _is_handled_now(self, owner: Owner[Any], delivery: Delivery) -> bool:
        """Decided on this thread; what it says to the host is heard at the end, without a wake."""
        self._wake_is_due = True
        try:
            return owner.handle_now(delivery)
        finally:
            self.hear_threads()

    def _execute(self, owner: Owner[Any], delivery: Delivery) -> None:
        execute(owner, delivery, self)

    # What execution and the journal say, from any thread (actors/execute.py, Desk).

    def next_incarnation(self) -> int:
        return next(self._incarnations)

    def reply(self, reply: Reply) -> None:
        self._from_thread(lambda: self.replies.leave(reply))

    def reply_again(self, reply: Reply) -> None:
        """By way of the journal: of what is on disk and not released yet nobody knows what its answer waits for."""

        def is_released(*_: object) -> None:
            self._from_thread(lambda: self.outbox.leave_again(reply))

        me, incarnation = host_address(self.place.shard), self.next_incarnation()
        self.journal.submit(Commit(me, incarnation, "", "", 0, released=is_released, failed=is_released))

    @property
    def answers_floor(self) -> str:
        return self._retention.floor

    def joined(self, call_id: str) -> None:
        self._from_thread(lambda: self.callers.left_open(call_id))

    def submitted(self, delivery: Delivery) -> None:
        handled = delivery.handled
        if handled is not None:
            self._from_thread(lambda: self._inbound[handled.source].submitted(handled))

    def failed(self, delivery: Delivery, is_defect: bool) -> None:
        self._from_thread(lambda: self._failed(delivery, is_defect))

    def _failed(self, delivery: Delivery, is_defect: bool) -> None:
        if delivery.handled is not None:
            inbound = self._inbound[delivery.handled.source]
            (inbound.undecided if is_defect else inbound.not_stored)(delivery.handled)
        elif delivery.timer is not None and delivery.principal.owner is not None:
            timer = delivery.timer
            self.timers.failed(delivery.principal.owner, timer.name, timer.due_ms, is_defect)

    def group_stored(self, commits: Sequence[Commit]) -> None:
        """Called by the journal's writer for each durable group."""
        self._from_thread(lambda: self._release(commits))

    def _from_thread(self, what: Callable[[], None]) -> None:
        self._from_threads.append(what)
        if not self._wake_is_due:
            self._wake_is_due = True
            self._scheduler.call_soon_threadsafe(self.hear_threads)

    def hear_threads(self) -> None:
        self._wake_is_due = False
        try:
            while self._from_threads:
                self._from_threads.popleft()()
        finally:
            if self._from_threads:  # a defect in one must not leave the others unheard
                self._scheduler.call_soon(self.hear_threads)

    # What leaves, on the loop thread.

    def _release(self, commits: Sequence[Commit]) -> None:
        """After a group is on disk: replies, messages, acknowledgements and events leave, in that order a commit."""
        self.upkeep.activity.stored(commits)
        marks: dict[int, Mark] = {}
        for commit in commits:
            try:
                self._release_one(commit)
            except Exception:  # noqa: BLE001 - what others of the group wait for must leave all the same
                _log.exception("release_failed", owner=str(commit.owner), call=commit.call_id)
            if commit.handled is not None:
                marks[commit.handled.source] = commit.handled.mark
        for source, mark in marks.items():
            self._acknowledge(source, mark)
        if any(commit.events for commit in commits):
            self.inspector.something_happened()

    def _release_one(self, commit: Commit) -> None:
        if commit.handled is not None:
            self._inbound[commit.handled.source].stored(commit.handled)
        if commit.opened is not None:
            self.callers.left_open(commit.opened)
        if commit.timer is not None:
            self.timers.settled(commit.owner, commit.timer.name, commit.timer.due_ms)
        if commit.timer_due_ms is not None:
            self.timers.set_for(commit.timer_due_ms)
        self.outbox.leave(commit)
        self.listening.tell(commit.notices)

    def _acknowledge(self, source: int, mark: Mark) -> None:
        if source == self.place.shard:
            self.outbox.acknowledged(source, mark)
        elif (peer := self._sources.get(source)) is not None:
            self._send(peer, Acknowledgement(self.place.shard, mark))

    # Housekeeping.

    def _sweep(self) -> None:
        """Passivate owners that nobody used for a while, and forget open calls that nobody waits for any more."""
        now_ms = self.clock.now_ms()
        self.callers.forget(now_ms)
        self.listening.forget_gone()
        oldest = now_ms - owner_idle_ms
        for address in [a for a, owner in self._owners.items() if owner.last_used_ms < oldest and owner.is_idle]:
            self._owners.pop(address).let_go()
        if self.reserve.state is not ReserveState.HELD:  # the writer looks whether it can be, before each group
            self.journal.submit(Commit(host_address(self.place.shard), self.next_incarnation(), "", "", now_ms))
        self._scheduler.call_later(owner_sweep_ms / 1000, self._sweep)

    def _live(self, address: Address) -> bool:
        return address in self._owners

    def _counts(self) -> dict[str, int]:
        return {
            "liveOwners": len(self._owners),
            "waitingCalls": len(self.callers),
            "undeliveredMessages": self.outbox.size,
            "reserveHeld": self.reserve.state is not ReserveState.SPENT,
        }


_NO_SUCH_CALL = Refusal(Code.INTERNAL, "Nothing here takes this call from that side.")
