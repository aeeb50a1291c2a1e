"""What a shard owes others: parcels until they are acknowledged, and replies that wait for that (ARCHITECTURE, Outbox).

A parcel is on disk from the commit that made it until its receiver has committed the effect. To this shard itself it
goes straight to the owner, and the receiver's commit removes the row; to another shard it goes over the link
(actors/stream.py), again from the oldest whenever the link opens, and the acknowledgement removes it.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from actors.stream import Stream, stored_parcels
from bus import address
from bus.codec import CorruptRow, unpack_row
from bus.envelope import Mark, Parcel, Reply
from bus.journal import Commit, Journal
from bus.limits import before_reply_wait_ms, counted_rows_max
from bus.parcels import waited_for_by
from bus.store import Store, Write, destination_of, every_row, mark_of, outbox_key
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
        next_incarnation: Callable[[], int],
    ) -> None:
        self._shard = shard
        self._me = address.host(shard)
        self._store = store
        self._scheduler = scheduler
        self._reply = reply
        self._deliver_locally = deliver_locally
        self._next_incarnation = next_incarnation
        self._streams: dict[int, Stream] = {}
        self._local: deque[Mark] = deque()
        self._held: dict[tuple[int, Mark], _Held] = {}
        self._waited_for: dict[tuple[int, Mark], str] = {}
        """Unacknowledged parcels that the reply to a call waits for."""

    def attach(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def size(self) -> int:
        """How many parcels are not acknowledged, on their way or waiting."""
        return self._store.count(b"o", counted_rows_max)

    def resume_local(self) -> None:
        """At start: what this shard owes itself, and what replies to its callers still wait for."""
        for key, value in every_row(self._store, b"o"):
            call_id = _waiting_call(value)
            if call_id is not None:
                self._waited_for[destination_of(key), mark_of(key)] = call_id
        for parcel in stored_parcels(self._store, self._shard, self._shard):
            self._local.append(parcel.mark)
            self._deliver_locally(parcel)

    def link_opened(self, destination: int, send: Callable[[Parcel], bool]) -> None:
        """The link to another shard is open: send everything it has not acknowledged, oldest first."""
        self._stream(destination).opened(send)

    def leave(self, commit: Commit) -> None:
        """A commit is durable: its messages leave; its replies too, at once or when the marked ones are through."""
        if not commit.outgoing:
            for reply in commit.replies:
                self._reply(reply)
            return
        waited_for = {
            (out.destination, parcel.mark): parcel.origin_call
            for out, parcel in zip(commit.outgoing, commit.parcels, strict=True)
            if out.before_reply
        }
        self._waited_for |= waited_for
        remaining = set(waited_for)
        if remaining and commit.replies:
            self._hold(commit.replies, remaining)
        else:
            for reply in commit.replies:
                self._reply(reply)
        for out, parcel in zip(commit.outgoing, commit.parcels, strict=True):
            if out.destination == self._shard:
                self._local.append(parcel.mark)
                self._deliver_locally(parcel)
            else:
                self._stream(out.destination).leave(parcel)

    def leave_again(self, reply: Reply) -> None:
        """What a repeat is told, with the same wait as the first time."""
        remaining = {key for key, call_id in self._waited_for.items() if call_id == reply.call_id}
        if remaining:
            self._hold([reply], remaining)
        else:
            self._reply(reply)

    def acknowledged(self, destination: int, mark: Mark) -> None:
        """The destination has committed everything up to `mark`."""
        if destination == self._shard:
            while self._local and self._local[0] <= mark:
                self._through(destination, self._local.popleft())
            return
        done = self._stream(destination).acknowledged(mark)
        for one in done:
            self._through(destination, one)
        if done:
            self._delete([(outbox_key(destination, one), None) for one in done])

    def _stream(self, destination: int) -> Stream:
        if destination not in self._streams:
            self._streams[destination] = Stream(self._shard, destination, self._store)
        return self._streams[destination]

    def _delete(self, rows: list[Write]) -> None:
        """Each commit under its own incarnation, for none stands on another: one that failed is simply tried again.

        Of the host's own count: other parts of the host commit under its address too (actors/letters.py), and with two
        counts a failure of the higher one would give back whatever the lower one brings.
        """
        incarnation = self._next_incarnation()
        commit = Commit(
            owner=self._me, incarnation=incarnation, call_id="", by="", at_ms=0, rows=rows, is_privileged=True
        )
        commit.failed = lambda is_full: self._delete_later(rows)
        self._journal.submit(commit)

    def _delete_later(self, rows: list[Write]) -> None:
        """From the journal's writer."""
        self._scheduler.call_soon_threadsafe(
            lambda: self._scheduler.call_later(_DELETE_AGAIN_SECONDS, lambda: self._delete(rows))
        )

    def _hold(self, replies: list[Reply], remaining: set[tuple[int, Mark]]) -> None:
        timer = self._scheduler.call_later(before_reply_wait_ms / 1000, lambda: self._let_go(held))
        held = _Held(replies, remaining, timer)
        for key in remaining:
            self._held[key] = held

    def _through(self, destination: int, mark: Mark) -> None:
        self._waited_for.pop((destination, mark), None)
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


def _waiting_call(value: bytes) -> str | None:
    try:
        return waited_for_by(unpack_row(value))
    except (CorruptRow, ValueError):
        return None
