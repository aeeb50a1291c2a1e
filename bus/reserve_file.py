"""A file that holds room on the disk, to be given back when the disk is full (bus/reserve.py).

Used by one thread at a time: the journal's writer, or whoever opens the store before there is one. Never raises for
what the disk does: without a reserve NEXUS runs as well, until the disk is full.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

import structlog

_BLOCK: Final = 512
"""The unit of `st_blocks`, whatever the file system's own."""
_PIECE: Final = 1024 * 1024
_CANNOT: Final = (errno.EINVAL, errno.EOPNOTSUPP)
"""The file system knows no allocation, and the C library does not make up for it."""
_log = structlog.get_logger("reserve")


class ReserveFile:
    """The file at `path`. There, it has its whole size, or `hold` will make it anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def size(self) -> int:
        """How many bytes of the disk it holds."""
        try:
            found = self._path.stat()
        except OSError:
            return 0
        return min(found.st_size, found.st_blocks * _BLOCK)

    def hold(self, size: int) -> bool:
        """Hold at least `size` bytes; whether it does."""
        if self.size() >= size:
            return True
        try:
            self._make(size)
        except OSError as problem:
            _log.warning("reserve_not_made", why=str(problem))
            self.release()
            return False
        return True

    def _make(self, size: int) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with contextlib.suppress(AttributeError):  # macOS has no such call
                _allocate(descriptor, size)
            if os.fstat(descriptor).st_blocks * _BLOCK < size:
                # A file system without real allocation, which may also keep no block for zeros.
                for at in range(0, size, _PIECE):
                    os.pwrite(descriptor, os.urandom(min(_PIECE, size - at)), at)
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _sync_names(self._path.parent)

    def release(self) -> None:
        """Give the room back."""
        try:
            self._path.unlink(missing_ok=True)
            _sync_names(self._path.parent)
        except OSError as problem:
            _log.error("reserve_not_released", why=str(problem))


def _allocate(descriptor: int, size: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as problem:
        if problem.errno not in _CANNOT:
            raise
    os.fsync(descriptor)


def _sync_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
