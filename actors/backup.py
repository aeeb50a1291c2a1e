"""A shard's part in a backup of the whole home (docs/decisions/0005).

`backup_hold`: the journal's writer stores what it has and stops; a snapshot is taken. `backup_release`: it goes on. The
gateway holds every shard before it releases the first, so the snapshots are of one moment. `backup_copy` then writes
the snapshot beside the shards, on a thread of its own; `backup_discard` lets it go.

Invariants: one backup at a time; a writer that nobody releases goes on by itself and the backup is void; a snapshot
that nobody copies is let go after `backup_snapshot_ms_max`, since holding it makes the store grow.

Runs on the host's loop thread; `_take` runs on the journal's writer, `_write` on the thread beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import structlog

from actors.owner import Executor
from bus.address import is_id
from bus.envelope import Call
from bus.hold import Hold
from bus.journal import Journal
from bus.limits import backup_hold_ms_max, backup_snapshot_ms_max
from bus.store import Snapshot, Store, StoreBroken, StoreFull, sequence_of
from bus.value import Record
from bus.wire import Scheduler
from tools.errors import Code, Refusal, invalid_arguments, unavailable

Tell: TypeAlias = Callable[[Record | Refusal], None]
_log = structlog.get_logger("backup")

_NONE: Final = Refusal(Code.WRONG_STATE, "That backup is not under way here: it was let go, or the host was restarted.")
_NO_PLACE: Final = Refusal(Code.WRONG_STATE, "This host was started without a folder for backups.")
_FULL: Final = Refusal(Code.STORAGE_FULL, "There is no room for the copy beside the shards. Free some space.")
_NOT_WRITTEN: Final = Refusal(Code.UNAVAILABLE, "The copy could not be written. The host's log says why.")


@dataclass(slots=True)
class _Backup:
    id: str
    hold: Hold | None = None
    snapshot: Snapshot | None = None
    is_copying: bool = False


class BackupPart:
    """Answers the verbs of a backup."""

    def __init__(
        self,
        shard: int,
        store: Store,
        scheduler: Scheduler,
        beside: Executor,
        from_thread: Callable[[Callable[[], None]], None],
        folder: Path | None,
    ) -> None:
        """`folder` is where copies go: `folder/BACKUP/SHARD`."""
        self._shard = shard
        self._store = store
        self._scheduler = scheduler
        self._beside = beside
        self._from_thread = from_thread
        self._folder = folder
        self._present: _Backup | None = None
        self.verbs: Final[Mapping[str, Callable[[Call, Tell], None]]] = {
            "backup_hold": self._hold,
            "backup_release": self._release,
            "backup_copy": self._copy,
            "backup_discard": self._discard,
        }

    def attach(self, journal: Journal) -> None:
        self._journal = journal

    def _hold(self, call: Call, tell: Tell) -> None:
        backup_id = str(call.body.get("backup"))
        if not is_id(backup_id):
            tell(invalid_arguments({"backup": "is not an id"}))
            return
        if self._present is not None and self._present.is_copying:
            tell(unavailable("Another backup is being copied. Try again when it is done."))
            return
        self._let_go()
        backup = _Backup(backup_id)
        self._present = backup
        backup.hold = self._journal.hold(lambda: self._take(backup, tell))
        self._scheduler.call_later(backup_hold_ms_max / 1000, lambda: self._expire(backup))
        self._scheduler.call_later(backup_snapshot_ms_max / 1000, lambda: self._forget(backup))

    def _take(self, backup: _Backup, tell: Tell) -> None:
        answer: Record | Refusal
        try:
            backup.snapshot = self._store.snapshot()
            last = self._store.last(b"j")
            answer = {"shard": self._shard, "sequence": 0 if last is None else sequence_of(last[0])}
        except Exception:  # noqa: BLE001 - nothing may be raised into the journal's writer
            _log.exception("snapshot_failed")
            answer = _NOT_WRITTEN
        self._from_thread(lambda: self._taken(backup, answer, tell))

    def _taken(self, backup: _Backup, answer: Record | Refusal, tell: Tell) -> None:
        if self._present is not backup and backup.snapshot is not None:  # it was let go before the writer came to it
            backup.snapshot.close()
            backup.snapshot = None
        tell(answer)

    def _release(self, call: Call, tell: Tell) -> None:
        backup = self._named(call)
        if backup is None or backup.hold is None:
            tell(_NONE)
            return
        hold, backup.hold = backup.hold, None
        held_us = hold.release()
        tell({"held": held_us is not None, "heldUs": held_us or 0})

    def _copy(self, call: Call, tell: Tell) -> None:
        backup = self._named(call)
        if self._folder is None:
            tell(_NO_PLACE)
        elif backup is None or backup.snapshot is None or backup.is_copying:
            tell(_NONE)
        else:
            backup.is_copying = True
            snapshot, place = backup.snapshot, self._folder / backup.id / str(self._shard)
            self._beside.submit(lambda: self._write(backup, snapshot, place, tell))

    def _write(self, backup: _Backup, snapshot: Snapshot, place: Path, tell: Tell) -> None:
        answer: Record | Refusal
        try:
            snapshot.copy_to(place)
            answer = {"shard": self._shard, "bytes": (place / "data.mdb").stat().st_size}
        except StoreFull:
            answer = _FULL
        except (StoreBroken, OSError):
            _log.exception("copy_failed")
            answer = _NOT_WRITTEN
        self._from_thread(lambda: self._copied(backup, answer, tell))

    def _copied(self, backup: _Backup, answer: Record | Refusal, tell: Tell) -> None:
        backup.is_copying = False
        self._forget(backup)
        tell(answer)

    def _discard(self, call: Call, tell: Tell) -> None:
        backup = self._named(call)
        if backup is not None:
            self._forget(backup)
        tell({})

    def _named(self, call: Call) -> _Backup | None:
        present = self._present
        return present if present is not None and present.id == call.body.get("backup") else None

    def _expire(self, backup: _Backup) -> None:
        """The gateway did not release in time: it may be gone, and callers wait. The backup is void."""
        if backup.hold is not None:
            _log.warning("hold_expired", shard=self._shard)
            self._forget(backup)

    def _forget(self, backup: _Backup) -> None:
        if self._present is backup and not backup.is_copying:
            self._let_go()

    def _let_go(self) -> None:
        backup, self._present = self._present, None
        if backup is None:
            return
        if backup.hold is not None:
            backup.hold.release()
            backup.hold = None
        if backup.snapshot is not None:
            backup.snapshot.close()
            backup.snapshot = None
