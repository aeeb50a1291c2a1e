"""An owner: a Pykka actor that uses a pool thread only while it has messages.

A thread an actor is untenable (10,000 threads take 83 GB of address space), so this replaces what Pykka's actors do
with their inbox and loop, and nothing else: messages are told through the usual `actor_ref`, handled one at a time by
`on_receive`. Pykka's registry is left out: its list makes every start and stop cost time in the number of actors; the
host's own directory is the only one.

Who may touch what: the host's loop thread tells messages; one thread at a time, the one that runs the turn, has the
state: a thread of the pool, or for one short message the loop's (`handle_now`); the journal's writer thread only raises
`settled` and `is_spoiled`. A blocking ask from one owner to another would deadlock the pool, so there is none: owners
reach each other by messages in their commits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import pykka

from actors.cold import UncommittedCold
from actors.cold import read as read_cold
from actors.decision import Answer, CancelTimer, ColdRow, ColdRows, Decision, Put, RowEffect, Rules, SetTimer
from actors.delivery import Delivery
from actors.inbox import PooledInbox
from bus.address import Address, MalformedAddress
from bus.codec import CorruptRow, unpack_row, unpack_versioned
from bus.limits import load_rows_at_once_max
from bus.store import Store, row_of, rows_beside, state_key, state_prefix
from bus.value import Record, Value

State = TypeVar("State")
MESSAGES_A_TURN_MAX = 64
TIMER_ROWS = "~timer/"
"""Rows of the host about its owner: rules never see them."""
OPEN_ROWS = "~open/"
"""As well, by call id: which owner must be told what becomes of an admitted call that was left open (0009). Beside the
owner's state and not in the answer's row, which goes when the answers' floor rises."""
HEAD = "head"
"""Rows named `head` or `head/...` suffice for verbs that declare `head_only`."""


@dataclass(frozen=True, slots=True)
class StoredTimer:
    """What a timer sends, and when."""

    due_ms: int
    verb: str
    body: Record


class Executor(Protocol):
    """Runs turns; two turns of one owner are never handed in at the same time."""

    def submit(self, turn: Callable[[], None]) -> None: ...


@dataclass(slots=True)
class _Loading(Generic[State]):
    """A state of which some rows are applied: those up to the key `after`."""

    state: State
    timers: dict[str, StoredTimer] = field(default_factory=dict)
    left_open: dict[str, Address] = field(default_factory=dict)
    after: bytes | None = None


class Owner(pykka.Actor, Generic[State]):
    """One owner in memory. `handle` is what executes a delivery (actors/execute.py)."""

    actor_inbox: PooledInbox

    def __init__(
        self,
        address: Address,
        rules: Rules[State],
        incarnation: int,
        executor: Executor,
        handle: Callable[[Owner[State], Delivery], None],
    ) -> None:
        super().__init__()
        self.actor_urn = str(address)
        self.address = address
        self.rules = rules
        self.incarnation = incarnation
        self.state: State | None = None
        self.is_whole = False
        """Whether `state` was loaded with all rows, or with the head's only."""
        self.is_spoiled = False
        """The state is not what is on disk (a commit failed, an effect could not be applied): it must be loaded again,
        once everything that was submitted before is settled."""
        self.is_quarantined = False
        """A stored row is damaged: nothing is decided until the owner is loaded anew."""
        self.timers: dict[str, StoredTimer] = {}
        self.left_open: dict[str, Address] = {}
        """Admitted calls that were left open, and who must be told what becomes of them. Loaded with the whole state.
        """
        self.uncommitted_cold = UncommittedCold()
        self.submitted = 0
        self.settled = 0
        self.last_used_ms = 0
        self._loading: _Loading[State] | None = None
        self._lets_others_run = False
        self._executor = executor
        self._handle = handle
        self._is_scheduled = threading.Lock()
        self.actor_inbox.wake = self._wake

    @staticmethod
    def _create_actor_inbox() -> PooledInbox:
        return PooledInbox()

    @staticmethod
    def _create_future() -> pykka.Future[Any]:
        raise TypeError("owners are told, never asked: an ask between pooled actors can deadlock the pool")

    def _start_actor_loop(self) -> None:
        """Pykka's way to start a thread; here a turn starts with the first message."""

    def on_receive(self, message: Delivery) -> None:
        self._handle(self, message)

    def handle_now(self, delivery: Delivery) -> bool:
        """Take the turn on this thread, the host's loop's, for this one message, if that cannot hold it up: the owner
        is idle, its state is in memory, and nothing of it waits for the disk. Whether it did.

        Handing a message to the pool and its answer back costs more than a short decision does (0007).
        """
        if not self._is_scheduled.acquire(blocking=False):
            return False
        try:
            # Nobody spoils an owner without uncommitted effects, so in this order both hold for the whole turn.
            is_free = not self.has_uncommitted and not self.is_spoiled and self.is_whole and self.actor_inbox.empty()
            if is_free:
                self.actor_ref.tell(delivery)
                self._handle_receive(self.actor_inbox.get().message)
        finally:
            self._end_turn()
        return is_free

    def take_again(self, delivery: Delivery, number: int) -> None:
        """Handle it in its place of the inbox's order: what it saw or changed was given back. Any thread."""
        self.actor_inbox.give_back(delivery, number)

    @property
    def has_uncommitted(self) -> bool:
        return self.submitted != self.settled

    @property
    def is_idle(self) -> bool:
        """No message waits, none is being handled and nothing is on its way to the disk."""
        return self.actor_inbox.empty() and not self._is_scheduled.locked() and not self.has_uncommitted

    def load(self, store: Store, head_only: bool) -> State:
        """The state, from memory or by applying its stored rows. Raises CorruptRow."""
        if self.state is not None and (self.is_whole or head_only):
            return self.state
        if not head_only:
            while not self.load_some(store):
                pass
            assert self.state is not None
            return self.state
        state = self.rules.new_state()
        for key, value in store.scan(state_prefix(self.address) + HEAD.encode()):
            row = row_of(key)
            if row == HEAD or row.startswith(f"{HEAD}/"):
                self.rules.apply(state, Put(row, self._present(row, value)))
        self.state = state
        return state

    def load_some(self, store: Store) -> bool:
        """Apply the next of the stored rows; whether the state is whole now. Raises CorruptRow.

        Between two such steps nothing of this owner is decided, so its rows are the same in all of them.
        """
        if self.is_whole:
            return True
        loading = self._loading or _Loading(self.rules.new_state())
        self._loading = None  # what fails in the middle begins anew
        cold = sorted(state_key(self.address, prefix) for prefix in self.rules.cold)
        rows = rows_beside(store, state_prefix(self.address), cold, loading.after, load_rows_at_once_max)
        for key, value in rows:
            row = row_of(key)
            if row.startswith(TIMER_ROWS):
                loading.timers[row.removeprefix(TIMER_ROWS)] = _timer(unpack_row(value))
            elif row.startswith(OPEN_ROWS):
                loading.left_open[row.removeprefix(OPEN_ROWS)] = _address(unpack_row(value))
            else:
                self.rules.apply(loading.state, Put(row, self._present(row, value)))
        if len(rows) == load_rows_at_once_max:
            loading.after = rows[-1][0]
            self._loading = loading
            return False
        self.state, self.timers, self.left_open, self.is_whole = loading.state, loading.timers, loading.left_open, True
        return True

    def cold_rows(self, store: Store, wanted: ColdRows) -> tuple[ColdRow, ...]:
        """Rows that loading leaves out, with what this owner wrote to them and is not on disk yet. Raises
        ColdRowDamaged."""
        self._settle_cold()
        return read_cold(store, self.address, self.uncommitted_cold, self._present, wanted)

    def apply(self, store: Store, effect: RowEffect) -> None:
        """Change the state by a row that the next commit will write; a cold row is noted only. May raise what the
        rules raise."""
        if self.rules.is_cold(effect.row):
            self._settle_cold()
            self.uncommitted_cold.note(self.submitted + 1, effect)
        else:
            self.rules.apply(self.load(store, head_only=False), effect)

    def _settle_cold(self) -> None:
        settled = self.settled  # first this: a commit that fails spoils the owner before it counts as settled
        if not self.is_spoiled:
            self.uncommitted_cold.settle(settled)

    def postpone(self, delivery: Delivery) -> None:
        """Take the message up again when other owners have had a turn, and after what came back and was told before
        it. Called while it is handled."""
        self.actor_inbox.give_back(delivery, self.actor_inbox.in_hand)
        self._lets_others_run = True

    def _present(self, row: str, stored: bytes) -> Value:
        """The value of a row in its present version."""
        version, value = unpack_versioned(stored)
        if version > self.rules.record_version:
            raise CorruptRow("the row was written by a newer release")
        for older in range(version, self.rules.record_version):
            value = self.rules.upgrades[older](row, value)
        return value

    def change_timers(self, delivery: Delivery, decision: Decision) -> None:
        """What a decision does to the timers in memory, as actors/commits.py stores it."""
        if delivery.timer is not None:
            self.timers.pop(delivery.timer.name, None)
        for effect in decision.effects:
            if isinstance(effect, SetTimer):
                self.timers[effect.name] = StoredTimer(effect.due_ms, effect.verb, effect.body)
            elif isinstance(effect, CancelTimer):
                self.timers.pop(effect.name, None)

    def change_open(self, delivery: Delivery, decision: Decision) -> None:
        """Which admitted calls a decision leaves open or answers, as actors/commits.py stores it."""
        if delivery.admitted is not None and delivery.is_settled and decision.reply is None:
            self.left_open[delivery.id] = delivery.admitted.parcel.sender
        if self.left_open:
            for effect in decision.effects:
                if isinstance(effect, Answer):
                    self.left_open.pop(effect.call_id, None)

    def let_go(self) -> None:
        """Free the state of an owner that was dropped, in turns. Nobody sends it anything any more."""
        if self.state is not None and not self.rules.shed(self.state):
            self._executor.submit(self.let_go)
        else:
            self.state = None  # an actor and its reference are a cycle, which no collection may ever look at

    def forget(self, incarnation: int) -> None:
        """Drop the state and begin a new incarnation; the next message loads what is on disk."""
        self.state = None
        self.is_whole = False
        self.is_spoiled = False
        self.is_quarantined = False
        self.timers = {}
        self.left_open = {}
        self.uncommitted_cold.forget()
        self._loading = None
        self.incarnation = incarnation

    def _wake(self) -> None:
        if self._is_scheduled.acquire(blocking=False):
            self._executor.submit(self._turn)

    def _turn(self) -> None:
        goes_on = False
        try:
            goes_on = self._handle_some()
        finally:  # also when a defect escapes: an owner that keeps its turn would never answer again
            if goes_on:
                self._executor.submit(self._turn)
            else:
                self._end_turn()

    def _handle_some(self) -> bool:
        """Whether the turn is to be taken up again behind those of other owners."""
        for _ in range(MESSAGES_A_TURN_MAX):
            if self.actor_inbox.empty():
                return False
            self._handle_receive(self.actor_inbox.get().message)
            if self._lets_others_run:
                self._lets_others_run = False
                return True
        return True

    def _end_turn(self) -> None:
        self._is_scheduled.release()
        if not self.actor_inbox.empty():
            self._wake()  # a message came between the last look and the release


def _address(value: Value) -> Address:
    try:
        return Address.parse(str(value))
    except MalformedAddress as problem:
        raise CorruptRow("the row names no owner") from problem


def _timer(value: Value) -> StoredTimer:
    if not isinstance(value, dict):
        raise CorruptRow("the row is no timer")
    due_ms, verb, body = value.get("due"), value.get("verb"), value.get("body")
    if not isinstance(due_ms, int) or not isinstance(verb, str) or not isinstance(body, dict):
        raise CorruptRow("the row is no timer")
    return StoredTimer(due_ms, verb, body)
