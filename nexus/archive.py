"""A backup as one file: a tar of `manifest.json`, then `config.toml` and one compact copy a shard, then artifacts.

Invariants
- Written whole or not at all, mode 0600, on disk, and never over another file. On a file system without hard links a
  power cut can leave a part of it, which is never taken for a backup.
- Read with nothing believed: only the members that the manifest lists, in its order, plain files of the listed size
  and checksum, under names of three forms. A name never becomes a path without having one of those forms, so no
  member leads outside (contract/security.md 2.23).
- Neither profiles nor the home's key are in it, and tokens were never stored (docs/decisions/0005).
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Annotated, Final

from pydantic import Field, ValidationError

from bus.limits import (
    archive_at_ms_max,
    archive_config_bytes_max,
    archive_manifest_bytes_max,
    archive_members_max,
    archive_piece_bytes,
    backup_member_bytes_max,
    counter_max,
    sequence_max,
    shards_max,
)
from bus.store_lmdb import sync
from tools.base import Model

FORMAT: Final = 1
CONFIG: Final = "config.toml"
MANIFEST: Final = "manifest.json"
HOME_ID: Final = "^[0-9A-Za-z._-]{1,64}$"
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What linking a file answers where there are no hard links, or no more of them."""
_DAMAGES: Final = (tarfile.TarError, ValueError, EOFError, OverflowError, RecursionError)
"""What tarfile and json make of a damaged file, or of one that somebody made up."""
_NAME: Final = re.compile(r"config\.toml|shards/[0-9]/data\.mdb|artifacts/[0-9A-Za-z_-]+(/[0-9A-Za-z_-]+){0,3}")


class BackupRefused(Exception):
    """The file cannot be written, or is no backup that can be restored. The text is for the person."""


class Member(Model):
    name: str = Field(max_length=300)
    bytes: int = Field(ge=0, le=backup_member_bytes_max)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Manifest(Model):
    """What the backup is of, and every member with its checksum."""

    format: int = Field(ge=FORMAT, le=FORMAT)
    nexus: str = Field(pattern="^[0-9A-Za-z.+_-]{1,100}$")
    """The release that wrote it."""
    homeId: str = Field(pattern=HOME_ID)
    incarnation: int = Field(ge=1, le=counter_max)
    layout: int = Field(ge=1, le=counter_max)
    shards: int = Field(ge=1, le=shards_max)
    atMs: int = Field(ge=0, le=archive_at_ms_max)
    """When the shards stood still."""
    sequences: list[Annotated[int, Field(ge=0, le=sequence_max)]] = Field(max_length=shards_max)
    """The journal's last sequence of each shard."""
    members: list[Member] = Field(max_length=archive_members_max)


def shard_member(shard: int) -> str:
    """The name of a shard's copy."""
    return f"shards/{shard}/data.mdb"


def write_archive(file: Path, manifest: Manifest, members: Sequence[tuple[str, Path]]) -> Manifest:
    """Write the backup; the manifest with its members. Raises BackupRefused."""
    try:
        listed = [Member(name=name, bytes=place.stat().st_size, sha256=_digest(place)) for name, place in members]
        whole = manifest.model_copy(update={"members": listed})
        descriptor, aside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:100]}-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                _write_members(stream, whole, [place for _, place in members])
                stream.flush()
                os.fsync(stream.fileno())
            _take_name(Path(aside), file)
        finally:
            Path(aside).unlink()
        sync(file.parent)
    except FileExistsError:
        raise BackupRefused(f"{file} is there already. A backup never replaces a file; choose another name.") from None
    except OSError as problem:
        raise BackupRefused(f"{file} cannot be written: {problem.strerror}.") from None
    return whole


def _take_name(aside: Path, file: Path) -> None:
    """Put what was written under its name, in one step if it can be. Raises FileExistsError, or another OSError."""
    try:
        os.link(aside, file)
    except FileExistsError:
        raise
    except OSError as problem:
        if problem.errno not in _NO_HARD_LINKS:
            raise
        _copy_to_name(aside, file)


def _copy_to_name(aside: Path, file: Path) -> None:
    """For file systems without hard links (FAT, exFAT, some shared folders), where renaming would replace a file that
    appeared meanwhile. A power cut leaves a part of it there, which `restore` refuses by its checksums."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as target, aside.open("rb") as source:
            shutil.copyfileobj(source, target, archive_piece_bytes)
            target.flush()
            os.fsync(target.fileno())
    except BaseException:
        file.unlink()
        raise


def _write_members(stream: IO[bytes], manifest: Manifest, places: Sequence[Path]) -> None:
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        content = manifest.model_dump_json(indent=1).encode()
        tar.addfile(_entry(MANIFEST, len(content), manifest.atMs), io.BytesIO(content))
        for member, place in zip(manifest.members, places, strict=True):
            with place.open("rb") as source:
                tar.addfile(_entry(member.name, member.bytes, manifest.atMs), source)


def _entry(name: str, size: int, at_ms: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o600, at_ms // 1000
    return entry


def read_manifest(file: Path) -> Manifest:
    """The checked manifest of a backup. Raises BackupRefused."""
    with _Reader(file) as reader:
        return reader.manifest


def unpack_archive(file: Path, folder: Path, *, wanted: str = "") -> Manifest:
    """Write the members whose name begins with `wanted` under `folder`, and check all of them. Raises BackupRefused.

    What was written is worth nothing unless this returns.
    """
    with _Reader(file) as reader:
        for member in reader.manifest.members:
            reader.take(member, folder / member.name if member.name.startswith(wanted) else None)
        reader.end()
        return reader.manifest


class _Reader:
    """One pass over the tar, member after member."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._stream = _opened(file)
        except OSError as problem:
            raise BackupRefused(f"{file} cannot be opened: {problem.strerror}. Nothing was changed.") from None
        try:
            self._tar = tarfile.open(fileobj=self._stream, mode="r|")  # noqa: SIM115 - closed with its stream
            self.manifest = self._read_manifest()
        except (*_DAMAGES, OSError) as problem:
            self._stream.close()
            raise self._refused("is not a NEXUS backup, or is cut off") from problem
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def take(self, member: Member, target: Path | None) -> None:
        """Read the next member, which must be this one, into `target`."""
        source = self._next(member.name, member.bytes)
        digest = hashlib.sha256()
        try:
            out = None if target is None else _created(target)
            try:
                while piece := source.read(archive_piece_bytes):
                    digest.update(piece)
                    if out is not None:
                        out.write(piece)
                if out is not None:
                    out.flush()
                    os.fsync(out.fileno())
            finally:
                if out is not None:
                    out.close()
        except _DAMAGES as problem:
            raise self._refused("is cut off or damaged") from problem
        except OSError as problem:
            raise self._refused(f"cannot be unpacked: {problem.strerror}") from None
        if digest.hexdigest() != member.sha256:
            raise self._refused(f"is damaged: {member.name} does not match its checksum")

    def end(self) -> None:
        """Nothing may follow."""
        try:
            more = self._tar.next()
        except (*_DAMAGES, OSError) as problem:
            raise self._refused("is cut off or damaged") from problem
        if more is not None:
            raise self._refused("holds more than its manifest lists")

    def _read_manifest(self) -> Manifest:
        entry = self._tar.next()
        if entry is None or entry.name != MANIFEST or entry.size > archive_manifest_bytes_max:
            raise self._refused("is not a NEXUS backup")
        content = self._content(entry).read()
        try:
            written = json.loads(content)
            if isinstance(written, dict) and written.get("format") != FORMAT:
                raise self._refused("was written by a newer NEXUS; restore it with that one")
            manifest = Manifest.model_validate(written)
        except (ValidationError, json.JSONDecodeError, RecursionError) as problem:
            raise self._refused("has a manifest that this release cannot read") from problem
        self._check(manifest)
        return manifest

    def _check(self, manifest: Manifest) -> None:
        names = [member.name for member in manifest.members]
        for name in names:
            if not _NAME.fullmatch(name):
                raise self._refused("holds a member whose path leads outside of a home, or is no part of one")
        wanted = {CONFIG, *map(shard_member, range(manifest.shards))}
        shard_names = {name for name in names if not name.startswith("artifacts/")}
        if len(set(names)) != len(names) or shard_names != wanted or len(manifest.sequences) != manifest.shards:
            raise self._refused("has a manifest that does not list one whole home")
        if next(member.bytes for member in manifest.members if member.name == CONFIG) > archive_config_bytes_max:
            raise self._refused("has a config.toml that is too large")

    def _next(self, name: str, size: int) -> IO[bytes]:
        try:
            entry = self._tar.next()
        except (*_DAMAGES, OSError) as problem:
            raise self._refused("is cut off or damaged") from problem
        if entry is None:
            raise self._refused("is cut off")
        if entry.name != name or entry.size != size:
            raise self._refused("holds other members than its manifest lists")
        return self._content(entry)

    def _content(self, entry: tarfile.TarInfo) -> IO[bytes]:
        content = self._tar.extractfile(entry) if entry.type == tarfile.REGTYPE and not entry.sparse else None
        if content is None:
            raise self._refused("holds a member that is no plain file")
        return content

    def _refused(self, why: str) -> BackupRefused:
        return BackupRefused(f"{self._file} {why}. Nothing was changed.")


def _opened(file: Path) -> IO[bytes]:
    """The file, if it is a regular one: opening a pipe would wait for its writer. Raises BackupRefused or OSError."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BackupRefused(
            f"{file} is not a regular file. Name a file that `nexus backup` wrote. Nothing was changed."
        )
    return os.fdopen(descriptor, "rb")


def _created(target: Path) -> IO[bytes]:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "wb")


def _digest(place: Path) -> str:
    with place.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
