"""A store without a disk, with the same promises about order and atomicity. For tests and the simulation.

Safe from any thread: a commit swaps in new contents under a lock, and readers copy what they return.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bus.store import Room, StoreFull, Write
from bus.store_lmdb import LmdbStore

_UNBOUNDED: Final = 1 << 62


class MemoryStore:
    """`bytes_max` bounds the sum of keys and values, so that a full disk can be tried."""

    def __init__(self, bytes_max: int | None = None) -> None:
        self._values: dict[bytes, bytes] = {}
        self._keys: list[bytes] = []
        self._bytes = 0
        self._reserved = 0
        self._bytes_max = bytes_max
        self._lock = threading.Lock()

    def commit(self, writes: Sequence[Write]) -> None:
        with self._lock:
            final = dict(writes)
            grown = sum(self._growth(key, value) for key, value in final.items())
            if self._bytes_max is not None and grown > 0 and grown > self._room_left():
                raise StoreFull
            for key, value in final.items():
                self._write(key, value)
            self._bytes += grown

    def _growth(self, key: bytes, value: bytes | None) -> int:
        old = self._values.get(key)
        before = 0 if old is None else len(key) + len(old)
        return (0 if value is None else len(key) + len(value)) - before

    def _write(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            if self._values.pop(key, None) is not None:
                del self._keys[bisect_left(self._keys, key)]
            return
        if key not in self._values:
            self._keys.insert(bisect_left(self._keys, key), key)
        self._values[key] = value

    def get(self, key: bytes) -> bytes | None:
        with self._lock:
            return self._values.get(key)

    def scan(
        self, prefix: bytes, after: bytes | None = None, limit: int | None = None, before: bytes | None = None
    ) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        with self._lock:
            start = bisect_left(self._keys, prefix)
            if after is not None:
                start = max(start, bisect_right(self._keys, after))
            for key in self._keys[start:]:
                if not key.startswith(prefix) or (limit is not None and len(found) >= limit):
                    break
                if before is not None and key >= before:
                    break
                found.append((key, self._values[key]))
        return found

    def count(self, prefix: bytes, limit: int) -> int:
        return len(self.scan(prefix, limit=limit))

    def last(self, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
        with self._lock:
            end = bisect_left(self._keys, _following(prefix) if before is None else min(before, _following(prefix)))
            if end == 0 or not self._keys[end - 1].startswith(prefix):
                return None
            key = self._keys[end - 1]
            return key, self._values[key]

    def snapshot(self) -> MemorySnapshot:
        with self._lock:
            return MemorySnapshot(dict(self._values))

    def _room_left(self) -> int:
        return _UNBOUNDED if self._bytes_max is None else max(0, self._bytes_max - self._bytes - self._reserved)

    def room(self) -> Room:
        """A row that is deleted leaves no room inside: it is the disk's again."""
        with self._lock:
            return Room(self._room_left(), 0, _UNBOUNDED)

    def reserved_bytes(self) -> int:
        return self._reserved

    def reserve(self, size: int) -> bool:
        with self._lock:
            fits = size - self._reserved <= self._room_left()
            if fits:
                self._reserved = size
            return fits

    def release_reserve(self) -> None:
        self._reserved = 0

    def close(self) -> None:
        """Nothing to give back."""


class MemorySnapshot:
    """All pairs as they were; its copy is a shard on disk like any other's."""

    def __init__(self, values: dict[bytes, bytes]) -> None:
        self._values = values

    def copy_to(self, folder: Path) -> None:
        if (folder / "data.mdb").exists():
            raise FileExistsError(folder)
        copy = LmdbStore(folder)
        copy.commit(list(self._values.items()))
        copy.close()

    def close(self) -> None:
        """Nothing to give back."""


def _following(prefix: bytes) -> bytes:
    return prefix + b"\xff" * 512
