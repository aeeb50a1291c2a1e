"""Reading and writing another program's configuration, so that it is never half written and nothing of it is lost.

Invariants: a link is followed to its target, which is what is written; the file keeps its mode; before each change a
copy lies beside it, unless all that it says is ours; what anybody else wrote meanwhile is never overwritten.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from nexus.connect.turn import take

file_bytes_max: Final = 16 << 20
_NEW_MODE: Final = 0o600
_lock_wait_ms: Final = 10_000
_COPY_MARK: Final = ".nexus-backup-"


class ConfigRefused(Exception):
    """The file cannot be read or written as asked. The text is for the person: what, why, what next."""


class ChangedMeanwhile(Exception):
    """Somebody else wrote the file between reading and writing."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration as it was read. `content` is None when there is no such file yet."""

    path: Path
    """As the client names it."""
    target: Path
    """The real file: another one when `path` is a link, or lies behind one."""
    content: bytes | None
    mode: int

    @property
    def text(self) -> str:
        """Raises ConfigRefused."""
        try:
            return (self.content or b"").decode()
        except UnicodeDecodeError:
            raise ConfigRefused(f"{self.path} is not text in UTF-8. Correct it and try again.") from None


def read(path: Path) -> ConfigFile:
    """The file at `path`, or that there is none yet. Raises ConfigRefused."""
    target = Path(os.path.realpath(path))
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigRefused(f"{path} is a link to {target}, which is not there. Mend or remove the link.") from None
        return ConfigFile(path, target, None, _NEW_MODE)
    except OSError as error:
        raise ConfigRefused(f"{path} cannot be read: {error.strerror}.") from None
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ConfigRefused(f"{path} is not a file.")
        if found.st_uid != os.getuid():
            raise ConfigRefused(f"{path} belongs to another user (id {found.st_uid}), so NEXUS does not touch it.")
        if found.st_size > file_bytes_max:
            raise ConfigRefused(f"{path} is larger than {file_bytes_max >> 20} MiB, too large for a configuration.")
        return ConfigFile(path, target, stream.read(), stat.S_IMODE(found.st_mode))


def write(file: ConfigFile, text: str, *, keeps_copy: bool = True, now: datetime | None = None) -> Path | None:
    """Put `text` in the file's place, whole or not at all; answers where the copy of before lies, if one was made.

    Raises ConfigRefused and ChangedMeanwhile.
    """
    _refuse_read_only(file)
    backup: Path | None = None
    try:
        file.target.parent.mkdir(parents=True, exist_ok=True)
        _refuse_changed(file)
        if file.content is not None and keeps_copy:
            backup = _backed_up(file, file.content, now or datetime.now(UTC))
        _replace(file, text.encode(), lambda: _refuse_changed(file))
    except ChangedMeanwhile:
        if backup is not None:
            backup.unlink(missing_ok=True)  # it is a copy of what was not written over
        raise
    except OSError as error:
        raise ConfigRefused(f"{file.path} cannot be written: {error.strerror}.") from None
    return backup


def remove(file: ConfigFile) -> None:
    """Take the file away. Raises ConfigRefused and ChangedMeanwhile."""
    _refuse_read_only(file)
    try:
        with _alone_in(file.target.parent):
            _refuse_changed(file)
            file.target.unlink()
    except OSError as error:
        raise ConfigRefused(f"{file.path} cannot be removed: {error.strerror}.") from None


def has_copies(file: ConfigFile) -> bool:
    """Whether a copy lies beside it, so that there was a file before us."""
    return any(path.name.startswith(f"{file.target.name}{_COPY_MARK}") for path in file.target.parent.iterdir())


def put_private(file: Path, content: bytes) -> None:
    """Write a file that only this user may read, whole or not at all. Raises OSError."""
    _replace(ConfigFile(file, file, None, _NEW_MODE), content, lambda: None)


def _refuse_read_only(file: ConfigFile) -> None:
    if file.content is not None and not file.mode & stat.S_IWUSR:
        raise ConfigRefused(f"{file.path} is read-only. Make it writable (chmod u+w) or edit it by hand.")


def _refuse_changed(file: ConfigFile) -> None:
    """Raises ChangedMeanwhile unless the file says what was read, or is still not there."""
    if _content(file.target) != file.content:
        raise ChangedMeanwhile


def _content(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None


def _backed_up(file: ConfigFile, content: bytes, now: datetime) -> Path:
    name, number = f"{file.target.name}{_COPY_MARK}{now:%Y%m%dT%H%M%SZ}", 1
    while True:
        backup = file.target.with_name(name if number == 1 else f"{name}-{number}")
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _NEW_MODE)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, file.mode)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        return backup


def _replace(file: ConfigFile, content: bytes, refuse_changed: Callable[[], None]) -> None:
    """`refuse_changed` looks a last time, when nothing is left to do but the renaming."""
    descriptor, aside = tempfile.mkstemp(dir=file.target.parent, prefix=f".{file.target.name}.nexus-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, file.mode)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        with _alone_in(file.target.parent) as folder:
            refuse_changed()
            Path(aside).replace(file.target)
            os.fsync(folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(aside).unlink()
        raise


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[int]:
    """The folder's descriptor. Of commands of NEXUS, for whichever home, one at a time is in here: between looking at
    a file and renaming another one over it nobody of us writes. Other programs know nothing of it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            is_taken = take(descriptor, _lock_wait_ms)
        except OSError:
            is_taken = True  # a network file system may lock no folder: the look just before the renaming remains
        if not is_taken:
            raise ConfigRefused(f"Another program has locked the folder {folder}. Let it end and try again.")
        yield descriptor
    finally:
        os.close(descriptor)
