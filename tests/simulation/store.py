"""A disk that outlives its host, and the host's way to it: slow, full, broken, torn, or cut off in the middle.

What a commit stored is stored; what was not committed is lost with the host. A commit is the writer's one step to the
disk, so this is where the host dies before, in and after it. Marks are watched here: they only grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bus.codec import CorruptRow, unpack_row
from bus.parcels import mark_from
from bus.store import Room, Snapshot, StoreBroken, StoreFull, Write
from bus.store_memory import MemoryStore
from tests.simulation.options import Faults
from tests.simulation.scheduler import Process, ProcessDied, Scheduler

_UNBOUNDED: Final = 1 << 62
_ENOUGH: Final = 1 << 20
"""More than any group of these workloads writes."""


class Disk:
    """One shard's disk. `violated` is told of anything that must never be written."""

    def __init__(self, scheduler: Scheduler, faults: Faults, name: str, violated: Callable[[str], None]) -> None:
        self.scheduler = scheduler
        self.faults = faults
        self.name = name
        self.content = MemoryStore()
        self.is_full = False
        self.reserved = 0
        self.had_reserve = False
        """Whether there was enough for any commit, kept or given back, when one last did not fit."""
        self.given = 0
        """How much of a reserve that was released a full disk still takes."""
        self.violated = violated
        self.torn: list[bytes] = []
        self.wrote: Callable[[Sequence[Write]], None] = lambda writes: None
        """Told of every batch that was stored."""

    def attached_to(self, process: Process) -> AttachedStore:
        return AttachedStore(self, process)

    def tear(self, key: bytes) -> None:
        """Damage a stored value."""
        value = self.content.get(key)
        assert value is not None
        self.content.commit([(key, value[:-1] + bytes((value[-1] ^ 0x5A,)))])
        self.torn.append(key)

    def fill(self) -> None:
        """From now on only what a reserve gives back can be written."""
        self.is_full, self.given = True, 0

    def lacks(self, size: int) -> bool:
        return self.is_full and size > self.given

    def write(self, writes: Sequence[Write]) -> None:
        self._watch_marks(writes)
        self.given -= sum(len(key) + len(value) for key, value in writes if value is not None) if self.is_full else 0
        self.content.commit(writes)
        self.wrote(writes)
        self.scheduler.note(b"".join(key + (value or b"") for key, value in writes))

    def _watch_marks(self, writes: Sequence[Write]) -> None:
        for key, value in writes:
            if key[:1] != b"m" or value is None:
                continue
            before = self.content.get(key)
            if before is not None and mark_from(unpack_row(value)) <= mark_from(unpack_row(before)):
                self.violated(f"marks monotonic: {self.name} wrote a mark that is not higher than the one before")


class AttachedStore:
    """`bus.store.Store` for one life of a host."""

    def __init__(self, disk: Disk, process: Process) -> None:
        self._disk = disk
        self._process = process

    def commit(self, writes: Sequence[Write]) -> None:
        disk, faults, rng = self._disk, self._disk.faults, self._disk.scheduler.random
        duration_us = rng.randrange(100, 800)
        if rng.random() < faults.slow_disk:
            duration_us = max(1, rng.randrange(faults.slow_disk_ms_max * 1_000))
        dies = rng.random() < faults.crash_at_commit
        is_stored = rng.random() < 0.5
        size = sum(len(key) + len(value) for key, value in writes if value is not None)
        full = size > 0 and (disk.lacks(size) or rng.random() < faults.disk_full)
        broken = rng.random() < faults.disk_broken
        before_us = rng.randrange(max(duration_us, 1))
        disk.scheduler.meanwhile(before_us)
        if full:
            disk.had_reserve = not faults.disk_full and disk.reserved + disk.given > _ENOUGH
            raise StoreFull
        if is_stored or not (dies or broken):
            disk.write(writes)
        if dies:
            raise ProcessDied
        disk.scheduler.meanwhile(duration_us - before_us)
        if broken:
            raise StoreBroken

    def get(self, key: bytes) -> bytes | None:
        self._disk.scheduler.preempt()
        return self._disk.content.get(key)

    def scan(
        self, prefix: bytes, after: bytes | None = None, limit: int | None = None, before: bytes | None = None
    ) -> list[tuple[bytes, bytes]]:
        self._disk.scheduler.preempt()
        return self._disk.content.scan(prefix, after, limit, before)

    def count(self, prefix: bytes, limit: int) -> int:
        return self._disk.content.count(prefix, limit)

    def last(self, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
        return self._disk.content.last(prefix, before)

    def snapshot(self) -> Snapshot:
        return self._disk.content.snapshot()

    def room(self) -> Room:
        return Room(self._disk.given if self._disk.is_full else _UNBOUNDED, 0, _UNBOUNDED)

    def reserved_bytes(self) -> int:
        return self._disk.reserved

    def reserve(self, size: int) -> bool:
        self._disk.reserved = size
        return True

    def release_reserve(self) -> None:
        self._disk.given, self._disk.reserved = self._disk.reserved, 0

    def close(self) -> None:
        """The disk stays."""


def is_readable(value: bytes) -> bool:
    try:
        unpack_row(value)
    except CorruptRow:
        return False
    return True
