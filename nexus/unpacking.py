"""Everything that a backup holds, unpacked into a folder and found good before it becomes part of a home.

Nothing in the file is believed: its config.toml is read for the settings that NEXUS knows and never copied, and its
shards are opened by another process first (nexus/content_check.py).
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field, ValidationError

from bus.limits import counter_max, shards_max
from bus.store import LAYOUT_VERSION
from nexus.archive import CONFIG, HOME_ID, BackupRefused, Manifest, unpack_archive
from nexus.config import PORT_DEFAULT, HomeRefused, Settings, refuse_unless_private
from nexus.content_check import Finish, Unreadable, content_of
from nexus.credentials import Credential
from tools.base import Model

_STAGE: Final = re.compile(r"\.restore-[0-9a-z_]{8}")


class _Config(Model):
    """The settings that are taken over from a backup's config.toml; others are left out."""

    model_config = ConfigDict(extra="ignore")

    home_id: str = Field(pattern=HOME_ID)
    port: int = Field(PORT_DEFAULT, ge=0, le=65_535)
    shards: int = Field(ge=1, le=shards_max)
    incarnation: int = Field(1, ge=1, le=counter_max)


@dataclass(frozen=True)
class Unpacked:
    """A backup that was found good."""

    folder: Path
    manifest: Manifest
    settings: Settings
    """Of the restored home but for its generation."""
    credentials: frozenset[Credential]
    are_credentials_known: bool
    """Whether every shard's could be read."""


def refuse_newer(file: Path, manifest: Manifest) -> None:
    """Raises BackupRefused for a backup of a layout that this release does not know."""
    if manifest.layout > LAYOUT_VERSION:
        raise BackupRefused(f"{file} has a newer layout of the store. Restore it with the NEXUS that wrote it.")


def unpack_home(file: Path, folder: Path, incarnation: int) -> Unpacked:
    """Unpack the backup under `folder` as the next incarnation after `incarnation`. Raises BackupRefused."""
    manifest = unpack_archive(file, folder)
    refuse_newer(file, manifest)
    config = _config(file, (folder / CONFIG).read_bytes(), manifest)
    incarnation = 1 + max(incarnation, config.incarnation)
    credentials = frozenset[Credential]()
    are_known = True
    for shard, sequence in enumerate(manifest.sequences):
        finish = Finish(shard, sequence, incarnation, manifest.atMs)
        try:
            content = content_of(folder / "shards" / str(shard), manifest.layout, finish)
        except Unreadable as why:
            raise BackupRefused(f"Shard {shard} of the backup {why} Nothing was changed.") from None
        credentials |= content.credentials or frozenset()
        are_known = are_known and content.credentials is not None
    settings = Settings(config.home_id, config.port, config.shards, incarnation)
    return Unpacked(folder, manifest, settings, credentials, are_known)


def _config(file: Path, content: bytes, manifest: Manifest) -> _Config:
    try:
        config = _Config.model_validate(tomllib.loads(content.decode()))
    except ValidationError as bad:
        names = ", ".join(sorted({str(error["loc"][0]) for error in bad.errors()}))
        raise BackupRefused(
            f"{file} holds a config.toml with a missing or bad value: {names}. Nothing was changed."
        ) from None
    except (ValueError, RecursionError):
        raise BackupRefused(f"{file} holds a config.toml that cannot be read. Nothing was changed.") from None
    if (config.home_id, config.shards) != (manifest.homeId, manifest.shards):
        raise BackupRefused(f"{file} holds a config.toml that is not that of its manifest. Nothing was changed.")
    return config


@contextmanager
def stage_in(path: Path) -> Iterator[Path]:
    """A folder in `path`, where a home will be. Removed afterwards, and so is `path` if it is still empty then.

    Raises HomeRefused. What a killed restore left is removed too: it holds no lock on its folder.
    """
    os.umask(0o077)
    made = [place for place in (path, *path.parents) if not os.path.lexists(place)]
    try:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_unless_private(path, stat.S_ISDIR, "folder")
            remove_left_stages(path)
            stage = Path(tempfile.mkdtemp(prefix=".restore-", dir=path))
            descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            why = f"The home {path} cannot be made: {error.strerror}. Choose another with --home."
            raise HomeRefused(why) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield stage
        finally:
            os.close(descriptor)
            shutil.rmtree(stage, ignore_errors=True)
    finally:
        with suppress(OSError):
            for place in made:
                place.rmdir()


def remove_left_stages(path: Path) -> None:
    """Remove the folders of `stage_in` whose process has ended."""
    for entry in path.iterdir():
        if not _STAGE.fullmatch(entry.name) or entry.is_symlink() or not entry.is_dir():
            continue
        descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(entry)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
