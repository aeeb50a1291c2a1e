"""The store on disk: one LMDB environment a shard; the only importer of lmdb.

Who may touch it: `commit` is for the one writer thread (a write transaction committed from another thread hangs the
next writer for ever); `get`, `scan` and `last` are for any thread, each in a read transaction of its own that is
closed before it returns (a stored one would keep its slot and grow the file). Opened only after the process was
spawned, never before a fork; an exclusive lock on the folder keeps a second process out.

Durable: every commit syncs data and meta page (no `metasync=False`, which can undo the last acknowledged commit).
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import lmdb

from bus.codec import CorruptRow, pack_row, unpack_row
from bus.limits import disk_full_bytes_max, store_key_bytes_max, store_map_bytes
from bus.reserve_file import ReserveFile
from bus.store import LAYOUT_VERSION, Room, StoreBroken, StoreFull, Write, fact_key
from bus.value import Value

STORE_FILE: Final = "data.mdb"
MADE_FILE: Final = "made"
"""Says that a store was made here, so that a lost one is noticed."""
RESERVE_FILE: Final = "reserve"
"""Room on the disk that is kept for the person (bus/reserve.py)."""
_READERS_MAX: Final = 64
_META_PAGES: Final = 2


class StoreInUse(Exception):
    """Another process has this shard open."""


class UnknownLayout(Exception):
    """The folder was written by a release whose key layout is another one. `found` is its number, if it has one."""

    def __init__(self, found: int | None) -> None:
        super().__init__(f"layout {found}")
        self.found = found


class StoreGone(Exception):
    """There was a store in this folder and its file is missing or empty: a new one would hide that all is lost."""


def is_gone(folder: Path) -> bool:
    """Whether a store was made in `folder` and its file is not there any more, or has nothing in it."""
    file = folder / STORE_FILE
    return (folder / MADE_FILE).exists() and (not file.exists() or file.stat().st_size == 0)


class LmdbStore:
    """Opens, or makes, the shard in `folder`. Raises StoreInUse, UnknownLayout.

    `layout` is another than the present one only while an older shard is copied or rewritten (nexus/layout.py).
    """

    def __init__(self, folder: Path, layout: int = LAYOUT_VERSION) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(folder / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(self._lock)
            raise StoreInUse from problem
        self._folder = folder
        self._reserve = ReserveFile(folder / RESERVE_FILE)
        if is_gone(folder):
            os.close(self._lock)
            raise StoreGone
        self._environment = lmdb.open(
            str(folder), map_size=store_map_bytes, mode=0o600, max_readers=_READERS_MAX, max_dbs=0, readahead=False
        )
        self._environment.reader_check()
        self._check_layout(layout)
        (folder / MADE_FILE).touch(mode=0o600)

    def _check_layout(self, layout: int) -> None:
        stored = self.get(fact_key("layout"))
        if stored is None:
            self.commit([(fact_key("layout"), pack_row(layout))])
            return
        try:
            version: Value = unpack_row(stored)
        except CorruptRow as problem:
            self.close()
            raise UnknownLayout(None) from problem
        if version != layout:
            self.close()
            raise UnknownLayout(version if isinstance(version, int) else None)

    def commit(self, writes: Sequence[Write]) -> None:
        try:
            with self._environment.begin(write=True) as transaction:
                put, delete = transaction.put, transaction.delete
                for key, value in writes:
                    if value is None:
                        delete(key)
                    else:
                        put(key, value)
        except (lmdb.MapFullError, lmdb.DiskError, lmdb.Error, OSError) as problem:
            raise _blame(problem, self._folder) from problem

    def get(self, key: bytes) -> bytes | None:
        with self._environment.begin() as transaction:
            value: bytes | None = transaction.get(key)
            return value

    def scan(
        self, prefix: bytes, after: bytes | None = None, limit: int | None = None, before: bytes | None = None
    ) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        start = prefix if after is None or after < prefix else after
        with self._environment.begin() as transaction, transaction.cursor() as cursor:
            if not cursor.set_range(start):
                return found
            for key in cursor.iternext(values=False):
                if not key.startswith(prefix) or (limit is not None and len(found) >= limit):
                    break
                if before is not None and key >= before:
                    break
                if key != after:
                    found.append((key, cursor.value()))
        return found

    def count(self, prefix: bytes, limit: int) -> int:
        counted = 0
        with self._environment.begin() as transaction, transaction.cursor() as cursor:
            if cursor.set_range(prefix):
                for key in cursor.iternext(values=False):
                    if counted >= limit or not key.startswith(prefix):
                        break
                    counted += 1
        return counted

    def last(self, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None:
        end = prefix + b"\xff" * lmdb_key_rest(prefix)
        with self._environment.begin() as transaction, transaction.cursor() as cursor:
            beyond = cursor.set_range(end if before is None else min(before, end))
            if not (cursor.prev() if beyond else cursor.last()):
                return None
            key, value = cursor.item()
            return (key, value) if key.startswith(prefix) else None

    def snapshot(self) -> LmdbSnapshot:
        return LmdbSnapshot(self._environment)

    def room(self) -> Room:
        """Pages that no tree holds are free inside, but for the few that LMDB's own list of them takes.

        Measured: 2 microseconds. A page that a reader still sees counts as free already.
        """
        tree, environment = self._environment.stat(), self._environment.info()
        page, pages = tree["psize"], environment["last_pgno"] + 1
        used = tree["branch_pages"] + tree["leaf_pages"] + tree["overflow_pages"]
        within = max(0, pages - _META_PAGES - used) * page
        growth = max(0, environment["map_size"] - pages * page)
        disk = os.statvfs(self._folder)
        return Room(min(growth, disk.f_bavail * disk.f_frsize), within, growth + within)

    def reserved_bytes(self) -> int:
        return self._reserve.size()

    def reserve(self, size: int) -> bool:
        return self._reserve.hold(size)

    def release_reserve(self) -> None:
        self._reserve.release()

    def close(self) -> None:
        self._environment.close()
        os.close(self._lock)


class LmdbSnapshot:
    """A read transaction that is held. Its copy is made from it however much was written since."""

    def __init__(self, environment: lmdb.Environment) -> None:
        self._environment = environment
        self._transaction = environment.begin()

    def copy_to(self, folder: Path) -> None:
        if (folder / "data.mdb").exists():
            raise FileExistsError(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._environment.copy(str(folder), compact=True, txn=self._transaction)
            sync(folder / "data.mdb")
            sync(folder)
        except (lmdb.Error, OSError) as problem:
            raise _blame(problem, folder) from problem

    def close(self) -> None:
        self._transaction.abort()


def stored_layout(folder: Path) -> int | None:
    """The layout that the shard in `folder` was written with; None if there is none there, or nothing in it.

    Raises StoreInUse. 0 stands for a layout that cannot be read. A shard that was just made has the present one.
    """
    if not (folder / "data.mdb").exists():
        return None
    try:
        LmdbStore(folder).close()
    except UnknownLayout as other:
        return other.found or 0
    return LAYOUT_VERSION


def sync(place: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lmdb_key_rest(prefix: bytes) -> int:
    """How many bytes a key may have after `prefix`."""
    return store_key_bytes_max - len(prefix)


def _blame(problem: Exception, folder: Path) -> Exception:
    if isinstance(problem, lmdb.MapFullError) or errno.ENOSPC in (getattr(problem, "errno", None), *problem.args):
        return StoreFull()
    if "No space left" in str(problem) or "quota" in str(problem).lower():
        return StoreFull()
    if os.strerror(errno.EIO) in str(problem) and _is_disk_full(folder):
        # LMDB says EIO when a disk took only a part of what it wrote, which is how most become full. That was before
        # the meta page, so nothing changed. After a failed meta page it refuses all further work itself.
        return StoreFull()
    return StoreBroken()


def _is_disk_full(folder: Path) -> bool:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < disk_full_bytes_max
