"""What a shard keeps: an ordered map of bytes with atomic, durable batches. One writer thread; any thread reads.

Key layouts (the first byte is the table; numbers are 8 bytes big-endian, so that key order is number order):

| table | key | value | why so |
| --- | --- | --- | --- |
| `!` | name | row | the shard's own facts: layout version, incarnation |
| `a` | call id | row | answers given, `{open}` or `{ok}` or `{error}`; ids grow with time, so appends stay at the end |
| `j` | sequence | row | the journal: one record a commit, with its events; the one growing sequence of the shard |
| `m` | source shard | row | the highest mark of that shard's outbox whose effect is in this store |
| `o` | destination shard, sequence, index | row | messages not yet acknowledged, in the order of commits |
| `d` | source shard, sequence, index | row | dead letters: messages whose handler failed too often |
| `t` | due time in ms, address, 0x00, timer name | row | which timers are due, without waking their owners |
| `s` | address, 0x00, row name | row | state rows of owners, together per owner |

Every value is a row of bus/codec.py: version, checksum, data. Scattered random keys cost 2.5 times in commits, which
is why ids are time-ordered and the journal and outbox share one sequence (docs/decisions/0002).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from bus.address import Address
from bus.envelope import Mark
from bus.limits import rows_a_read

LAYOUT_VERSION: Final = 1
_BEHIND: Final = b"\xff"
"""No name in UTF-8 holds it: a prefix with it sorts behind every key under that prefix."""

Write: TypeAlias = tuple[bytes, bytes | None]
"""A key and its new value, or None to remove it."""


class StoreFull(Exception):
    """The batch did not fit on the disk or in the map. Nothing of it is stored."""


class StoreBroken(Exception):
    """The disk did not accept the batch (EIO): nobody knows what is stored. The host must end."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much a store can still take, in bytes."""

    growth: int
    """By how much it may grow: what the disk gives this user, and at most up to its largest size."""
    within: int
    """What lies free inside, left by rows that were deleted. A large value needs that much of it in one piece."""
    until_largest: int
    """What it takes until it has its largest size, however large the disk is: what lies free inside included."""


class Snapshot(Protocol):
    """The store as it was at one moment. Holding one on disk makes the file grow: close it soon."""

    def copy_to(self, folder: Path) -> None:
        """Write a compact copy, on disk when it returns, that LmdbStore opens. From any one thread.

        Raises FileExistsError if a copy is there, StoreFull and StoreBroken.
        """
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """Implementations: bus/store_lmdb.py (disk) and bus/store_memory.py. One test suite runs over both."""

    def commit(self, writes: Sequence[Write]) -> None:
        """All or nothing, on disk when it returns. Writer thread only. Raises StoreFull, StoreBroken."""
        ...

    def get(self, key: bytes) -> bytes | None: ...

    def scan(
        self, prefix: bytes, after: bytes | None = None, limit: int | None = None, before: bytes | None = None
    ) -> list[tuple[bytes, bytes]]:
        """Pairs whose key starts with `prefix`, in key order, strictly between the keys `after` and `before`."""
        ...

    def count(self, prefix: bytes, limit: int) -> int:
        """How many keys start with `prefix`, counted up to `limit`; reads no values."""
        ...

    def last(self, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
        """The pair with the highest key that starts with `prefix` and sorts below `before`."""
        ...

    def snapshot(self) -> Snapshot:
        """From any thread."""
        ...

    def room(self) -> Room:
        """Cheap: some microseconds. Writer thread, or before there is one."""
        ...

    def reserved_bytes(self) -> int:
        """How much of the disk is kept beside the rows for when it is full (bus/reserve.py)."""
        ...

    def reserve(self, size: int) -> bool:
        """Keep so much of the disk; whether it is kept now. Never raises for what the disk does. Writer thread."""
        ...

    def release_reserve(self) -> None:
        """Give what is kept back to the disk, where `commit` can have it. Writer thread."""
        ...

    def close(self) -> None: ...


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def fact_key(name: str) -> bytes:
    return b"!" + name.encode()


def answer_key(call_id: str) -> bytes:
    return b"a" + call_id.encode()


def journal_key(sequence: int) -> bytes:
    return b"j" + _number(sequence)


def sequence_of(key: bytes) -> int:
    """The sequence in a journal key."""
    return int.from_bytes(key[1:9], "big")


def mark_key(source: int) -> bytes:
    return b"m" + source.to_bytes(2, "big")


def outbox_prefix(destination: int) -> bytes:
    return b"o" + destination.to_bytes(2, "big")


def outbox_key(destination: int, mark: Mark) -> bytes:
    return outbox_prefix(destination) + _number(mark.sequence) + _number(mark.index)


def mark_of(key: bytes) -> Mark:
    """The mark in an outbox or dead letter key."""
    return Mark(int.from_bytes(key[3:11], "big"), int.from_bytes(key[11:19], "big"))


def destination_of(key: bytes) -> int:
    """The destination shard in an outbox key."""
    return int.from_bytes(key[1:3], "big")


def dead_letter_key(source: int, mark: Mark) -> bytes:
    return b"d" + source.to_bytes(2, "big") + _number(mark.sequence) + _number(mark.index)


def state_prefix(owner: Address) -> bytes:
    return b"s" + str(owner).encode() + b"\x00"


def state_key(owner: Address, row: str) -> bytes:
    return state_prefix(owner) + row.encode()


def row_of(key: bytes) -> str:
    """The row name in a state key."""
    return key.split(b"\x00", 1)[1].decode()


def letter_of(key: bytes) -> tuple[int, Mark]:
    """The source shard and mark in a dead letter key."""
    return int.from_bytes(key[1:3], "big"), mark_of(key)


def owners(store: Store, kind: str | None, after: Address | None, limit: int) -> Iterator[Address]:
    """Owners that have state, in key order, skipping from one to the next without reading their rows."""
    prefix = b"s" if kind is None else b"s" + kind.encode() + b"/"
    position = None if after is None else state_prefix(after) + _BEHIND
    for _ in range(limit):
        found = store.scan(prefix, position, 1)
        if not found:
            return
        owner = Address.parse(found[0][0][1:].split(b"\x00", 1)[0].decode())
        yield owner
        position = state_prefix(owner) + _BEHIND


def every_row(store: Store, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All pairs under a prefix, read in steps, so that neither a read transaction lasts nor memory must hold them."""
    after: bytes | None = None
    while rows := store.scan(prefix, after, rows_a_read):
        yield from rows
        after = rows[-1][0]


def rows_beside(
    store: Store, prefix: bytes, left_out: Sequence[bytes], after: bytes | None, limit: int
) -> list[tuple[bytes, bytes]]:
    """Pairs under `prefix` after `after`, at most `limit`, without those under one of the prefixes `left_out`, which
    are sorted. However many are left out, not one of them is read."""
    found: list[tuple[bytes, bytes]] = []
    position = after
    for skipped in left_out:
        if position is None or position < skipped:
            found += store.scan(prefix, position, limit - len(found), before=skipped)
            if len(found) == limit:
                return found
        behind = skipped + _BEHIND
        position = behind if position is None else max(position, behind)
    return found + store.scan(prefix, position, limit - len(found))


def timer_key(due_ms: int, owner: Address, name: str) -> bytes:
    return b"t" + _number(due_ms) + str(owner).encode() + b"\x00" + name.encode()


def timer_of(key: bytes) -> tuple[int, Address, str]:
    """Due time, owner and name in a timer key."""
    owner, name = key[9:].split(b"\x00", 1)
    return int.from_bytes(key[1:9], "big"), Address.parse(owner.decode()), name.decode()
