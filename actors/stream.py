"""The parcels of this shard to another one: in order, from disk, and never more on their way than a window.

Invariants:
- Parcels are sent in the order of their marks, none left out: what does not fit the window stays in the outbox and is
  read from there when room is made, so a long backlog costs neither memory nor one huge turn.
- What is on its way is sent again, from the oldest, whenever the link opens; the receiver knows what it has handled.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

import structlog

from bus.codec import CorruptRow, unpack_row
from bus.envelope import Mark, Parcel
from bus.limits import outbox_rows_a_read, outbox_window_bytes, outbox_window_parcels
from bus.parcels import parcel_of
from bus.store import Store, mark_of, outbox_key, outbox_prefix

_log = structlog.get_logger("outbox")


def stored_parcels(store: Store, shard: int, destination: int, after: Mark | None = None) -> Iterator[Parcel]:
    """Outbox rows of `shard` for `destination`, in order, after `after`.

    A row that fails its checksum holds no message any more. It is passed over, logged, and stays where it is for
    `nexus-bus doctor` to name: stopping there would stop every message behind it for good.
    """
    for _ in count():
        start = None if after is None else outbox_key(destination, after)
        rows = store.scan(outbox_prefix(destination), start, outbox_rows_a_read)
        for key, value in rows:
            after = mark_of(key)
            try:
                parcel = parcel_of(shard, after, unpack_row(value))
            except (CorruptRow, ValueError):
                _log.critical("message_unreadable", shard=shard, destination=destination, sequence=after.sequence)
                continue
            yield parcel
        if len(rows) < outbox_rows_a_read:
            return


class Stream:
    """One destination's. Without a link nothing is sent and nothing is lost: it is all on disk."""

    def __init__(self, shard: int, destination: int, store: Store) -> None:
        self._shard = shard
        self._destination = destination
        self._store = store
        self._send: Callable[[Parcel], bool] | None = None
        self._sent: Mark | None = None
        """The highest mark that was sent over the present link."""
        self._on_their_way: deque[tuple[Mark, int]] = deque()
        self._bytes = 0
        self._has_more = True
        """Something may be on disk behind what was sent."""

    def opened(self, send: Callable[[Parcel], bool]) -> None:
        """A new link: begin with the oldest that is not acknowledged."""
        self._send = send
        self._sent = None
        self._on_their_way.clear()
        self._bytes = 0
        self._has_more = True
        self._fill()

    def leave(self, parcel: Parcel) -> None:
        """A parcel is on disk now."""
        if self._send is None or self._has_more or not self._has_room:
            self._has_more = True
            self._fill()
        else:
            self._send_one(parcel)

    def acknowledged(self, mark: Mark) -> list[Mark]:
        """What is through with this acknowledgement; more leaves in its place."""
        done: list[Mark] = []
        while self._on_their_way and self._on_their_way[0][0] <= mark:
            one, size = self._on_their_way.popleft()
            self._bytes -= size
            done.append(one)
        self._fill()
        return done

    @property
    def _has_room(self) -> bool:
        return len(self._on_their_way) < outbox_window_parcels and self._bytes < outbox_window_bytes

    def _fill(self) -> None:
        if self._send is None or not self._has_more:
            return
        for parcel in stored_parcels(self._store, self._shard, self._destination, self._sent):
            if not self._has_room:
                return
            self._send_one(parcel)
        self._has_more = False

    def _send_one(self, parcel: Parcel) -> None:
        assert self._send is not None
        size = len(parcel.verb) + _size_of(parcel)
        self._sent = parcel.mark
        self._on_their_way.append((parcel.mark, size))
        self._bytes += size
        self._send(parcel)


def _size_of(parcel: Parcel) -> int:
    """About how many bytes a parcel takes; exact enough for a window."""
    pending: list[object] = [parcel.body]
    size = 0
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending.extend(value.values())
            size += 8 * len(value)
        elif isinstance(value, list):
            pending.extend(value)
        else:
            size += len(value) if isinstance(value, str | bytes) else 8
    return size
