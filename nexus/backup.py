"""Making a backup: of a running home through its gateway, of another by opening its shards (docs/decisions/0005).

Copies of the shards come first, under `backups/ID/`, then one file is packed from them and they are removed. What an
interrupted backup leaves there is removed by the next one, which holds the lock that says that nobody uses it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from bus.clock import SystemClock
from bus.limits import takeover_wait_ms
from bus.store import LAYOUT_VERSION, StoreBroken, StoreFull, sequence_of
from bus.store_lmdb import LmdbStore, StoreInUse, UnknownLayout
from bus.value import Record
from nexus import __version__
from nexus.archive import CONFIG, FORMAT, BackupRefused, Manifest, shard_member, write_archive
from nexus.config import Home
from nexus.control import supervisor_answers
from nexus.home_lock import HomeLock
from nexus.person_client import PersonClient

_FULL: Final = "There is no room for the copies beside the shards of this home. Free some space and try again."
_BROKEN: Final = "The copies of the shards could not be written."
_HALF_WRITTEN: Final = re.compile(
    r"\.before-(reshard-to-[0-9]|layout-[0-9]{1,9})-[0-9]{8}T[0-9]{6}Z(-[0-9]{1,2})?\.tar-[0-9a-z_]{8}"
)
"""A backup of `automatic_backup_file` that was not finished (nexus/archive.py writes it aside under this name)."""


@dataclass(frozen=True)
class Made:
    """A backup that was written."""

    file: Path
    manifest: Manifest
    barrier_ms: float
    """How long the shards stood still together, at most; 0 when nothing ran."""
    held_ms: tuple[float, ...]
    """How long each shard's writer stood."""
    copy_ms: float
    pack_ms: float

    def record(self) -> Record:
        """What `nexus backup --json` prints."""
        members = self.manifest.members
        return {
            "file": str(self.file),
            "bytes": self.file.stat().st_size,
            "homeId": self.manifest.homeId,
            "shards": self.manifest.shards,
            "sequences": list(self.manifest.sequences),
            "atMs": self.manifest.atMs,
            "members": len(members),
            "barrierMs": self.barrier_ms,
            "heldMs": list(self.held_ms),
            "copyMs": self.copy_ms,
            "packMs": self.pack_ms,
        }


@contextmanager
def lock_of(home: Home) -> Iterator[None]:
    """The home's locks, so that nothing runs on it meanwhile. Raises AlreadyRunning or ChildrenLinger."""
    lock = HomeLock(home, wait_ms=takeover_wait_ms, answers=lambda: supervisor_answers(home), waiting=lambda text: None)
    try:
        yield
    finally:
        lock.release()


def back_up_running(home: Home, file: Path) -> Made:
    """Ask the gateway for copies and pack them. Raises BackupRefused, NotRunning, Refused (nexus/person_client.py)."""
    _refuse_if_taken(file)
    with _copies(home) as folder:
        answer = PersonClient(home.run).ask("backup", {"backup": folder.name})
        return _packed(home, file, folder, answer, LAYOUT_VERSION)


def back_up_stopped(home: Home, file: Path, layout: int = LAYOUT_VERSION) -> Made:
    """Copy the shards of a home on which nothing runs, and pack them. Call with the home's lock held.

    Raises BackupRefused.
    """
    _refuse_if_taken(file)
    with _copies(home) as folder:
        started_ns = time.monotonic_ns()
        sequences = [_copied(home, shard, folder, layout) for shard in range(home.settings.shards)]
        copy_ms = (time.monotonic_ns() - started_ns) / 1e6
        answer: Record = {"atMs": SystemClock().now_ms(), "copyMs": round(copy_ms, 1), "sequences": list(sequences)}
        return _packed(home, file, folder, answer, layout)


def automatic_backup_file(home: Home, before: str) -> Path:
    """A new name in the home's own folder of backups, for one that NEXUS makes before it changes something."""
    home.backups.mkdir(mode=0o700, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = (f"before-{before}-{stamp}{more}.tar" for more in ("", *(f"-{number}" for number in range(2, 100))))
    return next(file for name in names if not (file := home.backups / name).exists())


def _copied(home: Home, shard: int, folder: Path, layout: int) -> int:
    """Copy one shard; its journal's last sequence."""
    try:
        store = LmdbStore(home.shard_folder(shard), layout)
    except StoreInUse:
        raise BackupRefused(f"Shard {shard} is in use by another process.") from None
    except UnknownLayout as other:
        raise BackupRefused(
            f"Shard {shard} has the layout {other.found}, which this release does not write. Start NEXUS once with "
            "`nexus up`, or use the release that wrote it."
        ) from None
    try:
        snapshot = store.snapshot()
        snapshot.copy_to(folder / str(shard))
        snapshot.close()
        last = store.last(b"j")
        return 0 if last is None else sequence_of(last[0])
    except StoreFull:
        raise BackupRefused(_FULL) from None
    except (StoreBroken, OSError):
        raise BackupRefused(_BROKEN) from None
    finally:
        store.close()


@contextmanager
def _copies(home: Home) -> Iterator[Path]:
    """A folder for the copies of one backup, removed afterwards with what others left. One backup at a time."""
    home.backups.mkdir(mode=0o700, exist_ok=True)
    with _backup_lock(home) as taken:
        if not taken:
            raise BackupRefused("Another backup of this home is being made. Try again when it is done.")
        _remove_left(home)
        folder = home.backups / SystemClock().new_id()
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def remove_half_written(home: Home) -> None:
    """Remove what interrupted backups left in the home's folder of backups, unless one is being made now."""
    if home.backups.is_dir() and not home.backups.is_symlink():
        with _backup_lock(home) as taken:
            if taken:
                _remove_left(home)


@contextmanager
def _backup_lock(home: Home) -> Iterator[bool]:
    """Whether the lock that makes backups one at a time is held by this process now."""
    descriptor = os.open(home.backup_lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = True
        except BlockingIOError:
            taken = False
        yield taken
    finally:
        os.close(descriptor)


def _remove_left(home: Home) -> None:
    """Folders of copies and automatic backups that were not finished. Nothing that the person put there."""
    for left in home.backups.iterdir():
        if left.is_symlink():
            continue
        if left.is_dir():
            shutil.rmtree(left)
        elif _HALF_WRITTEN.fullmatch(left.name) and left.is_file():
            left.unlink()


def _packed(home: Home, file: Path, folder: Path, answer: Mapping[str, object], layout: int) -> Made:
    started_ns = time.monotonic_ns()
    shards = home.settings.shards
    try:
        manifest = Manifest(
            format=FORMAT,
            nexus=__version__,
            homeId=home.home_id,
            incarnation=home.settings.incarnation,
            layout=layout,
            shards=shards,
            atMs=_whole(answer.get("atMs")),
            sequences=[_whole(sequence) for sequence in _list(answer.get("sequences"))],
            members=[],
        )
    except ValidationError:
        raise BackupRefused(f"{home.path / CONFIG} or what is stored has values that no backup may have.") from None
    copies = [(shard_member(shard), folder / str(shard) / "data.mdb") for shard in range(shards)]
    # Packed from a copy: the person may change the file between its checksum and its content, and nobody would know
    # before the backup is needed.
    config = folder / CONFIG
    try:
        shutil.copyfile(home.path / CONFIG, config)
    except OSError as problem:
        raise BackupRefused(f"{CONFIG} cannot be copied: {problem.strerror}.") from None
    blobs = sorted(place for place in home.artifacts.rglob("*") if place.is_file() and not place.is_symlink())
    artifacts = [(f"artifacts/{place.relative_to(home.artifacts).as_posix()}", place) for place in blobs]
    manifest = write_archive(file, manifest, [(CONFIG, config), *copies, *artifacts])
    held = tuple(_float(value) for value in _list(answer.get("heldMs")))
    pack_ms = round((time.monotonic_ns() - started_ns) / 1e6, 1)
    return Made(file, manifest, _float(answer.get("barrierMs")), held, _float(answer.get("copyMs")), pack_ms)


def _refuse_if_taken(file: Path) -> None:
    if os.path.lexists(file):
        raise BackupRefused(f"{file} is there already. A backup never replaces a file; choose another name.")
    if not file.parent.is_dir():
        raise BackupRefused(f"{file.parent} is not a folder; make it first or name another one.")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
