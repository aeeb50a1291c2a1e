"""Restoring a backup, into a new home or in place of what a home has (docs/decisions/0005).

Order: everything is unpacked and checked beside the shards in use, or before there is a home (nexus/unpacking.py);
then one replacement of config.toml makes it the home, as its next generation and incarnation. Interrupted before,
nothing has changed; after, the old shards are moved to `kept/` by the next command that takes the home's lock.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from bus.store_lmdb import sync
from bus.value import Record
from nexus.archive import CONFIG, BackupRefused, Manifest, read_manifest
from nexus.backup import lock_of, remove_half_written
from nexus.config import Home, create_home, settings_in, usable_cores
from nexus.content_check import Content, content_of_all
from nexus.credentials import Credential, that_come_back
from nexus.generations import config_text, new_generation, replace_file, switch, tidy
from nexus.unpacking import Unpacked, refuse_newer, remove_left_stages, stage_in, unpack_home


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
    """Whether the home had credentials before that could be read; if not, all are listed."""
    listed: bool
    """Whether the backup's credentials could be read; if not, not all that come back are listed."""
    new: bool
    """Whether nothing had happened in the home before, so that there was nothing to compare with."""

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
            "listed": self.listed,
        }


def restore(file: Path, path: Path, *, may_replace: bool) -> Restored:
    """Put the backup in `file` in place at `path`, which is made if it is not there.

    Raises BackupRefused, HomeInUse, HomeRefused, AlreadyRunning; then everything is as it was.
    """
    refuse_newer(file, read_manifest(file))
    try:
        if os.path.lexists(path / CONFIG):
            return _in_place(file, path, may_replace)
        return _in_new_home(file, path, may_replace)
    except OSError as problem:
        why = f"The backup cannot be put in place in {path}: {problem.strerror}. Nothing was changed."
        raise BackupRefused(why) from None


def _in_place(file: Path, path: Path, may_replace: bool) -> Restored:
    home = create_home(path, cores=usable_cores())
    with lock_of(home):
        tidy(home)
        remove_half_written(home)
        remove_left_stages(path)
        former = _former(home, may_replace)
        folder = new_generation(home)
        try:
            unpacked = unpack_home(file, folder / "unpacked", home.settings.incarnation)
            return _put(home, folder, unpacked, former)
        except BaseException as problem:
            if settings_in(path / CONFIG).generation == home.settings.generation:
                shutil.rmtree(folder)
            elif isinstance(problem, OSError):
                why = f"The backup is in place in {path}, but not yet what it replaces in kept/: {problem.strerror}."
                raise BackupRefused(f"{why} The next start does that.") from None
            raise


def _in_new_home(file: Path, path: Path, may_replace: bool) -> Restored:
    """The home is made when everything in the backup has been found good, and removed if it then cannot be filled."""
    with stage_in(path) as stage:
        unpacked = unpack_home(file, stage / "unpacked", 1)
        before = {entry.name for entry in path.iterdir()}
        try:
            home = create_home(path, cores=usable_cores())
        except BaseException:
            _remove_made(path, before)
            raise
        with lock_of(home):
            try:
                former = _former(home, may_replace)
                return _put(home, new_generation(home), unpacked, former)
            except BaseException:
                _remove_made(path, before)
                raise


def _remove_made(path: Path, before: set[str]) -> None:
    """Remove what `before` does not name; config.toml first, since it makes the folder a home."""
    if CONFIG in before:
        return  # somebody else made the home meanwhile
    (path / CONFIG).unlink(missing_ok=True)
    for entry in path.iterdir():
        if entry.name not in before and entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name not in before:
            entry.unlink()


def _former(home: Home, may_replace: bool) -> Content:
    former = content_of_all(home.shard_folder(shard) for shard in range(home.settings.shards))
    if former.written and not may_replace:
        raise HomeInUse(
            f"{home.path} holds a NEXUS home with content. Add --yes to put its shards aside, or name another --home."
        )
    return former


def _put(home: Home, folder: Path, unpacked: Unpacked, former: Content) -> Restored:
    for shard in range(unpacked.manifest.shards):
        (unpacked.folder / "shards" / str(shard)).rename(folder / str(shard))
    _place_artifacts(unpacked.folder / "artifacts", home.artifacts)
    shutil.rmtree(unpacked.folder)
    sync(folder)
    _keep_config(home)
    home = switch(home, config_text(replace(unpacked.settings, generation=home.settings.generation + 1)))
    kept = tidy(home)
    tokens = that_come_back(unpacked.credentials, former.credentials)
    compared = former.written and former.credentials is not None
    known = unpacked.are_credentials_known
    return Restored(home, unpacked.manifest, tuple(kept), tuple(tokens), compared, listed=known, new=not former.written)


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
