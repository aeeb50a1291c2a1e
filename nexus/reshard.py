"""`nexus reshard`: the shards of a home that does not run, dealt out anew (docs/decisions/0004, 0005).

A backup comes first. The new shards are written beside the old ones as the next generation; one replacement of
config.toml puts them in use. Cut short at any point, the home is either as it was or as it should be, and the next
command that takes its lock removes or puts aside the rest (nexus/generations.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bus.clock import SystemClock
from bus.codec import CorruptRow
from bus.layout import UPGRADES, RowUpgrade, can_upgrade, rewrite
from bus.reshard import CannotReshard, reshard
from bus.store import LAYOUT_VERSION, Store, StoreBroken, StoreFull
from bus.store_lmdb import LmdbStore, StoreInUse, UnknownLayout, stored_layout
from bus.stored_time import newest_record_ms
from bus.value import Record
from nexus.archive import CONFIG, BackupRefused
from nexus.backup import automatic_backup_file, back_up_stopped, lock_of, remove_half_written
from nexus.config import Home, HomeRefused
from nexus.generations import changed_config, new_generation, switch, tidy

Fill: TypeAlias = Callable[[Sequence[Store], Sequence[Store]], int]


class ReshardRefused(Exception):
    """The home cannot be dealt out anew. The text is for the person."""


@dataclass(frozen=True)
class Resharded:
    """What was done."""

    home: Home
    before: int
    rows: int
    backup: Path | None
    """None when there was nothing to do."""
    kept: tuple[Path, ...]

    def record(self) -> Record:
        """What `nexus reshard --json` prints."""
        return {
            "home": str(self.home.path),
            "before": self.before,
            "shards": self.home.settings.shards,
            "rows": self.rows,
            "backup": None if self.backup is None else str(self.backup),
            "kept": [str(place) for place in self.kept],
        }


def reshard_home(home: Home, shards: int) -> Resharded:
    """Deal the home out over `shards` shards. Raises ReshardRefused, BackupRefused, AlreadyRunning, ChildrenLinger."""
    with lock_of(home):
        tidy(home)
        remove_half_written(home)
        before = home.settings.shards
        if shards == before:
            return Resharded(home, before, 0, None, ())
        backup = automatic_backup_file(home, f"reshard-to-{shards}")
        back_up_stopped(home, backup)

        def fill(old: Sequence[Store], new: Sequence[Store]) -> int:
            # No earlier than what is stored, though the machine's clock was set back: hosts begin at this time.
            at_ms = max(SystemClock().now_ms(), *map(newest_record_ms, old))
            return reshard(old, new, at_ms).rows

        home, rows = _rewritten(home, shards, LAYOUT_VERSION, LAYOUT_VERSION, fill)
        return Resharded(home, before, rows, backup, tuple(tidy(home)))


def bring_up_to_date(
    home: Home,
    progress: Callable[[str], None],
    upgrades: dict[int, RowUpgrade] | None = None,
    present: int = LAYOUT_VERSION,
) -> Home:
    """The home with the present layout of the store; an older one is backed up first. Call with the lock held.

    Raises HomeRefused for a layout that is newer or that no upgrade leads from.
    """
    tidy(home)
    steps = UPGRADES if upgrades is None else upgrades
    if not steps:
        return (
            home  # there is no older layout; a store is opened by its host alone, since a damaged one ends its opener
        )
    found = {stored_layout(home.shard_folder(shard)) for shard in range(home.settings.shards)} - {None}
    if found <= {present}:
        return home
    older = next(iter(found))
    if len(found) > 1 or older is None or not can_upgrade(older, steps, present):
        raise HomeRefused(
            f"The store in {home.path} has the layout {sorted(map(str, found))}, which this release does not read. "
            "Use the NEXUS that wrote it, or restore a backup."
        )
    progress(f"Bringing the store from layout {older} to {present}, after a backup")
    try:
        back_up_stopped(home, automatic_backup_file(home, f"layout-{present}"), older)

        def fill(old: Sequence[Store], new: Sequence[Store]) -> int:
            return sum(rewrite(*pair, older, steps, present) for pair in zip(old, new, strict=True))

        home, _ = _rewritten(home, home.settings.shards, older, present, fill)
    except (BackupRefused, ReshardRefused) as refused:
        raise HomeRefused(f"The store is of an older release and could not be brought up to date. {refused}") from None
    tidy(home)
    return home


def _rewritten(home: Home, shards: int, layout: int, new_layout: int, fill: Fill) -> tuple[Home, int]:
    """The home with its next generation of shards in use, and how many rows that has."""
    folder = new_generation(home)
    try:
        with ExitStack() as stack:
            old = [_opened(stack, home.shard_folder(shard), layout) for shard in range(home.settings.shards)]
            new = [_opened(stack, folder / str(shard), new_layout) for shard in range(shards)]
            rows = fill(old, new)
    except (CannotReshard, CorruptRow, ValueError) as bad:
        shutil.rmtree(folder)
        raise ReshardRefused(f"A stored row cannot be moved: {bad}. `nexus-bus doctor` names damaged rows.") from None
    except (StoreFull, StoreBroken, OSError) as problem:
        shutil.rmtree(folder)
        why = "there is no room" if isinstance(problem, StoreFull) else "the disk failed"
        raise ReshardRefused(f"The new shards could not be written: {why}. Nothing was changed.") from None
    text = (home.path / CONFIG).read_text(encoding="utf-8")
    return switch(home, changed_config(text, shards=shards, generation=home.settings.generation + 1)), rows


def _opened(stack: ExitStack, folder: Path, layout: int) -> LmdbStore:
    try:
        store = LmdbStore(folder, layout)
    except StoreInUse:
        raise ReshardRefused(f"{folder} is in use by another process.") from None
    except UnknownLayout as other:
        raise ReshardRefused(f"{folder} has the layout {other.found}. Start NEXUS once, then try again.") from None
    stack.callback(store.close)
    return store
