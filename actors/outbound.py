"""What a shard owes others: parcels until they are acknowledged, and replies that wait for that (ARCHITECTURE, Outbox).

A parcel is on disk from the commit that made it until its receiver has committed the effect. To this shard itself it
goes straight to the owner, and the receiver's commit removes the row; to another shard it goes over the link, again
from the oldest whenever the link opens, and the acknowledgement removes it.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bus import address
from bus.codec import unpack_row
from bus.envelope import Mark, Parcel, Reply
from bus.journal import Commit, Journal, parcel_of
from bus.limits import before_reply_wait_ms
from bus.store import Store, Write, mark_of, outbox_key, outbox_prefix
from bus.wire import Scheduler, Timer

_DELETE_AGAIN_SECONDS: Final = 0.5


@dataclass(slots=True)
class _Held:
    """Replies that wait for the acknowledgement of parcels, or for the bound."""

    replies: list[Reply]
    remaining: set[tuple[int, Mark]]
    timer: Timer


class Outbox:
    """The sending side of every stream of this shard."""

    def __init__(
        self,
        shard: int,
        store: Store,
        scheduler: Scheduler,
        reply: Callable[[Reply], None],
        deliver_locally: Callable[[Parcel], None],
    ) -> None:
        self._shard = shard
        self._me = address.host(shard)
        self._deletions = 0
        self._store = store
        self._scheduler = scheduler
        self._reply = reply
        self._deliver_locally = deliver_locally
        self._senders: dict[int, Callable[[Parcel], bool]] = {}
        self._unacknowledged: dict[int, deque[Mark]] = {}
        self._held: dict[tuple[int, Mark], _Held] = {}

    def attach(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def size(self) -> int:
        """How many parcels are not acknowledged."""
        return sum(map(len, self._unacknowledged.values()))

    def resume_local(self) -> None:
        """At start: what this shard owes itself."""
        for parcel in self._stored(self._shard):
            self._owe(self._shard, parcel.mark)
            self._deliver_locally(parcel)

    def link_opened(self, destination: int, send: Callable[[Parcel], bool]) -> None:
        """The link to another shard is open: send everything it has not acknowledged, oldest first."""
        self._senders[destination] = send
        self._unacknowledged[destination] = deque()
        for parcel in self._stored(destination):
            self._owe(destination, parcel.mark)
            send(parcel)

    def leave(self, commit: Commit) -> None:
        """A commit is durable: its messages leave; its replies too, at once or when the marked ones are through."""
        if not commit.outgoing:
            for reply in commit.replies:
                self._reply(reply)
            return
        remaining = {
            (out.destination, parcel.mark)
            for out, parcel in zip(commit.outgoing, commit.parcels, strict=True)
            if out.before_reply
        }
        if remaining and commit.replies:
            self._hold(commit.replies, remaining)
        else:
            for reply in commit.replies:
                self._reply(reply)
        for out, parcel in zip(commit.outgoing, commit.parcels, strict=True):
            self._owe(out.destination, parcel.mark)
            if out.destination == self._shard:
                self._deliver_locally(parcel)
            elif (send := self._senders.get(out.destination)) is not None:
                send(parcel)

    def acknowledged(self, destination: int, mark: Mark) -> None:
        """The destination has committed everything up to `mark`."""
        marks = self._unacknowledged.get(destination, deque())
        rows: list[Write] = []
        while marks and marks[0] <= mark:
            done = marks.popleft()
            if destination != self._shard:
                rows.append((outbox_key(destination, done), None))
            self._through(destination, done)
        if rows:
            self._delete(rows)

    def _delete(self, rows: list[Write]) -> None:
        """Each commit under its own incarnation, for none stands on another: one that failed is simply tried again."""
        self._deletions += 1
        commit = Commit(owner=self._me, incarnation=self._deletions, call_id="", by="", at_ms=0, rows=rows)
        commit.failed = lambda is_full: self._delete_later(rows)
        self._journal.submit(commit)

    def _delete_later(self, rows: list[Write]) -> None:
        """From the journal's writer."""
        self._scheduler.call_soon_threadsafe(
            lambda: self._scheduler.call_later(_DELETE_AGAIN_SECONDS, lambda: self._delete(rows))
        )

    def _owe(self, destination: int, mark: Mark) -> None:
        self._unacknowledged.setdefault(destination, deque()).append(mark)

    def _stored(self, destination: int) -> list[Parcel]:
        rows = self._store.scan(outbox_prefix(destination))
        return [parcel_of(self._shard, mark_of(key), unpack_row(value)) for key, value in rows]

    def _hold(self, replies: list[Reply], remaining: set[tuple[int, Mark]]) -> None:
        timer = self._scheduler.call_later(before_reply_wait_ms / 1000, lambda: self._let_go(held))
        held = _Held(replies, remaining, timer)
        for key in remaining:
            self._held[key] = held

    def _through(self, destination: int, mark: Mark) -> None:
        held = self._held.pop((destination, mark), None)
        if held is not None:
            held.remaining.discard((destination, mark))
            if not held.remaining:
                self._let_go(held)

    def _let_go(self, held: _Held) -> None:
        held.timer.cancel()
        for key in held.remaining:
            self._held.pop(key, None)
        replies, held.replies = held.replies, []
        for reply in replies:
            self._reply(reply)
