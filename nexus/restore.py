"""Restoring a backup, into a new home or in place of what a home has (docs/decisions/0005).

Order: everything is unpacked and checked beside the shards in use; then one replacement of config.toml makes it the
home, as its next generation and incarnation. Interrupted before, nothing has changed; after, the old shards are moved
to `kept/` by the next command that takes the home's lock.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bus.address import host
from bus.clock import SystemClock
from bus.codec import pack_row
from bus.store import LAYOUT_VERSION, StoreBroken, StoreFull, fact_key, journal_key, sequence_of
from bus.store_lmdb import LmdbStore, StoreInUse, UnknownLayout
from bus.value import Record
from nexus.archive import CONFIG, BackupRefused, Manifest, read_manifest, unpack_archive
from nexus.backup import lock_of, remove_half_written
from nexus.config import Home, create_home, settings_in, usable_cores
from nexus.credentials import Credential, credentials_in, that_come_back
from nexus.generations import changed_config, new_generation, replace_file, switch, tidy


class HomeInUse(Exception):
    """The home holds something already, and nobody said that it may be put aside. The text is for the person."""


@dataclass(frozen=True)
class Restored:
    """What was put in place."""

    home: Home
    manifest: Manifest
    kept: tuple[Path, ...]
    """Where the shards that were there before are now."""
    tokens: tuple[Credential, ...]
    """Credentials that are accepted again and were not before."""
    compared: bool
    """Whether the home's former credentials could be read; if not, all are listed."""

    def record(self) -> Record:
        """What `nexus restore --json` prints."""
        return {
            "home": str(self.home.path),
            "homeId": self.home.home_id,
            "shards": self.home.settings.shards,
            "incarnation": self.home.settings.incarnation,
            "backupAtMs": self.manifest.atMs,
            "kept": [str(place) for place in self.kept],
            "tokens": [one.record() for one in self.tokens],
            "compared": self.compared,
        }


def restore(file: Path, path: Path, *, may_replace: bool) -> Restored:
    """Put the backup in `file` in place at `path`, which is made if it is not there.

    Raises BackupRefused, HomeInUse, HomeRefused, AlreadyRunning.
    """
    manifest = read_manifest(file)
    if manifest.layout > LAYOUT_VERSION:
        raise BackupRefused(f"{file} has a newer layout of the store. Restore it with the NEXUS that wrote it.")
    home = create_home(path, cores=usable_cores())
    with lock_of(home):
        tidy(home)
        remove_half_written(home)
        if not may_replace and _holds_something(home):
            raise HomeInUse(
                f"{path} holds a NEXUS home with content. Add --yes to put its shards aside, or name another --home."
            )
        return _in_place(file, home)


def _in_place(file: Path, home: Home) -> Restored:
    folder = new_generation(home)
    try:
        unpacked = folder / "unpacked"
        manifest = unpack_archive(file, unpacked)
        folders = _shards_in(folder, unpacked, manifest.shards)
        incarnation = 1 + max(home.settings.incarnation, settings_in(unpacked / CONFIG).incarnation)
        config = changed_config(
            (unpacked / CONFIG).read_text(encoding="utf-8"),
            shards=manifest.shards,
            incarnation=incarnation,
            generation=home.settings.generation + 1,
        )
        _finish(folders, manifest, incarnation)
        present = credentials_in(home.shard_folder(shard) for shard in range(home.settings.shards))
        restored = credentials_in(folders) or set()
        _place_artifacts(unpacked / "artifacts", home.artifacts)
        shutil.rmtree(unpacked)
        _keep_config(home)
    except OSError as problem:
        shutil.rmtree(folder)
        raise BackupRefused(f"The backup cannot be unpacked in {home.path}: {problem.strerror}.") from None
    except BaseException:
        shutil.rmtree(folder)
        raise
    home = switch(home, config)
    kept = tidy(home)
    tokens = that_come_back(restored, present)
    return Restored(home, manifest, tuple(kept), tuple(tokens), compared=present is not None)


def _shards_in(folder: Path, unpacked: Path, shards: int) -> list[Path]:
    folders = [folder / str(shard) for shard in range(shards)]
    for shard, place in enumerate(folders):
        (unpacked / "shards" / str(shard)).rename(place)
    return folders


def _finish(folders: Sequence[Path], manifest: Manifest, incarnation: int) -> None:
    """Each copy is what the manifest says, and its event log tells that it was restored, by the person."""
    for shard, (folder, sequence) in enumerate(zip(folders, manifest.sequences, strict=True)):
        try:
            store = LmdbStore(folder, manifest.layout)
        except (UnknownLayout, StoreInUse):
            raise BackupRefused(f"Shard {shard} of the backup has not the layout that its manifest names.") from None
        try:
            last = store.last(b"j")
            if sequence != (0 if last is None else sequence_of(last[0])):
                raise BackupRefused(f"Shard {shard} of the backup does not end where its manifest says.")
            if manifest.layout == LAYOUT_VERSION:
                data: Record = {"incarnation": incarnation, "backupAt": manifest.atMs}
                record: Record = {"owner": str(host(shard)), "call": "", "by": "person", "at": SystemClock().now_ms()}
                told = pack_row({**record, "events": [["home.restored", data]]})
                store.commit([(journal_key(sequence + 1), told), (fact_key("home-incarnation"), pack_row(incarnation))])
        except StoreFull:
            raise BackupRefused("There is no room for the shards of the backup. Free some space.") from None
        except StoreBroken:
            raise BackupRefused("The shards of the backup could not be written.") from None
        finally:
            store.close()


def _place_artifacts(source: Path, target: Path) -> None:
    """Artifacts are named by their content, so one that is there already is the same."""
    for place in sorted(source.rglob("*")) if source.is_dir() else ():
        wanted = target / place.relative_to(source)
        if place.is_dir():
            wanted.mkdir(mode=0o700, exist_ok=True)
        elif not wanted.exists():
            place.rename(wanted)


def _keep_config(home: Home) -> None:
    home.kept.mkdir(mode=0o700, exist_ok=True)
    former = (home.path / CONFIG).read_bytes()
    replace_file(home.kept / f"config-of-generation-{home.settings.generation}.toml", former)


def _holds_something(home: Home) -> bool:
    """Whether any shard has a journal, or cannot be read."""
    for shard in range(home.settings.shards):
        folder = home.shard_folder(shard)
        if not (folder / "data.mdb").exists():
            continue
        try:
            store = LmdbStore(folder)
        except (StoreInUse, UnknownLayout, StoreBroken):
            return True
        last = store.last(b"j")
        store.close()
        if last is not None:
            return True
    return False
